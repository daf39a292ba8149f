//! Which descriptors are UDP sockets, and what is known of each socket.

use core::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering};

use netreel_shared::body::{self, EventKind};
use netreel_shared::call::{CallId, PastId};

use crate::endpoint::Endpoint;
use crate::plainly::{Plainly, Zero, zero};
use crate::push::{self, Pushing, pushing};
use crate::row::Row;
use crate::stat::{S_IFMT, Stat};
use crate::sys::{self, nr, or_code, quietly};
use crate::thread::now;
use crate::{attach, children, corks, filters, printed, replay};

const FDS: usize = 1 << 16;
const UNKNOWN: u32 = 0;
const OTHER: u32 = 1;
const RANDOM_SOURCE: u32 = 2;
/// Made by the program: an eventfd, a timerfd.
const EVENTFD: u32 = 3;
const TIMERFD: u32 = 4;
/// One end of a pipe; a child has the other one.
const PIPE: u32 = 5;
/// Being closed: what another thread asks of it now says nothing of what comes next.
const CLOSING: u32 = 6;
/// A UDP socket: its number plus this.
const UDP: u32 = 16;

static TABLE: [AtomicU32; FDS] = zero();
/// What is known of a socket, beside its number.
struct Socket {
    /// How many descriptors lead to it.
    references: AtomicU16,
    /// 0 where it was seen being made and never connected.
    connected: AtomicU8,
    announced: AtomicU8,
    /// Its peer, where it is connected, as [`Endpoint::to_words`] makes it.
    peer: [AtomicU64; 5],
    /// The size into which the kernel cuts what is sent; 0 where it does not.
    segment: AtomicU16,
    /// 1 where the kernel may join what is received.
    joins: AtomicU8,
    /// 1 where the kernel sends nothing before it is told to.
    corked: AtomicU8,
}

// SAFETY: numbers.
unsafe impl Zero for Socket {}

static SOCKETS: [Socket; FDS] = zero();

#[inline]
fn of(socket: u16) -> &'static Socket {
    &SOCKETS[usize::from(socket)]
}

const UNBOUND: u8 = 0;
const HINTED: u8 = 1;
const BOUND: u8 = 2;

/// The endpoint that the kernel takes `address` for where [`Endpoint::from_c`] cannot read it:
/// an IPv4 socket takes an address without a family for one of IPv4. `None`: the kernel sends to
/// the socket's peer, if it has one.
#[cold]
pub fn without_family(fd: i32, address: &[u8]) -> Option<Endpoint> {
    let mut named = *address.first_chunk::<16>()?;
    let family = named.first_chunk_mut()?;
    let unspecified = u16::from_ne_bytes(*family) == sys::AF_UNSPEC as u16;
    if !unspecified || option(fd, sys::SOL_SOCKET, sys::SO_DOMAIN) != Some(sys::AF_INET) {
        return None;
    }
    *family = (sys::AF_INET as u16).to_ne_bytes();
    Endpoint::from_c(&named)
}

/// Where the table keeps what a descriptor is; `None` where it has no room for it.
#[inline]
fn entry(fd: i32) -> Option<&'static AtomicU32> {
    TABLE.get(usize::try_from(fd).ok()?)
}

/// What a descriptor is, as the table has it.
#[inline]
fn class(fd: i32) -> Option<u32> {
    Some(entry(fd)?.get())
}

/// The number of the UDP socket behind a descriptor; `None` for anything else.
#[inline]
pub fn udp(fd: i32) -> Option<u16> {
    match class(fd)? {
        UNKNOWN => classify(fd),
        class => socket_of(class),
    }
}

/// The number of a UDP socket, where this says that a descriptor is one.
#[inline]
fn socket_of(class: u32) -> Option<u16> {
    Some(class.checked_sub(UDP)? as u16)
}

/// Whether the descriptor still is this socket's: another thread may have closed it.
fn is_at(fd: i32, socket: u16) -> bool {
    class(fd) == Some(UDP + u32::from(socket))
}

/// What a descriptor is, for which the kernel is asked where the table does not have it.
#[inline]
fn known_class(fd: i32) -> Option<u32> {
    if class(fd)? == UNKNOWN {
        classify(fd);
    }
    class(fd)
}

/// Whether what is read from the descriptor is told: random bytes, an eventfd, a timerfd, a child's pipe.
#[inline]
pub fn is_told(fd: i32) -> bool {
    known_class(fd).is_some_and(|class| (RANDOM_SOURCE..=PIPE).contains(&class))
}

/// The calls on this descriptor, where it is an eventfd or a timerfd that the program made, or a
/// child's pipe.
#[inline]
pub fn counter(fd: i32) -> Option<CallId> {
    match class(fd)? {
        EVENTFD => Some(CallId::EVENTFD),
        TIMERFD => Some(CallId::TIMERFD),
        PIPE => Some(CallId::PIPE),
        _ => None,
    }
}

/// The program made an eventfd or a timerfd, or a child has the other end of a pipe: these are the calls on
/// it. Returns `fd`.
pub fn made_counter(fd: i32, call: CallId) -> i32 {
    let class = match call {
        CallId::EVENTFD => EVENTFD,
        CallId::PIPE => PIPE,
        _ => TIMERFD,
    };
    if fd >= 0 {
        becomes(fd, class);
    }
    fd
}

/// Whether random bytes are read from the descriptor.
pub fn is_random_source(fd: i32) -> bool {
    known_class(fd) == Some(RANDOM_SOURCE)
}

/// Remembers that the descriptor reads random bytes.
pub fn set_random_source(fd: i32) {
    becomes(fd, RANDOM_SOURCE);
}

/// Sets what a descriptor of this process's own is.
fn becomes(fd: i32, class: u32) {
    if !attach::is_borrowed() {
        set(fd, class);
    }
}

/// Sets what a descriptor is, unless another thread has set something else than `before`.
fn exchange(fd: i32, before: u32, class: u32) -> bool {
    attach::inherits_by(&(announce_inherited as fn()));
    entry(fd).is_some_and(|entry| entry.exchange(before, class, Ordering::Relaxed).is_ok())
}

fn set(fd: i32, class: u32) {
    attach::inherits_by(&(announce_inherited as fn()));
    if let Some(entry) = entry(fd) {
        entry.set(class);
    }
}

/// A descriptor that was not seen being made: inherited, or passed by somebody.
#[cold]
fn classify(fd: i32) -> Option<u16> {
    if replay::on() && !replay::is_muted() && is_udp(fd) {
        return replay::is_numbered(fd);
    }
    let socket = loop {
        let is = is_udp(fd);
        let class = match is {
            true => UDP + u32::from(number(fd)?),
            false if is_random_device(fd) => RANDOM_SOURCE,
            false => OTHER,
        };
        if !exchange(fd, UNKNOWN, class) {
            // Another thread was first.
            return socket_of(self::class(fd)?);
        }
        // Another thread may have closed it meanwhile and made another, and what that one said of
        // the descriptor came before.
        if is_udp(fd) == is {
            break socket_of(class)?;
        }
        exchange(fd, class, UNKNOWN);
    };
    for name in OPTIONS {
        has_option(socket, name, option(fd, sys::SOL_UDP, name).unwrap_or(0));
    }
    let mut pushing = pushing()?;
    push_made(&mut pushing, fd, socket);
    announce(&mut pushing, fd, socket);
    Some(socket)
}

/// Whether the kernel says that it is a UDP socket.
pub fn is_udp(fd: i32) -> bool {
    let is = |name, value| option(fd, sys::SOL_SOCKET, name) == Some(value);
    // A raw socket may name the protocol as well.
    is(sys::SO_PROTOCOL, sys::SOL_UDP) && is(sys::SO_TYPE, sys::SOCK_DGRAM)
}

/// Whether it is a TCP socket.
pub fn is_tcp(fd: i32) -> bool {
    option(fd, sys::SOL_SOCKET, sys::SO_PROTOCOL) == Some(sys::SOL_TCP)
}

/// Whether what goes through the socket has an order, and an end.
pub fn is_stream(fd: i32) -> bool {
    let kind = option(fd, sys::SOL_SOCKET, sys::SO_TYPE);
    matches!(kind, Some(sys::SOCK_STREAM | sys::SOCK_SEQPACKET))
}

/// Whether it is /dev/random or /dev/urandom, by whatever path.
fn is_random_device(fd: i32) -> bool {
    const CHARACTERS: u32 = 0o020000;
    const RANDOM: u64 = 0x108;
    const URANDOM: u64 = 0x109;
    Stat::of(fd).is_some_and(|stat| {
        stat.mode & S_IFMT == CHARACTERS && matches!(stat.special, RANDOM | URANDOM)
    })
}

fn option(fd: i32, level: i32, name: i32) -> Option<i32> {
    let (got, [value]) = options(fd, level, name);
    got.then_some(value as i32)
}

/// Whether the kernel answers what an option of a socket is, and its numbers.
fn options<const N: usize>(fd: i32, level: i32, name: i32) -> (bool, [u32; N]) {
    let (mut values, mut length) = ([0; N], 4 * N as u32);
    let (values_at, length_at) = (values.as_mut_ptr() as usize, (&raw mut length) as usize);
    let (level, name) = (level as usize, name as usize);
    let arguments = [fd as usize, level, name, values_at, length_at];
    // SAFETY: places for the values and their length.
    let result = unsafe { sys::syscall(nr::GETSOCKOPT, arguments) };
    (result == 0, values)
}

/// Numbers a socket; `None` where there is no number left, or no room for the descriptor.
fn number(fd: i32) -> Option<u16> {
    attach::generation()?;
    let number = attach::control().sockets.0.fetch_add(1, Ordering::Relaxed);
    let free = |socket: &u16| *socket != u16::MAX && entry(fd).is_some();
    let Some(socket) = u16::try_from(number).ok().filter(free) else {
        set(fd, OTHER);
        past(PastId::UNNUMBERED);
        return None;
    };
    begins(socket, UNBOUND);
    forget_peer(socket);
    Some(socket)
}

/// A number stands for a socket of which nothing is known yet.
fn begins(socket: u16, announced: u8) {
    let own = of(socket);
    own.references.set(1);
    own.announced.set(announced);
    for name in OPTIONS {
        has_option(socket, name, 0);
    }
}

/// The options that change what packets become.
const OPTIONS: [i32; 3] = [sys::UDP_SEGMENT, sys::UDP_GRO, sys::UDP_CORK];

/// Remembers one of these options of a socket; `false` where it is another one.
pub fn has_option(socket: u16, name: i32, value: i32) -> bool {
    let (own, on) = (of(socket), u8::from(value != 0));
    match name {
        sys::UDP_SEGMENT => own.segment.set(u16::try_from(value).unwrap_or(0)),
        sys::UDP_GRO => own.joins.set(on),
        sys::UDP_CORK => own.corked.set(on),
        _ => return false,
    }
    true
}

/// The size into which the kernel cuts what is sent; 0 where it does not.
#[inline]
pub fn segment(socket: u16) -> u16 {
    of(socket).segment.get()
}

/// Whether the kernel keeps what is sent until it is told to send it, whatever the call says.
#[inline]
pub fn is_corked(socket: u16) -> bool {
    of(socket).corked.get() != 0
}

/// Whether the kernel may join what is received.
#[inline]
pub fn joins(socket: u16) -> bool {
    of(socket).joins.get() != 0
}

/// Pushes that the program does something that no hook sees: once for each process.
#[cold]
pub fn past(what: PastId) {
    /// For each of them, the generation that pushed it last.
    static TOLD: [AtomicU32; 16] = zero();
    let Some(generation) = attach::generation() else {
        return;
    };
    let told = TOLD.get(usize::from(what.0));
    if told.is_none_or(|told| told.swap(generation, Ordering::Relaxed) == generation) {
        return;
    }
    push::called(CallId::PAST, 0, &[&[what.0]]);
}

/// In a replay: the descriptor is this socket's, as it was in the recording.
pub fn replayed(fd: i32, socket: u16) {
    begins(socket, BOUND);
    of(socket).connected.set(0);
    set(fd, UDP + u32::from(socket));
}

/// The descriptor is another one than was known: it was closed where no hook sees it.
#[cold]
pub fn forget(fd: i32) {
    set(fd, UNKNOWN);
}

/// The descriptor was opened anew.
pub fn opened(fd: i32) {
    if class(fd).is_some_and(|class| class != UNKNOWN) {
        arrived(fd);
    }
}

/// The descriptor came from another process, or from the kernel, and may be anything.
pub fn arrived(fd: i32) {
    becomes(fd, UNKNOWN);
}

/// The descriptor was made, and is no UDP socket.
pub fn made_another(fd: i32) {
    becomes(fd, OTHER);
}

/// Whether the descriptor is still a socket, for calls that others have too.
pub fn is_still_udp(fd: i32) -> bool {
    let still = !may_ask(fd) || is_udp(fd);
    if !still {
        forget(fd);
    }
    still
}

/// Whether `socket` with these arguments makes a UDP socket.
pub fn is_udp_by(domain: i32, kind: i32, protocol: i32) -> bool {
    const KIND: i32 = 0xf;
    matches!(domain, sys::AF_INET | sys::AF_INET6)
        && kind & KIND == sys::SOCK_DGRAM
        && matches!(protocol, 0 | sys::SOL_UDP)
}

/// Whether the kernel may be asked what a socket is.
fn may_ask(fd: i32) -> bool {
    let (level, name) = (sys::SOL_SOCKET as usize, sys::SO_PROTOCOL as usize);
    filters::allow(nr::GETSOCKOPT, &[fd as usize, level, name, 0, 0, 0])
}

/// A socket was made by the program: `fd`, a UDP socket or not, as the kernel says, or, where it
/// may not be asked, as `asked` says.
pub fn made(fd: i32, asked: bool) {
    if attach::is_borrowed() {
        return;
    }
    let is = if may_ask(fd) { is_udp(fd) } else { asked };
    if fd < 0 || !is {
        set(fd, OTHER);
        return;
    }
    set(fd, UNKNOWN);
    if pushing().is_none() {
        return;
    }
    let Some(socket) = number(fd) else { return };
    of(socket).connected.set(0);
    // Whatever another thread has found there before.
    set(fd, UDP + u32::from(socket));
    if let Some(mut pushing) = pushing() {
        push_made(&mut pushing, fd, socket);
    }
}

fn push_made(pushing: &mut Pushing, fd: i32, socket: u16) {
    let (fd_bytes, number) = (fd.to_le_bytes(), socket.to_le_bytes());
    pushing.called(CallId::SOCKET, fd, &[&fd_bytes, &number]);
}

/// Before a send or behind a receive: pushes the socket's address, if that was not done yet. Also
/// for a socket that has none, so that no packet comes before its socket.
#[inline]
pub fn announce(pushing: &mut Pushing, fd: i32, socket: u16) {
    if of(socket).announced.get() != BOUND {
        announce_slowly(pushing, fd, socket);
    }
}

#[cold]
fn announce_slowly(pushing: &mut Pushing, fd: i32, socket: u16) {
    let (found, port) = address(nr::GETSOCKNAME, fd, socket);
    let bound = found.is_some() && port != 0;
    let state = &of(socket).announced;
    let next = if bound { BOUND } else { HINTED };
    if state.swap(next, Ordering::Relaxed) >= next {
        state.set(next.max(HINTED));
        return;
    }
    pushing.opened(now(), socket, &found.unwrap_or(Endpoint::NONE));
}

/// What the kernel answers to `GETSOCKNAME` or `GETPEERNAME`, and the port in it.
fn address(call: usize, fd: i32, socket: u16) -> (Option<Endpoint>, u16) {
    let (mut address, mut length) = ([0u8; 28], 28u32);
    let (address_at, length_at) = (address.as_mut_ptr() as usize, (&raw mut length) as usize);
    let arguments = [fd as usize, address_at, length_at];
    // SAFETY: places for the address and its length.
    let result = unsafe { sys::syscall(call, arguments) };
    let found = Endpoint::from_c(&address).filter(|_| result == 0 && is_at(fd, socket));
    (found, u16::from_be_bytes([address[2], address[3]]))
}

/// In a forked child: pushes the sockets that it has from its parent.
pub fn announce_inherited() {
    for (fd, entry) in TABLE.iter().enumerate().take(4096) {
        let class = entry.get();
        // What another thread of the parent was about to close is open here.
        if class >= UDP || class == CLOSING {
            entry.set(UNKNOWN);
            let _ = udp(fd as i32);
        }
    }
    if corks::abandon() {
        past(PastId::PARTS);
    }
}

/// Whether the socket has one peer, so that every packet comes from there.
#[inline]
pub fn has_peer(fd: i32, socket: u16) -> bool {
    of(socket).peer[4].get() != 0
        || (of(socket).connected.get() != 0 && ask_peer(fd, socket) != Endpoint::NONE)
}

/// The peer of a connected socket, asked for once.
#[inline]
pub fn peer(fd: i32, socket: u16) -> Endpoint {
    known_peer(socket).unwrap_or_else(|| ask_peer(fd, socket))
}

#[cold]
fn ask_peer(fd: i32, socket: u16) -> Endpoint {
    let (Some(endpoint), _) = address(nr::GETPEERNAME, fd, socket) else {
        return Endpoint::NONE;
    };
    keep_peer(socket, endpoint);
    endpoint
}

/// The socket's peer, as far as it is known here.
pub fn known_peer(socket: u16) -> Option<Endpoint> {
    let words = &of(socket).peer;
    Endpoint::from_words(core::array::from_fn(|index| words[index].get()))
}

/// Remembers the socket's peer.
pub fn keep_peer(socket: u16, endpoint: Endpoint) {
    let words = endpoint.to_words().into_iter();
    for (word, value) in of(socket).peer.iter().zip(words) {
        word.set(value);
    }
}

/// The socket has no peer any more, and with it no address of its own perhaps.
pub fn dissolved(socket: u16) {
    of(socket).connected.set(0);
    of(socket).announced.set(UNBOUND);
}

/// The socket was connected anew.
pub fn forget_peer(socket: u16) {
    of(socket).connected.set(1);
    for word in &of(socket).peer {
        word.set(0);
    }
}

/// `to` is a second descriptor of the socket behind `from`.
pub fn duplicated(from: i32, to: i32) {
    if attach::is_borrowed() {
        return;
    }
    printed::stands(to, true);
    let Some(socket) = udp(from) else {
        match counter(from) {
            Some(call) => {
                made_counter(to, call);
            }
            None => set(to, UNKNOWN),
        }
        return;
    };
    if from == to {
        return;
    }
    set(to, UDP + u32::from(socket));
    of(socket).references.fetch_add(1, Ordering::Relaxed);
    if replay::on() {
        replay::duplicates(from, to, socket);
    }
    let (from, to_bytes) = (from.to_le_bytes(), to.to_le_bytes());
    push::called(CallId::DUP, 0, &[&from, &to_bytes, &socket.to_le_bytes()]);
    if (0..=2).contains(&to) {
        // `printf` writes there, and `echo` of a shell.
        past(PastId::STREAM);
    }
}

/// The descriptor was closed, or was not.
pub fn closed(fd: i32) {
    exchange(fd, CLOSING, UNKNOWN);
}

/// The descriptor is about to be closed; [`closed`] is to be called behind that.
pub fn closing(fd: i32) {
    if attach::is_borrowed() {
        return;
    }
    printed::stands(fd, false);
    children::closes(fd);
    let Some(class) = class(fd).filter(|class| *class != UNKNOWN) else {
        return;
    };
    set(fd, CLOSING);
    let Some(socket) = socket_of(class) else {
        return;
    };
    let last = of(socket).references.fetch_sub(1, Ordering::Relaxed) <= 1;
    if last {
        corks::forget(socket);
    }
    if replay::on() {
        replay::closes(fd, socket);
    }
    let Some(mut pushing) = pushing() else { return };
    let queue = last.then(|| receive_queue(fd));
    let queue = queue.as_ref().map_or(&[][..], Row::bytes);
    let (fd, number) = (fd.to_le_bytes(), socket.to_le_bytes());
    pushing.called(CallId::CLOSE, 0, &[&fd, &number, queue]);
    if last {
        pushing.push_body(now(), EventKind::SocketClosed, body::socket(socket));
    }
}

/// Packets dropped for a full receive buffer, the bytes of buffer that nobody read, and the
/// socket's number in the kernel, which those who share it have in common.
fn receive_queue(fd: i32) -> Row<16> {
    let (_, values) = options::<9>(fd, sys::SOL_SOCKET, sys::SO_MEMINFO);
    let inode = Stat::of(fd).map_or(0, |stat| stat.inode);
    let [unread, .., dropped] = values.map(u32::to_le_bytes);
    Row::of(&[&dropped, &unread, &inode.to_le_bytes()])
}

/// Pushes the last state of the receive buffers of all sockets.
pub fn push_receive_queues() {
    for (fd, entry) in TABLE.iter().enumerate().take(4096) {
        let Some(socket) = socket_of(entry.get()) else {
            continue;
        };
        let Some(mut pushing) = pushing() else { return };
        let queue = receive_queue(fd as i32);
        let details = [&socket.to_le_bytes()[..], queue.bytes()];
        pushing.called(CallId::RECEIVE_QUEUE, 0, &details);
    }
}

/// Pushes the result of a call on a UDP socket. Leaves `errno` as it is.
pub fn tell(fd: i32, call: CallId, result: i32, details: &[&[u8]]) {
    let result = or_code(result);
    quietly(|| {
        // Of other descriptors nothing is pushed.
        let Some(socket) = udp(fd) else { return };
        let Some(mut pushing) = pushing() else { return };
        let part = |index: usize| details.get(index).copied().unwrap_or(&[]);
        let parts = [&socket.to_le_bytes()[..], part(0), part(1), part(2)];
        pushing.called(call, result, &parts);
        if result == 0 && (call == CallId::BIND || call == CallId::CONNECT) {
            announce(&mut pushing, fd, socket);
        }
    });
}
