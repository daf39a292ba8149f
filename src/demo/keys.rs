//! Single keys, from a terminal or from whatever the input is.

use std::io::{IsTerminal, Read};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

/// What was pressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    /// A key with a letter, a digit or a sign.
    Byte(u8),
    /// The end of the input, or Ctrl-C.
    End,
}

/// The keys of the standard input, as they are pressed. A terminal gives each at once and does
/// not show it, until this is dropped.
pub struct Keys {
    keys: Receiver<Key>,
    before: Option<libc::termios>,
}

const CTRL_C: u8 = 3;
const CTRL_D: u8 = 4;

impl Keys {
    /// Takes over the standard input.
    pub fn read() -> Keys {
        let before = std::io::stdin().is_terminal().then(single_keys).flatten();
        let (sender, keys) = channel();
        // It ends with the input, or with the process.
        std::thread::spawn(move || {
            let mut byte = [0];
            let mut input = std::io::stdin().lock();
            loop {
                let key = match input.read(&mut byte) {
                    Ok(1) if byte[0] != CTRL_C && byte[0] != CTRL_D => Key::Byte(byte[0]),
                    Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                    _ => Key::End,
                };
                if sender.send(key).is_err() || key == Key::End {
                    return;
                }
            }
        });
        Keys { keys, before }
    }

    /// The next key, if one is pressed within `patience`.
    pub fn next(&self, patience: Duration) -> Option<Key> {
        match self.keys.recv_timeout(patience) {
            Ok(key) => Some(key),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => Some(Key::End),
        }
    }
}

impl Drop for Keys {
    fn drop(&mut self) {
        if let Some(before) = &self.before {
            // SAFETY: what `single_keys` was given by the same terminal.
            unsafe { libc::tcsetattr(libc::STDIN_FILENO, libc::TCSANOW, before) };
        }
    }
}

/// Lets the terminal give keys instead of lines; what it did before.
fn single_keys() -> Option<libc::termios> {
    // SAFETY: a structure of plain values, which the call fills in.
    let mut mode: libc::termios = unsafe { std::mem::zeroed() };
    // SAFETY: as above.
    if unsafe { libc::tcgetattr(libc::STDIN_FILENO, &raw mut mode) } != 0 {
        return None;
    }
    let before = mode;
    // Ctrl-C is a key as well: the terminal is to be left as it was found.
    mode.c_lflag &= !(libc::ICANON | libc::ECHO | libc::ISIG);
    mode.c_cc[libc::VMIN] = 1;
    mode.c_cc[libc::VTIME] = 0;
    // SAFETY: the mode is the terminal's own, changed in flags alone.
    let set = unsafe { libc::tcsetattr(libc::STDIN_FILENO, libc::TCSANOW, &raw const mode) };
    (set == 0).then_some(before)
}
