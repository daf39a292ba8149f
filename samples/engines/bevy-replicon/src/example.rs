//! The example: a server app and two client apps in one process; an object is spawned, moved and
//! despawned at the server. `cargo run -p replicon -- --out DIR`

use std::path::Path;

use bevy::prelude::*;
use bevy::state::app::StatesPlugin;
use bevy_replicon::prelude::*;
use netreel_capture::{Journal, Options, Recorder, clock_anchor};
use netreel_reel::{Endpoint, Header, WireText};
use serde::{Deserialize, Serialize};

use crate::{RecordReplicon, RecordedAs, Recording};

type Failure = Box<dyn std::error::Error>;

/// Where an object is.
#[derive(Component, Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Position(pub i32);

/// How many times the object moves.
pub const MOVES: i32 = 30;

/// An app of the example, its name and its recording.
struct Node {
    app: App,
    address: Endpoint,
    recorder: Recorder,
}

fn node(out: &Path, name: &str, port: u16) -> Result<Node, Failure> {
    // No socket is bound to them: the messages stay inside this process.
    let [address, server] = [port, 1].map(|port| Endpoint::from(([127, 0, 0, 1], port)));
    let wire = WireText {
        name: "replicon.wire".to_owned(),
        text: include_str!("../replicon.wire").to_owned(),
    };
    let header = Header {
        node: name.to_owned(),
        clock: clock_anchor(),
        engine: "bevy_replicon example".to_owned(),
        wires: vec![wire],
        ..Header::default()
    };
    let path = out.join(format!("{name}.reel"));
    let recorder = Recorder::create(path, &header, Options::default())?;
    let journal = Journal::new(recorder.pusher()?);
    let mut app = App::new();
    let replicon = RepliconPlugins.set(ServerPlugin::new(PostUpdate));
    app.add_plugins((MinimalPlugins, StatesPlugin, replicon));
    app.add_plugins(RecordReplicon {
        journal,
        local: address,
        server,
    });
    app.replicate::<Position>();
    app.finish();
    Ok(Node {
        app,
        address,
        recorder,
    })
}

/// What a messaging backend would do over a network.
fn exchange(server: &mut App, clients: &mut [(Entity, Node)]) {
    let mut at_server = server.world_mut().resource_mut::<ServerMessages>();
    for (entity, client) in clients.iter_mut() {
        let mut at_client = client.app.world_mut().resource_mut::<ClientMessages>();
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
    let Node {
        app: mut server,
        recorder,
        ..
    } = node(out, "server", 1)?;
    server.insert_state(ServerState::Running);
    let mut clients = Vec::new();
    for (name, port) in [("a", 2), ("b", 3)] {
        let mut client = node(out, name, port)?;
        client.app.insert_state(ClientState::Connected);
        let connected = (
            ConnectedClient { max_size: 1200 },
            RecordedAs(client.address),
        );
        clients.push((server.world_mut().spawn(connected).id(), client));
    }
    let mut object = None;
    let mut seen = [Vec::new(), Vec::new()];
    for frame in 0..MOVES + 20 {
        let recording = server.world().resource::<Recording>();
        match frame - 5 {
            0 => {
                recording.journal.input(b"spawn");
                object = Some(server.world_mut().spawn((Replicated, Position(0))).id());
            }
            step @ 1..=MOVES => {
                recording.journal.input(format!("move {step}").as_bytes());
                if let Some(mut position) = object.and_then(|it| server.world_mut().get_mut(it)) {
                    *position = Position(step);
                }
            }
            step if step == MOVES + 1 => {
                recording.journal.input(b"despawn");
                object.take().map(|it| server.world_mut().despawn(it));
            }
            _ => {}
        }
        server.update();
        exchange(&mut server, &mut clients);
        for ((_, client), seen) in clients.iter_mut().zip(&mut seen) {
            client.app.update();
            let world = client.app.world_mut();
            seen.push(world.query::<&Position>().iter(world).next().copied());
        }
        exchange(&mut server, &mut clients);
    }
    drop(server);
    recorder.finish()?;
    for (_, Node { app, recorder, .. }) in clients {
        drop(app);
        recorder.finish()?;
    }
    Ok(seen)
}
