//! How a recorded process ended.

use std::fmt;

use netreel_shared::call::CallId;

use crate::{Event, Reel};

/// How a process ended, as its parent was told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ProcessEnd {
    /// By itself, with this exit code, 0 to 255.
    Code(u8),
    /// By this signal, 1 to 64.
    Signal(u8),
}

/// What is known of a process's end where its parent alone was told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndHint {
    /// It ended by itself, after its `main`.
    ByItself,
    /// It was about to become another program.
    Becomes,
    /// Nothing.
    None,
}

impl ProcessEnd {
    /// What a recorded program's reel tells. `None` where it does not: it was recorded before reels
    /// told it, its recording ended before it did, or nobody but its own parent knew.
    pub fn of(reel: &Reel) -> Option<ProcessEnd> {
        // It is among the last words of the reel.
        let blocks = reel.blocks();
        for index in (blocks.saturating_sub(2)..blocks).rev() {
            let block = reel.block(index).ok()?;
            let mut found = None;
            for record in block.records() {
                if let Event::Called {
                    call: CallId::STATUS,
                    result,
                    ..
                } = record.event
                {
                    found = ProcessEnd::from_result(result);
                }
            }
            if found.is_some() {
                return found;
            }
        }
        None
    }

    /// What a reel that does not tell it has instead, among its last words.
    pub fn hint(reel: &Reel) -> EndHint {
        let blocks = reel.blocks();
        let mut hint = EndHint::None;
        for index in blocks.saturating_sub(2)..blocks {
            let Ok(block) = reel.block(index) else {
                continue;
            };
            for record in block.records() {
                if let Event::Called { call, result, .. } = record.event {
                    match call {
                        CallId::END => hint = EndHint::ByItself,
                        CallId::EXEC if result == 0 => hint = EndHint::Becomes,
                        // It failed.
                        CallId::EXEC => hint = EndHint::None,
                        _ => {}
                    }
                }
            }
        }
        hint
    }

    /// As the result of [`CallId::STATUS`] has it.
    pub fn from_result(result: i32) -> Option<ProcessEnd> {
        match result {
            0.. => u8::try_from(result).ok().map(ProcessEnd::Code),
            _ => u8::try_from(result.unsigned_abs())
                .ok()
                .map(ProcessEnd::Signal),
        }
    }

    /// See [`from_result`](ProcessEnd::from_result).
    pub fn result(self) -> i32 {
        match self {
            ProcessEnd::Code(code) => code.into(),
            ProcessEnd::Signal(signal) => -i32::from(signal),
        }
    }

    /// Whether somebody else ended it, at a moment that had nothing to do with what it did: signals
    /// that people and other processes send.
    pub fn is_from_outside(self) -> bool {
        const SENT: [u8; 9] = [1, 2, 3, 9, 10, 12, 14, 15, 24]; // HUP INT QUIT KILL USR1 USR2 ALRM TERM XCPU
        matches!(self, ProcessEnd::Signal(signal) if SENT.contains(&signal))
    }
}

/// `exit code 3`, `signal 9 (KILL)`.
impl fmt::Display for ProcessEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let signal = match self {
            ProcessEnd::Code(code) => return write!(f, "exit code {code}"),
            ProcessEnd::Signal(signal) => signal,
        };
        write!(f, "signal {signal}")?;
        let name = match signal {
            1 => "HUP",
            2 => "INT",
            3 => "QUIT",
            4 => "ILL",
            5 => "TRAP",
            6 => "ABRT",
            7 => "BUS",
            8 => "FPE",
            9 => "KILL",
            10 => "USR1",
            11 => "SEGV",
            12 => "USR2",
            13 => "PIPE",
            14 => "ALRM",
            15 => "TERM",
            31 => "SYS",
            _ => return Ok(()),
        };
        write!(f, " ({name})")
    }
}
