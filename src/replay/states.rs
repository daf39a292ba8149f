//! Two states of the sample engine's layer, held against each other in its own words.

use netreel_reel::Reel;
use netreel_replay::{Explanation, FieldDifference};
use netreel_sample_engine::{NetLayer, Start};
use netreel_transport::{Divergence, Layer, Step};

use crate::boxes::ENGINE;

/// An explanation with the first thing in which two states differ, where the divergence is one of
/// states and the engine is known.
pub fn named(mut explanation: Explanation, divergence: &Divergence, reel: &Reel) -> Explanation {
    if let (Step::State(expected), Step::State(came)) = (&divergence.expected, &divergence.came)
        && let Some(expected) = describe(reel, expected)
        && let Some(came) = describe(reel, came)
        && let Some(field) = first_difference(&expected, &came)
    {
        explanation.field = Some(field);
    }
    explanation
}

/// A state in words: names and values. `None` where the engine is not known or cannot read it.
pub fn describe(reel: &Reel, state: &[u8]) -> Option<Vec<(String, String)>> {
    if reel.header().engine != ENGINE {
        return None;
    }
    let start = Start::decode(&reel.header().start).ok()?;
    let mut layer = NetLayer::new(start).ok()?;
    layer.restore(state).ok()?;
    Some(layer.describe())
}

fn first_difference(
    expected: &[(String, String)],
    came: &[(String, String)],
) -> Option<FieldDifference> {
    // What the layer handed to its game shows as a count and a digest: all else says more.
    let is_digest = |line: &&(String, String)| line.0 == "told";
    let of = |lines: &[(String, String)]| -> Vec<(String, String)> {
        let last = lines.iter().filter(is_digest).cloned();
        let first = lines.iter().filter(|line| !is_digest(line)).cloned();
        first.chain(last).collect()
    };
    let (expected, came) = (of(expected), of(came));
    let places = expected.len().max(came.len());
    let place = (0..places).find(|&place| expected.get(place) != came.get(place))?;
    let none = || "nothing".to_owned();
    let difference = match (expected.get(place), came.get(place)) {
        (Some((path, expected)), Some((other, came))) if path == other => {
            (path, expected.clone(), came.clone())
        }
        // One of them has a thing more.
        (Some((path, value)), other)
            if other.is_none_or(|(other, _)| expected.iter().any(|(it, _)| it == other)) =>
        {
            (path, value.clone(), none())
        }
        (_, Some((path, value))) => (path, none(), value.clone()),
        (Some((path, value)), None) => (path, value.clone(), none()),
        (None, None) => return None,
    };
    let (path, expected, came) = difference;
    Some(FieldDifference::new(path.clone(), 0..0, expected, came))
}
