//! Layers that never come to rest.

use std::convert::Infallible;
use std::sync::Arc;

use netreel_replay::explore::{Ground, MakeNode, Runner};
use netreel_sample_engine::{Mode, NetLayer, Start};
use netreel_transport::{InputError, Layer, ObjectBelief, Transport};

use crate::explore::{ground, healthy};

/// A layer in which a value of every object goes up for ever, at one node.
struct Restless {
    layer: NetLayer,
    ticks: Option<u64>,
}

impl Layer for Restless {
    fn tick(&mut self, io: &mut dyn Transport) {
        self.layer.tick(io);
        self.ticks = self.ticks.map(|it| it + 1);
    }

    fn input(&mut self, call: &[u8], io: &mut dyn Transport) -> Result<(), InputError> {
        self.layer.input(call, io)
    }

    fn beliefs(&self, say: &mut dyn FnMut(ObjectBelief)) -> bool {
        self.layer.beliefs(&mut |belief| {
            say(ObjectBelief {
                values: belief.values.wrapping_add(self.ticks.unwrap_or_default()),
                ..belief
            });
        })
    }
}

fn restless(ground: &Arc<Ground>, who: Option<usize>) -> Vec<usize> {
    let of = Arc::clone(ground);
    let make: Box<MakeNode<'_, Infallible>> = Box::new(move |node, _| {
        let reel = of.reel(node).expect("all are recorded");
        let start = Start::decode(&reel.header().start).expect("start conditions");
        Ok(Box::new(Restless {
            layer: NetLayer::new(start).expect("good conditions"),
            ticks: (who == Some(node)).then_some(0),
        }))
    });
    let made = Runner::new(Arc::clone(ground), make);
    made.unwrap_or_else(|never| match never {}).0.restless()
}

#[test]
fn who_does_not_come_to_rest_is_named() {
    let ground = ground(&healthy(0, Mode::Owner, 120));
    assert_eq!(restless(&ground, None), [0; 0]);
    assert_eq!(restless(&ground, Some(2)), [2]);
}
