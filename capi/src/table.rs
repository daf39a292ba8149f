//! The table of functions: each checks its pointers and hands on.

use std::ffi::{c_char, c_void};
use std::time::Duration;

use netreel_record::Summary;
use netreel_reel::Event;

use crate::believes::{
    believes_created, believes_destroyed, believes_owner, believes_text, believes_value,
};
use crate::console_calls::{
    console_answer, console_close, console_local, console_open, console_take,
};
use crate::error::{self, Failure, failure, guarded};
use crate::handles::{call, opened, remove, with, with_shared};
use crate::memory::{SIZE_MAX, buffer, bytes, check_sized, get, null, put, text, write_sized};
use crate::record::{Recording, Thread};
use crate::replay::Replaying;
use crate::types::{
    self, API_VERSION, CConsoleOptions, CEndpoint, COptions, CPacket, CReport, CRequest, CSent,
    CStep, CSummary, E_ARGUMENT, E_LIMIT, E_VERSION, Handle, OK,
};
use crate::{addresses, options};

/// A function of the table, or its place in a table that lacks it.
macro_rules! table {
    ($($name:ident: fn($($argument:ty),*) -> $result:ty;)*) => {
        /// `netreel_api`.
        #[repr(C)]
        #[derive(Clone, Copy, Debug)]
        #[allow(missing_docs)] // the header has the words
        pub struct Api {
            pub size: u32,
            pub version: u32,
            $(pub $name: Option<unsafe extern "C" fn($($argument),*) -> $result>,)*
        }

        static TABLE: Api = Api {
            size: size_of::<Api>() as u32,
            version: API_VERSION,
            $($name: Some($name),)*
        };
    };
}

table! {
    error_text: fn() -> *const c_char;
    code_name: fn(i32) -> *const c_char;
    endpoint_from_sockaddr: fn(*const c_void, u32, *mut CEndpoint) -> i32;
    endpoint_to_sockaddr: fn(*const CEndpoint, *mut c_void, *mut u32) -> i32;
    open: fn(*const COptions, *mut Handle) -> i32;
    close: fn(Handle, *mut CSummary) -> i32;
    trigger: fn(Handle, *const c_char) -> i32;
    thread_open: fn(Handle, *mut Handle) -> i32;
    thread_close: fn(Handle) -> i32;
    switch_on: fn(Handle, i32) -> i32;
    socket_opened: fn(Handle, *const CEndpoint, *mut u32) -> i32;
    socket_closed: fn(Handle, u32) -> i32;
    packet_sent: fn(Handle, u32, *const CEndpoint, *const c_void, u64, *mut CSent) -> i32;
    send_result: fn(Handle, *const CSent, i64) -> i32;
    packet_received: fn(Handle, u32, *const CEndpoint, *const c_void, u64) -> i32;
    poll_empty: fn(Handle, u32) -> i32;
    receive_failed: fn(Handle, u32, i32) -> i32;
    input: fn(Handle, *const c_void, u64) -> i32;
    tick: fn(Handle, u64, u64) -> i32;
    clock_read: fn(Handle, u64) -> i32;
    random_drawn: fn(Handle, u64) -> i32;
    note: fn(Handle, *const c_char, u64) -> i32;
    snapshot: fn(Handle, *const c_void, u64) -> i32;
    replay_open: fn(*const c_char, *mut Handle) -> i32;
    replay_close: fn(Handle) -> i32;
    replay_start: fn(Handle, *mut *const c_void, *mut u64) -> i32;
    replay_socket: fn(Handle, u32, *mut CEndpoint) -> i32;
    replay_next: fn(Handle, *mut CStep) -> i32;
    replay_tick: fn(Handle, u64) -> i32;
    replay_input: fn(Handle, *const c_void, u64) -> i32;
    replay_receive: fn(Handle, u32, *mut c_void, u64, *mut CPacket) -> i32;
    replay_send: fn(Handle, u32, *const CEndpoint, *const c_void, u64, *mut i64) -> i32;
    replay_clock: fn(Handle, *mut u64) -> i32;
    replay_random: fn(Handle, *mut u64) -> i32;
    replay_report: fn(Handle, *mut CReport) -> i32;
    believes_created: fn(Handle, u64, u64) -> i32;
    believes_destroyed: fn(Handle, u64) -> i32;
    believes_owner: fn(Handle, u64, u64) -> i32;
    believes_value: fn(Handle, u64, *const c_char, *const f64, u32) -> i32;
    believes_text: fn(Handle, u64, *const c_char, *const c_char, u64) -> i32;
    console_open: fn(*const CConsoleOptions, *mut Handle) -> i32;
    console_close: fn(Handle) -> i32;
    console_local: fn(Handle, *mut CEndpoint) -> i32;
    console_take: fn(Handle, *mut CRequest) -> i32;
    console_answer: fn(Handle, u64, i32, *const c_char, u64) -> i32;
}

/// Fills `api` with as much of the table as its `size` bytes hold; the rest becomes 0.
///
/// # Safety
/// `api` is null, or can be written for `size` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn netreel_load(api: *mut Api, size: u32, version: u32) -> i32 {
    guarded(|| {
        if api.is_null() {
            return Err(null("api"));
        }
        if !(8..=SIZE_MAX).contains(&size) {
            let why = format!("a table of {size} bytes: give sizeof(netreel_api)");
            return Err(failure(E_ARGUMENT, why));
        }
        if version != API_VERSION {
            let why = format!(
                "version {version} of the table is not served, {API_VERSION} is: use the \
                 netreel.h of this library, or a newer library"
            );
            return Err(failure(E_VERSION, why));
        }
        let size = size as usize;
        // A function pointer that is half there would be worse than none.
        let whole = |bytes: usize| bytes - bytes % align_of::<Api>();
        let known = whole(size.min(size_of::<Api>()));
        let theirs = api.cast::<u8>();
        // SAFETY: both sides have `known` bytes, theirs `size`.
        unsafe {
            (&raw const TABLE)
                .cast::<u8>()
                .copy_to_nonoverlapping(theirs, known);
            theirs.add(known).write_bytes(0, size - known);
        }
        Ok(OK)
    })
}

extern "C" fn error_text() -> *const c_char {
    error::last()
}

extern "C" fn code_name(code: i32) -> *const c_char {
    types::code_name(code).as_ptr()
}

unsafe extern "C" fn endpoint_from_sockaddr(
    sockaddr: *const c_void,
    length: u32,
    endpoint: *mut CEndpoint,
) -> i32 {
    guarded(|| {
        // SAFETY: the header asks the caller for what these functions ask for; the same holds
        // for every function below.
        unsafe {
            let read = addresses::read(sockaddr, length)?;
            put(endpoint, read.into(), "endpoint")?;
        }
        Ok(OK)
    })
}

unsafe extern "C" fn endpoint_to_sockaddr(
    endpoint: *const CEndpoint,
    sockaddr: *mut c_void,
    length: *mut u32,
) -> i32 {
    guarded(|| {
        // SAFETY: see above.
        unsafe {
            let endpoint = addresses::given(endpoint, "endpoint")?;
            let room = get(length, "length")?;
            let written = addresses::write(endpoint, sockaddr, room)?;
            put(length, written, "length")?;
        }
        Ok(OK)
    })
}

unsafe extern "C" fn open(options: *const COptions, recorder: *mut Handle) -> i32 {
    // SAFETY: see above.
    unsafe {
        opened(recorder, "recorder", || {
            Recording::create(options::read(options)?)
        })
    }
}

unsafe extern "C" fn close(recorder: Handle, summary: *mut CSummary) -> i32 {
    guarded(|| {
        if !summary.is_null() {
            // SAFETY: see above.
            unsafe { check_sized(summary)? };
        }
        let Summary {
            events,
            dropped,
            bytes,
            files,
            files_deleted,
            rotation_failed,
            ..
        } = remove::<Recording>(recorder, true)?.finish()?;
        if !summary.is_null() {
            let ours = CSummary {
                size: 0,
                files,
                events,
                dropped,
                bytes,
                files_deleted,
                rotation_failed: rotation_failed.unwrap_or(0),
            };
            // SAFETY: see above.
            unsafe { write_sized(summary, ours)? };
        }
        Ok(OK)
    })
}

unsafe extern "C" fn trigger(recorder: Handle, why: *const c_char) -> i32 {
    guarded(|| {
        // SAFETY: see above.
        let why = unsafe { text(why) };
        with_shared(recorder, |recording: &mut Recording| {
            recording.trigger(&why)
        })
    })
}

unsafe extern "C" fn thread_open(recorder: Handle, thread: *mut Handle) -> i32 {
    // SAFETY: see above.
    unsafe {
        opened(thread, "thread", || {
            // Writing lags by half a second at most where the disk keeps up.
            for _ in 0..400 {
                let made = with_shared(recorder, |it: &mut Recording| it.thread())?;
                if let Some(thread) = made {
                    return Ok(thread);
                }
                std::thread::sleep(Duration::from_millis(5));
            }
            Err(failure(
                E_LIMIT,
                "threads were opened and closed faster than the disk took what they recorded; \
                 keep them open, or raise netreel_options.threads_max",
            ))
        })
    }
}

unsafe extern "C" fn thread_close(thread: Handle) -> i32 {
    guarded(|| remove::<Thread>(thread, false).map(|_| OK))
}

unsafe extern "C" fn switch_on(thread: Handle, on: i32) -> i32 {
    call(thread, |it: &mut Thread| it.switch(on != 0))
}

unsafe extern "C" fn socket_opened(
    thread: Handle,
    local: *const CEndpoint,
    socket: *mut u32,
) -> i32 {
    guarded(|| {
        // SAFETY: see above.
        let local = unsafe {
            put(socket, u32::MAX, "socket")?;
            addresses::given(local, "local")?
        };
        let (code, number) = with(thread, |it: &mut Thread| it.socket_opened(local))?;
        // SAFETY: see above.
        unsafe { put(socket, number, "socket")? };
        Ok(code)
    })
}

unsafe extern "C" fn socket_closed(thread: Handle, socket: u32) -> i32 {
    call(thread, |it: &mut Thread| it.socket_closed(socket))
}

unsafe extern "C" fn packet_sent(
    thread: Handle,
    socket: u32,
    to: *const CEndpoint,
    payload: *const c_void,
    length: u64,
    sent: *mut CSent,
) -> i32 {
    guarded(|| {
        // SAFETY: see above.
        let (to, payload) = unsafe {
            let to = addresses::given(to, "to")?;
            (to, bytes(payload, length, "bytes")?)
        };
        let done = with(thread, |it: &mut Thread| it.sent(socket, to, payload));
        if !sent.is_null() {
            let token = match &done {
                Ok((_, token)) => *token,
                Err(_) => CSent {
                    number: u64::MAX,
                    ..CSent::default()
                },
            };
            // SAFETY: see above.
            unsafe { put(sent, token, "sent")? };
        }
        done.map(|(code, _)| code)
    })
}

unsafe extern "C" fn send_result(thread: Handle, sent: *const CSent, result: i64) -> i32 {
    guarded(|| {
        // SAFETY: see above.
        let sent = unsafe { get(sent, "sent")? };
        with(thread, |it: &mut Thread| it.send_result(sent, result))
    })
}

unsafe extern "C" fn packet_received(
    thread: Handle,
    socket: u32,
    from: *const CEndpoint,
    payload: *const c_void,
    length: u64,
) -> i32 {
    guarded(|| {
        // SAFETY: see above.
        let (from, payload) = unsafe {
            let from = addresses::given(from, "from")?;
            (from, bytes(payload, length, "bytes")?)
        };
        with(thread, |it: &mut Thread| {
            let socket = it.socket(socket)?;
            it.record(Event::Received {
                socket,
                from,
                payload,
            })
        })
    })
}

unsafe extern "C" fn poll_empty(thread: Handle, socket: u32) -> i32 {
    call(thread, |it: &mut Thread| {
        let socket = it.socket(socket)?;
        it.push(Event::PollEmpty { socket })
    })
}

unsafe extern "C" fn receive_failed(thread: Handle, socket: u32, os_error: i32) -> i32 {
    call(thread, |it: &mut Thread| {
        let socket = it.socket(socket)?;
        it.record(Event::ReceiveFailed {
            socket,
            code: os_error,
        })
    })
}

unsafe extern "C" fn input(thread: Handle, call: *const c_void, length: u64) -> i32 {
    guarded(|| {
        // SAFETY: see above.
        let call = unsafe { bytes(call, length, "call")? };
        with(thread, |it: &mut Thread| it.record(Event::Input { call }))
    })
}

unsafe extern "C" fn tick(thread: Handle, tick: u64, time: u64) -> i32 {
    let time = netreel_reel::Time(time);
    call(thread, |it: &mut Thread| {
        it.record(Event::Tick { tick, time })
    })
}

unsafe extern "C" fn clock_read(thread: Handle, value: u64) -> i32 {
    call(thread, |it: &mut Thread| it.clock_read(value))
}

unsafe extern "C" fn random_drawn(thread: Handle, value: u64) -> i32 {
    call(thread, |it: &mut Thread| it.record(Event::Random { value }))
}

unsafe extern "C" fn note(thread: Handle, text: *const c_char, length: u64) -> i32 {
    guarded(|| {
        // SAFETY: see above.
        let text = unsafe { bytes(text.cast(), length, "text")? };
        with(thread, |it: &mut Thread| it.record(Event::Note { text }))
    })
}

unsafe extern "C" fn snapshot(thread: Handle, state: *const c_void, length: u64) -> i32 {
    guarded(|| {
        // SAFETY: see above.
        let state = unsafe { bytes(state, length, "state")? };
        with(thread, |it: &mut Thread| {
            it.record(Event::Snapshot { state })
        })
    })
}

unsafe extern "C" fn replay_open(path: *const c_char, replay: *mut Handle) -> i32 {
    // SAFETY: see above.
    unsafe {
        opened(replay, "replay", || {
            Replaying::open(&options::read_path(path, "path")?)
        })
    }
}

unsafe extern "C" fn replay_close(replay: Handle) -> i32 {
    guarded(|| remove::<Replaying>(replay, false).map(|_| OK))
}

unsafe extern "C" fn replay_start(
    replay: Handle,
    start: *mut *const c_void,
    length: *mut u64,
) -> i32 {
    guarded(|| {
        with(replay, |it: &mut Replaying| {
            let bytes = it.start();
            // SAFETY: see above.
            unsafe {
                put(start, bytes.as_ptr().cast(), "start")?;
                put(length, bytes.len() as u64, "length")?;
            }
            Ok(OK)
        })
    })
}

unsafe extern "C" fn replay_socket(replay: Handle, socket: u32, local: *mut CEndpoint) -> i32 {
    guarded(|| {
        let (_, found) = with(replay, |it: &mut Replaying| it.socket(socket))?;
        // SAFETY: see above.
        unsafe { put(local, found.into(), "local")? };
        Ok(OK)
    })
}

unsafe extern "C" fn replay_next(replay: Handle, step: *mut CStep) -> i32 {
    guarded(|| {
        // SAFETY: see above.
        unsafe { check_sized(step)? };
        let (code, next) = with(replay, |it: &mut Replaying| Ok(it.next()))?;
        // SAFETY: see above.
        unsafe { write_sized(step, next)? };
        code
    })
}

unsafe extern "C" fn replay_tick(replay: Handle, tick: u64) -> i32 {
    call(replay, |it: &mut Replaying| it.tick(tick))
}

unsafe extern "C" fn replay_input(replay: Handle, call: *const c_void, length: u64) -> i32 {
    guarded(|| {
        // SAFETY: see above.
        let call = unsafe { bytes(call, length, "call")? };
        with(replay, |it: &mut Replaying| it.input(call))
    })
}

unsafe extern "C" fn replay_receive(
    replay: Handle,
    socket: u32,
    place: *mut c_void,
    capacity: u64,
    packet: *mut CPacket,
) -> i32 {
    guarded(|| {
        // SAFETY: see above.
        let room = unsafe {
            check_sized(packet)?;
            buffer(place, capacity, "buffer")?
        };
        let (code, received) = with(replay, |it: &mut Replaying| {
            let (socket, _) = it.socket(socket)?;
            Ok(it.receive(socket, room))
        })?;
        // SAFETY: see above.
        unsafe { write_sized(packet, received)? };
        code
    })
}

unsafe extern "C" fn replay_send(
    replay: Handle,
    socket: u32,
    to: *const CEndpoint,
    payload: *const c_void,
    length: u64,
    result: *mut i64,
) -> i32 {
    guarded(|| {
        // SAFETY: see above.
        let (to, payload) = unsafe {
            let to = addresses::given(to, "to")?;
            (to, bytes(payload, length, "bytes")?)
        };
        let (code, came) = with(replay, |it: &mut Replaying| {
            let (socket, _) = it.socket(socket)?;
            Ok(it.send(socket, to, payload))
        })?;
        if !result.is_null() {
            // SAFETY: see above.
            unsafe { put(result, came, "result")? };
        }
        code
    })
}

/// Puts what a replay answers where the caller wants it.
///
/// # Safety
/// `value` is null or can be written.
unsafe fn answers(
    replay: Handle,
    value: *mut u64,
    ask: fn(&mut Replaying) -> (Result<i32, Failure>, u64),
) -> i32 {
    guarded(|| {
        if value.is_null() {
            return Err(null("value"));
        }
        let (code, answer) = with(replay, |it: &mut Replaying| Ok(ask(it)))?;
        // SAFETY: see above.
        unsafe { put(value, answer, "value")? };
        code
    })
}

unsafe extern "C" fn replay_clock(replay: Handle, value: *mut u64) -> i32 {
    // SAFETY: see above.
    unsafe { answers(replay, value, Replaying::clock) }
}

unsafe extern "C" fn replay_random(replay: Handle, value: *mut u64) -> i32 {
    // SAFETY: see above.
    unsafe { answers(replay, value, Replaying::random) }
}

unsafe extern "C" fn replay_report(replay: Handle, report: *mut CReport) -> i32 {
    guarded(|| {
        let ours = with(replay, |it: &mut Replaying| Ok(it.report()))?;
        // SAFETY: see above.
        unsafe { write_sized(report, ours)? };
        Ok(OK)
    })
}
