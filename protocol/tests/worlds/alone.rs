//! A reel whose session's other reels are not there: what it cannot show is not claimed.

use netreel_protocol::history::Level;
use netreel_sample_engine::{Mode, Script, SimWorldStart, Topology};

use crate::played::{Played, read};

#[test]
fn of_a_reel_alone_nobody_knows_whether_the_zombie_lives_on() {
    let start = SimWorldStart::new(7, Mode::Host, Topology::PeerToPeer, Script::Demonstration);
    let mut played = Played::to_rest(&start);
    played.reels.retain(|(name, _)| name == "X");
    let (_, history) = read(&played.reels);
    let zombie = history
        .findings
        .iter()
        .find(|finding| finding.rule == "zombie-object")
        .expect("X's own reel shows it");
    assert_eq!(zombie.level, Level::Warning);
    let why = "; whether it lives on at X is unknown: the reels of ";
    let (_, missing) = zombie.sentence.split_once(why).expect(&zombie.sentence);
    assert!(missing.ends_with(" are missing"), "{missing}");
    assert_eq!(missing.matches(':').count(), 3, "HOST, A and B: {missing}");
}
