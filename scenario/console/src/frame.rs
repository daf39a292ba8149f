//! How the bytes of a connection become messages.
//!
//! A frame is a kind and a length, 4 bytes each, the highest first, and then as many bytes of JSON as the
//! length says. Kind 1 has bytes behind its JSON: their length stands behind that of the JSON. A
//! connection whose first byte is not 0 is text: a line is a message, with or without a `\r`.

/// A frame of JSON.
const JSON: u32 = 0;
/// A frame of JSON with bytes behind it.
const JSON_WITH_BINARY: u32 = 1;

/// The largest frame, JSON and bytes together; the longest line. Bytes.
pub const BYTES_MAX: usize = 256 << 10;

/// A message that came in whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// A frame.
    Frame {
        /// Its JSON, not yet read.
        json: Vec<u8>,
        /// The bytes behind it; empty for a frame without.
        binary: Vec<u8>,
    },
    /// A line, without its end. Bytes that are no UTF-8 are replaced.
    Line(String),
}

/// Bytes that are no message. Nothing that follows them can be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// A kind that is none.
    #[error("a frame of kind {0}; there are 0 (JSON) and 1 (JSON with bytes behind it)")]
    Kind(u32),
    /// A frame or a line that is too long.
    #[error("a message of more than {BYTES_MAX} bytes")]
    Long,
}

/// What came in and is not yet a whole message.
#[derive(Debug, Default)]
pub struct Reader {
    bytes: Vec<u8>,
    /// How many of `bytes` were given out.
    taken: usize,
    /// How many of the bytes behind were searched for the end of a line.
    searched: usize,
    is_text: Option<bool>,
}

impl Reader {
    /// Takes bytes that came in.
    pub fn push(&mut self, bytes: &[u8]) {
        if self.taken > 0 {
            self.bytes.drain(..self.taken);
            self.taken = 0;
        }
        self.bytes.extend_from_slice(bytes);
    }

    /// Whether the other side types lines; `None` before its first byte.
    pub fn is_text(&self) -> Option<bool> {
        self.is_text
    }

    /// How many bytes wait for the rest of their message, or to be taken.
    pub fn waiting(&self) -> usize {
        self.bytes.len() - self.taken
    }

    /// The next message; `None` where it is not whole.
    ///
    /// # Errors
    /// Bytes that are no message: the connection is of no use any more.
    pub fn next_message(&mut self) -> Result<Option<Message>, FrameError> {
        let Some(&first) = self.bytes.get(self.taken) else {
            return Ok(None);
        };
        if *self.is_text.get_or_insert(first != 0) {
            self.line()
        } else {
            self.frame()
        }
    }

    fn line(&mut self) -> Result<Option<Message>, FrameError> {
        let waiting = &self.bytes[self.taken..];
        let fresh = &waiting[self.searched..];
        let Some(end) = fresh.iter().position(|&byte| byte == b'\n') else {
            self.searched = waiting.len();
            return if waiting.len() > BYTES_MAX {
                Err(FrameError::Long)
            } else {
                Ok(None)
            };
        };
        let end = self.searched + end;
        let line = &waiting[..end];
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let line = String::from_utf8_lossy(line).into_owned();
        self.searched = 0;
        self.taken += end + 1;
        Ok(Some(Message::Line(line)))
    }

    fn frame(&mut self) -> Result<Option<Message>, FrameError> {
        let waiting = &self.bytes[self.taken..];
        let word = |at: usize| {
            let bytes = waiting.get(at * 4..at * 4 + 4)?;
            Some(u32::from_be_bytes(bytes.try_into().ok()?))
        };
        let Some(kind) = word(0) else {
            return Ok(None);
        };
        let words = match kind {
            JSON => 2,
            JSON_WITH_BINARY => 3,
            other => return Err(FrameError::Kind(other)),
        };
        let binary = if words == 3 { word(2) } else { Some(0) };
        let (Some(json), Some(binary)) = (word(1), binary) else {
            return Ok(None);
        };
        let (json, binary) = (json as usize, binary as usize);
        if json.saturating_add(binary) > BYTES_MAX {
            return Err(FrameError::Long);
        }
        let begin = words * 4;
        let Some(body) = waiting.get(begin..begin + json + binary) else {
            return Ok(None);
        };
        let (json, binary) = body.split_at(json);
        let message = Message::Frame {
            json: json.to_vec(),
            binary: binary.to_vec(),
        };
        self.taken += begin + body.len();
        Ok(Some(message))
    }
}

/// A frame of JSON as it goes over the wire.
pub fn json_frame(json: &[u8]) -> Vec<u8> {
    let mut frame = Vec::with_capacity(8 + json.len());
    frame.extend_from_slice(&JSON.to_be_bytes());
    frame.extend_from_slice(&(json.len() as u32).to_be_bytes());
    frame.extend_from_slice(json);
    frame
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(json: &str, binary: &[u8]) -> Vec<u8> {
        let mut bytes = JSON_WITH_BINARY.to_be_bytes().to_vec();
        bytes.extend((json.len() as u32).to_be_bytes());
        bytes.extend((binary.len() as u32).to_be_bytes());
        bytes.extend(json.as_bytes());
        bytes.extend(binary);
        bytes
    }

    fn all(reader: &mut Reader) -> Vec<Message> {
        std::iter::from_fn(|| reader.next_message().unwrap()).collect()
    }

    #[test]
    fn frames_come_whole_however_they_are_cut() {
        let mut bytes = json_frame(b"{}");
        bytes.extend(frame("[1]", &[7, 0, 9]));
        let mut whole = Reader::default();
        whole.push(&bytes);
        let expected = all(&mut whole);
        assert_eq!(expected.len(), 2);
        let mut single = Reader::default();
        let mut got = Vec::new();
        for byte in bytes {
            single.push(&[byte]);
            got.extend(all(&mut single));
        }
        assert_eq!(got, expected);
        assert_eq!(single.waiting(), 0);
    }

    #[test]
    fn who_types_is_read_by_lines() {
        let mut reader = Reader::default();
        reader.push(b"spawn\r\npick up 4");
        assert_eq!(all(&mut reader), [Message::Line("spawn".to_owned())]);
        reader.push(b"1\n");
        assert_eq!(all(&mut reader), [Message::Line("pick up 41".to_owned())]);
    }

    #[test]
    fn a_length_that_is_too_large_is_refused_before_its_bytes_come() {
        let mut reader = Reader::default();
        reader.push(&[0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff]);
        assert_eq!(reader.next_message(), Err(FrameError::Long));
        let mut reader = Reader::default();
        reader.push(&vec![b'a'; BYTES_MAX + 1]);
        assert_eq!(reader.next_message(), Err(FrameError::Long));
        let mut reader = Reader::default();
        reader.push(&[0, 0, 0, 2]);
        assert_eq!(reader.next_message(), Err(FrameError::Kind(2)));
    }
}
