//! A divergence, decoded to the first field that differs.

use std::fmt;

use netreel_reel::{Endpoint, Reel};
use netreel_transport::{Divergence, Step};
use netreel_wire::Wire;

use crate::agreed::{Agreed, agreed, named, step_words};
use crate::difference::{FieldDifference, byte_difference};
use crate::said_before::Before;

/// A divergence in words.
#[derive(Clone, Debug, PartialEq)]
pub struct Explanation {
    /// What the recording has, in a few words.
    pub expected: String,
    /// What the layer did, in a few words.
    pub came: String,
    /// The first thing that differs, where both are packets, or steps on two sockets.
    pub field: Option<FieldDifference>,
    /// The last events before it, which were as recorded; none without a reel.
    pub agreed: Vec<Agreed>,
}

/// Says what `divergence` is about; with a wire, to the field. `name` gives the name of an
/// endpoint's node, where there is one. With the reel, packets are read as what came before them
/// says: what the connection keeps, and the parts of split messages.
pub fn explain(
    divergence: &Divergence,
    (wire, reel): (Option<&Wire>, Option<&Reel>),
    name: &dyn Fn(Endpoint) -> Option<String>,
) -> Explanation {
    let socket = divergence.sockets.map(|(expected, came)| {
        let (expected, came) = (expected.0.to_string(), came.0.to_string());
        FieldDifference::new("socket".to_owned(), 0..0, expected, came)
    });
    let packets = || match (&divergence.expected, &divergence.came) {
        (
            Step::Send {
                to: expected_to,
                packet: expected,
            },
            Step::Send { to, packet: came },
        ) => {
            if expected_to == to {
                let both = (expected.as_slice(), came.as_slice());
                let told = wire.and_then(|wire| {
                    let before = reel
                        .map(|reel| Before::of(reel, divergence.number, *to, wire))
                        .unwrap_or_else(|| Before::nothing(wire));
                    before.difference(both)
                });
                told.or_else(|| byte_difference(expected, came))
            } else {
                let (expected, came) = (named(*expected_to, name), named(*to, name));
                let path = "destination".to_owned();
                Some(FieldDifference::new(path, 0..0, expected, came))
            }
        }
        (Step::State(expected), Step::State(came)) => byte_difference(expected, came),
        _ => None,
    };
    let field = socket.or_else(packets);
    Explanation {
        expected: step_words(&divergence.expected, wire, name),
        came: step_words(&divergence.came, wire, name),
        field,
        agreed: reel
            .map(|reel| agreed(reel, divergence.number, wire, name))
            .unwrap_or_default(),
    }
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "expected {}, came {}", self.expected, self.came)?;
        if let Some(field) = &self.field {
            write!(f, "; {}", field.words())?;
        }
        Ok(())
    }
}
