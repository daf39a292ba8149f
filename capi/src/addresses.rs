//! `struct sockaddr` and back.

use std::ffi::c_void;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddrV4, SocketAddrV6};

use libc::{AF_INET, AF_INET6, sockaddr, sockaddr_in, sockaddr_in6};
use netreel_reel::Endpoint;

use crate::error::{Failure, failure};
use crate::memory::null;
use crate::types::E_ARGUMENT;

/// Reads a `sockaddr_in` or `sockaddr_in6`.
///
/// # Safety
/// `place` is null, or can be read for `length` bytes.
pub(crate) unsafe fn read(place: *const c_void, length: u32) -> Result<Endpoint, Failure> {
    if place.is_null() {
        return Err(null("sockaddr"));
    }
    let length = length as usize;
    let family_end = std::mem::offset_of!(sockaddr, sa_data);
    if length < family_end {
        return Err(too_short(length));
    }
    let family_at = std::mem::offset_of!(sockaddr, sa_family);
    // SAFETY: inside the length that the caller promised.
    let family = unsafe {
        let family = place.cast::<u8>().add(family_at);
        family.cast::<libc::sa_family_t>().read_unaligned()
    };
    match i32::from(family) {
        AF_INET if length >= size_of::<sockaddr_in>() => {
            // SAFETY: the length was checked; any bytes are a value.
            let v4 = unsafe { place.cast::<sockaddr_in>().read_unaligned() };
            let address = Ipv4Addr::from(u32::from_be(v4.sin_addr.s_addr));
            Ok(SocketAddrV4::new(address, u16::from_be(v4.sin_port)).into())
        }
        AF_INET6 if length >= size_of::<sockaddr_in6>() => {
            // SAFETY: as above.
            let v6 = unsafe { place.cast::<sockaddr_in6>().read_unaligned() };
            let address = Ipv6Addr::from(v6.sin6_addr.s6_addr);
            let port = u16::from_be(v6.sin6_port);
            Ok(SocketAddrV6::new(address, port, v6.sin6_flowinfo, v6.sin6_scope_id).into())
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
        Endpoint::V4(_) => size_of::<sockaddr_in>(),
        Endpoint::V6(_) => size_of::<sockaddr_in6>(),
    };
    if (room as usize) < needed {
        return Err(too_short(room as usize));
    }
    match endpoint {
        Endpoint::V4(v4) => {
            // SAFETY: zeros are a value of this struct.
            let mut out: sockaddr_in = unsafe { std::mem::zeroed() };
            out.sin_family = AF_INET as libc::sa_family_t;
            out.sin_port = v4.port().to_be();
            out.sin_addr.s_addr = u32::from(*v4.ip()).to_be();
            // SAFETY: the room was checked.
            unsafe { place.cast::<sockaddr_in>().write_unaligned(out) };
        }
        Endpoint::V6(v6) => {
            // SAFETY: zeros are a value of this struct.
            let mut out: sockaddr_in6 = unsafe { std::mem::zeroed() };
            out.sin6_family = AF_INET6 as libc::sa_family_t;
            out.sin6_port = v6.port().to_be();
            out.sin6_flowinfo = v6.flowinfo();
            out.sin6_scope_id = v6.scope_id();
            out.sin6_addr.s6_addr = v6.ip().octets();
            // SAFETY: the room was checked.
            unsafe { place.cast::<sockaddr_in6>().write_unaligned(out) };
        }
    }
    u32::try_from(needed).map_err(|_| too_short(needed))
}

fn too_short(length: usize) -> Failure {
    let (v4, v6) = (size_of::<sockaddr_in>(), size_of::<sockaddr_in6>());
    failure(
        E_ARGUMENT,
        format!("{length} bytes for a sockaddr: AF_INET takes {v4}, AF_INET6 {v6}"),
    )
}
