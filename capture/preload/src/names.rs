//! What a program asks by name: the addresses and options of its UDP sockets, and the addresses
//! behind names of hosts.

use core::ffi::{c_char, c_void};

use netreel_shared::call::CallId;

use crate::endpoint::Endpoint;
use crate::hook::hook;
use crate::paths::decimal;
use crate::plainly::{Zero, zero};
use crate::replay::{self, Did};
use crate::row::Row;
use crate::sys::{self, or_code};
use crate::taken::room_for;
use crate::{floor, hosts, push, sockets};

/// Answers from a replay where a socket lies, or pushes what the program was told.
///
/// # Safety
/// As for `getsockname`.
unsafe fn asked_name(
    call: CallId,
    fd: i32,
    (address, length): (*mut u8, *mut u32),
    real: impl FnOnce() -> i32,
) -> i32 {
    let Some(socket) = sockets::udp(fd).filter(|_| !replay::is_muted()) else {
        return real();
    };
    let did = Did::on_socket(call, fd, socket);
    if replay::on() {
        let (result, details) = replay::told(did);
        if result == 0 {
            let endpoint = details.get(2..).unwrap_or(&[]);
            // SAFETY: the caller vouches for it.
            unsafe { replay::gives(endpoint, address, length) };
        }
        return result;
    }
    // SAFETY: the caller vouches for it.
    let room = unsafe { room_for(length) };
    let result = real();
    let own = if result == 0 { room.min(28) } else { 0 };
    // SAFETY: as above.
    let own = unsafe { sys::slice(address, room_for(length).min(own)) };
    let endpoint = Endpoint::from_c(own);
    let endpoint = endpoint.as_ref().map_or(&[][..], Endpoint::bytes);
    push::called(call, or_code(result), &[&socket.to_le_bytes(), endpoint]);
    result
}

/// How many bytes of an option's value are kept.
const VALUE_MAX: u32 = 64;

/// As `struct addrinfo`.
#[repr(C)]
pub struct Address {
    flags: i32,
    family: i32,
    kind: i32,
    protocol: i32,
    length: u32,
    address: *mut u8,
    name: *mut c_char,
    next: *mut Address,
}

// SAFETY: numbers and pointers.
unsafe impl Zero for Address {}

/// As `struct hostent`.
#[repr(C)]
pub struct Host {
    name: *mut c_char,
    others: *mut *mut c_char,
    family: i32,
    length: i32,
    addresses: *mut *mut u8,
}

unsafe extern "C" {
    fn __h_errno_location() -> *mut i32;
    fn freeaddrinfo(list: *mut Address);
}

/// Of an address that a name was found to have: kind of socket, protocol, endpoint.
const FOUND: usize = 2 + 27;
/// How many of them are kept.
const FOUND_MAX: usize = 24;

/// Addresses under way to an event.
type Found = Row<{ FOUND * FOUND_MAX }>;

fn add(found: &mut Found, kind: i32, protocol: i32, endpoint: &Endpoint) {
    let mut one = [0; FOUND];
    (one[0], one[1]) = (kind as u8, protocol as u8);
    let own = endpoint.bytes();
    one[2..][..own.len()].copy_from_slice(own);
    found.add(&one);
}

fn begins() {
    push::called(CallId::LOOKS_UP, 0, &[]);
}

fn ended(result: i32, found: &Found) {
    push::called(CallId::LOOKED_UP, result, &[found.bytes()]);
}

/// An address in words, with a zero byte at its end.
fn in_words(endpoint: &[u8]) -> Row<64> {
    let mut words = Row::new();
    match endpoint {
        [4, _, _, address @ ..] => {
            for (index, part) in address.iter().take(4).enumerate() {
                words.add(if index > 0 { b"." } else { b"" });
                words.add(decimal(u32::from(*part), &mut [0; 10]));
            }
        }
        [_, _, _, address @ ..] => {
            for (index, part) in address.iter().take(16).enumerate() {
                words.add(if index > 0 && index % 2 == 0 {
                    b":"
                } else {
                    b""
                });
                let digit = |half: u8| b"0123456789abcdef"[usize::from(half)];
                words.add(&[digit(part >> 4), digit(part & 15)]);
            }
        }
        _ => {}
    }
    words.add(&[0]);
    words
}

/// The recorded addresses as the C library gives them: each is looked up as the number that it is.
///
/// # Safety
/// As for `getaddrinfo`.
unsafe fn given(
    found: &[u8],
    into: *mut *mut Address,
    real: impl Fn(*const c_char, *const Address, *mut *mut Address) -> i32,
) -> i32 {
    let mut place = into;
    for one in found.as_chunks::<FOUND>().0 {
        let [kind, protocol, endpoint @ ..] = one;
        let words = in_words(endpoint);
        const NUMERIC: i32 = 4;
        let hints = Address {
            flags: NUMERIC,
            kind: i32::from(*kind),
            protocol: i32::from(*protocol),
            ..zero()
        };
        // SAFETY: the caller vouches for it; the C library makes a list of one, which it frees one
        // by one.
        unsafe {
            place.write(core::ptr::null_mut());
            let result = real(words.bytes().as_ptr().cast(), &raw const hints, place);
            if result != 0 {
                return result;
            }
            let Some(made) = (*place).as_mut() else { break };
            let (mut address, mut length) = ([0u8; 28], 28);
            let own: &[u8] = if endpoint[0] == 4 {
                &endpoint[..7]
            } else {
                endpoint
            };
            replay::gives(own, address.as_mut_ptr(), &raw mut length);
            let room = length.min(made.length) as usize;
            core::ptr::copy_nonoverlapping(address.as_ptr(), made.address, room);
            place = &raw mut made.next;
        }
    }
    0
}

/// What a host was found to have, pushed; or the recorded answer.
///
/// # Safety
/// `real` answers as `gethostbyname` does.
unsafe fn host(name: *const c_char, real: impl Fn(*const c_char) -> *mut Host) -> *mut Host {
    if replay::on()
        && let Some((result, found)) = replay::looked_up()
    {
        // SAFETY: as the program vouches for its own call; each thread has its own error code.
        unsafe {
            if hosts::knows(name) {
                let answer = real(name);
                let (told, now) = told_of_host(answer);
                if told == result && now.bytes() == found {
                    floor::pushes();
                    return answer;
                }
            }
        }
        let first = found.first_chunk::<FOUND>();
        if let Some([_, _, endpoint @ ..]) = first.filter(|_| result == 0) {
            let host = real(in_words(endpoint).bytes().as_ptr().cast());
            floor::pushes();
            return host;
        }
        // SAFETY: C gives each thread its own.
        unsafe { *__h_errno_location() = -result };
        return core::ptr::null_mut();
    }
    begins();
    let answer = real(name);
    // SAFETY: as the C library has made it.
    let (result, found) = unsafe { told_of_host(answer) };
    ended(result, &found);
    answer
}

/// The result of a lookup, and the addresses.
///
/// # Safety
/// The answer is null or as the C library has made it.
unsafe fn told_of_host(answer: *const Host) -> (i32, Found) {
    let mut found = Found::new();
    // SAFETY: the caller vouches for it; each thread has its own error code.
    unsafe {
        let Some(host) = answer.as_ref() else {
            return (-*__h_errno_location(), found);
        };
        let length = usize::try_from(host.length).unwrap_or(0).min(16);
        let mut list = host.addresses;
        while !list.is_null() && !(*list).is_null() {
            let mut address = [0u8; 28];
            address[..2].copy_from_slice(&(host.family as u16).to_ne_bytes());
            let at = if length == 4 { 4 } else { 8 };
            address[at..at + length].copy_from_slice(sys::slice(*list, length));
            if let Some(endpoint) = Endpoint::from_c(&address) {
                add(&mut found, 0, 0, &endpoint);
            }
            list = list.add(1);
        }
    }
    (0, found)
}

/// The addresses in a list.
///
/// # Safety
/// It is null or as `getaddrinfo` has made it.
unsafe fn told_of_list(mut one: *const Address) -> Found {
    let mut found = Found::new();
    // SAFETY: the caller vouches for it.
    unsafe {
        while let Some(address) = one.as_ref() {
            let its = sys::slice(address.address, address.length.min(28));
            if let Some(endpoint) = Endpoint::from_c(its) {
                add(&mut found, address.kind, address.protocol, &endpoint);
            }
            one = address.next;
        }
    }
    found
}

hook! {
    fn getsockname[goes_on](fd: i32, address: *mut u8, length: *mut u32) -> i32 {
        asked_name(CallId::OWN_NAME, fd, (address, length), goes_on)
    }

    fn getpeername[goes_on](fd: i32, address: *mut u8, length: *mut u32) -> i32 {
        asked_name(CallId::PEER_NAME, fd, (address, length), goes_on)
    }

    fn getsockopt[goes_on](fd: i32, level: i32, name: i32, value: *mut u8, length: *mut u32) -> i32 {
        let Some(socket) = sockets::udp(fd).filter(|_| !replay::is_muted()) else {
            return goes_on();
        };
        let did = Did::on_socket(CallId::GET_OPTION, fd, socket);
        if replay::on() {
            let (result, details) = replay::told(did);
            let own = details.get(10..).unwrap_or(&[]);
            if result == 0 && !value.is_null() && let Some(length) = length.as_mut() {
                let room = own.len().min(*length as usize);
                core::ptr::copy_nonoverlapping(own.as_ptr(), value, room);
                *length = room as u32;
            }
            return result;
        }
        let result = goes_on();
        // Of a call that failed nothing was told, perhaps because there is nothing to read here.
        let own = if result == 0 { room_for(length).min(VALUE_MAX) } else { 0 };
        let own = sys::slice(value, own);
        let parts = [&socket.to_le_bytes()[..], &level.to_le_bytes(), &name.to_le_bytes(), own];
        push::called(CallId::GET_OPTION, or_code(result), &parts);
        result
    }

    fn getaddrinfo[real](node: *const c_char, service: *const c_char, hints: *const c_void, into: *mut *mut c_void) -> i32 {
        let list = |result: i32| if result == 0 { (*into).cast::<Address>() } else { core::ptr::null_mut() };
        if replay::on() && let Some((result, found)) = replay::looked_up() {
            if hosts::knows(node) {
                let now = real(node, service, hints, into);
                let list = list(now);
                if now == result && told_of_list(list).bytes() == found {
                    floor::pushes();
                    return now;
                }
                if !list.is_null() {
                    freeaddrinfo(list);
                }
            }
            if result != 0 {
                return result;
            }
            let nowhere = core::ptr::null();
            let result = given(found, into.cast(), |words, hints, into| real(words, nowhere, hints.cast(), into.cast()));
            floor::pushes();
            return result;
        }
        begins();
        let result = real(node, service, hints, into);
        ended(result, &told_of_list(list(result)));
        result
    }

    fn gethostbyname[real](name: *const c_char),
    fn gethostbyname2[real by name](name: *const c_char, family: i32) -> *mut Host {
        host(name, real)
    }

    fn gethostbyname_r[real](name: *const c_char, into: *mut Host, room: *mut c_char, length: usize, result: *mut *mut Host, code: *mut i32) -> i32 {
        let status = core::cell::Cell::new(0);
        let told = host(name, |name| {
            status.set(real(name, into, room, length, result, code));
            *result
        });
        if told.is_null() && replay::on() {
            result.write(core::ptr::null_mut());
            code.write(*__h_errno_location());
        }
        status.get()
    }
}
