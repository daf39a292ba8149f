//! The structs and codes of `include/netreel.h`, which has the words. A test compares the layouts.
#![allow(missing_docs)]

use std::ffi::{c_char, c_void};

pub use netreel_plugin::abi::{CEndpoint, CPacket, EMPTY, FAILED, RECEIVED};

pub const API_VERSION: u32 = 1;

/// How many handles may be open at a time.
pub const HANDLES_MAX: usize = 1024;

macro_rules! codes {
    ($($name:ident $value:literal $c_name:literal)*) => {
        $(pub const $name: i32 = $value;)*

        /// The name that the header gives to a code.
        pub(crate) fn code_name(code: i32) -> &'static std::ffi::CStr {
            match code {
                $($value => $c_name,)*
                _ => c"no code of netreel",
            }
        }
    };
}

codes! {
    OK 0 c"NETREEL_OK"
    OFF 1 c"NETREEL_OFF"
    DROPPED 2 c"NETREEL_DROPPED"
    END 3 c"NETREEL_END"
    E_ARGUMENT -1 c"NETREEL_E_ARGUMENT"
    E_HANDLE -2 c"NETREEL_E_HANDLE"
    E_CLOSED -3 c"NETREEL_E_CLOSED"
    E_KIND -4 c"NETREEL_E_KIND"
    E_BUSY -5 c"NETREEL_E_BUSY"
    E_EXISTS -6 c"NETREEL_E_EXISTS"
    E_IO -7 c"NETREEL_E_IO"
    E_STOPPED -8 c"NETREEL_E_STOPPED"
    E_FORKED -9 c"NETREEL_E_FORKED"
    E_LIMIT -10 c"NETREEL_E_LIMIT"
    E_VERSION -11 c"NETREEL_E_VERSION"
    E_UNSUPPORTED -12 c"NETREEL_E_UNSUPPORTED"
    E_REEL -13 c"NETREEL_E_REEL"
    E_NOT_REPLAYABLE -14 c"NETREEL_E_NOT_REPLAYABLE"
    E_DIVERGED -15 c"NETREEL_E_DIVERGED"
    E_NO_RING -16 c"NETREEL_E_NO_RING"
    E_INTERNAL -17 c"NETREEL_E_INTERNAL"
}

pub const NO_OWNER: u64 = u64::MAX;

pub const REPLACE: u32 = 1;
pub const DROP_WHEN_FULL: u32 = 2;
pub const CLOCK_MONOTONIC: u32 = 4;
pub const ZSTD: u32 = 8;

pub const ARGUMENT_INTEGER: u32 = 0;
pub const ARGUMENT_NUMBER: u32 = 1;
pub const ARGUMENT_TEXT: u32 = 2;
pub const ARGUMENT_REST: u32 = 3;
pub const ARGUMENT_ONE_OF: u32 = 4;

pub const REQUEST_NONE: u32 = 0;
pub const REQUEST_COMMAND: u32 = 1;
pub const REQUEST_SCRIPT: u32 = 2;

pub const STEP_END: u32 = 0;
pub const STEP_TICK: u32 = 1;
pub const STEP_INPUT: u32 = 2;

pub const EXACT: u32 = 0;
pub const DIVERGED: u32 = 1;

/// A handle. Its value is a number (see `handles`); nothing is ever read through it.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handle(pub *mut c_void);

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CText {
    pub name: *const c_char,
    pub text: *const c_char,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CSeed {
    pub name: *const c_char,
    pub value: u64,
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct COptions {
    pub size: u32,
    pub flags: u32,
    pub path: *const c_char,
    pub node: *const c_char,
    pub engine: *const c_char,
    pub build: *const c_char,
    pub start: *const c_void,
    pub start_length: u64,
    pub args: *const *const c_char,
    pub wires: *const CText,
    pub seeds: *const CSeed,
    pub hashes: *const CText,
    pub args_count: u32,
    pub wires_count: u32,
    pub seeds_count: u32,
    pub hashes_count: u32,
    pub session: [u8; 16],
    pub buffer_bytes: u64,
    pub threads_max: u32,
    pub reserved: u32,
    pub ring_ms: u64,
    pub rotate_bytes: u64,
    pub rotate_ms: u64,
    pub keep_bytes: u64,
    pub keep_ms: u64,
    pub max_bytes: u64,
    pub max_ms: u64,
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct CSummary {
    pub size: u32,
    pub files: u32,
    pub events: u64,
    pub dropped: u64,
    pub bytes: u64,
    pub files_deleted: u32,
    pub rotation_failed: i32,
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct CSent {
    pub number: u64,
    pub time_ns: u64,
    pub length: u64,
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct CStep {
    pub size: u32,
    pub kind: u32,
    pub number: u64,
    pub moment_ns: u64,
    pub tick: u64,
    pub tick_time: u64,
    pub call: *const c_void,
    pub call_length: u64,
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct CReport {
    pub size: u32,
    pub outcome: u32,
    pub ticks: u64,
    pub inputs: u64,
    pub sends: u64,
    pub bytes: u64,
    pub event: u64,
    pub finished: u32,
    pub cut: u32,
    pub text: *const c_char,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CParameter {
    pub name: *const c_char,
    pub words: *const c_char,
    pub kind: u32,
    pub optional: u32,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CCommand {
    pub name: *const c_char,
    pub about: *const c_char,
    pub parameters: *const CParameter,
    pub parameters_count: u32,
    pub reserved: u32,
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct CConsoleOptions {
    pub size: u32,
    pub commands_count: u32,
    pub address: *const c_char,
    pub token: *const c_char,
    pub commands: *const CCommand,
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct CValue {
    pub kind: u32,
    pub reserved: u32,
    pub integer: i64,
    pub number: f64,
    pub text: *const c_char,
    pub text_length: u64,
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct CRequest {
    pub size: u32,
    pub kind: u32,
    pub id: u64,
    pub command: u32,
    pub arguments_count: u32,
    pub arguments: *const CValue,
    pub line: *const c_char,
    pub line_length: u64,
    pub binary: *const c_void,
    pub binary_length: u64,
}
