//! What can be asked of a replay that one sits in.

use clap::Args;

#[derive(Debug, Args)]
pub struct Sit {
    /// Play to the first packet that fits, for example `kind == migrate`, and show it; also
    /// `event N`, `time 1.2s` and `finding` (docs/replay.md).
    #[arg(long, value_name = "EXPR", conflicts_with = "together")]
    pub until: Option<String>,
    /// Start at the last snapshot before this time of the session, for example `1.25s`.
    #[arg(long, value_name = "TIME", conflicts_with = "together")]
    pub from: Option<String>,
    /// Step through the recording at a prompt, forward and back; `help` there says how.
    #[arg(long, conflicts_with = "together")]
    pub step: bool,
}

impl Sit {
    /// Whether a replay is asked for that does not go from the begin to the end.
    pub fn asked(&self) -> bool {
        self.step || self.until.is_some() || self.from.is_some()
    }
}
