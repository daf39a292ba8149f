//! The start conditions of a node: with the calls and the transport's answers, all that decides
//! what its layer does.

use std::net::SocketAddr;

use netreel_transport::Time;
use serde::{Deserialize, Serialize};

use crate::fault::Fault;
use crate::message::Peer;
use crate::mode::{Mode, Topology};
use crate::packet::PACKET_BYTES_MAX;
use crate::types::{BOXES, Types, TypesError};

/// The start conditions of one node. Encoded as TOML, so that a recording can be read by people.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Start {
    /// The node's own number: its place in `peers`.
    pub own: Peer,
    /// Who talks to whom.
    pub topology: Topology,
    /// How objects change owner.
    pub mode: Mode,
    /// The one switch: `false` turns off every time-out.
    pub time_outs: bool,
    /// How long a tick is, in nanoseconds. The layer itself keeps to the transport's clock.
    pub tick_ns: u64,
    /// The declaration of the object types, as text.
    pub types: String,
    /// What the layer does wrong on purpose.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<Fault>,
    /// The constants of the layer.
    pub tuning: Tuning,
    /// Every peer of the session, this one included; HOST is the first. 2 to 16.
    pub peers: Vec<PeerStart>,
}

/// What a node knows of a peer from the start.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PeerStart {
    /// Its name, for people: at most 255 bytes.
    pub name: String,
    /// Where its packets come from and go to.
    pub endpoint: SocketAddr,
}

/// The constants of the layer, here so that a test can change one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tuning {
    /// A packet that is not acked after this and two round trips is judged lost. ns.
    pub resend_delay_ns: u64,
    /// How long a link is silent before a packet is sent that says nothing. ns.
    pub keep_alive_ns: u64,
    /// How long a peer may be silent before it is taken for gone. ns.
    pub silence_ns: u64,
    /// How long a peer may take to say its first word. ns.
    pub first_word_ns: u64,
    /// How long a node waits to hear of a new owner after an owner has left, before it asks HOST
    /// what became of the object (not in modes `host` and `order`, nor while time-outs are off). ns.
    pub orphan_ns: u64,
    /// The most bytes of a packet, 256 to 1200. Below 1200, an UPDATE that is larger is not sent.
    pub packet_bytes: u64,
    /// The most packets a tick and link, 1 or more.
    pub packets_per_tick: u64,
}

/// Start conditions that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StartError {
    /// They could not be read.
    #[error("start conditions: {0}")]
    Unreadable(String),
    /// They make no sense.
    #[error("start conditions: {0}")]
    Wrong(&'static str),
    /// The object types make no sense.
    #[error("start conditions: {0}")]
    Types(#[from] TypesError),
}

impl Default for Tuning {
    fn default() -> Tuning {
        Tuning {
            resend_delay_ns: 100_000_000,
            keep_alive_ns: 100_000_000,
            silence_ns: 5_000_000_000,
            first_word_ns: 30_000_000_000,
            orphan_ns: 1_000_000_000,
            packet_bytes: PACKET_BYTES_MAX as u64,
            packets_per_tick: 4,
        }
    }
}

impl Start {
    /// The start conditions of peer `own` with the types of "boxes", 60 ticks a second, time-outs
    /// on, and the usual constants.
    pub fn new(own: Peer, peers: Vec<PeerStart>, topology: Topology, mode: Mode) -> Start {
        Start {
            own,
            topology,
            mode,
            time_outs: true,
            tick_ns: 16_666_667,
            types: BOXES.to_owned(),
            fault: None,
            tuning: Tuning::default(),
            peers,
        }
    }

    /// The bytes that a recording keeps.
    pub fn encode(&self) -> Vec<u8> {
        toml::to_string(self).unwrap_or_default().into_bytes()
    }

    /// Reads what [`encode`](Start::encode) wrote. Whether it makes sense is
    /// [`NetLayer::new`](crate::NetLayer::new)'s to say.
    pub fn decode(bytes: &[u8]) -> Result<Start, StartError> {
        let text = std::str::from_utf8(bytes)
            .map_err(|error| StartError::Unreadable(format!("not UTF-8: {error}")))?;
        toml::from_str(text).map_err(|error| StartError::Unreadable(error.to_string()))
    }

    /// The game's virtual time at the start of a tick.
    pub fn tick_time(&self, tick: u64) -> Time {
        Time(tick.saturating_mul(self.tick_ns))
    }

    /// Checks that the conditions make sense, and reads the types.
    pub(crate) fn check(&self) -> Result<Types, StartError> {
        let wrong = |why| Err(StartError::Wrong(why));
        if !(2..=16).contains(&self.peers.len()) {
            return wrong("a session has 2 to 16 peers");
        }
        if usize::from(self.own.0) >= self.peers.len() {
            return wrong("the node's own number is not among the peers");
        }
        if self.peers.iter().any(|peer| peer.name.len() > 255) {
            return wrong("a name of more than 255 bytes");
        }
        let mut endpoints: Vec<_> = self.peers.iter().map(|peer| peer.endpoint).collect();
        endpoints.sort_unstable();
        if endpoints
            .windows(2)
            .any(|pair| matches!(pair, [one, two] if one == two))
        {
            return wrong("two peers have the same endpoint");
        }
        if !(256..=PACKET_BYTES_MAX as u64).contains(&self.tuning.packet_bytes) {
            return wrong("packets must be 256 to 1200 bytes");
        }
        if self.tuning.packets_per_tick == 0 {
            return wrong("no packets per tick");
        }
        Ok(Types::parse(&self.types)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::NetLayer;

    fn start() -> Start {
        let peer = |number: u16| PeerStart {
            name: format!("peer \"{number}\""),
            endpoint: SocketAddr::from(([127, 0, 0, 1], 4000 + number)),
        };
        Start::new(
            Peer(1),
            (0..3).map(peer).collect(),
            Topology::PeerToPeer,
            Mode::Owner,
        )
    }

    #[test]
    fn start_conditions_are_read_as_they_were_written() {
        let mut odd = start();
        odd.tuning.resend_delay_ns = 1;
        odd.time_outs = false;
        odd.topology = Topology::ClientServer;
        odd.fault = Some(Fault::SequenceTwice);
        for start in [start(), odd] {
            assert_eq!(Start::decode(&start.encode()), Ok(start));
        }
    }

    #[test]
    fn bytes_that_are_no_start_conditions_are_refused() {
        assert!(matches!(
            Start::decode(&[0xFF, 0xFE]),
            Err(StartError::Unreadable(_))
        ));
        assert!(matches!(Start::decode(b""), Err(StartError::Unreadable(_))));
        assert!(matches!(
            Start::decode(b"own = 3"),
            Err(StartError::Unreadable(_))
        ));
    }

    #[test]
    fn start_conditions_that_make_no_sense_are_refused() {
        let refused = |change: fn(&mut Start)| {
            let mut start = start();
            change(&mut start);
            NetLayer::new(start)
                .map(|_| ())
                .expect_err("no sense")
                .to_string()
        };
        assert!(refused(|start| start.own = Peer(3)).contains("own number"));
        assert!(refused(|start| start.peers.truncate(1)).contains("2 to 16"));
        assert!(refused(|start| start.peers[1] = start.peers[0].clone()).contains("same endpoint"));
        assert!(refused(|start| start.types.clear()).contains("object types"));
        assert!(refused(|start| start.tuning.packet_bytes = 9000).contains("1200"));
    }
}
