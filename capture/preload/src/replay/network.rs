//! UDP sockets in a replay: packets come from the tape, and what is sent is compared with it.

use netreel_shared::body::EventKind;
use netreel_shared::call::CallId;
use netreel_shared::tape::{UNKNOWN_RESULT, why};

use crate::endpoint::Endpoint;
use crate::sys::{self, IoVec, MMsgHdr, nr, set_errno, with_errno};
use crate::vectors::{Vectors, length};
use crate::{corks, floor, sockets};

use super::{Did, TapeTurn, is_muted, part, scatter, stray, tape, turn, turn_of};

/// What a call hands over to be sent.
pub struct Outgoing<'a> {
    pub fd: i32,
    pub socket: u16,
    /// Where it goes, where the call says that, or an earlier one has said it.
    pub to: Option<Endpoint>,
    /// It was the socket's peer when the call was made that said so.
    pub was_peer: bool,
    pub list: &'a [IoVec],
    /// The size into which the kernel cuts it, where the call itself says.
    pub segment: Option<u16>,
}

impl Outgoing<'_> {
    fn did(&self, why: u32) -> Did<'_> {
        Did {
            why,
            socket: self.socket,
            descriptor: self.fd,
            endpoint: self.to.as_ref().map_or(&[], Endpoint::bytes),
            bytes: self.list,
            ..Did::plain(EventKind::Sent, 0)
        }
    }
}

const ENETDOWN: i32 = 100;

fn down() -> i32 {
    with_errno(-ENETDOWN)
}

/// How many bytes the recorded call took; the negative error code where it failed.
fn taken(turn: TapeTurn, length: usize) -> isize {
    let (entry, tape) = (turn.entry, turn.tape);
    let order = core::sync::atomic::Ordering::Relaxed;
    tape.sends.fetch_add(1, order);
    tape.bytes.fetch_add(length as u64, order);
    turn.done();
    match entry.flags & UNKNOWN_RESULT {
        0 => (entry.result as isize).min(length as isize),
        _ => length as isize,
    }
}

/// Compares a packet with the recorded one; what came of that.
fn compared(out: &Outgoing<'_>, vectors: &mut Vectors<'_>, length: usize) -> isize {
    let Some(turn) = turn() else {
        stray(out.did(why::OTHER))
    };
    let entry = turn.entry;
    if entry.kind != EventKind::Sent as u8 || entry.socket != out.socket {
        part(out.did(why::OTHER));
    }
    let (to, payload) = turn.split();
    let elsewhere = out.to.as_ref().is_some_and(|named| {
        if out.was_peer {
            Endpoint::from_bytes(to).is_none_or(|then| then.place() != named.place())
        } else {
            named.bytes() != to
        }
    });
    let same = payload.len() == length && equals(payload, vectors);
    if elsewhere || !same {
        part(out.did(why::PACKET));
    }
    if out.to.is_none() {
        goes_to_peer(out, to);
    }
    taken(turn, length)
}

/// A packet without an address goes to the socket's peer: where `connect` has said, or, where the
/// kernel chose it, where the first one went.
fn goes_to_peer(out: &Outgoing<'_>, to: &[u8]) {
    let Some(then) = Endpoint::from_bytes(to) else {
        return;
    };
    match sockets::known_peer(out.socket) {
        None => sockets::keep_peer(out.socket, then),
        Some(peer) if peer.place() == then.place() => {}
        Some(peer) => {
            let to = Some(peer);
            let named = Outgoing { to, ..*out };
            part(named.did(why::PACKET));
        }
    }
}

/// Whether the next bytes are these.
fn equals(mut expected: &[u8], vectors: &mut Vectors<'_>) -> bool {
    let mut chunk = [0u8; 512];
    while !expected.is_empty() {
        let length = expected.len().min(chunk.len());
        // SAFETY: so many have room there.
        unsafe { vectors.take(chunk.as_mut_ptr(), length) };
        let (now, rest) = expected.split_at(length);
        if chunk.get(..length) != Some(now) {
            return false;
        }
        expected = rest;
    }
    true
}

/// One packet is sent. What the call returns.
pub fn sends(out: &Outgoing<'_>) -> isize {
    if is_muted() {
        return down() as isize;
    }
    let taken = compared(out, &mut Vectors::new(out.list), length(out.list));
    floor::passes();
    with_errno(taken as i32) as isize
}

/// A part of a packet is handed over, which waits for the others. What the call returns.
pub fn sends_part(fd: i32, socket: u16) -> isize {
    if is_muted() {
        return down() as isize;
    }
    with_errno(turn_of(Did::on_socket(CallId::PART, fd, socket)).done()) as isize
}

/// The kernel cuts what is sent into packets of `size` bytes. What the call returns.
pub fn sends_cut(out: &Outgoing<'_>, size: usize) -> isize {
    if is_muted() {
        return down() as isize;
    }
    turn_of(Did::on_socket(CallId::JOINED, out.fd, out.socket)).done();
    let mut vectors = Vectors::new(out.list);
    let (whole, mut last) = (length(out.list), 0);
    let mut left = whole;
    while left > 0 {
        let part = left.min(size);
        last = compared(out, &mut vectors, part);
        left -= part;
    }
    floor::passes();
    // Each part has the result of the call, which takes all or none.
    with_errno(if last < 0 { last as i32 } else { whole as i32 }) as isize
}

/// Several packets are sent by one call. How many of them, as the call returns it.
pub fn sends_many<'a>(
    messages: &mut [MMsgHdr],
    outgoing: impl Fn(&MMsgHdr) -> Outgoing<'a>,
) -> i32 {
    let (mut done, mut whole) = (0, true);
    for message in messages.iter_mut() {
        let out = outgoing(message);
        if is_muted() {
            return down();
        }
        let length = length(out.list);
        let taken = compared(&out, &mut Vectors::new(out.list), length);
        whole &= taken == length as isize;
        if whole {
            message.length = length as u32;
            done += 1;
        } else if taken < 0 && done == 0 {
            set_errno(-taken as i32);
        }
    }
    floor::passes();
    if done == 0 && !messages.is_empty() {
        return -1;
    }
    done
}

/// A packet is asked for. What the call returns.
///
/// # Safety
/// `name`, with its length, leads to nothing or to as many bytes as that says.
pub unsafe fn receives(
    fd: i32,
    socket: u16,
    list: &[IoVec],
    flags: i32,
    name: (*mut u8, *mut u32),
) -> isize {
    if is_muted() {
        return down() as isize;
    }
    let did = match flags {
        flags if flags & sys::MSG_ERRQUEUE != 0 => Did::on_socket(CallId::ERROR_QUEUE, fd, socket),
        flags if flags & sys::MSG_PEEK != 0 => Did::on_socket(CallId::PEEK, fd, socket),
        _ => Did {
            socket,
            descriptor: fd,
            ..Did::plain(EventKind::Received, 0)
        },
    };
    let Some(turn) = turn() else { stray(did) };
    let entry = turn.entry;
    if entry.socket != socket {
        part(did);
    }
    if turn.gave_nothing() {
        return with_errno(turn.done()) as isize;
    }
    turn.expect(did);
    if entry.result < 0 {
        return with_errno(turn.done()) as isize;
    }
    if did.id == CallId::ERROR_QUEUE.0 || entry.flags & UNKNOWN_RESULT != 0 {
        did.parts(why::NOT_RECORDED);
    }
    let (from, payload) = turn.split();
    // SAFETY: the caller vouches for it.
    unsafe {
        if !scatter(payload, list) {
            did.parts(why::NO_ROOM);
        }
        gives(from, name.0, name.1);
    }
    turn.done() as isize
}

impl TapeTurn {
    /// Whether a receive came back without a packet.
    fn gave_nothing(&self) -> bool {
        let kinds = [EventKind::PollEmpty, EventKind::ReceiveFailed];
        kinds.iter().any(|kind| *kind as u8 == self.entry.kind)
    }
}

/// Writes an endpoint where the program has room for an address.
///
/// # Safety
/// `name` leads to nothing or to as many bytes as `length` says.
pub unsafe fn gives(endpoint: &[u8], name: *mut u8, length: *mut u32) {
    let mut address = [0u8; 28];
    let own = match endpoint {
        [4, p, q, a, b, c, d] => {
            address[..2].copy_from_slice(&(sys::AF_INET as u16).to_ne_bytes());
            address[2..8].copy_from_slice(&[*q, *p, *a, *b, *c, *d]);
            16
        }
        [6, p, q, rest @ ..] if rest.len() == 24 => {
            address[..2].copy_from_slice(&(sys::AF_INET6 as u16).to_ne_bytes());
            address[2..4].copy_from_slice(&[*q, *p]);
            address[4..8].copy_from_slice(&rest[16..20]);
            address[8..24].copy_from_slice(&rest[..16]);
            address[24..].copy_from_slice(&rest[20..]);
            28
        }
        _ => 0,
    };
    // SAFETY: the caller vouches for it.
    unsafe {
        let Some(length) = length.as_mut().filter(|_| !name.is_null()) else {
            return;
        };
        let room = (*length as usize).min(own);
        core::ptr::copy_nonoverlapping(address.as_ptr(), name, room);
        *length = own as u32;
    }
}

/// Several packets are asked for by one call. How many came, as the call returns it.
///
/// # Safety
/// The messages are the program's own.
pub unsafe fn receives_many(fd: i32, socket: u16, messages: &mut [MMsgHdr], flags: i32) -> i32 {
    let did = Did::on_socket(CallId::BATCH, fd, socket);
    if is_muted() {
        return down();
    }
    let Some(turn) = turn() else { stray(did) };
    if turn.entry.socket == socket && turn.gave_nothing() {
        return with_errno(turn.done());
    }
    turn.expect(did);
    let count = turn.done();
    if count as usize > messages.len() {
        did.parts(why::NO_ROOM);
    }
    for message in messages.iter_mut().take(count.max(0) as usize) {
        let header = &mut message.header;
        let name = (header.name, &raw mut header.name_length);
        // SAFETY: the caller vouches for it.
        let got = unsafe { receives(fd, socket, header.list(), flags, name) };
        (header.flags, header.control_length) = (0, 0);
        message.length = got.max(0) as u32;
    }
    count
}

/// The program has made a socket. The descriptor that it gets.
pub fn has_made(fd: i32, is_udp: bool) -> i32 {
    if is_muted() || !is_udp {
        sockets::made_another(fd);
        return fd;
    }
    numbered(fd, |wanted| moved(fd, wanted)).0
}

/// The descriptor and the number that the next socket had, which is there as `fd` now; `moves` gives it
/// another descriptor, if it can.
fn numbered(fd: i32, moves: impl FnOnce(i32) -> bool) -> (i32, u16) {
    let did = Did::called(CallId::SOCKET, fd);
    let turn = turn_of(did);
    let (wanted, socket) = (turn.word(0), turn.entry.socket);
    if wanted != fd && !moves(wanted) {
        did.parts(why::DESCRIPTOR);
    }
    sockets::replayed(wanted, socket);
    turn.done();
    (wanted, socket)
}

/// Gives the descriptor the number that it had, where nobody has that now.
fn moved(fd: i32, wanted: i32) -> bool {
    let flags = sys::fcntl(fd, sys::F_GETFD);
    if wanted < 0 || flags < 0 || sys::fcntl(wanted, sys::F_GETFD) >= 0 {
        return false;
    }
    let close_on_exec = if flags & 1 != 0 { sys::O_CLOEXEC } else { 0 };
    let arguments = [fd as usize, wanted as usize, close_on_exec as usize];
    // SAFETY: a number that is free.
    let made = unsafe { sys::syscall(nr::DUP3, arguments) };
    if made == wanted as isize {
        sys::close(fd);
    }
    made == wanted as isize
}

/// A UDP socket was found that was not seen being made: its number. `None`: none of the replay's.
pub fn is_numbered(fd: i32) -> Option<u16> {
    tape()?;
    Some(numbered(fd, |_| false).1)
}

/// A descriptor of a UDP socket was duplicated.
pub fn duplicates(from: i32, to: i32, socket: u16) {
    if is_muted() {
        return;
    }
    let did = Did::on_socket(CallId::DUP, to, socket);
    let turn = turn_of(did);
    if (turn.word(0), turn.word(4)) != (from, to) {
        did.parts(why::DESCRIPTOR);
    }
    turn.done();
}

/// A descriptor of a UDP socket is about to be closed.
pub fn closes(fd: i32, socket: u16) {
    if !is_muted() {
        turn_of(Did::on_socket(CallId::CLOSE, fd, socket)).done();
    }
}

/// A UDP socket is given a peer. What the call returns.
pub fn connects(fd: i32, socket: u16, peer: Option<&Endpoint>) -> i32 {
    if is_muted() {
        return down();
    }
    let did = Did {
        endpoint: peer.map_or(&[], Endpoint::bytes),
        ..Did::on_socket(CallId::CONNECT, fd, socket)
    };
    let turn = turn_of(did);
    if turn.split().0 != did.endpoint {
        did.parts(why::PACKET);
    }
    let done = with_errno(turn.done());
    if done == 0 {
        sockets::forget_peer(socket);
        if let Some(peer) = peer.filter(|peer| !peer.is_unspecified()) {
            sockets::keep_peer(socket, *peer);
            corks::connected(socket, peer);
        }
    }
    done
}

/// A way out of the replay that is not a packet: it is refused, and counted.
pub fn refuses() -> i32 {
    const ECONNREFUSED: i32 = 111;
    if let Some(tape) = tape() {
        let order = core::sync::atomic::Ordering::Relaxed;
        tape.refused.fetch_add(1, order);
    }
    with_errno(-ECONNREFUSED)
}
