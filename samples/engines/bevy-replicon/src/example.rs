//! The example: a server app and two client apps in one process; an object is spawned, moved and
//! despawned at the server. `cargo run -p replicon -- --out DIR`

use std::path::Path;

use bevy::prelude::*;
use bevy::state::app::StatesPlugin;
use bevy_replicon::prelude::*;
use netreel_record::{Journal, Options, Recorder, clock_anchor};
use netreel_reel::{Endpoint, Header, WireText};
use netreel_transport::{InputError, Layer, Shared, Transport};
use serde::{Deserialize, Serialize};

use crate::{OverTransport, RecordReplicon, RecordedAs, Recording};

type Failure = Box<dyn std::error::Error>;

/// Where an object is.
#[derive(Component, Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Position(pub i32);

/// How many times the object moves.
pub const MOVES: i32 = 30;

/// The address of the server. No socket is bound to it: the messages stay inside this process.
fn server() -> Endpoint {
    Endpoint::from(([127, 0, 0, 1], 1))
}

/// An app of the example, and what the game does with it: `join ADDRESS`, `spawn`, `move N` and
/// `despawn` at the server.
pub struct Game {
    app: App,
    object: Option<Entity>,
}

impl Game {
    /// The start conditions that stand in the reel: `server` or `client`. `network` brings what
    /// carries the messages.
    fn new(start: &[u8], network: impl Plugin) -> Result<Game, Failure> {
        let mut app = App::new();
        let replicon = RepliconPlugins.set(ServerPlugin::new(PostUpdate));
        app.add_plugins((MinimalPlugins, StatesPlugin, replicon, network));
        app.replicate::<Position>();
        app.finish();
        match start {
            b"server" => app.insert_state(ServerState::Running),
            b"client" => app.insert_state(ClientState::Connected),
            _ => return Err("neither server nor client".into()),
        };
        Ok(Game { app, object: None })
    }

    /// The same, to be played over a transport.
    pub fn over<T: Transport + Send + 'static>(
        io: Shared<T>,
        start: &[u8],
    ) -> Result<Game, Failure> {
        let server = server();
        Game::new(start, OverTransport { io, server })
    }

    /// Does what the game asks for.
    fn call(&mut self, call: &str) -> Result<(), Failure> {
        let world = self.app.world_mut();
        match call.split_once(' ').unwrap_or((call, "")) {
            ("join", address) => {
                let address = address.parse::<std::net::SocketAddr>()?;
                let client = ConnectedClient { max_size: 1200 };
                world.spawn((client, RecordedAs(address.into())));
            }
            ("spawn", "") => self.object = Some(world.spawn((Replicated, Position(0))).id()),
            ("move", to) => {
                let object = self.object.ok_or("there is no object")?;
                let mut position = world.get_mut(object).ok_or("the object is gone")?;
                *position = Position(to.parse()?);
            }
            ("despawn", "") => {
                let object = self.object.take().ok_or("there is no object")?;
                world.despawn(object);
            }
            _ => return Err("no such call".into()),
        }
        Ok(())
    }
}

impl Layer for Game {
    fn tick(&mut self, _: &mut dyn Transport) {
        self.app.update();
    }

    fn input(&mut self, call: &[u8], _: &mut dyn Transport) -> Result<(), InputError> {
        let done = std::str::from_utf8(call).map_err(Failure::from);
        done.and_then(|call| self.call(call))
            .map_err(|why| InputError {
                length: call.len(),
                why: why.to_string(),
            })
    }
}

/// A node that is recorded.
struct Node {
    game: Game,
    address: Endpoint,
    recorder: Recorder,
}

impl Node {
    fn new(out: &Path, name: &str, start: &[u8], port: u16) -> Result<Node, Failure> {
        let local = Endpoint::from(([127, 0, 0, 1], port));
        let wire = WireText {
            name: "replicon.wire".to_owned(),
            text: include_str!("../../../wires/replicon.wire").to_owned(),
        };
        let header = Header {
            node: name.to_owned(),
            clock: clock_anchor(),
            engine: "bevy_replicon example".to_owned(),
            start: start.to_owned(),
            wires: vec![wire],
            ..Header::default()
        };
        let path = out.join(format!("{name}.reel"));
        let recorder = Recorder::create(path, &header, Options::default())?;
        let journal = Journal::new(recorder.pusher()?);
        let server = server();
        let game = Game::new(
            start,
            RecordReplicon {
                journal,
                local,
                server,
            },
        )?;
        let address = local;
        Ok(Node {
            game,
            address,
            recorder,
        })
    }

    /// The game calls, and the call is written down before.
    fn call(&mut self, call: &str) -> Result<(), Failure> {
        let recording = self.game.app.world().resource::<Recording>();
        recording.journal.input(call.as_bytes());
        self.game.call(call)
    }

    fn world(&mut self) -> &mut World {
        self.game.app.world_mut()
    }
}

/// What a messaging backend would do over a network.
fn exchange(server: &mut Node, clients: &mut [Node]) {
    let mut known = server.world().query::<(Entity, &RecordedAs)>();
    let known = known
        .iter(server.world())
        .map(|(entity, at)| (entity, at.0));
    let known = known.collect::<Vec<_>>();
    let mut at_server = server.world().resource_mut::<ServerMessages>();
    for client in clients {
        let (address, world) = (client.address, client.world());
        let Some((entity, _)) = known.iter().find(|(_, at)| *at == address) else {
            continue;
        };
        let mut at_client = world.resource_mut::<ClientMessages>();
        for (channel, message) in at_client.drain_sent() {
            at_server.insert_received(*entity, channel, message);
        }
        at_server.retain_sent(|(to, channel, message)| {
            if to == entity {
                at_client.insert_received(*channel, message.clone());
            }
            to != entity
        });
    }
}

/// Plays and records a session: `out/server.reel`, `out/a.reel`, `out/b.reel`. What each client saw
/// of the object, frame by frame.
pub fn record(out: &Path) -> Result<[Vec<Option<Position>>; 2], Failure> {
    let mut server = Node::new(out, "server", b"server", 1)?;
    let mut clients = Vec::new();
    for (name, port) in [("a", 2), ("b", 3)] {
        let client = Node::new(out, name, b"client", port)?;
        server.call(&format!("join 127.0.0.1:{port}"))?;
        clients.push(client);
    }
    let mut seen = [Vec::new(), Vec::new()];
    for frame in 0..MOVES + 20 {
        match frame - 5 {
            0 => server.call("spawn")?,
            step @ 1..=MOVES => server.call(&format!("move {step}"))?,
            step if step == MOVES + 1 => server.call("despawn")?,
            _ => {}
        }
        server.game.app.update();
        exchange(&mut server, &mut clients);
        for (client, seen) in clients.iter_mut().zip(&mut seen) {
            client.game.app.update();
            let world = client.world();
            seen.push(world.query::<&Position>().iter(world).next().copied());
        }
        exchange(&mut server, &mut clients);
    }
    for Node { game, recorder, .. } in [server].into_iter().chain(clients) {
        drop(game);
        recorder.finish()?;
    }
    Ok(seen)
}
