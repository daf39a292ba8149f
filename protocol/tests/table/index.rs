//! What is kept of a session beside its reels is the session, or is refused.
//!
//! That it answers what the session answers is checked with every session of `processors.rs`.

use std::sync::Arc;

use bytes::Bytes;
use netreel_protocol::history::History;
use netreel_protocol::session::{IndexError, IndexKey, ReelInput, Session};
use netreel_reel::Reel;
use netreel_wire::Wire;
use proptest::prelude::*;

use crate::tape::{Tape, again};

const STAMPS: &[u8] = b"changed on a Sunday";

fn key(reels: &[ReelInput], wire: Option<&Arc<Wire>>) -> IndexKey {
    IndexKey::new(reels, wire.map(|wire| &**wire), STAMPS).expect("reels in memory")
}

fn written(session: &Session, reels: &[ReelInput], wire: Option<&Arc<Wire>>) -> Vec<u8> {
    written_with((session, None), reels, wire)
}

fn written_with(
    (session, history): (&Session, Option<&History>),
    reels: &[ReelInput],
    wire: Option<&Arc<Wire>>,
) -> Vec<u8> {
    let mut bytes = Vec::new();
    let of: Vec<Arc<Reel>> = reels.iter().map(|each| each.reel.clone()).collect();
    let written = session.write_index(key(reels, wire), &of, history, &mut bytes);
    written.expect("memory takes every byte");
    bytes
}

/// The session as an index gives it back; with its history, where that is given.
pub fn through_index(
    session: &Session,
    history: Option<&History>,
    reels: &[ReelInput],
    wire: Option<&Arc<Wire>>,
) -> Session {
    let bytes = Bytes::from(written_with((session, history), reels, wire));
    Session::from_index(&bytes, key(reels, wire), reels, wire.cloned()).expect("its own index")
}

/// Two nodes and some packets.
fn reels(packets: u64) -> Vec<ReelInput> {
    let (mut a, mut b) = (Tape::node("A", 1, ""), Tape::node("B", 2, ""));
    for n in 0..packets {
        a.sent(n * 1000, 2, &n.to_le_bytes());
        b.received(n * 1000 + 300, 1, &n.to_le_bytes());
    }
    vec![a.end(packets * 1000), b.end(packets * 1000)]
}

fn session(reels: &[ReelInput]) -> Session {
    Session::builder()
        .build(again(reels))
        .unwrap_or_else(|error| panic!("{error}"))
}

fn refused(bytes: &[u8], key: IndexKey, reels: &[ReelInput]) -> Option<IndexError> {
    Session::from_index(&Bytes::copy_from_slice(bytes), key, reels, None).err()
}

#[test]
fn an_index_is_of_the_same_reels_the_same_wire_and_the_same_times() {
    let reels = reels(300);
    let session = session(&reels);
    let bytes = written(&session, &reels, None);
    let own = key(&reels, None);
    assert_eq!(refused(&bytes, own, &reels), None);
    let wire = Wire::compile(
        "w",
        "wire w { byte_order = little; bit_order = lsb; root = P; } struct P { n: u64; }",
    );
    let others = [
        key(&self::reels(301), None),
        key(&reels, Some(&Arc::new(wire.expect("it compiles")))),
        IndexKey::new(&reels, None, b"changed on a Monday").expect("reels in memory"),
    ];
    for other in others {
        assert_ne!(other, own);
        assert_eq!(refused(&bytes, other, &reels), Some(IndexError::OfOthers));
    }
}

#[test]
fn a_cut_index_is_damaged() {
    let reels = reels(40);
    let bytes = written(&session(&reels), &reels, None);
    for length in 0..bytes.len() {
        let why = refused(&bytes[..length], key(&reels, None), &reels);
        assert_eq!(
            why,
            Some(IndexError::Damaged),
            "{length} of {} bytes",
            bytes.len()
        );
    }
}

#[test]
fn an_index_with_any_byte_changed_is_refused() {
    let reels = reels(40);
    let mut bytes = written(&session(&reels), &reels, None);
    for place in 0..bytes.len() {
        bytes[place] ^= 0x10;
        assert!(
            refused(&bytes, key(&reels, None), &reels).is_some(),
            "byte {place}"
        );
        bytes[place] ^= 0x10;
    }
}

proptest! {
    #[test]
    fn any_bytes_are_refused(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let reels = reels(2);
        prop_assert_eq!(refused(&bytes, key(&reels, None), &reels), Some(IndexError::Damaged));
    }
}
