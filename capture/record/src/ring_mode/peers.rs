//! Asking other nodes for the same window, over UDP.
//!
//! A node that pulls a trigger sends each peer a request, again every 150 ms until the peer answers
//! or three seconds have passed. Requests and answers carry a tag that only who knows the key can
//! make; a request is taken once, and only around its own time, so that one that was written down
//! cannot be used again. `docs/record.md` has the bytes.

use std::collections::BTreeSet;
use std::hash::Hasher;
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Receiver;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use netreel_reel::{Trigger, TriggerCause};
use siphasher::sip128::{Hasher128, SipHasher24};

use super::{TriggerNews, Triggers};
use crate::anchor::utc_now_ns;

/// Who asks whom.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeerOptions {
    /// Where to listen for requests; `None`: ask only.
    pub listen: Option<SocketAddr>,
    /// Whom to ask.
    pub peers: Vec<SocketAddr>,
    /// What all nodes of the session know and strangers do not. At least 8 bytes.
    pub key: String,
    /// This node's name, for the other nodes' windows.
    pub node: String,
}

/// The other nodes cannot be asked, or cannot ask.
#[derive(Debug, thiserror::Error)]
pub enum PeersError {
    /// The key is too short.
    #[error(
        "the trigger key has {0} bytes; use at least 8, drawn at random, the same at all nodes"
    )]
    ShortKey(usize),
    /// The socket cannot be had.
    #[error("cannot listen for triggers on {at}: {error}")]
    Listen {
        /// Where.
        at: SocketAddr,
        /// Why.
        error: io::Error,
    },
    /// The thread cannot be started.
    #[error("cannot start the thread for triggers: {0}")]
    Thread(io::Error),
}

/// Asks other nodes and is asked by them, until it is dropped.
#[derive(Debug)]
pub struct Peers {
    local: SocketAddr,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

const AGAIN: Duration = Duration::from_millis(150);
const GIVE_UP: Duration = Duration::from_secs(3);
/// A request is taken when its time is so near this node's.
const NEAR_NS: i64 = 30_000_000_000;
const KEY_MIN: usize = 8;

impl Peers {
    /// Listens and asks on a thread of its own, for as long as this lives.
    pub fn start(options: PeerOptions, triggers: &Triggers) -> Result<Peers, PeersError> {
        let v6 = options.listen.or(options.peers.first().copied());
        let any = match v6 {
            Some(SocketAddr::V6(_)) => SocketAddr::from(([0u16; 8], 0)),
            _ => SocketAddr::from(([0u8; 4], 0)),
        };
        let at = options.listen.unwrap_or(any);
        let failed = |error| PeersError::Listen { at, error };
        let socket = UdpSocket::bind(at).map_err(failed)?;
        Peers::start_on(socket, options, triggers)
    }

    /// The same on a socket that is there already; [`PeerOptions::listen`] says whether to answer
    /// on it.
    pub fn start_on(
        socket: UdpSocket,
        options: PeerOptions,
        triggers: &Triggers,
    ) -> Result<Peers, PeersError> {
        if options.key.len() < KEY_MIN {
            return Err(PeersError::ShortKey(options.key.len()));
        }
        let at = options.listen.unwrap_or_else(|| ([0u8; 4], 0).into());
        let failed = |error| PeersError::Listen { at, error };
        let local = socket.local_addr().map_err(failed)?;
        let patience = Some(Duration::from_millis(10));
        socket.set_read_timeout(patience).map_err(failed)?;
        let stop = Arc::new(AtomicBool::new(false));
        let talk = Talk {
            socket,
            key: Key::new(&options.key),
            listens: options.listen.is_some(),
            peers: options.peers,
            node: options.node,
            asked: triggers.asked_here(),
            triggers: triggers.clone(),
            open: Vec::new(),
        };
        let told = stop.clone();
        let thread = std::thread::Builder::new().name("netreel peers".to_owned());
        let thread = thread.spawn(move || talk.run(&told));
        Ok(Peers {
            local,
            stop,
            thread: Some(thread.map_err(PeersError::Thread)?),
        })
    }

    /// Where it listens.
    pub fn local(&self) -> SocketAddr {
        self.local
    }
}

impl Drop for Peers {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

struct Talk {
    socket: UdpSocket,
    key: Key,
    listens: bool,
    peers: Vec<SocketAddr>,
    node: String,
    triggers: Triggers,
    asked: Receiver<(Trigger, String)>,
    open: Vec<Asking>,
}

/// A request that some have not answered.
struct Asking {
    id: u64,
    bytes: Vec<u8>,
    silent: BTreeSet<SocketAddr>,
    since: Instant,
    sent: Option<Instant>,
}

impl Talk {
    fn run(mut self, stop: &AtomicBool) {
        loop {
            // What was asked for before the end is still asked once.
            let ending = stop.load(Ordering::Relaxed);
            while let Ok((trigger, text)) = self.asked.try_recv() {
                self.ask(&trigger, &text);
            }
            self.send_due();
            if ending {
                return;
            }
            let mut bytes = [0; DATAGRAM_MAX + 1];
            if let Ok((length, from)) = self.socket.recv_from(&mut bytes) {
                self.heard(bytes.get(..length).unwrap_or(&[]), from);
            }
        }
    }

    fn ask(&mut self, trigger: &Trigger, text: &str) {
        if self.peers.is_empty() {
            return;
        }
        let request = Message::Keep {
            trigger: *trigger,
            node: self.node.clone(),
            text: text.to_owned(),
        };
        self.open.push(Asking {
            id: trigger.id,
            bytes: request.encode(&self.key),
            silent: self.peers.iter().copied().collect(),
            since: Instant::now(),
            sent: None,
        });
    }

    fn send_due(&mut self) {
        let mut gone = Vec::new();
        for asking in &mut self.open {
            if asking.sent.is_none_or(|sent| sent.elapsed() >= AGAIN) {
                asking.sent = Some(Instant::now());
                for peer in &asking.silent {
                    // A peer that cannot be reached now may be in a moment.
                    let _ = self.socket.send_to(&asking.bytes, peer);
                }
            }
            if asking.since.elapsed() >= GIVE_UP {
                gone.extend(asking.silent.iter().copied());
                asking.silent.clear();
            }
        }
        self.open.retain(|asking| !asking.silent.is_empty());
        for peer in gone {
            self.triggers.tell(TriggerNews::Failed(format!(
                "{peer}: asked for the same window, and did not answer"
            )));
        }
    }

    fn heard(&mut self, bytes: &[u8], from: SocketAddr) {
        match Message::decode(bytes, &self.key) {
            Some(Message::Keep {
                trigger,
                node,
                text,
            }) if self.listens => {
                let apart_ns = utc_now_ns().saturating_sub(trigger.utc_ns);
                let answer = if apart_ns.saturating_abs() > NEAR_NS {
                    Answer::OtherTime
                } else if !self.triggers.has_ring() {
                    Answer::NoRing
                } else {
                    let said = format!("{node}: {text}");
                    self.triggers.pull_for_peer(trigger, &said);
                    Answer::Taken
                };
                let id = trigger.id;
                let answer = Message::Answer { id, answer }.encode(&self.key);
                let _ = self.socket.send_to(&answer, from);
            }
            Some(Message::Answer { id, answer }) => {
                let Some(asking) = self.open.iter_mut().find(|asking| asking.id == id) else {
                    return;
                };
                let first = asking.silent.remove(&from);
                let why = match answer {
                    Answer::Taken => return,
                    Answer::NoRing => "it is not recording in ring mode",
                    Answer::OtherTime => "its clock is more than 30 s off this one's",
                };
                if first {
                    self.triggers.tell(TriggerNews::Failed(format!(
                        "{from}: asked for the same window, and keeps none: {why}"
                    )));
                }
            }
            _ => {}
        }
    }
}

/// What nodes say to each other.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Message {
    Keep {
        trigger: Trigger,
        node: String,
        text: String,
    },
    Answer {
        id: u64,
        answer: Answer,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answer {
    Taken = 0,
    NoRing = 1,
    OtherTime = 2,
}

const MAGIC: [u8; 8] = *b"\x89NRTRIG\n";
const VERSION: u8 = 0;
const TAG: usize = 16;
const NODE_MAX: usize = 64;
const ASKED_TEXT_MAX: usize = 900;
/// No datagram is longer.
const DATAGRAM_MAX: usize = 1200;

/// What the session's nodes know.
struct Key(u64, u64);

impl Key {
    fn new(words: &str) -> Key {
        let mut hasher = SipHasher24::new();
        hasher.write(words.as_bytes());
        let hash = hasher.finish128();
        Key(hash.h1, hash.h2)
    }

    fn tag(&self, bytes: &[u8]) -> [u8; TAG] {
        let mut hasher = SipHasher24::new_with_keys(self.0, self.1);
        hasher.write(bytes);
        hasher.finish128().as_bytes()
    }
}

impl Message {
    fn encode(&self, key: &Key) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        bytes.push(VERSION);
        match self {
            Message::Keep {
                trigger,
                node,
                text,
            } => {
                bytes.extend([1, trigger.cause.0, 0]);
                bytes.extend(trigger.id.to_le_bytes());
                bytes.extend(trigger.utc_ns.to_le_bytes());
                bytes.extend(trigger.before_ms.to_le_bytes());
                bytes.extend(trigger.after_ms.to_le_bytes());
                for (words, longest) in [(node, NODE_MAX), (text, ASKED_TEXT_MAX)] {
                    let words = &words[..words.floor_char_boundary(longest)];
                    bytes.extend((words.len() as u16).to_le_bytes());
                    bytes.extend(words.as_bytes());
                }
            }
            Message::Answer { id, answer } => {
                bytes.extend([2, *answer as u8, 0]);
                bytes.extend(id.to_le_bytes());
            }
        }
        let tag = key.tag(&bytes);
        bytes.extend(tag);
        bytes
    }

    /// `None` for what was not made with the key, or is not whole.
    fn decode(bytes: &[u8], key: &Key) -> Option<Message> {
        if bytes.len() > DATAGRAM_MAX {
            return None;
        }
        let (body, tag) = bytes.split_at_checked(bytes.len().checked_sub(TAG)?)?;
        // Which of the bytes differ must not show in how long it takes.
        let wrong = key
            .tag(body)
            .iter()
            .zip(tag)
            .fold(0, |sum, (a, b)| sum | (a ^ b));
        let mut body = body.strip_prefix(&MAGIC)?.strip_prefix(&[VERSION])?;
        if wrong != 0 {
            return None;
        }
        let [kind, what, _] = take(&mut body)?;
        let id = u64::from_le_bytes(take(&mut body)?);
        let message = match kind {
            1 => {
                let trigger = Trigger {
                    cause: TriggerCause(what),
                    id,
                    utc_ns: i64::from_le_bytes(take(&mut body)?),
                    before_ms: u32::from_le_bytes(take(&mut body)?),
                    after_ms: u32::from_le_bytes(take(&mut body)?),
                    from_peer: true,
                };
                let node = take_words(&mut body)?;
                let text = take_words(&mut body)?;
                Message::Keep {
                    trigger,
                    node,
                    text,
                }
            }
            2 => {
                let answers = [Answer::Taken, Answer::NoRing, Answer::OtherTime];
                let answer = *answers.get(usize::from(what))?;
                Message::Answer { id, answer }
            }
            _ => return None,
        };
        Some(message)
    }
}

fn take<const N: usize>(from: &mut &[u8]) -> Option<[u8; N]> {
    let (taken, rest) = from.split_first_chunk::<N>()?;
    *from = rest;
    Some(*taken)
}

fn take_words(from: &mut &[u8]) -> Option<String> {
    let length = usize::from(u16::from_le_bytes(take(from)?));
    let (words, rest) = from.split_at_checked(length)?;
    *from = rest;
    Some(String::from_utf8_lossy(words).into_owned())
}

/// For the fuzz target: reads a datagram with a fixed key, and what it reads survives a round trip.
#[doc(hidden)]
pub fn fuzz_datagram(bytes: &[u8]) {
    let key = Key::new("fuzz fuzz");
    let mut signed = bytes.to_vec();
    signed.extend(key.tag(bytes));
    for bytes in [bytes, &signed] {
        if let Some(message) = Message::decode(bytes, &key) {
            let again = Message::decode(&message.encode(&key), &key);
            assert!(again.is_some(), "{message:?}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request() -> Message {
        Message::Keep {
            trigger: Trigger {
                cause: TriggerCause::KEY,
                id: 42,
                utc_ns: 1_700_000_000_000_000_000,
                before_ms: 10_000,
                after_ms: 2_000,
                from_peer: true,
            },
            node: "HOST".to_owned(),
            text: "t was pressed".to_owned(),
        }
    }

    #[test]
    fn a_request_and_its_answer_come_back_as_they_went() {
        let key = Key::new("one key for all");
        let answer = Message::Answer {
            id: 42,
            answer: Answer::NoRing,
        };
        for message in [request(), answer] {
            let bytes = message.encode(&key);
            assert_eq!(Message::decode(&bytes, &key), Some(message));
        }
    }

    #[test]
    fn a_stranger_without_the_key_is_not_heard() {
        let bytes = request().encode(&Key::new("a guessed key"));
        assert_eq!(Message::decode(&bytes, &Key::new("one key for all")), None);
    }

    #[test]
    fn no_byte_of_a_request_can_be_changed() {
        let key = Key::new("one key for all");
        let bytes = request().encode(&key);
        for place in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[place] ^= 1;
            assert_eq!(Message::decode(&changed, &key), None, "byte {place}");
        }
        for length in 0..bytes.len() {
            assert_eq!(Message::decode(&bytes[..length], &key), None);
        }
    }

    #[test]
    fn long_words_are_cut_to_fit_a_datagram() {
        let key = Key::new("one key for all");
        let Message::Keep { trigger, .. } = request() else {
            panic!();
        };
        let message = Message::Keep {
            trigger,
            node: "ä".repeat(1000),
            text: "ö".repeat(1000),
        };
        let bytes = message.encode(&key);
        assert!(bytes.len() <= DATAGRAM_MAX);
        assert!(Message::decode(&bytes, &key).is_some());
    }
}
