//! The console inside a node: what the game's thread sees of it, and the thread that speaks TCP.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use netreel_system::{Cancel, locked};

use mio::net::TcpListener;
use mio::{Events, Interest, Poll, Token, Waker};
use subtle::ConstantTimeEq;

use crate::commands::{Call, Commands};
use crate::connection::{BROWSER, Connection, Fate};
use crate::pace::{Pace, run_behind_others};
use crate::words::{Answer, Said};

/// So many may be connected at once.
const CONNECTIONS_MAX: usize = 64;
/// So long somebody may be connected without a word, and without the token where one is needed.
const SILENCE: Duration = Duration::from_secs(10);
/// So many are accepted before those who are connected have their turn.
const ACCEPTED_MAX: usize = 32;
/// So long nobody is accepted where the system cannot: no descriptor is left.
const PAUSE: Duration = Duration::from_millis(100);
/// The longest answer of a node; what is longer is cut. Bytes.
const ANSWER_MAX: usize = 64 << 10;

const TOKEN_FIRST: &str =
    "give the token first: {\"type\":\"token\",\"token\":\"...\"}, or the line `token ...`";

const LISTENER: Token = Token(usize::MAX);
const WAKER: Token = Token(usize::MAX - 1);

/// A console that listens.
pub struct Console {
    requests: Asks,
    connected: Arc<AtomicUsize>,
    local: SocketAddr,
    waker: Arc<Waker>,
    quit: Cancel,
    thread: Option<JoinHandle<()>>,
}

/// A console that cannot listen.
#[derive(Debug, thiserror::Error)]
pub enum ListenError {
    /// Strangers could command the node.
    #[error(
        "a console at {0} can be reached from other machines: give it a token, or let it listen on 127.0.0.1"
    )]
    Open(SocketAddr),
    /// The system lets nobody listen there.
    #[error("the console cannot listen at {address}: {error}")]
    Address {
        /// Where.
        address: SocketAddr,
        /// What the system said.
        error: io::Error,
    },
}

/// What somebody asks of a node.
#[derive(Clone, Debug, PartialEq)]
pub enum Asked {
    /// One of the node's commands, with arguments of the right kinds.
    Command {
        /// Which.
        call: Call,
        /// As it was written.
        line: String,
    },
    /// A script, where the engine has a language.
    Script(String),
}

/// A request that waits for the node. One that is dropped is answered with a refusal.
#[derive(Debug)]
pub struct Request {
    /// What is asked.
    pub asked: Asked,
    /// The bytes behind its frame's JSON; empty for a frame without, and for a line.
    pub binary: Vec<u8>,
    from: usize,
    id: u64,
    back: Option<Back>,
}

/// Requests that the node has not taken. Who adds one has the lowest priority and may be held up amid it, so
/// that whoever takes them must not wait for the lock.
type Asks = Arc<Mutex<VecDeque<Request>>>;

#[derive(Clone, Debug)]
struct Back {
    answers: Sender<(usize, Answer)>,
    waker: Arc<Waker>,
}

impl Console {
    /// Listens at `address`; port 0 is a free one ([`Console::local`]). With a `token` who connects
    /// must give it before anything else.
    ///
    /// # Errors
    /// [`ListenError`]: an address that other machines reach, without a token; one that cannot be had.
    pub fn listen(
        address: SocketAddr,
        token: Option<String>,
        commands: Commands,
    ) -> Result<Console, ListenError> {
        if !address.ip().is_loopback() && token.is_none() {
            return Err(ListenError::Open(address));
        }
        let failed = |error| ListenError::Address { address, error };
        let mut listener = TcpListener::bind(address).map_err(failed)?;
        let local = listener.local_addr().map_err(failed)?;
        let poll = Poll::new().map_err(failed)?;
        let registry = poll.registry();
        registry
            .register(&mut listener, LISTENER, Interest::READABLE)
            .map_err(failed)?;
        let waker = Arc::new(Waker::new(registry, WAKER).map_err(failed)?);
        let asks = Asks::default();
        let requests = Arc::clone(&asks);
        let connected = Arc::<AtomicUsize>::default();
        let (answers, answered) = channel();
        let quit = Cancel::default();
        let mut server = Server {
            poll,
            listener,
            commands,
            token,
            connections: BTreeMap::new(),
            connected: Arc::clone(&connected),
            unread: BTreeSet::new(),
            next: 0,
            asks,
            back: Back {
                answers,
                waker: Arc::clone(&waker),
            },
            answered,
            accepts: true,
            accepts_from: None,
        };
        let told = quit.clone();
        let thread = std::thread::Builder::new()
            .name("console".to_owned())
            .spawn(move || {
                // Where it may not, it is like any other thread, and still keeps to its share.
                let _ = run_behind_others();
                server.serve(&told);
            });
        Ok(Console {
            requests,
            connected,
            local,
            waker,
            quit,
            thread: Some(thread.map_err(failed)?),
        })
    }

    /// Where it listens.
    pub fn local(&self) -> SocketAddr {
        self.local
    }

    /// How many are connected now.
    pub fn connected(&self) -> usize {
        self.connected.load(Ordering::Relaxed)
    }

    /// The next request, if there is one. Never waits: `None` as well while the console's thread adds one.
    pub fn take(&self) -> Option<Request> {
        self.requests.try_lock().ok()?.pop_front()
    }
}

impl Drop for Console {
    fn drop(&mut self) {
        // Requests that nobody has taken are answered before the thread ends.
        let untaken = std::mem::take(&mut *locked(&self.requests));
        drop(untaken);
        self.quit.cancel();
        let _ = self.waker.wake();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Request {
    /// It was done; what came of it.
    pub fn done(mut self, text: impl Into<String>) {
        self.send(true, text.into());
    }

    /// It was not done; why.
    pub fn refuse(mut self, why: impl Into<String>) {
        self.send(false, why.into());
    }

    fn send(&mut self, ok: bool, mut text: String) {
        let Some(back) = self.back.take() else {
            return;
        };
        if text.len() > ANSWER_MAX {
            let end = (0..=ANSWER_MAX).rev().find(|&at| text.is_char_boundary(at));
            text.truncate(end.unwrap_or(0));
        }
        let id = self.id;
        // A console that has ended needs no answer.
        let _ = back.answers.send((self.from, Answer { id, ok, text }));
        let _ = back.waker.wake();
    }
}

impl Drop for Request {
    fn drop(&mut self) {
        self.send(false, "the node gave no answer".to_owned());
    }
}

struct Server {
    poll: Poll,
    listener: TcpListener,
    commands: Commands,
    token: Option<String>,
    connections: BTreeMap<usize, Connection>,
    /// How many there are, for others.
    connected: Arc<AtomicUsize>,
    /// Connections whose turn was over before all was read.
    unread: BTreeSet<usize>,
    next: usize,
    asks: Asks,
    back: Back,
    answered: Receiver<(usize, Answer)>,
    /// Somebody may wait to be accepted.
    accepts: bool,
    /// Nobody is accepted before then.
    accepts_from: Option<Instant>,
}

impl Server {
    /// Each turn is bounded: so many events, so many who are accepted, so many bytes of each. Between two
    /// turns the thread rests for as long as it has taken more than its share.
    fn serve(&mut self, quit: &Cancel) {
        let mut events = Events::with_capacity(256);
        let mut pace = Pace::new();
        loop {
            let rest = pace.rest();
            if !rest.is_zero() {
                std::thread::sleep(rest);
            }
            let polled = self.poll.poll(&mut events, Some(self.patience()));
            if polled.is_err_and(|error| error.kind() != io::ErrorKind::Interrupted) {
                return;
            }
            let now = Instant::now();
            let mut touched = std::mem::take(&mut self.unread);
            for event in &events {
                match event.token() {
                    LISTENER => self.accepts = true,
                    WAKER => {}
                    Token(key) => {
                        if let Some(connection) = self.connections.get_mut(&key) {
                            if event.is_readable() {
                                connection.readable();
                            }
                            touched.insert(key);
                        }
                    }
                }
            }
            // Asked before answers are taken: those that were given before the end are still written.
            let ends = !quit.goes_on();
            while let Ok((key, answer)) = self.answered.try_recv() {
                if let Some(connection) = self.connections.get_mut(&key) {
                    connection.pending -= 1;
                    connection.answer(&answer);
                    touched.insert(key);
                }
            }
            for key in touched {
                self.read(key);
            }
            if ends {
                return;
            }
            self.drop_silent(now);
            if self.accepts && self.accepts_from.is_none_or(|from| from <= now) {
                self.accepts_from = None;
                self.accept(now);
            }
            self.connected
                .store(self.connections.len(), Ordering::Relaxed);
        }
    }

    /// So long nothing has to be done unless something happens.
    fn patience(&self) -> Duration {
        match self.accepts_from {
            _ if !self.unread.is_empty() => Duration::ZERO,
            Some(_) => PAUSE,
            None if self.accepts => Duration::ZERO,
            None => Duration::from_secs(1),
        }
    }

    /// Accepts some of those who wait.
    fn accept(&mut self, now: Instant) {
        for _ in 0..ACCEPTED_MAX {
            let mut stream = match self.listener.accept() {
                Ok((stream, _)) => stream,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.accepts = false;
                    return;
                }
                // Somebody who hung up again.
                Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => continue,
                Err(_) => {
                    self.accepts_from = Some(now + PAUSE);
                    return;
                }
            };
            if self.connections.len() >= CONNECTIONS_MAX && !self.makes_room(now) {
                continue;
            }
            let key = self.next;
            self.next += 1;
            let interest = Interest::READABLE | Interest::WRITABLE;
            let registry = self.poll.registry();
            if registry.register(&mut stream, Token(key), interest).is_ok() {
                // Answers are small, and somebody waits for them.
                let _ = stream.set_nodelay(true);
                let connection = Connection::new(stream, self.token.is_none(), now);
                self.connections.insert(key, connection);
            }
        }
    }

    /// Takes what somebody has said, and sends what is there for them.
    fn read(&mut self, key: usize) {
        if let Some(connection) = self.connections.get_mut(&key) {
            connection.begin_turn();
        }
        loop {
            let Some(connection) = self.connections.get_mut(&key) else {
                return;
            };
            match connection.next_message() {
                Ok(Some(message)) => match connection.said(message) {
                    Ok((said, binary)) => self.hear(key, said, binary),
                    Err(text) => {
                        if text == BROWSER {
                            connection.end();
                        }
                        let (id, ok) = (0, false);
                        connection.answer(&Answer { id, ok, text });
                    }
                },
                Ok(None) => break,
                Err(_) => return self.cut(key),
            }
            // Answers that nobody reads end a connection before they fill the memory.
            if self.flush(key) == Fate::Ends {
                return;
            }
        }
        self.flush(key);
        if self.connections.get(&key).is_some_and(Connection::has_more) {
            self.unread.insert(key);
        }
    }

    fn flush(&mut self, key: usize) -> Fate {
        let fate = self
            .connections
            .get_mut(&key)
            .map_or(Fate::Ends, Connection::flush);
        if fate == Fate::Ends {
            self.cut(key);
        }
        fate
    }

    fn hear(&mut self, key: usize, said: Said, binary: Vec<u8>) {
        let Some(connection) = self.connections.get_mut(&key) else {
            return;
        };
        let id = said.id();
        let is_trusted = connection.is_trusted;
        let mut answer = |ok: bool, text: &str| {
            let text = text.to_owned();
            connection.answer(&Answer { id, ok, text });
        };
        let asked = match said {
            Said::Token { token, .. } => {
                let is_right = self.token.as_ref().is_none_or(|own| {
                    let own: &[u8] = own.as_bytes();
                    bool::from(own.ct_eq(token.as_bytes()))
                });
                if is_right {
                    answer(true, "welcome");
                    connection.is_trusted = true;
                } else {
                    answer(false, "this is not the token");
                    connection.end();
                }
                return;
            }
            _ if !is_trusted => {
                answer(false, TOKEN_FIRST);
                connection.end();
                return;
            }
            Said::Complete { line, .. } => {
                return answer(true, &self.commands.complete(&line).join("\n"));
            }
            Said::Command { command, .. } if command.trim() == "help" => {
                return answer(true, &self.commands.help());
            }
            Said::Command { command, .. } => match self.commands.read(&command) {
                Ok(Some(call)) => Asked::Command {
                    call,
                    line: command.trim().to_owned(),
                },
                Ok(None) => return answer(true, ""),
                Err(why) => return answer(false, &why),
            },
            Said::Script { script, .. } => Asked::Script(script),
        };
        connection.pending += 1;
        let request = Request {
            asked,
            binary,
            from: key,
            id,
            back: Some(self.back.clone()),
        };
        // Each connection has so many pending at the most.
        locked(&self.asks).push_back(request);
    }

    /// Lets go of who has said nothing for longest, where that is long; whether somebody did.
    fn makes_room(&mut self, now: Instant) -> bool {
        let idle = self
            .connections
            .iter()
            .filter(|(_, it)| it.pending == 0)
            .map(|(key, it)| (it.spoke.unwrap_or(it.since), *key));
        let longest = idle
            .min()
            .filter(|(spoke, _)| now.duration_since(*spoke) > SILENCE);
        let Some((_, key)) = longest else {
            return false;
        };
        self.cut(key);
        true
    }

    fn drop_silent(&mut self, now: Instant) {
        let is_silent = |connection: &Connection| {
            let is_stranger = connection.spoke.is_none() || !connection.is_trusted;
            is_stranger && now.duration_since(connection.since) > SILENCE
        };
        let silent: Vec<usize> = self
            .connections
            .iter()
            .filter(|(_, it)| is_silent(it))
            .map(|(key, _)| *key)
            .collect();
        for key in silent {
            self.cut(key);
        }
    }

    fn cut(&mut self, key: usize) {
        if let Some(mut connection) = self.connections.remove(&key) {
            let _ = self.poll.registry().deregister(connection.stream());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tick_does_not_wait_for_who_adds_a_request() {
        let here = SocketAddr::from(([127, 0, 0, 1], 0));
        let console = Console::listen(here, None, Commands::new()).unwrap();
        let held = locked(&console.requests);
        assert!(console.take().is_none());
        drop(held);
    }
}
