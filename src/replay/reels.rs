//! Which reels are meant, and what their nodes are called.

use std::collections::BTreeMap;
use std::sync::Arc;

use netreel_protocol::session::{ReelInput, SessionReel};
use netreel_reel::{Endpoint, Reel};
use netreel_wire::Wire;

use crate::events::chosen;
use crate::outcome::{Result, fail};
use crate::text;

/// The names of the nodes behind endpoints, as far as `reels` tell.
pub fn names(reels: &[Arc<Reel>]) -> impl Fn(Endpoint) -> Option<String> + use<> {
    let mut names = BTreeMap::new();
    for reel in reels {
        for (_, endpoint) in reel.endpoints() {
            names.insert(*endpoint, reel.header().node.clone());
        }
    }
    move |endpoint| names.get(&endpoint).cloned()
}

/// The reels of a node; all without one.
pub fn choose<'a>(inputs: &'a [ReelInput], node: Option<&str>) -> Result<Vec<&'a ReelInput>> {
    let Some(node) = node else {
        return Ok(inputs.iter().collect());
    };
    let chosen = inputs
        .iter()
        .filter(|input| input.reel.header().node == node)
        .collect::<Vec<_>>();
    if chosen.is_empty() {
        let names = inputs.iter().map(|input| input.reel.header().node.as_str());
        return fail(format!(
            "no reel of node {node} here; there are: {}",
            text::joined(names, ", ")
        ));
    }
    Ok(chosen)
}

/// The wire that was given, or that of the reel.
pub fn wire_of(given: &Option<Arc<Wire>>, reel: &Reel) -> Result<Option<Arc<Wire>>> {
    if given.is_some() {
        return Ok(given.clone());
    }
    let Some(wire) = reel.header().wires.first() else {
        return Ok(None);
    };
    let compiled = Wire::compile(&wire.name, &wire.text)?;
    Ok(Some(Arc::new(compiled)))
}

/// The one reel that is meant: that of the node, or the only one of those that fit. `done` says what is done
/// with one at a time.
pub fn one<'a>(
    reels: &'a [SessionReel<'a>],
    node: Option<&str>,
    (done, fits): (&str, fn(&Reel) -> bool),
) -> Result<&'a SessionReel<'a>> {
    let mut chosen = chosen(reels, node)?;
    chosen.retain(|reel| node.is_some() || fits(reel.reel));
    match chosen.as_slice() {
        [reel] => Ok(reel),
        _ => {
            let names = text::joined(chosen.iter().map(|reel| reel.name.as_str()), ", ");
            fail(format!(
                "one node at a time can be {done}; name it with --node: {names}"
            ))
        }
    }
}
