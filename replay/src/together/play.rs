//! The loop around all layers, and the transport of a node that is played on.

use std::sync::{Arc, Mutex, MutexGuard};

use netreel_reel::{Believed, Endpoint, EventNumber, SocketId, Time};
use netreel_system::{Cancel, locked};
use netreel_transport::{Datagram, Layer, ReceiveError, SendError, Shared, Transport};

use super::report::{Played, Refused};
use super::world::World;
use super::{Plan, Sink};
use crate::node_transport::node_transport;

/// Plays a session on, to the end of its recording.
///
/// `layer` makes the layer of a node, by its place in the story; the transport is for a library
/// that keeps one, and is the one that its turns are played with. What the recording does not have
/// follows from `seed`. `sink` takes the events.
pub fn play<E>(
    plan: &Arc<Plan>,
    seed: u64,
    sink: Box<dyn Sink>,
    layer: &mut Layers<'_, E>,
) -> Result<Played, E> {
    let played = play_while(plan, seed, sink, layer, &Cancel::default())?;
    Ok(played.unwrap_or_default())
}

/// Makes the layer of a node, by its place in the story.
pub type Layers<'a, E> = dyn FnMut(usize, Shared<NodeIo>) -> Result<Box<dyn Layer>, E> + 'a;

/// The same as long as somebody wants it, which is asked before each turn of a node; `None` where
/// nobody does any more. What was played until then is in the sink.
pub fn play_while<E>(
    plan: &Arc<Plan>,
    seed: u64,
    sink: Box<dyn Sink>,
    layer: &mut Layers<'_, E>,
    cancel: &Cancel,
) -> Result<Option<Played>, E> {
    let world = World::new(Arc::clone(plan), seed, sink);
    let world = Arc::new(Mutex::new(world));
    let mut ios: Vec<Shared<NodeIo>> = (0..plan.nodes.len())
        .map(|node| {
            let world = Arc::clone(&world);
            Shared::new(NodeIo { world, node })
        })
        .collect();
    let mut layers: Vec<Option<Box<dyn Layer>>> = Vec::new();
    layers.resize_with(plan.nodes.len(), || None);
    let here = || locked(&world);
    for &(node, turn) in &plan.schedule {
        if !cancel.goes_on() {
            return Ok(None);
        }
        let io = &mut ios[node];
        let began = here().begin(node, turn);
        if layers[node].is_none() {
            layers[node] = Some(layer(node, io.clone())?);
        }
        if let (Some((number, call)), Some(layer)) = (began, &mut layers[node]) {
            let refused = match call {
                None => {
                    layer.tick(io);
                    None
                }
                Some(call) => layer.input(&call, io).err(),
            };
            if let Some(why) = refused {
                let mut world = here();
                let lane = &mut world.lanes[node];
                let at_ns = lane.at_ns(lane.now);
                let why = why.to_string();
                lane.report.refused.push(Refused { number, at_ns, why });
            }
        }
        here().end(node);
    }
    drop(layers);
    let mut world = here();
    world.finish();
    let nodes = world
        .lanes
        .iter_mut()
        .map(|lane| std::mem::take(&mut lane.report))
        .collect();
    Ok(Some(Played { nodes }))
}

/// One node's socket, clock and randomness in a session that is played on.
#[derive(Clone)]
pub struct NodeIo {
    pub(super) world: Arc<Mutex<World>>,
    pub(super) node: usize,
}

impl NodeIo {
    fn world(&self) -> MutexGuard<'_, World> {
        locked(&self.world)
    }

    /// The last tick that began, and the game's virtual time then.
    pub fn last_tick(&self) -> (u64, Time) {
        let world = self.world();
        world
            .lanes
            .get(self.node)
            .map_or((0, Time::ZERO), |lane| lane.tick)
    }

    /// The event of the tick, or the call of the game, that is played.
    pub fn turn(&self) -> EventNumber {
        let world = self.world();
        let lane = world.lanes.get(self.node);
        lane.map_or(EventNumber(0), |lane| lane.begun_by)
    }
}

node_transport!(NodeIo, self => self.world());
