//! What can be asked of events.

use clap::Args;
use netreel_reel::EventKind;

use super::Read;

#[derive(Debug, Args)]
pub struct Events {
    #[command(flatten)]
    pub read: Read,
    /// The node, proxy or observer whose reel is listed; without it all reels, one after the other.
    #[arg(long, value_name = "NAME")]
    pub node: Option<String>,
    /// Only events of packets that fit, for example `to == X && object == 42` (docs/filter.md).
    #[arg(long, value_name = "EXPR")]
    pub filter: Option<String>,
    /// Only events of this kind, for example `input` or `sent`; may be given several times.
    #[arg(long, value_name = "WHICH", value_parser = kind)]
    pub kind: Vec<EventKind>,
}

fn kind(text: &str) -> Result<EventKind, String> {
    EventKind::named(text).ok_or_else(|| {
        let names = EventKind::ALL.map(EventKind::name);
        format!("there is no such kind; there are: {}", names.join(", "))
    })
}
