//! From what was asked for to a proxy that listens.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::UdpSocket;

use netreel_reel::{Endpoint, Event, Header};
use netreel_system::udp::{Socket, Waits};
use netreel_transport::{mix, monotonic_now};

use super::super::{ProxyError, Wanted};
use super::state::{Counts, Listener, Proxy, Token, cannot_wait};
use netreel_record::{Recorder, clock_anchor};

impl Proxy {
    /// Listens, and makes the reel.
    ///
    /// # Errors
    /// A name has no address, an address cannot be listened on, or the reel cannot be made.
    pub fn open(wanted: Wanted) -> Result<Proxy, ProxyError> {
        let mut opened = Vec::new();
        for route in &wanted.routes {
            let target = route.resolve()?;
            let at = |error| ProxyError::Listen {
                listen: route.listen,
                error,
            };
            let socket = Socket::listen(route.listen).map_err(at)?;
            let local = socket.local().map_err(at)?;
            if is_itself(local, target) {
                let listen = route.listen;
                return Err(ProxyError::Itself { listen, target });
            }
            opened.push((socket, local, target, route.target.clone()));
        }
        let mut waits = Waits::new().map_err(cannot_wait)?;
        for (place, (socket, ..)) in opened.iter().enumerate() {
            let number = Token::Listener(place).number();
            waits.add(socket, number).map_err(cannot_wait)?;
        }
        let args = opened
            .iter()
            .map(|(_, local, _, name)| format!("{local}={name}"));
        let header = Header {
            node: "proxy".to_owned(),
            clock: clock_anchor(),
            engine: Header::PROXY.to_owned(),
            build: env!("CARGO_PKG_VERSION").to_owned(),
            args: args.collect(),
            seeds: if wanted.faults.is_clean() {
                Vec::new()
            } else {
                vec![("faults".to_owned(), wanted.seed)]
            },
            ..Header::default()
        };
        let recorder = Recorder::create(wanted.reel.clone(), &header, wanted.options.clone())?;
        let mut pusher = recorder.pusher()?;
        let mut listeners = Vec::new();
        for (place, (socket, local, target, name)) in opened.into_iter().enumerate() {
            let id = pusher.open_socket();
            pusher.push(monotonic_now(), Event::SocketOpened { socket: id, local });
            listeners.push(Listener {
                socket,
                id,
                local,
                name,
                target,
                // The first listener's links are those of the seed itself.
                seed: match place {
                    0 => wanted.seed,
                    place => mix(&[wanted.seed, place as u64]),
                },
                links: 0,
                drops: 0,
            });
        }
        let mut proxy = Proxy {
            wanted,
            listeners,
            clients: Vec::new(),
            slots: HashMap::new(),
            waits,
            timer_at: None,
            held: BTreeMap::new(),
            held_bytes: 0,
            held_ever: 0,
            pusher,
            recorder,
            counts: Counts::default(),
            answers: BTreeMap::new(),
            said: BTreeSet::new(),
            told: Vec::new(),
            told_rotations: 0,
        };
        proxy.introduce();
        Ok(proxy)
    }

    /// The first words in the reel.
    fn introduce(&mut self) {
        let mut words = Vec::new();
        for each in &self.listeners {
            let buffer = each.socket.receive_buffer();
            words.push(format!(
                "{} stands for {}, which is {}; its receive buffer has {buffer} bytes",
                each.local, each.name, each.target
            ));
        }
        for words in words {
            self.note(&words);
        }
        if !self.wanted.faults.is_clean() {
            self.note_faults();
        }
    }
}

/// Whether what is sent to `target` would arrive at the listener at `local`.
fn is_itself(local: Endpoint, target: Endpoint) -> bool {
    local.port() == target.port()
        && local.is_ipv4() == target.is_ipv4()
        && (local.ip() == target.ip()
            || (local.ip().is_unspecified() && UdpSocket::bind((target.ip(), 0)).is_ok()))
}
