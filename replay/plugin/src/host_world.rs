//! What a plugin's calls are answered by.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ffi::{c_char, c_void};

use netreel_reel::{Believed, Endpoint, EventNumber, SocketId, Time};
use netreel_replay::explore::NodeSocket;
use netreel_replay::together::NodeIo;
use netreel_replay::{Current, ReelEvents};
use netreel_transport::{Datagram, ReceiveError, ReplayTransport, SendError, Shared, Transport};

use crate::abi::{
    CEndpoint, CPacket, CWorld, E_ARGUMENT, E_HANDLE, EMPTY, FAILED, OK, RECEIVED, VERSION, bytes,
};

/// A transport with several sockets.
pub trait Sockets {
    /// See [`Transport::send`].
    fn send_on(&mut self, socket: SocketId, to: Endpoint, packet: &[u8]) -> Result<(), SendError>;

    /// See [`Transport::receive`].
    fn receive_on(
        &mut self,
        socket: SocketId,
        buffer: &mut [u8],
    ) -> Result<Option<Datagram>, ReceiveError>;

    /// See [`Transport::now`].
    fn clock(&mut self) -> Time;

    /// See [`Transport::random`].
    fn draw(&mut self) -> u64;

    /// See [`Transport::note`].
    fn say(&mut self, text: &str);

    /// See [`Transport::believes`].
    fn believe(&mut self, object: u64, believed: Believed<'_>);

    /// The last tick that began, and the game's virtual time then.
    fn last_tick(&mut self) -> (u64, Time);

    /// The event of the tick, or the call of the game, that is played.
    fn turn(&mut self) -> EventNumber;
}

macro_rules! sockets {
    ($transport:ty, $own:ident => $now:expr) => {
        impl Sockets for $transport {
            fn send_on(
                &mut $own,
                socket: SocketId,
                to: Endpoint,
                packet: &[u8],
            ) -> Result<(), SendError> {
                $now.lock().send_on(socket, to, packet)
            }

            fn receive_on(
                &mut $own,
                socket: SocketId,
                buffer: &mut [u8],
            ) -> Result<Option<Datagram>, ReceiveError> {
                $now.lock().receive_on(socket, buffer)
            }

            fn clock(&mut $own) -> Time {
                $now.now()
            }

            fn draw(&mut $own) -> u64 {
                $now.random()
            }

            fn say(&mut $own, text: &str) {
                $now.note(text);
            }

            fn believe(&mut $own, object: u64, believed: Believed<'_>) {
                $now.believes(object, believed);
            }

            fn last_tick(&mut $own) -> (u64, Time) {
                $now.lock().last_tick()
            }

            fn turn(&mut $own) -> EventNumber {
                $now.lock().turn()
            }
        }
    };
}

sockets!(Shared<ReplayTransport<ReelEvents>>, self => self);
sockets!(Shared<NodeIo>, self => self);
sockets!(Shared<NodeSocket>, self => self);
sockets!(Current, self => self.transport());

#[derive(Default)]
struct Worlds {
    last: usize,
    open: BTreeMap<usize, Box<dyn Sockets>>,
}

thread_local! {
    /// By their numbers. Another thread has others: a plugin that calls from one is refused.
    static WORLDS: RefCell<Worlds> = RefCell::default();
}

/// Opens a world: its number.
pub fn open(sockets: Box<dyn Sockets>) -> usize {
    WORLDS.with_borrow_mut(|worlds| {
        worlds.last += 1;
        worlds.open.insert(worlds.last, sockets);
        worlds.last
    })
}

/// Closes it.
pub fn close(number: usize) {
    let closed = WORLDS.with_borrow_mut(|worlds| worlds.open.remove(&number));
    drop(closed);
}

/// The last tick that began there, and the game's virtual time then.
pub fn last_tick(number: usize) -> (u64, Time) {
    in_world(number, (0, Time::ZERO), |sockets| sockets.last_tick())
}

/// The event of the tick, or the call of the game, that is played there.
pub fn turn(number: usize) -> EventNumber {
    in_world(number, EventNumber(0), |sockets| sockets.turn())
}

/// The table that a layer is given.
pub fn table(number: usize) -> CWorld {
    CWorld {
        size: size_of::<CWorld>() as u32,
        version: VERSION,
        world: std::ptr::without_provenance_mut(number),
        receive: Some(receive),
        send: Some(send),
        clock: Some(clock),
        random: Some(random),
        note: Some(note),
        believes: Some(believes),
    }
}

/// What comes of it in this world; `none` where there is no such one.
fn in_world<T>(number: usize, none: T, what: impl FnOnce(&mut dyn Sockets) -> T) -> T {
    WORLDS.with_borrow_mut(|worlds| match worlds.open.get_mut(&number) {
        Some(sockets) => what(sockets.as_mut()),
        None => none,
    })
}

fn with(world: *mut c_void, what: impl FnOnce(&mut dyn Sockets)) -> i32 {
    in_world(world.addr(), E_HANDLE, |sockets| {
        what(sockets);
        OK
    })
}

unsafe extern "C" fn receive(
    world: *mut c_void,
    socket: u32,
    buffer: *mut c_void,
    capacity: u64,
    packet: *mut CPacket,
) -> i32 {
    let whole = size_of::<CPacket>() as u32;
    // SAFETY: a plugin gives a packet, or null.
    let Some(packet) = (unsafe { packet.as_mut() }).filter(|packet| packet.size >= whole) else {
        return E_ARGUMENT;
    };
    let room = usize::try_from(capacity).ok();
    let room = room.filter(|&room| isize::try_from(room).is_ok());
    let (Some(room), Ok(socket)) = (room, u16::try_from(socket)) else {
        return E_ARGUMENT;
    };
    let buffer = match (room, buffer.is_null()) {
        (0, _) => &mut [][..],
        (_, true) => return E_ARGUMENT,
        // SAFETY: a plugin gives this much room.
        (_, false) => unsafe { std::slice::from_raw_parts_mut(buffer.cast::<u8>(), room) },
    };
    let size = packet.size;
    *packet = CPacket {
        size,
        kind: EMPTY,
        ..CPacket::default()
    };
    with(world, |sockets| {
        match sockets.receive_on(SocketId(socket), buffer) {
            Ok(None) => {}
            Ok(Some(Datagram { from, length })) => {
                packet.kind = RECEIVED;
                packet.from = from.into();
                packet.length = length as u64;
            }
            Err(ReceiveError(code)) => {
                packet.kind = FAILED;
                packet.os_error = code;
            }
        }
    })
}

unsafe extern "C" fn send(
    world: *mut c_void,
    socket: u32,
    to: *const CEndpoint,
    packet: *const c_void,
    length: u64,
    result: *mut i64,
) -> i32 {
    // SAFETY: a plugin gives an endpoint, or null.
    let to = unsafe { to.as_ref() }.and_then(CEndpoint::endpoint);
    // SAFETY: a plugin gives this many bytes.
    let packet = unsafe { bytes(packet, length) };
    let (Some(to), Some(packet), Ok(socket)) = (to, packet, u16::try_from(socket)) else {
        return E_ARGUMENT;
    };
    with(world, |sockets| {
        let sent = match sockets.send_on(SocketId(socket), to, packet) {
            Ok(()) => packet.len() as i64,
            Err(SendError::Short(taken)) => i64::from(taken),
            Err(SendError::Os(code)) => -i64::from(code),
        };
        // SAFETY: a plugin gives room for the result, or null.
        if let Some(result) = unsafe { result.as_mut() } {
            *result = sent;
        }
    })
}

unsafe extern "C" fn clock(world: *mut c_void, value: *mut u64) -> i32 {
    // SAFETY: a plugin gives room for a number, or null.
    let Some(value) = (unsafe { value.as_mut() }) else {
        return E_ARGUMENT;
    };
    with(world, |sockets| *value = sockets.clock().0)
}

unsafe extern "C" fn random(world: *mut c_void, value: *mut u64) -> i32 {
    // SAFETY: a plugin gives room for a number, or null.
    let Some(value) = (unsafe { value.as_mut() }) else {
        return E_ARGUMENT;
    };
    with(world, |sockets| *value = sockets.draw())
}

unsafe extern "C" fn believes(world: *mut c_void, words: *const c_char, length: u64) -> i32 {
    // SAFETY: a plugin gives this many bytes.
    let Some(words) = (unsafe { bytes(words.cast(), length) }) else {
        return E_ARGUMENT;
    };
    let Some((object, believed)) = Believed::of_words(words) else {
        return E_ARGUMENT;
    };
    with(world, |sockets| sockets.believe(object, believed))
}

unsafe extern "C" fn note(world: *mut c_void, text: *const c_char, length: u64) -> i32 {
    // SAFETY: a plugin gives this many bytes.
    let Some(text) = (unsafe { bytes(text.cast(), length) }) else {
        return E_ARGUMENT;
    };
    with(world, |sockets| sockets.say(&String::from_utf8_lossy(text)))
}
