//! What can be asked of a replay that one sits in.

use clap::{Args, ValueEnum};

#[derive(Debug, Args)]
pub struct Sit {
    /// Play to the first packet that fits, for example `kind == migrate`, and show it; also
    /// `event N`, `time 1.2s`, `finding`, and what the node is to believe of an object, such as
    /// `objects[42].owner == X` (docs/replay.md).
    #[arg(long, value_name = "EXPR", conflicts_with = "together")]
    pub until: Option<String>,
    /// Start at the last snapshot before this time of the session, for example `1.25s`.
    #[arg(long, value_name = "TIME", conflicts_with = "together")]
    pub from: Option<String>,
    /// Step through the recording at a prompt, forward and back; `help` there says how.
    #[arg(long, conflicts_with = "together")]
    pub step: bool,
    /// Throw the one switch of the layer's time-outs, where it has one: `off`, and nothing is given
    /// up for having taken too long. Default: off with --step and --gdb, else on, as recorded.
    #[arg(long, value_name = "SWITCH", value_enum, conflicts_with_all = ["together", "to"])]
    pub time_outs: Option<Switch>,
}

/// How a switch is to stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Switch {
    On,
    Off,
}

impl Sit {
    /// Whether a replay is asked for that does not go from the begin to the end.
    pub fn asked(&self) -> bool {
        self.step || self.until.is_some() || self.from.is_some()
    }

    /// Whether the layer's time-outs are to be off.
    pub fn without_time_outs(&self) -> bool {
        match self.time_outs {
            Some(switch) => switch == Switch::Off,
            None => self.step,
        }
    }
}
