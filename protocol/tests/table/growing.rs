//! What is read as it grows is what is read at once.

use std::path::PathBuf;
use std::sync::Arc;

use netreel_protocol::session::{Growing, ReelInput, Session, SessionError};
use netreel_reel::{Reel, ReelWriter};
use netreel_wire::{Keys, Wire};

use crate::played::{Played, WAYS, boxes};
use crate::story::{RECORDINGS, imported, story, wire_of};

/// Numbers that look as if they were drawn (xorshift64).
struct Draw(u64);

impl Draw {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % end.max(1) as u64) as usize
    }
}

/// The bytes of the same reel in blocks of so many events at most.
fn in_blocks(reel: &Reel, events: usize, draw: &mut Draw) -> Vec<u8> {
    let mut writer = ReelWriter::create(Vec::new(), reel.header()).expect("a reel");
    let mut left = 1;
    reel.for_each(|record| {
        left -= 1;
        if left == 0 {
            writer.seal().expect("a block");
            left = 1 + draw.below(events);
        }
        writer.push(record).expect("an event");
    });
    writer.finish().expect("its bytes")
}

fn told(session: Result<Session, SessionError>) -> Vec<String> {
    match session {
        Ok(session) => story(&session),
        Err(error) => vec![error.to_string()],
    }
}

/// Looks at reels while they grow, each by as much as is drawn; at each look the story is that of
/// the same reels read at once.
#[track_caller]
fn check(reels: &[ReelInput], wire: Option<&Arc<Wire>>, looks: usize, draw: &mut Draw) {
    let bytes = reels.iter().map(|input| in_blocks(&input.reel, 60, draw));
    let bytes: Vec<Vec<u8>> = bytes.collect();
    let mut lengths = vec![0; bytes.len()];
    let mut growing = Growing::new(wire.cloned(), Keys::default());
    for look in 0..=looks {
        for (length, bytes) in lengths.iter_mut().zip(&bytes) {
            let rest = bytes.len() - *length;
            *length += match look == looks {
                true => rest,
                false => draw.below(1 + 2 * rest / (looks - look)).min(rest),
            };
        }
        let now = || {
            let cut = reels.iter().zip(&bytes).zip(&lengths);
            let opened = cut.filter_map(|((input, bytes), &length)| {
                let reel = Reel::from_bytes(bytes[..length].to_vec()).ok()?;
                let (name, reel) = (input.name.clone(), Arc::new(reel));
                Some(ReelInput { name, reel })
            });
            opened.collect::<Vec<_>>()
        };
        let grown = told(growing.look(now()));
        let at_once = told(Session::build(now(), wire.cloned()));
        let both = at_once.iter().zip(&grown);
        let different = both.clone().find(|(one, other)| one != other);
        assert_eq!(different, None, "look {look} at {lengths:?}");
        assert_eq!(at_once.len(), grown.len(), "look {look}");
    }
}

#[test]
fn a_world_is_told_as_it_grows_as_it_is_told_at_once() {
    for seed in 1..=6 {
        for (mode, topology) in WAYS {
            let played = Played::to_rest(&boxes(seed, mode, topology));
            let reels = played.reels.iter().map(|(name, bytes)| ReelInput {
                name: format!("{name}.reel"),
                reel: Arc::new(Reel::from_bytes(bytes.clone()).expect("a good reel")),
            });
            check(&reels.collect::<Vec<_>>(), None, 5, &mut Draw(seed));
        }
    }
}

#[test]
fn a_capture_is_told_as_it_grows_as_it_is_told_at_once() {
    let here = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    for (capture, wire) in RECORDINGS {
        let wire = wire_of(wire);
        let capture = here.join("wire/tests/recordings").join(capture);
        let observed = imported(&capture, &[]);
        check(&observed, Some(&wire), 4, &mut Draw(7));
        let session = Session::build(observed, None).expect("one session");
        let nodes = session.nodes.iter().map(|node| node.name.clone());
        let nodes: Vec<String> = nodes.collect();
        check(&imported(&capture, &nodes), Some(&wire), 4, &mut Draw(8));
    }
}
