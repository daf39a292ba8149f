//! `struct sockaddr` and back.

use std::ffi::c_void;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddrV4, SocketAddrV6};

use netreel_reel::Endpoint;

use crate::error::{Failure, failure};
use crate::memory::{get, null};
use crate::types::{CEndpoint, E_ARGUMENT};

/// The address that a caller gives.
///
/// # Safety
/// As of [`get`].
#[inline]
pub(crate) unsafe fn given(place: *const CEndpoint, name: &str) -> Result<Endpoint, Failure> {
    // SAFETY: as promised.
    let of = unsafe { get(place, name)? };
    of.endpoint().ok_or_else(|| {
        let family = of.family;
        failure(
            E_ARGUMENT,
            format!("an endpoint of family {family}: set it to 4 or 6"),
        )
    })
}

/// IPv4 and IPv6, as the system numbers them.
const AF_INET: u16 = 2;
const AF_INET6: u16 = if cfg!(windows) { 23 } else { 10 };

/// `struct sockaddr_in`, as Linux and Windows lay it out.
#[repr(C)]
struct SockaddrIn {
    family: u16,
    port: [u8; 2],
    address: [u8; 4],
    _zero: [u8; 8],
}

/// `struct sockaddr_in6`, as Linux and Windows lay it out.
#[repr(C)]
struct SockaddrIn6 {
    family: u16,
    port: [u8; 2],
    flow: u32,
    address: [u8; 16],
    scope: u32,
}

/// Reads a `sockaddr_in` or `sockaddr_in6`.
///
/// # Safety
/// `place` is null, or can be read for `length` bytes.
pub(crate) unsafe fn read(place: *const c_void, length: u32) -> Result<Endpoint, Failure> {
    if place.is_null() {
        return Err(null("sockaddr"));
    }
    let length = length as usize;
    if length < size_of::<u16>() {
        return Err(too_short(length));
    }
    // SAFETY: inside the length that the caller promised.
    let family = unsafe { place.cast::<u16>().read_unaligned() };
    match family {
        AF_INET if length >= size_of::<SockaddrIn>() => {
            // SAFETY: the length was checked; any bytes are a value.
            let v4 = unsafe { place.cast::<SockaddrIn>().read_unaligned() };
            let port = u16::from_be_bytes(v4.port);
            Ok(SocketAddrV4::new(Ipv4Addr::from(v4.address), port).into())
        }
        AF_INET6 if length >= size_of::<SockaddrIn6>() => {
            // SAFETY: as above.
            let v6 = unsafe { place.cast::<SockaddrIn6>().read_unaligned() };
            let (address, port) = (Ipv6Addr::from(v6.address), u16::from_be_bytes(v6.port));
            Ok(SocketAddrV6::new(address, port, v6.flow, v6.scope).into())
        }
        AF_INET | AF_INET6 => Err(too_short(length)),
        other => Err(failure(
            E_ARGUMENT,
            format!("a sockaddr of family {other}: AF_INET and AF_INET6 can be recorded"),
        )),
    }
}

/// Writes one, and returns its length.
///
/// # Safety
/// `place` is null, or can be written for `room` bytes.
pub(crate) unsafe fn write(
    endpoint: Endpoint,
    place: *mut c_void,
    room: u32,
) -> Result<u32, Failure> {
    if place.is_null() {
        return Err(null("sockaddr"));
    }
    let needed = match endpoint {
        Endpoint::V4(_) => size_of::<SockaddrIn>(),
        Endpoint::V6(_) => size_of::<SockaddrIn6>(),
    };
    if (room as usize) < needed {
        return Err(too_short(room as usize));
    }
    match endpoint {
        Endpoint::V4(v4) => {
            let out = SockaddrIn {
                family: AF_INET,
                port: v4.port().to_be_bytes(),
                address: v4.ip().octets(),
                _zero: [0; 8],
            };
            // SAFETY: the room was checked.
            unsafe { place.cast::<SockaddrIn>().write_unaligned(out) };
        }
        Endpoint::V6(v6) => {
            let out = SockaddrIn6 {
                family: AF_INET6,
                port: v6.port().to_be_bytes(),
                flow: v6.flowinfo(),
                address: v6.ip().octets(),
                scope: v6.scope_id(),
            };
            // SAFETY: the room was checked.
            unsafe { place.cast::<SockaddrIn6>().write_unaligned(out) };
        }
    }
    u32::try_from(needed).map_err(|_| too_short(needed))
}

fn too_short(length: usize) -> Failure {
    let (v4, v6) = (size_of::<SockaddrIn>(), size_of::<SockaddrIn6>());
    failure(
        E_ARGUMENT,
        format!("{length} bytes for a sockaddr: AF_INET takes {v4}, AF_INET6 {v6}"),
    )
}
