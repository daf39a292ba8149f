//! Single keys, from a terminal or from whatever the input is.

use std::io::{IsTerminal, Read};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use netreel_system::terminal::SingleKeys;

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
    // Until it is dropped.
    _single: Option<SingleKeys>,
}

const CTRL_C: u8 = 3;
const CTRL_D: u8 = 4;

impl Keys {
    /// Takes over the standard input.
    pub fn read() -> Keys {
        let single = std::io::stdin()
            .is_terminal()
            .then(SingleKeys::begin)
            .flatten();
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
        Keys {
            keys,
            _single: single,
        }
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
