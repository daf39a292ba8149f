//! Who is served, and who no longer.

use netreel_reel::{Endpoint, Event, Time};
use netreel_system::udp::Socket;
use netreel_transport::{LinkEnd, monotonic_now};

use super::super::Report;
use super::super::faults::FaultedLink;
use super::state::{Client, Proxy, Token};

impl Proxy {
    /// Opens a socket towards the server for a new client; an error code and a sentence where that
    /// cannot be.
    pub(super) fn admit(
        &mut self,
        place: usize,
        address: Endpoint,
        now: Time,
    ) -> Result<usize, (i32, String)> {
        let max = self.wanted.clients_max;
        if self.slots.len() >= max {
            return Err((
                0,
                format!("there are {max} clients already, and no more were allowed"),
            ));
        }
        let Some(listener) = self.listeners.get_mut(place) else {
            return Err((0, "nobody listens".to_owned()));
        };
        let target = listener.target;
        let cannot = |error: std::io::Error| {
            let code = error.raw_os_error().unwrap_or(0);
            (code, format!("no socket towards {target}: {error}"))
        };
        let socket = Socket::connect(target).map_err(cannot)?;
        let local = socket.local().map_err(cannot)?;
        let links = listener.links.checked_add(1);
        let id = self.pusher.open_socket();
        let Some(links) = links.filter(|_| id.0 < u16::MAX) else {
            let why = "one reel numbers 65534 sockets, and they are used up; start again";
            return Err((0, why.to_owned()));
        };
        listener.links = links;
        let slot = match self.clients.iter().position(Option::is_none) {
            Some(slot) => slot,
            None => {
                self.clients.push(None);
                self.clients.len() - 1
            }
        };
        let number = Token::Client(slot).number();
        self.waits.add(&socket, number).map_err(cannot)?;
        let (seed, faults) = (listener.seed, self.wanted.faults);
        let (here, there) = (LinkEnd(links), LinkEnd(0));
        let listener_id = listener.id;
        let opened = Event::SocketOpened { socket: id, local };
        self.pusher.push(now, opened);
        self.pusher.push(
            now,
            Event::Relay {
                socket: id,
                listener: listener_id,
                client: address,
            },
        );
        if let Some(free) = self.clients.get_mut(slot) {
            *free = Some(Client {
                address,
                listener: place,
                socket,
                id,
                up: FaultedLink::new(faults.up, seed, (here, there)),
                down: FaultedLink::new(faults.down, seed, (there, here)),
                latest: now,
                held: 0,
                drops: 0,
            });
        }
        self.slots.insert((place, address), slot);
        self.counts.clients += 1;
        let client = address;
        self.told.push(Report::Came { client, local });
        Ok(slot)
    }

    /// Says again whose the sockets are where the reel has gone on in a new file: the files before
    /// it may be deleted, and a window begins later than they.
    pub(super) fn tell_new_file_of_clients(&mut self) {
        let rotations = self.recorder.rotations();
        if std::mem::replace(&mut self.told_rotations, rotations) == rotations {
            return;
        }
        let now = monotonic_now();
        for client in self.clients.iter().flatten() {
            let listener = self.listeners.get(client.listener);
            if let Some(listener) = listener.map(|listener| listener.id) {
                let relay = Event::Relay {
                    socket: client.id,
                    listener,
                    client: client.address,
                };
                self.pusher.push(now, relay);
            }
        }
    }

    pub(super) fn forget_the_silent(&mut self) {
        self.tell_new_file_of_clients();
        let now = monotonic_now();
        let silent = |client: &Client| now.since(client.latest);
        let idle = self.wanted.idle;
        for slot in 0..self.clients.len() {
            let place = self.clients.get_mut(slot);
            let gone = place.and_then(|place| {
                place.take_if(|client| client.held == 0 && silent(client) >= idle)
            });
            let Some(client) = gone else { continue };
            self.slots.remove(&(client.listener, client.address));
            // Its drops count, whoever comes next has none.
            let drops = client.socket.drops();
            let more = drops.map_or(0, |now| now.wrapping_sub(client.drops));
            self.dropped(now, more.into());
            let silent = silent(&client);
            self.pusher
                .push(now, Event::SocketClosed { socket: client.id });
            self.note(&format!(
                "{} was silent for {:.1} s; should it come back, it gets a new socket",
                client.address,
                silent.as_secs_f64()
            ));
            self.said.retain(|(who, _)| *who != client.address);
            self.told.push(Report::Went {
                client: client.address,
                silent,
            });
        }
    }

    /// Writes down how many packets the kernel has dropped since the last time.
    pub(super) fn ask_for_drops(&mut self) {
        let mut count = 0;
        let mut add = |socket: &Socket, known: &mut u32| {
            if let Some(now) = socket.drops() {
                count += u64::from(now.wrapping_sub(*known));
                *known = now;
            }
        };
        for each in &mut self.listeners {
            add(&each.socket, &mut each.drops);
        }
        for client in self.clients.iter_mut().flatten() {
            add(&client.socket, &mut client.drops);
        }
        self.dropped(monotonic_now(), count);
    }

    fn dropped(&mut self, now: Time, count: u64) {
        if count > 0 {
            self.counts.kernel_drops += count;
            self.pusher.push(now, Event::CaptureDrops { count });
        }
    }
}
