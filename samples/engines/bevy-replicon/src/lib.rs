//! bevy_replicon, recorded.
//!
//! What to take over: [`RecordReplicon`], a plugin for server and client apps with any messaging
//! backend. It looks at what replicon has queued before the backend takes it, and at what the
//! backend has brought before replicon takes that. Each message is a packet of the reel: a byte for
//! its channel, with the highest bit set where a server sent it, and the message. What came in one
//! frame is written down channel by channel: replicon keeps no other order.
//!
//! [`OverTransport`] is the other half: a messaging backend that has a `Transport` for a network. In a
//! replay it hands the same messages to the same systems, and gives frames their recorded time.
//! What connects (`ServerState`, `ClientState`, a `ConnectedClient`) is not in the messages: the game
//! does that between two frames, and journals it as a call.

mod backend;
pub mod example;

use bevy::prelude::*;
use bevy::time::TimeSystems;
use bevy_replicon::prelude::*;
use netreel_record::Journal;
use netreel_reel::{Endpoint, SendOutcome, SocketId, Time as ReelTime};

pub use backend::OverTransport;

/// Set in a packet's first byte where a server sent it.
pub const FROM_SERVER: u8 = 0x80;

/// Records every message of the app, and each frame as a tick.
pub struct RecordReplicon {
    /// Where to.
    pub journal: Journal,
    /// The address of this app.
    pub local: Endpoint,
    /// The address of the server; of no meaning in a server.
    pub server: Endpoint,
}

/// A server's client goes by this address; stands beside its `ConnectedClient`.
#[derive(Component, Clone, Copy)]
pub struct RecordedAs(pub Endpoint);

/// The app's recording.
#[derive(Resource)]
pub struct Recording {
    /// For what the game wants to be in the reel: its inputs and random draws.
    pub journal: Journal,
    socket: SocketId,
    server: Endpoint,
    frames: u64,
    in_frame: bool,
    packet: Vec<u8>,
}

impl Plugin for RecordReplicon {
    fn build(&self, app: &mut App) {
        app.insert_resource(Recording {
            journal: self.journal.clone(),
            socket: self.journal.open_socket(self.local),
            server: self.server,
            frames: 0,
            in_frame: false,
            packet: Vec::new(),
        });
        let serves = in_state(ServerState::Running);
        let plays = in_state(ClientState::Connected);
        app.add_systems(First, frame_begins.after(TimeSystems))
            .add_systems(Last, frame_ends)
            .add_systems(
                PreUpdate,
                server_received
                    .after(ServerSystems::ReceivePackets)
                    .before(ServerSystems::Receive)
                    .run_if(serves.clone()),
            )
            .add_systems(
                PreUpdate,
                client_received
                    .after(ClientSystems::ReceivePackets)
                    .before(ClientSystems::Receive)
                    .run_if(plays.clone()),
            )
            .add_systems(
                OnEnter(ClientState::Connected),
                client_received.before(ClientSystems::Receive),
            )
            .add_systems(
                PostUpdate,
                server_sent
                    .after(ServerSystems::Send)
                    .before(ServerSystems::SendPackets)
                    .run_if(serves),
            )
            .add_systems(
                PostUpdate,
                client_sent
                    .after(ClientSystems::Send)
                    .before(ClientSystems::SendPackets)
                    .run_if(plays),
            );
    }
}

impl Recording {
    /// States are entered before an app's very first frame has a time.
    fn begin_frame(&mut self, elapsed: core::time::Duration) {
        if !std::mem::replace(&mut self.in_frame, true) {
            let elapsed = ReelTime(elapsed.as_nanos() as u64);
            self.journal.tick(self.frames, elapsed);
            self.frames += 1;
        }
    }

    fn pack(&mut self, from_server: u8, channel: usize, message: &[u8]) {
        self.packet.clear();
        self.packet.push(from_server | channel as u8);
        self.packet.extend_from_slice(message);
    }

    fn sent(&self, to: Endpoint) {
        let of = self.journal.sent(self.socket, to, &self.packet);
        self.journal.send_result(of, SendOutcome::Sent);
    }

    fn received(&self, from: Endpoint) {
        self.journal.received(self.socket, from, &self.packet);
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        self.journal.close_socket(self.socket);
    }
}

fn frame_begins(mut recording: ResMut<Recording>, time: Res<Time>, real: Res<Time<Real>>) {
    recording.begin_frame(time.elapsed());
    let elapsed = ReelTime(real.elapsed().as_nanos() as u64);
    recording.journal.clock(elapsed);
}

fn frame_ends(mut recording: ResMut<Recording>) {
    recording.in_frame = false;
}

fn server_received(
    mut recording: ResMut<Recording>,
    time: Res<Time>,
    messages: Res<ServerMessages>,
    channels: Res<RepliconChannels>,
    clients: Query<&RecordedAs>,
) {
    recording.begin_frame(time.elapsed());
    for channel in 0..channels.client_channels().len() {
        for (client, message) in messages.iter_received(channel) {
            if let Ok(RecordedAs(from)) = clients.get(client) {
                recording.pack(0, channel, message);
                recording.received(*from);
            }
        }
    }
    recording.journal.poll_empty(recording.socket);
}

fn server_sent(
    mut recording: ResMut<Recording>,
    messages: Res<ServerMessages>,
    clients: Query<&RecordedAs>,
) {
    for (client, channel, message) in messages.iter_sent() {
        if let Ok(RecordedAs(to)) = clients.get(client) {
            recording.pack(FROM_SERVER, channel, message);
            recording.sent(*to);
        }
    }
}

fn client_received(
    mut recording: ResMut<Recording>,
    time: Res<Time>,
    messages: Res<ClientMessages>,
    channels: Res<RepliconChannels>,
) {
    recording.begin_frame(time.elapsed());
    for channel in 0..channels.server_channels().len() {
        for message in messages.iter_received(channel) {
            recording.pack(FROM_SERVER, channel, message);
            recording.received(recording.server);
        }
    }
    recording.journal.poll_empty(recording.socket);
}

fn client_sent(mut recording: ResMut<Recording>, messages: Res<ClientMessages>) {
    for (channel, message) in messages.iter_sent() {
        recording.pack(0, channel, message);
        recording.sent(recording.server);
    }
}
