//! What `netreel inspect` is asked.

use std::path::PathBuf;

use clap::Args;

use super::source::Source;

#[derive(Debug, Args)]
pub struct Inspect {
    #[command(flatten)]
    pub source: Source,
    /// Only what fits (docs/filter.md).
    #[arg(long, value_name = "EXPR")]
    pub filter: Option<String>,
    /// Show what the rules in this file find as well, once its tests have passed (docs/rules.md).
    #[arg(long, value_name = "FILE", conflicts_with = "follow")]
    pub rules: Option<PathBuf>,
    /// Draw into this file instead of opening a window.
    #[arg(long, value_name = "FILE.png")]
    pub screenshot: Option<PathBuf>,
    /// What to show: `why`, `packets`, `state`, `links`, `compare` or `replay` (docs/inspector.md).
    /// Without it why where something was found, else packets.
    #[arg(long, value_name = "NAME", alias = "view")]
    pub workspace: Option<String>,
    /// Show this pane over the whole window: `timeline`, `objects`, `findings`, ... (docs/inspector.md).
    #[arg(long, value_name = "PANE")]
    pub alone: Option<String>,
    /// The picture's size in pixels, from 320x240 to 8192x8192.
    #[arg(long, value_name = "WxH", default_value = "1600x1000")]
    pub size: String,
    /// The colours: `dark`, `light`, with high contrast (`contrast`, `contrast-light`), or as the
    /// `system` has them. Without it those chosen last.
    #[arg(long, value_name = "THEME")]
    pub theme: Option<String>,
    /// How large everything is, from 0.5 to 3. Without it as chosen last; a picture has 1.
    #[arg(long, value_name = "FACTOR")]
    pub scale: Option<f32>,
    /// Draw the session from this time on: `1.25s`, `300ms`.
    #[arg(long, value_name = "TIME", requires = "screenshot")]
    pub from: Option<String>,
    /// Draw it up to this time.
    #[arg(long, value_name = "TIME", requires = "screenshot")]
    pub to: Option<String>,
    /// Draw it with this packet selected.
    #[arg(long, value_name = "PACKET", requires = "screenshot")]
    pub select: Option<u32>,
    /// Draw it with the cursor at this time.
    #[arg(long, value_name = "TIME", requires = "screenshot")]
    pub at: Option<String>,
    /// Draw it with the cursor where the selected packet was received, held against the moment before.
    #[arg(long, requires = "screenshot", conflicts_with = "at")]
    pub around: bool,
    /// Draw it with the replay of this node, where `--say` leads.
    #[arg(long, value_name = "NODE", requires = "screenshot")]
    pub sit: Option<String>,
    /// Replays, and what is played on, take the network layer of this shared library
    /// (docs/engines.md), instead of the sample engine's.
    #[arg(long, value_name = "FILE.so", conflicts_with = "changed")]
    pub layer: Option<PathBuf>,
    /// What is to be another than recorded in that replay: `--set mode=owner`.
    #[arg(
        long,
        value_name = "CHANGES",
        requires = "sit",
        allow_hyphen_values = true
    )]
    pub changed: Option<String>,
    /// Say this to the replay, as at the prompt of `netreel replay --step`; may be repeated.
    #[arg(long, value_name = "COMMAND", requires = "sit")]
    pub say: Vec<String>,
    /// Lie in the right half of the screen, beside another window.
    #[arg(long, hide = true)]
    pub beside: bool,
    /// Show why, of what the filters take that come as lines of the standard input.
    #[arg(long, hide = true)]
    pub filters: bool,
    /// Hold this session against it, in the workspace `compare`.
    #[arg(long, value_name = "PATH")]
    pub compare: Option<PathBuf>,
    /// Draw it with the session that is played on with these changes (`--set mode=owner`).
    #[arg(
        long,
        value_name = "CHANGES",
        requires = "screenshot",
        conflicts_with = "compare",
        allow_hyphen_values = true
    )]
    pub played_on: Option<String>,
    /// Show what is recorded while it is recorded.
    #[arg(long, conflicts_with = "screenshot")]
    pub follow: bool,
}
