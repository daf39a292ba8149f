//! The numbers by which rules decide, as a team may set them.

mod parse;

use serde::Deserialize;
use serde::de::{Deserializer, Error};

/// From where on a rule finds something. What is not set is as it was without a file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Bounds {
    /// `resend-storm`.
    pub resend_storm: ResendStorm,
    /// `duplicate-sequence`.
    pub duplicate_sequence: DuplicateSequence,
    /// `reliable-not-delivered`.
    pub reliable_not_delivered: ReliableNotDelivered,
    /// `reliable-stuck`.
    pub reliable_stuck: ReliableStuck,
    /// `objects-differ-at-rest`.
    pub objects_differ_at_rest: ObjectsDifferAtRest,
    /// `belief-differs`.
    pub belief_differs: BeliefDiffers,
    /// `difference-lasts`.
    pub difference_lasts: DifferenceLasts,
    /// `head-of-line-wait`.
    pub head_of_line_wait: HeadOfLineWait,
    /// `rtt-step`.
    pub rtt_step: RttStep,
    /// `tick-stall`.
    pub tick_stall: TickStall,
    /// `silent-link`.
    pub silent_link: SilentLink,
    /// `loss-pattern`.
    pub loss_pattern: LossPattern,
    /// `stream-gap`.
    pub stream_gap: StreamGap,
    /// `rollback-deep`.
    pub rollback_deep: RollbackDeep,
    /// `tick-drift`.
    pub tick_drift: TickDrift,
}

/// See `resend-storm`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct ResendStorm {
    /// How many needless copies of one message are a storm.
    pub needless: usize,
    /// How many needless copies on one link are a storm,
    pub link_needless: u64,
    /// where they take this many in a hundred of the link's bits.
    pub link_percent: u64,
}

/// See `duplicate-sequence`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct DuplicateSequence {
    /// Two packets under one number are meant if fewer numbers are between them.
    pub window: u32,
}

/// See `reliable-not-delivered`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct ReliableNotDelivered {
    /// How many packets must have arrived after a message was given up.
    pub later: usize,
    /// A sender that waits for longer than this and four round trips says nothing more.
    pub patience: Length,
}

/// See `reliable-stuck`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct ReliableStuck {
    /// A message must have been sent this many times,
    pub copies: usize,
    /// for this long; where it is the answers that lack, for four round trips more.
    pub longest: Length,
}

/// See `objects-differ-at-rest`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct ObjectsDifferAtRest {
    /// Objects that are never told of are missing where this many in a hundred are known.
    pub known_percent: u64,
}

/// See `belief-differs`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct BeliefDiffers {
    /// What a game said and what follows from its messages must have stood apart for this long.
    pub longest: Length,
}

/// See `difference-lasts`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct DifferenceLasts {
    /// A node may be behind an object's owner for this long,
    pub longest: Length,
    /// or for this many round trips between the two, where they are longer.
    pub round_trips: u32,
}

/// See `head-of-line-wait`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct HeadOfLineWait {
    /// A message may wait for this long for those before it; without it nothing is found.
    pub longest: Option<Length>,
}

/// See `rtt-step`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct RttStep {
    /// The middle of sixteen round trips may be so much above that of the sixteen before; without it
    /// nothing is found.
    pub highest: Option<Length>,
}

/// See `tick-stall`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct TickStall {
    /// From the begin of a tick to that of the next may take this long; without it nothing is found.
    pub longest: Option<Length>,
}

/// See `silent-link`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct SilentLink {
    /// How many packets in a row must have been lost,
    pub packets: u64,
    /// and over this long a time.
    pub longest: Length,
}

/// See `loss-pattern`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct LossPattern {
    /// How many packets of a link must have arrived or been lost,
    pub packets: u64,
    /// and this many of them lost.
    pub lost: u64,
}

/// See `stream-gap`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct StreamGap {
    /// How many messages must have been sent behind the first one that waits.
    pub later: u64,
}

/// See `rollback-deep`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct RollbackDeep {
    /// A rollback may go over this many ticks.
    pub ticks: u64,
}

/// See `tick-drift`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct TickDrift {
    /// Speeds of ticks may differ by less than one in this many,
    pub one_in: u64,
    /// over this long a time or more.
    pub longest: Length,
    /// How many ticks a second the game means to make; without it nodes are compared with each other.
    pub rate: Option<u64>,
}

/// A length of time, written with its unit: `1s`, `300ms`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Length(
    /// In nanoseconds.
    pub i64,
);

impl Default for ResendStorm {
    fn default() -> ResendStorm {
        ResendStorm {
            needless: 8,
            link_needless: 32,
            link_percent: 20,
        }
    }
}

impl Default for DuplicateSequence {
    fn default() -> DuplicateSequence {
        DuplicateSequence { window: 64 }
    }
}

impl Default for ReliableNotDelivered {
    fn default() -> ReliableNotDelivered {
        ReliableNotDelivered {
            later: 8,
            patience: Length(1_000_000_000),
        }
    }
}

impl Default for ReliableStuck {
    fn default() -> ReliableStuck {
        ReliableStuck {
            copies: 5,
            longest: Length(1_000_000_000),
        }
    }
}

impl Default for ObjectsDifferAtRest {
    fn default() -> ObjectsDifferAtRest {
        ObjectsDifferAtRest { known_percent: 90 }
    }
}

impl Default for BeliefDiffers {
    fn default() -> BeliefDiffers {
        BeliefDiffers {
            longest: Length(500_000_000),
        }
    }
}

impl Default for DifferenceLasts {
    fn default() -> DifferenceLasts {
        DifferenceLasts {
            longest: Length(2_000_000_000),
            round_trips: 10,
        }
    }
}

impl Default for SilentLink {
    fn default() -> SilentLink {
        SilentLink {
            packets: 16,
            longest: Length(1_000_000_000),
        }
    }
}

impl Default for LossPattern {
    fn default() -> LossPattern {
        LossPattern {
            packets: 64,
            lost: 8,
        }
    }
}

impl Default for StreamGap {
    fn default() -> StreamGap {
        StreamGap { later: 8 }
    }
}

impl Default for RollbackDeep {
    fn default() -> RollbackDeep {
        RollbackDeep { ticks: 12 }
    }
}

impl Default for TickDrift {
    fn default() -> TickDrift {
        TickDrift {
            one_in: 40,
            longest: Length(10_000_000_000),
            rate: None,
        }
    }
}

impl<'de> Deserialize<'de> for Length {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Length, D::Error> {
        let text = String::deserialize(from)?;
        length(&text).ok_or_else(|| {
            let asked = format!("{text:?} is no length of time: write it with a unit, `300ms`");
            D::Error::custom(asked)
        })
    }
}

fn length(text: &str) -> Option<Length> {
    let units = [
        ("ns", 1.0),
        ("us", 1e3),
        ("µs", 1e3),
        ("ms", 1e6),
        ("s", 1e9),
    ];
    units.iter().find_map(|(unit, nanos)| {
        let number = text.trim().strip_suffix(unit)?.trim().parse::<f64>().ok()?;
        let is_one = number.is_finite() && (0.0..=1e9).contains(&number);
        is_one.then_some(Length((number * nanos) as i64))
    })
}

/// Why a text is no bounds: where, what was found, and what could stand there.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct BoundsError(String);

impl Bounds {
    /// Whether all are as they are without a file.
    pub fn is_default(&self) -> bool {
        *self == Bounds::default()
    }
}

/// The rules that have bounds.
pub const WITH_BOUNDS: [&str; 15] = [
    "belief-differs",
    "difference-lasts",
    "resend-storm",
    "duplicate-sequence",
    "reliable-not-delivered",
    "reliable-stuck",
    "objects-differ-at-rest",
    "head-of-line-wait",
    "rtt-step",
    "tick-stall",
    "silent-link",
    "loss-pattern",
    "stream-gap",
    "rollback-deep",
    "tick-drift",
];
