//! The links of lightyear over a transport.

use std::net::SocketAddr;
use std::sync::{Mutex, PoisonError};

use aeronet_io::connection::PeerAddr;
use bevy::prelude::*;
use bevy::time::{TimeSystems, TimeUpdateStrategy};
use bytes::BytesMut;
use lightyear_link::prelude::*;
use lightyear_link::{LinkPlugin, LinkReceiveSystems};
use mock_instant::global::MockClock;
use netreel_reel::Time as ReelTime;
use netreel_transport::{Datagram, Shared, Transport};

/// Carries the payloads of all links with an [`OverTransport`] over a transport, and takes the app's time
/// from it.
///
/// All of it runs in the thread that updates the app.
pub struct LinksOver<T>(pub Shared<T>);

/// Stands on a client's entity, beside the `PeerAddr` of its server, where `UdpIo` would stand; and on a
/// server's where `ServerUdpIo` would. A server's links get it when the first packet comes from an address.
#[derive(Component)]
pub struct OverTransport;

/// What is carried and started.
type OverAndLinked = (With<OverTransport>, With<Linked>);

/// The transport, in the app's own thread.
struct Network {
    io: Box<dyn Transport>,
    /// The time of the latest frame.
    latest: ReelTime,
}

/// The longest packet that UDP carries.
const PACKET_MAX: usize = 65_535;

/// Updates an app: one frame. Those of one process come one after the other.
pub fn update(app: &mut App) {
    static FRAME: Mutex<()> = Mutex::new(());
    let _alone = FRAME.lock().unwrap_or_else(PoisonError::into_inner);
    app.update();
}

impl<T: Transport + Send + 'static> Plugin for LinksOver<T> {
    fn build(&self, app: &mut App) {
        if !app.is_plugin_added::<LinkPlugin>() {
            app.add_plugins(LinkPlugin);
        }
        app.insert_non_send(Network {
            io: Box::new(self.0.clone()),
            latest: ReelTime::ZERO,
        });
        app.add_observer(link)
            .add_systems(First, take_time.before(TimeSystems))
            .add_systems(PreUpdate, receive.in_set(LinkReceiveSystems::BufferToLink))
            .add_systems(PostUpdate, send.in_set(LinkSystems::Send));
    }
}

fn take_time(mut network: NonSendMut<Network>, mut strategy: ResMut<TimeUpdateStrategy>) {
    let now = network.io.now();
    let passed = now.since(std::mem::replace(&mut network.latest, now));
    *strategy = TimeUpdateStrategy::ManualDuration(passed);
    MockClock::set_time(std::time::Duration::from_nanos(now.nanos()));
}

/// The transport is there already: a link that is started is linked.
fn link(start: On<LinkStart>, ours: Query<(), With<OverTransport>>, mut commands: Commands) {
    if ours.contains(start.entity) {
        commands.entity(start.entity).insert(Linked);
    }
}

fn receive(
    mut network: NonSendMut<Network>,
    mut links: Query<(&PeerAddr, &mut Link), With<OverTransport>>,
    servers: Query<Entity, (With<Server>, OverAndLinked)>,
    mut buffer: Local<Vec<u8>>,
    mut commands: Commands,
) {
    let mut new: Vec<(SocketAddr, Link)> = Vec::new();
    buffer.resize(PACKET_MAX, 0);
    while let Ok(Some(Datagram { from, length })) = network.io.receive(&mut buffer) {
        let payload = BytesMut::from(&buffer[..length]);
        let known = links.iter_mut().find(|(peer, _)| peer.0 == from);
        if let Some((_, mut link)) = known {
            link.recv.push_raw(payload);
        } else if let Some((_, link)) = new.iter_mut().find(|(peer, _)| *peer == from) {
            link.recv.push_raw(payload);
        } else {
            let mut link = Link::default();
            link.recv.push_raw(payload);
            new.push((from, link));
        }
    }
    // Whoever sends the first packet is a client, where there is a server.
    for ((peer, link), server) in new.into_iter().zip(servers.iter().cycle()) {
        commands.spawn((
            LinkOf { server },
            link,
            Linked,
            PeerAddr(peer),
            OverTransport,
        ));
    }
}

fn send(mut network: NonSendMut<Network>, mut links: Query<(&PeerAddr, &mut Link), OverAndLinked>) {
    for (to, mut link) in &mut links {
        for payload in link.send.drain() {
            // A packet that the system refuses is one that is lost: lightyear sends again what has to arrive.
            let _ = network.io.send(to.0, &payload);
        }
    }
}
