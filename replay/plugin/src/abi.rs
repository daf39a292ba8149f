//! The structs of `capi/include/netreel_layer.h`, which has the words.
#![allow(missing_docs)]

use std::ffi::{c_char, c_void};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};

pub const VERSION: u32 = 1;

pub const OK: i32 = 0;
pub const E_ARGUMENT: i32 = -1;
pub const E_HANDLE: i32 = -2;
pub const E_UNSUPPORTED: i32 = -12;
pub const E_INTERNAL: i32 = -17;

pub const RECEIVED: u32 = 0;
pub const EMPTY: u32 = 1;
pub const FAILED: u32 = 2;

#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CEndpoint {
    pub family: u16,
    pub port: u16,
    pub flow: u32,
    pub scope: u32,
    pub address: [u8; 16],
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct CPacket {
    pub size: u32,
    pub kind: u32,
    pub length: u64,
    pub os_error: i32,
    pub from: CEndpoint,
}

type Receive = unsafe extern "C" fn(*mut c_void, u32, *mut c_void, u64, *mut CPacket) -> i32;
type Send =
    unsafe extern "C" fn(*mut c_void, u32, *const CEndpoint, *const c_void, u64, *mut i64) -> i32;
type Read = unsafe extern "C" fn(*mut c_void, *mut u64) -> i32;
type Note = unsafe extern "C" fn(*mut c_void, *const c_char, u64) -> i32;

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CWorld {
    pub size: u32,
    pub version: u32,
    pub world: *mut c_void,
    pub receive: Option<Receive>,
    pub send: Option<Send>,
    pub clock: Option<Read>,
    pub random: Option<Read>,
    pub note: Option<Note>,
    /// Behind the end of an older netreel's.
    pub believes: Option<Note>,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CStart {
    pub size: u32,
    pub sockets_count: u32,
    pub sockets: *const CEndpoint,
    pub node: *const c_char,
    pub engine: *const c_char,
    pub build: *const c_char,
    pub start: *const c_void,
    pub start_length: u64,
}

pub type Create = unsafe extern "C" fn(*const CStart, *const CWorld, *mut *mut c_void) -> i32;
pub type Tick = unsafe extern "C" fn(*mut c_void, *const CWorld, u64, u64) -> i32;
pub type Input = unsafe extern "C" fn(*mut c_void, *const CWorld, *const c_void, u64) -> i32;
pub type Destroy = unsafe extern "C" fn(*mut c_void);
pub type Error = unsafe extern "C" fn(*mut c_void) -> *const c_char;
pub type Save = unsafe extern "C" fn(*mut c_void, *mut c_void, u64, *mut u64) -> i32;
pub type TimeOuts = unsafe extern "C" fn(*mut c_void, i32) -> i32;
pub type Beliefs = unsafe extern "C" fn(*mut c_void, *mut CBelief, u64, *mut u64) -> i32;
pub type Restore = unsafe extern "C" fn(*mut c_void, *const CWorld, *const c_void, u64) -> i32;

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CLayer {
    pub size: u32,
    pub version: u32,
    pub name: *const c_char,
    pub create: Option<Create>,
    pub tick: Option<Tick>,
    pub input: Option<Input>,
    pub destroy: Option<Destroy>,
    pub error: Option<Error>,
    pub save: Option<Save>,
    pub restore: Option<Restore>,
    pub build: *const c_char,
    pub time_outs: Option<TimeOuts>,
    pub beliefs: Option<Beliefs>,
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CBelief {
    pub object: u64,
    pub owner: u64,
    pub values: u64,
}

/// The owner of an object that nobody owns.
pub const NOBODY: u64 = u64::MAX;

// SAFETY: it holds functions and the addresses of texts that never change.
unsafe impl Sync for CLayer {}

impl From<SocketAddr> for CEndpoint {
    fn from(endpoint: SocketAddr) -> CEndpoint {
        let mut address = [0; 16];
        match endpoint {
            SocketAddr::V4(v4) => {
                for (to, from) in address.iter_mut().zip(v4.ip().octets()) {
                    *to = from;
                }
                CEndpoint {
                    family: 4,
                    port: v4.port(),
                    flow: 0,
                    scope: 0,
                    address,
                }
            }
            SocketAddr::V6(v6) => CEndpoint {
                family: 6,
                port: v6.port(),
                flow: v6.flowinfo(),
                scope: v6.scope_id(),
                address: v6.ip().octets(),
            },
        }
    }
}

impl CEndpoint {
    /// The address; `None` where the family is neither 4 nor 6.
    #[inline]
    pub fn endpoint(&self) -> Option<SocketAddr> {
        match self.family {
            4 => {
                let [a, b, c, d, ..] = self.address;
                let address = Ipv4Addr::new(a, b, c, d);
                Some(SocketAddrV4::new(address, self.port).into())
            }
            6 => {
                let address = Ipv6Addr::from(self.address);
                Some(SocketAddrV6::new(address, self.port, self.flow, self.scope).into())
            }
            _ => None,
        }
    }
}

/// The bytes that a pointer and a length say; `None` where they make no sense.
///
/// # Safety
///
/// Where `bytes` is not null, so many bytes can be read there for as long as the result is used.
pub unsafe fn bytes<'a>(bytes: *const c_void, length: u64) -> Option<&'a [u8]> {
    if length == 0 {
        return Some(&[]);
    }
    let length = usize::try_from(length)
        .ok()
        .filter(|&it| isize::try_from(it).is_ok())?;
    if bytes.is_null() {
        return None;
    }
    // SAFETY: the caller says so.
    Some(unsafe { std::slice::from_raw_parts(bytes.cast::<u8>(), length) })
}
