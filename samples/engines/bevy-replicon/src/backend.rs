//! A messaging backend over a transport.

use bevy::prelude::*;
use bevy::time::{TimeSystems, TimeUpdateStrategy};
use bevy_replicon::prelude::*;
use netreel_reel::{Endpoint, Time as ReelTime};
use netreel_transport::{Datagram, Shared, Transport};

use crate::{FROM_SERVER, RecordedAs};

/// Carries replicon's messages over a transport, packed as [`RecordReplicon`](crate::RecordReplicon)
/// packs them, and takes the app's time from it. It asks at the same places of a frame as that one
/// records. A server's messages from addresses that no client goes by ([`RecordedAs`]) are dropped.
///
/// All of it runs in the thread that updates the app.
pub struct OverTransport<T> {
    /// The network and the clock.
    pub io: Shared<T>,
    /// The address of the server; of no meaning in a server.
    pub server: Endpoint,
}

/// The transport, in the app's own thread.
struct Network {
    io: Box<dyn Transport>,
    server: Endpoint,
    /// The time of the latest frame.
    latest: ReelTime,
    packet: Vec<u8>,
}

/// Stands where [`Recording`](crate::Recording) stood: resources are entities, which messages number.
#[derive(Resource)]
struct Replayed;

/// A message has at most this many bytes.
const MESSAGE_MAX: usize = 64 << 10;

impl<T: Transport + Send + 'static> Plugin for OverTransport<T> {
    fn build(&self, app: &mut App) {
        app.insert_resource(Replayed);
        app.insert_non_send(Network {
            io: Box::new(self.io.clone()),
            server: self.server,
            latest: ReelTime::ZERO,
            packet: vec![0; 1 + MESSAGE_MAX],
        });
        let serves = in_state(ServerState::Running);
        let plays = in_state(ClientState::Connected);
        app.add_systems(First, take_time.before(TimeSystems))
            .add_systems(
                PreUpdate,
                (
                    server_receives
                        .in_set(ServerSystems::ReceivePackets)
                        .run_if(serves.clone()),
                    client_receives
                        .in_set(ClientSystems::ReceivePackets)
                        .run_if(plays.clone()),
                ),
            )
            .add_systems(
                OnEnter(ClientState::Connected),
                client_receives.before(ClientSystems::Receive),
            )
            .add_systems(
                PostUpdate,
                (
                    server_sends
                        .in_set(ServerSystems::SendPackets)
                        .run_if(serves),
                    client_sends
                        .in_set(ClientSystems::SendPackets)
                        .run_if(plays),
                ),
            );
    }
}

impl Network {
    /// The messages that have arrived, with who sent each and its channel.
    fn receive(&mut self, mut take: impl FnMut(Endpoint, u8, &[u8])) {
        while let Ok(Some(Datagram { from, length })) = self.io.receive(&mut self.packet) {
            if let Some((first, message)) = self.packet[..length].split_first() {
                take(from, *first, message);
            }
        }
    }

    fn send(&mut self, to: Endpoint, first: u8, message: &[u8]) {
        self.packet.clear();
        self.packet.push(first);
        self.packet.extend_from_slice(message);
        // Replicon is told of no error by any backend.
        let _ = self.io.send(to, &self.packet);
        self.packet.resize(1 + MESSAGE_MAX, 0);
    }
}

fn take_time(mut network: NonSendMut<Network>, mut strategy: ResMut<TimeUpdateStrategy>) {
    let now = network.io.now();
    let passed = now.since(std::mem::replace(&mut network.latest, now));
    *strategy = TimeUpdateStrategy::ManualDuration(passed);
}

fn server_receives(
    mut network: NonSendMut<Network>,
    mut messages: ResMut<ServerMessages>,
    channels: Res<RepliconChannels>,
    clients: Query<(Entity, &RecordedAs)>,
) {
    let count = channels.client_channels().len();
    network.receive(|from, first, message| {
        let client = clients.iter().find(|(_, known)| known.0 == from);
        if let (Some((client, _)), true) = (client, usize::from(first) < count) {
            messages.insert_received(client, usize::from(first), message.to_vec());
        }
    });
}

fn client_receives(
    mut network: NonSendMut<Network>,
    mut messages: ResMut<ClientMessages>,
    channels: Res<RepliconChannels>,
) {
    let count = channels.server_channels().len();
    network.receive(|_, first, message| {
        let channel = usize::from(first & !FROM_SERVER);
        if channel < count {
            messages.insert_received(channel, message.to_vec());
        }
    });
}

fn server_sends(
    mut network: NonSendMut<Network>,
    mut messages: ResMut<ServerMessages>,
    clients: Query<&RecordedAs>,
) {
    for (client, channel, message) in messages.drain_sent() {
        if let Ok(RecordedAs(to)) = clients.get(client) {
            network.send(*to, FROM_SERVER | channel as u8, &message);
        }
    }
}

fn client_sends(mut network: NonSendMut<Network>, mut messages: ResMut<ClientMessages>) {
    let server = network.server;
    for (channel, message) in messages.drain_sent() {
        network.send(server, channel as u8, &message);
    }
}
