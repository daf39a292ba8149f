//! The side of the engine.

use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char, c_void};
use std::fmt::Display;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;

use netreel_reel::{Believed, Endpoint, SocketId, Time, say_numbers};
use netreel_transport::{Datagram, Layer, ReceiveError, SendError, Shared, Transport};

use crate::abi::{
    CBelief, CEndpoint, CPacket, CStart, CWorld, E_ARGUMENT, E_INTERNAL, E_UNSUPPORTED, EMPTY,
    FAILED, NOBODY, OK, RECEIVED, bytes,
};

/// What a layer starts from.
#[derive(Clone, Debug)]
pub struct Start<'a> {
    /// The node's name.
    pub node: &'a str,
    /// The engine, as the reel names it.
    pub engine: &'a str,
    /// The build that was recorded.
    pub build: &'a str,
    /// The start conditions of the recording.
    pub conditions: &'a [u8],
    /// Where its sockets were bound, in the order in which they were opened.
    pub sockets: Vec<Endpoint>,
}

/// The transport that netreel lends. One that has several sockets is reached through
/// [`send_on`](World::send_on) and [`receive_on`](World::receive_on).
#[derive(Debug)]
pub struct World {
    table: *const CWorld,
}

// SAFETY: netreel calls a plugin from one thread; a call from another one is refused there.
unsafe impl Send for World {}

impl World {
    fn table(&self) -> Option<&CWorld> {
        // SAFETY: netreel keeps the table as long as the layer lives, and the layer keeps this.
        unsafe { self.table.as_ref() }
    }

    /// [`send`](Transport::send) on one of several sockets.
    pub fn send_on(
        &mut self,
        socket: SocketId,
        to: Endpoint,
        packet: &[u8],
    ) -> Result<(), SendError> {
        let refused = SendError::Os(22); // EINVAL
        let world = self.table().ok_or(refused)?;
        let send = world.send.ok_or(refused)?;
        let (to, length) = (CEndpoint::from(to), packet.len() as u64);
        let (from, mut result) = (packet.as_ptr().cast::<c_void>(), 0_i64);
        // SAFETY: the function is that of the table; all pointers are to what lives here.
        let code = unsafe { send(world.world, socket.0.into(), &to, from, length, &mut result) };
        match result {
            _ if code < OK => Err(refused),
            failed if failed < 0 => Err(SendError::Os(i32::try_from(-failed).unwrap_or(22))),
            taken if (taken as u64) < length => {
                Err(SendError::Short(u32::try_from(taken).unwrap_or(u32::MAX)))
            }
            _ => Ok(()),
        }
    }

    /// [`receive`](Transport::receive) on one of several sockets.
    pub fn receive_on(
        &mut self,
        socket: SocketId,
        buffer: &mut [u8],
    ) -> Result<Option<Datagram>, ReceiveError> {
        let refused = ReceiveError(22); // EINVAL
        let world = self.table().ok_or(refused)?;
        let receive = world.receive.ok_or(refused)?;
        let mut packet = CPacket {
            size: size_of::<CPacket>() as u32,
            ..CPacket::default()
        };
        let (to, room) = (buffer.as_mut_ptr().cast::<c_void>(), buffer.len() as u64);
        // SAFETY: the function is that of the table; all pointers are to what lives here.
        let code = unsafe { receive(world.world, socket.0.into(), to, room, &mut packet) };
        match packet.kind {
            _ if code < OK => Err(refused),
            RECEIVED => {
                let from = packet.from.endpoint().ok_or(refused)?;
                let length = usize::try_from(packet.length)
                    .unwrap_or(usize::MAX)
                    .min(buffer.len());
                Ok(Some(Datagram { from, length }))
            }
            FAILED => Err(ReceiveError(packet.os_error)),
            EMPTY => Ok(None),
            _ => Err(refused),
        }
    }

    fn read(
        &self,
        of: impl Fn(&CWorld) -> Option<unsafe extern "C" fn(*mut c_void, *mut u64) -> i32>,
    ) -> u64 {
        let mut value = 0;
        if let Some(world) = self.table()
            && let Some(read) = of(world)
        {
            // SAFETY: the function is that of the table, and writes a number that lives here.
            unsafe { read(world.world, &mut value) };
        }
        value
    }
}

impl Transport for World {
    fn now(&mut self) -> Time {
        Time(self.read(|world| world.clock))
    }

    fn random(&mut self) -> u64 {
        self.read(|world| world.random)
    }

    fn send(&mut self, to: Endpoint, packet: &[u8]) -> Result<(), SendError> {
        self.send_on(SocketId(0), to, packet)
    }

    fn receive(&mut self, buffer: &mut [u8]) -> Result<Option<Datagram>, ReceiveError> {
        self.receive_on(SocketId(0), buffer)
    }

    /// Ticks come from netreel.
    fn tick(&mut self, _tick: u64, _time: Time) {}

    /// Calls of the game come from netreel.
    fn input(&mut self, _call: &[u8]) {}

    fn note(&mut self, text: &str) {
        if let Some(world) = self.table()
            && let Some(note) = world.note
        {
            let from = text.as_ptr().cast::<c_char>();
            // SAFETY: the function is that of the table; the text lives here.
            unsafe { note(world.world, from, text.len() as u64) };
        }
    }

    fn believes(&mut self, object: u64, believed: Believed<'_>) {
        if let Some(world) = self.table()
            && world.size as usize >= size_of::<CWorld>()
            && let Some(believes) = world.believes
        {
            let words = believed.words(object);
            let from = words.as_ptr().cast::<c_char>();
            // SAFETY: the function is that of the table; the words live here.
            unsafe { believes(world.world, from, words.len() as u64) };
        }
    }

    fn believes_value(&mut self, object: u64, property: &str, numbers: &[f64]) {
        let mut said = String::new();
        say_numbers(property, numbers, &mut said);
        let said = said.as_bytes();
        self.believes(object, Believed::Value { said });
    }
}

/// What stands behind a layer's pointer.
struct Made {
    layer: Box<dyn Layer>,
    io: Shared<World>,
    error: CString,
    /// What was saved last, until it is fetched.
    state: Option<Vec<u8>>,
}

thread_local! {
    /// What failed where no layer was made. One thread calls a plugin.
    static LAST: RefCell<CString> = RefCell::default();
}

fn text(error: impl Display) -> CString {
    CString::new(error.to_string().replace('\0', "?")).unwrap_or_default()
}

/// # Safety
///
/// `from` is null, or a text that ends with a zero byte and lives as long as the result.
unsafe fn read<'a>(from: *const c_char) -> &'a str {
    if from.is_null() {
        return "";
    }
    // SAFETY: the caller says so.
    unsafe { CStr::from_ptr(from) }.to_str().unwrap_or_default()
}

/// Does what may panic: then what it said is the error.
fn caught<T>(what: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(what)).unwrap_or_else(|panic| {
        let said = panic
            .downcast_ref::<&str>()
            .map(ToString::to_string)
            .or_else(|| panic.downcast_ref::<String>().cloned());
        Err(format!("it panicked: {}", said.unwrap_or_default()))
    })
}

/// Does what a table's `create` does, with the layer that `make` makes.
///
/// # Safety
///
/// The pointers are those that netreel gives to `create`.
pub unsafe fn create(
    start: *const CStart,
    world: *const CWorld,
    made: *mut *mut c_void,
    make: impl FnOnce(&Start<'_>, Shared<World>) -> Result<Box<dyn Layer>, String>,
) -> i32 {
    // SAFETY: netreel gives pointers that live during the call, or null.
    let (Some(start), Some(made)) = (unsafe { start.as_ref() }, unsafe { made.as_mut() }) else {
        return E_ARGUMENT;
    };
    *made = ptr::null_mut();
    let sockets = match start.sockets.is_null() {
        true => &[],
        // SAFETY: this many sockets stand there during the call.
        false => unsafe { std::slice::from_raw_parts(start.sockets, start.sockets_count as usize) },
    };
    // SAFETY: these live during the call.
    let start = unsafe {
        Start {
            node: read(start.node),
            engine: read(start.engine),
            build: read(start.build),
            conditions: bytes(start.start, start.start_length).unwrap_or_default(),
            sockets: sockets.iter().filter_map(CEndpoint::endpoint).collect(),
        }
    };
    let io = Shared::new(World { table: world });
    let kept = io.clone();
    match caught(|| make(&start, kept)) {
        Ok(layer) => {
            let whole = Made {
                layer,
                io,
                error: CString::default(),
                state: None,
            };
            *made = Box::into_raw(Box::new(whole)).cast();
            OK
        }
        Err(why) => {
            LAST.with(|last| last.replace(text(why)));
            E_INTERNAL
        }
    }
}

/// Calls into a layer.
///
/// # Safety
///
/// `made` is null or what [`create`] made, and nobody else uses it.
unsafe fn call(
    made: *mut c_void,
    what: impl FnOnce(&mut dyn Layer, &mut Shared<World>) -> Result<(), String>,
) -> i32 {
    // SAFETY: the caller says so.
    let Some(made) = (unsafe { made.cast::<Made>().as_mut() }) else {
        return E_ARGUMENT;
    };
    // It may go on from here to another state.
    made.state = None;
    match caught(|| what(made.layer.as_mut(), &mut made.io)) {
        Ok(()) => OK,
        Err(why) => {
            made.error = text(why);
            E_INTERNAL
        }
    }
}

/// Says how many there are, and writes all of them where there is room; whether there was. `None`: nobody
/// wants to know.
///
/// # Safety
///
/// `room` of them can be written at `to` unless it is null, and a number at `count`.
unsafe fn give<T: Copy>(all: &[T], to: *mut T, room: u64, count: *mut u64) -> Option<bool> {
    // SAFETY: the caller says so.
    let count = unsafe { count.as_mut() }?;
    *count = all.len() as u64;
    let fits = *count <= room && !to.is_null();
    if fits {
        // SAFETY: there is this much room.
        unsafe { ptr::copy_nonoverlapping(all.as_ptr(), to, all.len()) };
    }
    Some(fits)
}

/// See `netreel_layer.h`.
///
/// # Safety
///
/// `made` is what `create` made.
pub unsafe extern "C" fn tick(made: *mut c_void, _: *const CWorld, _: u64, _: u64) -> i32 {
    // SAFETY: the caller says so.
    unsafe {
        call(made, |layer, io| {
            layer.tick(io);
            Ok(())
        })
    }
}

/// See `netreel_layer.h`.
///
/// # Safety
///
/// `made` is what `create` made; the call has this many bytes.
pub unsafe extern "C" fn input(
    made: *mut c_void,
    _: *const CWorld,
    said: *const c_void,
    length: u64,
) -> i32 {
    // SAFETY: the caller says so.
    let Some(said) = (unsafe { bytes(said, length) }) else {
        return E_ARGUMENT;
    };
    // SAFETY: the caller says so.
    unsafe {
        call(made, |layer, io| {
            layer.input(said, io).map_err(|error| error.why)
        })
    }
}

/// See `netreel_layer.h`.
///
/// # Safety
///
/// `made` is what `create` made; `room` bytes can be written at `state`, and a number at `length`.
pub unsafe extern "C" fn save(
    made: *mut c_void,
    state: *mut c_void,
    room: u64,
    length: *mut u64,
) -> i32 {
    let mut saved = None;
    if room > 0 {
        // SAFETY: the caller says so.
        saved = unsafe { made.cast::<Made>().as_mut() }.and_then(|made| made.state.take());
    }
    let mut code = OK;
    if saved.is_none() {
        // SAFETY: the caller says so.
        code = unsafe {
            call(made, |layer, _| {
                saved = layer.save();
                let is_there = saved.is_some();
                is_there
                    .then_some(())
                    .ok_or_else(|| "the layer offers no state".to_owned())
            })
        };
    }
    let Some(saved) = saved.filter(|_| code == OK) else {
        return code;
    };
    // SAFETY: the caller says so.
    let Some(fits) = (unsafe { give(&saved, state.cast(), room, length) }) else {
        return E_ARGUMENT;
    };
    // SAFETY: the caller says so.
    if let (false, Some(made)) = (fits, unsafe { made.cast::<Made>().as_mut() }) {
        made.state = Some(saved);
    }
    OK
}

/// See `netreel_layer.h`.
///
/// # Safety
///
/// `made` is what `create` made; the state has this many bytes.
pub unsafe extern "C" fn restore(
    made: *mut c_void,
    _: *const CWorld,
    state: *const c_void,
    length: u64,
) -> i32 {
    // SAFETY: the caller says so.
    let Some(state) = (unsafe { bytes(state, length) }) else {
        return E_ARGUMENT;
    };
    // SAFETY: the caller says so.
    unsafe {
        call(made, |layer, _| {
            layer.restore(state).map_err(|error| error.to_string())
        })
    }
}

/// See `netreel_layer.h`.
///
/// # Safety
///
/// `made` is what `create` made.
pub unsafe extern "C" fn time_outs(made: *mut c_void, on: i32) -> i32 {
    let mut is_there = true;
    // SAFETY: the caller says so.
    let code = unsafe {
        call(made, |layer, _| {
            is_there = layer.time_outs(on != 0);
            Ok(())
        })
    };
    match code {
        OK if !is_there => E_UNSUPPORTED,
        code => code,
    }
}

/// See `netreel_layer.h`.
///
/// # Safety
///
/// `made` is what `create` made; `room` beliefs can be written at `to`, and a number at `count`.
pub unsafe extern "C" fn beliefs(
    made: *mut c_void,
    to: *mut CBelief,
    room: u64,
    count: *mut u64,
) -> i32 {
    let (mut all, mut says) = (Vec::new(), false);
    // SAFETY: the caller says so.
    let code = unsafe {
        call(made, |layer, _| {
            says = layer.beliefs(&mut |it| {
                all.push(CBelief {
                    object: it.object,
                    owner: it.owner.unwrap_or(NOBODY),
                    values: it.values,
                });
            });
            Ok(())
        })
    };
    if code < OK || !says {
        return code.min(if says { OK } else { E_UNSUPPORTED });
    }
    // SAFETY: the caller says so.
    match unsafe { give(&all, to, room, count) } {
        Some(_) => OK,
        None => E_ARGUMENT,
    }
}

/// See `netreel_layer.h`.
///
/// # Safety
///
/// `made` is null or what `create` made, and is used no more.
pub unsafe extern "C" fn destroy(made: *mut c_void) {
    if !made.is_null() {
        // SAFETY: the caller says so.
        let made = unsafe { Box::from_raw(made.cast::<Made>()) };
        // What a layer does at its end is its own affair.
        let _ = catch_unwind(AssertUnwindSafe(|| drop(made)));
    }
}

/// See `netreel_layer.h`.
///
/// # Safety
///
/// `made` is null or what `create` made.
pub unsafe extern "C" fn error(made: *mut c_void) -> *const c_char {
    // SAFETY: the caller says so.
    match unsafe { made.cast::<Made>().as_ref() } {
        Some(made) => made.error.as_ptr(),
        None => LAST.with(|last| last.borrow().as_ptr()),
    }
}

/// Makes a crate of the type `cdylib` a plugin: the engine's name as reels have it, a C string, and
/// a function that makes its layer, as the [crate](crate)'s head shows.
///
/// A third word is what this build calls itself, as `Header::build` of the reels has it; where a
/// replay diverges, it is compared: `layer!(c"my engine", create, c"1.4-3f2a9c1")`. Without one it is
/// called after the plugin's file; a game that loads the same file records
/// [`own_build`](crate::own_build).
#[macro_export]
macro_rules! layer {
    ($name:expr, $create:path) => {
        $crate::layer!($name, $create, c"");
    };
    ($name:expr, $create:path, $build:expr) => {
        const _: () = {
            unsafe extern "C" fn __netreel_create(
                start: *const $crate::abi::CStart,
                world: *const $crate::abi::CWorld,
                made: *mut *mut ::std::ffi::c_void,
            ) -> i32 {
                // SAFETY: netreel gives the pointers.
                unsafe {
                    $crate::guest::create(start, world, made, |start, io| {
                        match $create(start, io) {
                            Ok(layer) => Ok(::std::boxed::Box::new(layer) as _),
                            Err(why) => Err(::std::string::ToString::to_string(&why)),
                        }
                    })
                }
            }

            static __NETREEL_TABLE: $crate::abi::CLayer = $crate::abi::CLayer {
                size: ::std::mem::size_of::<$crate::abi::CLayer>() as u32,
                version: $crate::abi::VERSION,
                name: {
                    const __NETREEL_NAME: &::std::ffi::CStr = $name;
                    __NETREEL_NAME.as_ptr()
                },
                create: Some(__netreel_create),
                tick: Some($crate::guest::tick),
                input: Some($crate::guest::input),
                destroy: Some($crate::guest::destroy),
                error: Some($crate::guest::error),
                save: Some($crate::guest::save),
                restore: Some($crate::guest::restore),
                build: {
                    const __NETREEL_BUILD: &::std::ffi::CStr = $build;
                    __NETREEL_BUILD.as_ptr()
                },
                time_outs: Some($crate::guest::time_outs),
                beliefs: Some($crate::guest::beliefs),
            };

            #[unsafe(no_mangle)]
            extern "C" fn netreel_layer(version: u32) -> *const $crate::abi::CLayer {
                if version == $crate::abi::VERSION {
                    &raw const __NETREEL_TABLE
                } else {
                    ::std::ptr::null()
                }
            }
        };
    };
}

#[cfg(test)]
mod tests {
    use netreel_transport::InputError;

    use super::*;

    /// Counts its ticks.
    struct Counts(u8);

    impl Layer for Counts {
        fn tick(&mut self, _: &mut dyn Transport) {
            self.0 += 1;
        }

        fn input(&mut self, _: &[u8], _: &mut dyn Transport) -> Result<(), InputError> {
            Ok(())
        }

        fn save(&self) -> Option<Vec<u8>> {
            Some(vec![self.0; 3])
        }
    }

    #[test]
    fn what_was_saved_for_a_second_call_is_no_state_of_a_later_turn() {
        let mut made = Made {
            layer: Box::new(Counts(0)),
            io: Shared::new(World { table: ptr::null() }),
            error: CString::default(),
            state: None,
        };
        let made = (&raw mut made).cast::<c_void>();
        let (mut room, mut length) = ([9_u8; 3], 0);
        // SAFETY: the layer above, and the room that is named.
        unsafe {
            assert_eq!(save(made, ptr::null_mut(), 0, &mut length), OK);
            assert_eq!((tick(made, ptr::null(), 0, 0), length), (OK, 3));
            assert_eq!(save(made, room.as_mut_ptr().cast(), 3, &mut length), OK);
        }
        assert_eq!(room, [1; 3]);
    }
}
