//! The example: a server with a box for each of two clients, who steer them and talk, over loopback UDP.
//! `cargo run -p lightyear-links -- --out DIR`

use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use aeronet_io::connection::{LocalAddr, PeerAddr};
use bevy::prelude::*;
use bevy::state::app::StatesPlugin;
use lightyear_connection::ConnectionPlugin;
use lightyear_connection::prelude::server::{ClientOf, Start};
use lightyear_connection::prelude::{Connect, Connected, NetworkDirection, NetworkTarget};
use lightyear_core::plugin::CorePlugins;
use lightyear_link::server::ServerLinkPlugin;
use lightyear_messages::plugin::MessagePlugin;
use lightyear_messages::prelude::{AppMessageExt, MessageReceiver, MessageSender};
use lightyear_raw_connection::{
    client, prelude::client::RawClient, prelude::server::RawServer, server,
};
use lightyear_replication::metadata::MetadataChannel;
use lightyear_replication::prelude::*;
use lightyear_replication::{
    LightyearRepliconBackend, LightyearRepliconClientBackend, LightyearRepliconServerBackend,
};
use lightyear_transport::plugin::{PacketAcked, PacketLost, PacketReceived, TransportPlugin};
use lightyear_transport::prelude::{
    AppChannelExt, ChannelMode, ChannelSettings, CompressionConfig, ReliableSettings,
    Transport as Channels,
};
use netreel_record::{Options, Recorded, Recorder, clock_anchor};
use netreel_reel::{Header, Time as ReelTime, WireText};
use netreel_transport::{
    Faults, InputError, Layer, LinkEnd, LinkFaults, Shared, Transport, UdpTransport,
};
use serde::{Deserialize, Serialize};

use crate::links::{LinksOver, OverTransport, update};

type Failure = Box<dyn std::error::Error>;

/// Where a client's box is.
#[derive(Component, Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Position(pub i32);

/// Whose box it is: the link of a client, at the server.
#[derive(Component)]
struct Of(Entity);

/// Where to a client steers its box.
#[derive(Serialize, Deserialize)]
struct Steer(i8);

/// What a client says to all.
#[derive(Clone, Serialize, Deserialize)]
struct Say(Vec<u8>);

/// Channel 5: reliable and ordered.
struct Talk;

/// Channel 6: the newest alone counts.
struct Steering;

/// How far a box goes for a `Steer`.
#[derive(Resource)]
struct Step(i32);

/// Whether what lightyear sends is compressed.
#[derive(Resource)]
struct Lz4(bool);

/// What lightyear itself says of its packets, and what came of the messages.
#[derive(Resource, Clone, Debug, Default)]
pub struct Told {
    /// The packets that were acked, by whom they went to.
    pub acked: Vec<(SocketAddr, u16)>,
    /// Those that lightyear took for lost.
    pub lost: Vec<(SocketAddr, u16)>,
    /// Of each packet that came, from whom and the sender's tick.
    pub received: Vec<(SocketAddr, u32)>,
    /// What was said, in the order in which it was handed over.
    pub heard: Vec<Vec<u8>>,
    /// The positions of all boxes after each frame, sorted.
    pub seen: Vec<Vec<i32>>,
}

/// The numbers of channels and messages are those of `ClientPlugins` and `ServerPlugins` of the crate
/// `lightyear`, which has many more dependencies; but for the check of the protocol.
fn protocol(app: &mut App, serves: bool) {
    let tick_duration = Duration::from_millis(10);
    if serves {
        app.add_plugins((lightyear_sync::server::ServerPlugin, ServerLinkPlugin));
    } else {
        app.add_plugins(lightyear_sync::client::ClientPlugin);
    }
    app.add_plugins((
        CorePlugins { tick_duration },
        TransportPlugin,
        MessagePlugin,
        ConnectionPlugin,
    ));
    let settings = |mode| ChannelSettings {
        mode,
        ..ChannelSettings::default()
    };
    let metadata = ChannelMode::UnorderedReliable(ReliableSettings::default());
    app.add_channel::<MetadataChannel>(settings(metadata))
        .add_direction(NetworkDirection::Bidirectional);
    app.add_plugins(LightyearRepliconBackend);
    if serves {
        app.add_plugins((
            LightyearRepliconServerBackend,
            lightyear_connection::host::HostPlugin,
            server::RawConnectionPlugin,
        ));
    } else {
        app.add_plugins((LightyearRepliconClientBackend, client::RawConnectionPlugin));
    }
    let talk = ChannelMode::OrderedReliable(ReliableSettings::default());
    app.add_channel::<Talk>(settings(talk))
        .add_direction(NetworkDirection::Bidirectional);
    app.add_channel::<Steering>(settings(ChannelMode::SequencedUnreliable))
        .add_direction(NetworkDirection::ClientToServer);
    app.register_message::<Say>()
        .add_direction(NetworkDirection::Bidirectional);
    app.register_message::<Steer>()
        .add_direction(NetworkDirection::ClientToServer);
    app.component::<Position>().replicate();
}

/// What the game does with it.
fn game(app: &mut App, serves: bool) {
    app.init_resource::<Told>();
    app.add_observer(
        |added: On<Add, Channels>, mut channels: Query<&mut Channels>, lz4: Res<Lz4>| {
            if let (true, Ok(mut channels)) = (lz4.0, channels.get_mut(added.entity)) {
                channels.set_compression(CompressionConfig::LZ4);
            }
        },
    );
    app.add_observer(
        |acked: On<PacketAcked>, peers: Query<&PeerAddr>, mut told: ResMut<Told>| {
            let peer = peers.get(acked.entity).map(|it| (it.0, acked.packet_id.0));
            told.acked.extend(peer);
        },
    );
    app.add_observer(
        |lost: On<PacketLost>, peers: Query<&PeerAddr>, mut told: ResMut<Told>| {
            let peer = peers.get(lost.entity).map(|it| (it.0, lost.packet_id.0));
            told.lost.extend(peer);
        },
    );
    app.add_observer(
        |came: On<PacketReceived>, peers: Query<&PeerAddr>, mut told: ResMut<Told>| {
            let peer = peers.get(came.entity).map(|it| (it.0, came.remote_tick.0));
            told.received.extend(peer);
        },
    );
    app.add_systems(Last, |boxes: Query<&Position>, mut told: ResMut<Told>| {
        let mut seen: Vec<i32> = boxes.iter().map(|it| it.0).collect();
        seen.sort_unstable();
        told.seen.push(seen);
    });
    if serves {
        app.add_observer(
            |added: On<Add, Connected>,
             links: Query<(), With<ClientOf>>,
             mut commands: Commands| {
                let link = added.entity;
                if links.contains(link) {
                    commands.entity(link).insert(ReplicationSender);
                    commands.spawn((
                        Position(0),
                        Of(link),
                        Replicate::to_clients(NetworkTarget::All),
                    ));
                }
            },
        );
        app.add_systems(Update, (steer, pass_on).chain());
    } else {
        app.add_systems(Update, hear);
    }
}

fn steer(
    mut steered: Query<(Entity, &mut MessageReceiver<Steer>)>,
    mut boxes: Query<(&Of, &mut Position)>,
    step: Res<Step>,
) {
    for (link, mut messages) in &mut steered {
        for Steer(way) in messages.receive() {
            for (_, mut position) in boxes.iter_mut().filter(|(of, _)| of.0 == link) {
                position.0 += step.0 * i32::from(way);
            }
        }
    }
}

fn pass_on(
    mut said: Query<&mut MessageReceiver<Say>>,
    mut links: Query<&mut MessageSender<Say>>,
    mut told: ResMut<Told>,
) {
    for say in said
        .iter_mut()
        .flat_map(|mut said| said.receive().collect::<Vec<_>>())
    {
        links
            .iter_mut()
            .for_each(|mut link| link.send::<Talk>(say.clone()));
        told.heard.push(say.0);
    }
}

fn hear(mut said: Query<&mut MessageReceiver<Say>>, mut told: ResMut<Told>) {
    said.iter_mut()
        .for_each(|mut said| told.heard.extend(said.receive().map(|say| say.0)));
}

/// An app of the example.
pub struct Game(App);

impl Game {
    /// The start conditions that stand in the reel: how far a box goes at a time, whether packets are
    /// compressed, and whom to connect to (nobody: a server).
    pub fn over<T: Transport + Send + 'static>(
        io: Shared<T>,
        start: &[u8],
    ) -> Result<Game, Failure> {
        let ([step, lz4], server) = start
            .split_first_chunk()
            .ok_or("too few start conditions")?;
        let mut app = App::new();
        app.add_plugins((MinimalPlugins, StatesPlugin));
        app.insert_resource(Step(i32::from(*step)))
            .insert_resource(Lz4(*lz4 != 0));
        protocol(&mut app, server.is_empty());
        game(&mut app, server.is_empty());
        app.add_plugins(LinksOver(io));
        app.finish();
        let world = app.world_mut();
        if server.is_empty() {
            let entity = world.spawn((RawServer, OverTransport)).id();
            world.trigger(Start { entity });
        } else {
            let server: SocketAddr = std::str::from_utf8(server)?.parse()?;
            let local = LocalAddr(([127, 0, 0, 1], 0).into());
            let client = (
                RawClient,
                local,
                PeerAddr(server),
                OverTransport,
                ReplicationReceiver,
            );
            let entity = world.spawn(client).id();
            world.trigger(Connect { entity });
        }
        Ok(Game(app))
    }

    /// What lightyear said until now.
    pub fn told(&self) -> &Told {
        self.0.world().resource()
    }
}

impl Layer for Game {
    // The app has a transport of its own: what is handed over here is the same one.
    fn tick(&mut self, _: &mut dyn Transport) {
        update(&mut self.0);
    }

    /// A call of the game: a client says it, or steers where it is one byte. The server's boxes go.
    fn input(&mut self, call: &[u8], _: &mut dyn Transport) -> Result<(), InputError> {
        let world = self.0.world_mut();
        if call.is_empty() {
            let boxes: Vec<Entity> = world
                .query_filtered::<Entity, With<Of>>()
                .iter(world)
                .collect();
            for it in boxes {
                world.despawn(it);
            }
        } else if let [way] = call {
            let mut links = world.query::<&mut MessageSender<Steer>>();
            links
                .iter_mut(world)
                .for_each(|mut link| link.send::<Steering>(Steer(*way as i8)));
        } else {
            let mut links = world.query::<&mut MessageSender<Say>>();
            links
                .iter_mut(world)
                .for_each(|mut link| link.send::<Talk>(Say(call.to_vec())));
        }
        Ok(())
    }
}

/// What a session is like.
#[derive(Clone, Copy, Debug, Default)]
pub struct Plan {
    /// The chance that a packet is lost on purpose.
    pub loss: f64,
    /// Whether packets are compressed.
    pub lz4: bool,
}

/// The wire with what it imports, in one text.
const WIRE: &str = concat!(
    "//# file \"lightyear.wire\"\n",
    include_str!("../../../wires/lightyear.wire"),
    "//# file \"replicon.wire\"\n",
    include_str!("../../../wires/replicon.wire"),
);

/// How long a frame takes, in milliseconds.
const FRAME_MS: u64 = 4;

/// The first frame in which somebody plays, and the first in which nobody does.
const PLAYED: std::ops::Range<u64> = 100..160;

/// What a client says in a frame: each fourth something short, and once what takes five fragments.
fn says(plan: Plan, frame: u64) -> Option<Vec<u8>> {
    let bytes = match frame {
        130 => 5000,
        frame if frame % 4 == 0 && plan.lz4 => 300,
        frame if frame % 4 == 0 => 15,
        _ => return None,
    };
    // Nothing that is repeated, so that nothing could be compressed away; or that alone.
    let mut drawn = frame;
    let draw = |_| {
        let factor = if plan.lz4 {
            1
        } else {
            6_364_136_223_846_793_005
        };
        drawn = drawn.wrapping_mul(factor).wrapping_add(1);
        (drawn >> 56) as u8
    };
    Some((0..bytes).map(draw).collect())
}

/// Plays and records a session: `out/server.reel`, `out/a.reel`, `out/b.reel`. The address of each, and what
/// lightyear said there.
pub fn record(out: &Path, plan: Plan) -> Result<[(SocketAddr, Told); 3], Failure> {
    let [server, a, b] = [(); 3].map(|()| UdpTransport::bind(([127, 0, 0, 1], 0).into()));
    let sockets = [("server", server?), ("a", a?), ("b", b?)];
    let ends = [0, 1, 2].map(|end| (sockets[usize::from(end)].1.local(), LinkEnd(end)));
    let server = ends[0].0.to_string();
    let lossy = LinkFaults {
        loss: plan.loss,
        ..LinkFaults::default()
    };
    let mut nodes = Vec::new();
    for ((name, socket), (local, end)) in sockets.into_iter().zip(ends) {
        let mut header = Header {
            node: name.to_owned(),
            clock: clock_anchor(),
            engine: "lightyear example".to_owned(),
            start: vec![1, u8::from(plan.lz4)],
            wires: vec![WireText {
                name: "lightyear.wire".to_owned(),
                text: WIRE.to_owned(),
            }],
            ..Header::default()
        };
        if name != "server" {
            header.start.extend_from_slice(server.as_bytes());
        }
        let recorder = Recorder::create(
            out.join(format!("{name}.reel")),
            &header,
            Options::default(),
        )?;
        let mut io = Faults::new(socket, 7, end, ends);
        ends.iter()
            .for_each(|(_, other)| io.set_egress(*other, lossy));
        let io = Shared::new(Recorded::new(io, recorder.pusher()?, local));
        let game = Game::over(io.clone(), &header.start)?;
        nodes.push((recorder, io, game));
    }
    let said = 2 * PLAYED.filter_map(|it| says(plan, it)).count();
    let mut frame = 0;
    let mut over = None;
    // At the end the boxes go, and all hear of it.
    while over.is_none_or(|over| frame < over + 60) {
        if frame == 10_000 {
            return Err("not all was heard".into());
        }
        for (place, (_, io, game)) in nodes.iter_mut().enumerate() {
            io.tick(frame, ReelTime(frame * FRAME_MS * 1_000_000));
            game.tick(io);
            let mut call = |bytes: &[u8]| {
                io.input(bytes);
                game.input(bytes, io)
            };
            if place > 0 && PLAYED.contains(&frame) {
                call(&[place as u8])?;
                says(plan, frame).map_or(Ok(()), |said| call(&said))?;
            }
            if place == 0 && over == Some(frame) {
                call(&[])?;
            }
        }
        frame += 1;
        if over.is_none()
            && frame > PLAYED.end
            && nodes.iter().all(|it| it.2.told().heard.len() == said)
        {
            over = Some(frame + 20);
        }
        std::thread::sleep(Duration::from_millis(FRAME_MS));
    }
    // What nobody has read by then is known to be lost.
    std::thread::sleep(Duration::from_millis(300));
    let mut told = Vec::new();
    for ((recorder, io, game), (address, _)) in nodes.into_iter().zip(ends) {
        told.push((address, game.told().clone()));
        drop((game, io));
        recorder.finish()?;
    }
    told.try_into().map_err(|_| "three nodes".into())
}
