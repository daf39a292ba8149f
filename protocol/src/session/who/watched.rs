//! Who watched packets pass without taking part, and what that tells of the nodes.

use std::collections::BTreeMap;

use crate::figures::listed;
use crate::session::counted::packets;
use crate::session::read::scan::Scan;
use crate::session::read::source::Source;
use crate::session::{Node, NodeId, Observer, ObserverId, SessionTime};

/// The observers among the reels. `node` says of a reel what is said of a node's.
pub(crate) fn observers(
    sources: &[Source],
    scans: &[Scan],
    node: impl Fn(usize) -> Node,
) -> Vec<Observer> {
    let reels = sources.iter().zip(scans).enumerate();
    reels
        .filter(|(_, (_, scan))| scan.observer)
        .map(|(place, (source, scan))| {
            let node = node(place);
            Observer {
                name: source.node.clone(),
                span: node.span,
                complete: node.complete,
                clock_error_ns: node.clock_error_ns,
                holes: node.holes,
                packets: scan.seen.len() as u64,
                cut: scan.seen.cut(),
                missed: scan.missed,
                interfaces: scan.interfaces.list().to_vec(),
                window: node.window,
                triggers: node.triggers,
                notes: scan.notes.clone(),
                reel: source.reel.clone(),
            }
        })
        .collect()
}

/// The observer whose reel this is.
pub(crate) fn observer(scans: &[Scan], reel: usize) -> Option<ObserverId> {
    let observes = scans.get(reel)?.observer;
    let before = scans.get(..reel)?.iter().filter(|scan| scan.observer);
    observes.then_some(ObserverId(before.count() as u16))
}

/// Says of each node that was not recorded when packets of it were seen first and last.
pub(crate) fn note_seen(nodes: &mut [Node], seen: &BTreeMap<NodeId, (SessionTime, SessionTime)>) {
    for (node, &(first, last)) in seen {
        if let Some(node) = node.of_mut(nodes) {
            if !node.recorded {
                node.span = first..last;
            }
            node.seen = true;
        }
    }
}

/// What the observers did not see, or not whole, in sentences.
pub(crate) fn missing(observers: &[Observer]) -> Vec<String> {
    let mut missing = Vec::new();
    for observer in observers {
        let name = &observer.name;
        if observer.cut > 0 {
            missing.push(format!(
                "{name} kept only the first bytes of {}: what stands behind them is unknown",
                packets(observer.cut),
            ));
        }
        if observer.missed > 0 {
            missing.push(format!(
                "{name} missed {}, because the system or the interface dropped what it could not \
                 take: the game may have got them",
                packets(observer.missed),
            ));
        }
    }
    missing
}

/// That nodes are known from captures alone, in a sentence.
pub(crate) fn captured(nodes: &[Node]) -> Option<String> {
    let names: Vec<&str> = nodes
        .iter()
        .filter(|node| node.captured)
        .map(|node| node.name.as_str())
        .collect();
    let are = match names.len() {
        0 => return None,
        1 => "is",
        _ => "are",
    };
    let who = listed(&names);
    Some(format!(
        "{who} {are} known from a packet capture: received is what came by at the wire; what the \
         program read of it is unknown"
    ))
}
