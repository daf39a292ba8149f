//! Hands that do everything by chance, as a script: what is done, and what links are like, follows from
//! a seed.

use std::fmt::Write;
use std::ops::Range;

use netreel_sample_engine::{ARENA, Peer, free_link};
use netreel_transport::Draw;

/// How long it takes until somebody does the next thing, in milliseconds.
const REST_MS: Range<u64> = 100..500;

/// After the last deed all are let come to rest. Milliseconds.
const END_MS: u64 = 3000;

/// A script of this many seconds for players of these names.
pub fn free(seed: u64, names: &[String], seconds: u64) -> String {
    let mut script = format!("# free play by seed {seed}\nwait all\n");
    // Writing into a text does not fail.
    let mut line = |text: std::fmt::Arguments<'_>| {
        let _ = writeln!(script, "{text}");
    };
    let peers = || (0u8..).map(Peer).zip(names);
    for (from, sender) in peers() {
        for (to, receiver) in peers().filter(|(to, _)| *to != from) {
            let link = free_link(seed, from, to);
            let (delay, jitter) = (link.delay.as_millis(), link.jitter.as_millis());
            let loss = link.loss * 100.0;
            line(format_args!(
                "link {sender} {receiver} delay {delay}ms jitter {jitter}ms loss {loss:.1}%"
            ));
        }
    }
    let mut draw = Draw::named(seed, "free play");
    let mut left = seconds * 1000;
    while left > 0 {
        let Some(name) = names.get(draw.below(names.len() as u64) as usize) else {
            break;
        };
        match draw.below(10) {
            0..3 => line(format_args!("{name} spawn")),
            3..6 => line(format_args!("{name} pick up")),
            6 => line(format_args!("{name} push")),
            7 => line(format_args!("{name} throw away")),
            8 => line(format_args!("{name} put down")),
            _ => {
                let [right, up] = ARENA.map(|half| (draw.unit() * 2.0 - 1.0) * half);
                line(format_args!("{name} go {right:.0} {up:.0}"));
            }
        }
        let rest = REST_MS.start + draw.below(REST_MS.end - REST_MS.start);
        line(format_args!("rest {rest}ms"));
        left = left.saturating_sub(rest);
    }
    line(format_args!("rest {END_MS}ms"));
    script
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Script;

    #[test]
    fn what_is_done_freely_is_a_script_that_follows_from_the_seed() {
        let names = ["HOST", "A", "B", "X"].map(str::to_owned);
        for seed in 0..20 {
            let text = free(seed, &names, 10);
            Script::parse(&text, &names).expect("a script");
            assert_eq!(text, free(seed, &names, 10));
            assert_ne!(text, free(seed + 1, &names, 10));
        }
    }
}
