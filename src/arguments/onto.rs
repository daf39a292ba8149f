//! What can be asked of playing a node's packets at a live endpoint.

use clap::Args;

#[derive(Debug, Args)]
pub struct Onto {
    /// Say what the node said to this live endpoint, over UDP, and show what comes back beside what
    /// was recorded (docs/replay.md).
    #[arg(long, value_name = "HOST:PORT", conflicts_with_all = ["together", "step", "until", "from", "tune", "set", "layer"])]
    pub to: Option<String>,
    /// Of what the node said, take what it said to this node or endpoint. May be left out where there
    /// is only one.
    #[arg(long, value_name = "NODE", requires = "to")]
    pub peer: Option<String>,
    /// So many times as fast as it was recorded.
    #[arg(long, value_name = "FACTOR", requires = "to", default_value_t = 1.0, value_parser = factor)]
    pub speed: f64,
    /// Send each packet as soon as everything has come that had come before it.
    #[arg(long, requires = "to", conflicts_with = "speed")]
    pub as_answered: bool,
}

fn factor(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(factor) if (0.001..=100_000.0).contains(&factor) => Ok(factor),
        _ => Err("write a factor from 0.001 to 100000".to_owned()),
    }
}
