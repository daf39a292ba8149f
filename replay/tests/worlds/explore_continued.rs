//! Explorations that end and go on.

use std::ops::ControlFlow;
use std::sync::Arc;

use netreel_replay::explore::{ByChance, Explored, Ground, Kept, Limits, Told, Wrong, explore_on};
use netreel_sample_engine::Mode;

use crate::explore::{ground, healthy, limits, maker};
use crate::recorded::wire;

/// Goes on from `kept` until so many different things were wrong, or to the end.
fn go_on(
    ground: &Arc<Ground>,
    limits: &Limits,
    until: usize,
    kept: Option<&[u8]>,
) -> (Explored, Vec<Wrong>, Vec<u8>) {
    let kept = kept.map(|it| Kept::from_bytes(it).expect("it is whole"));
    let mut found = Vec::new();
    let makers = || maker(ground);
    let mut tell = |told: Told<'_>| {
        if let Told::Wrong(wrong, _) = told {
            found.push(wrong.clone());
            if found.len() >= until {
                return ControlFlow::Break(());
            }
        }
        ControlFlow::Continue(())
    };
    let explored = explore_on(ground, &makers, Some(&wire()), (limits, kept), &mut tell);
    let (explored, kept) = explored.unwrap_or_else(|never| match never {});
    (explored, found, kept.to_bytes())
}

#[test]
fn parts_find_what_the_whole_finds_with_the_same_counts() {
    let ground = ground(&healthy(0, Mode::Host, 120));
    let ways = [None, Some(ByChance::Priorities { seed: 3, depth: 2 })];
    for by_chance in ways {
        let mut limits = limits(200);
        limits.tries.losses = 1;
        limits.tries.ticks = true;
        limits.by_chance = by_chance;
        let (explored, wrong, kept) = go_on(&ground, &limits, usize::MAX, None);
        assert!(wrong.len() > 1, "{wrong:?}");

        // The first part ends within what is played at once, the others where something is wrong.
        let part = Limits {
            runs_max: 37,
            ..limits
        };
        let (first, mut found, mut at) = go_on(&ground, &part, usize::MAX, None);
        assert_eq!(first.counts.runs, 37);
        let last = loop {
            let (explored, more, after) = go_on(&ground, &limits, 1, Some(&at));
            at = after;
            let is_over = more.is_empty();
            found.extend(more);
            if is_over {
                break explored;
            }
        };
        assert_eq!(last, explored, "{by_chance:?}");
        assert_eq!(found, wrong, "{by_chance:?}");
        assert_eq!(at, kept, "{by_chance:?}");
    }
}
