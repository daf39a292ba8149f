//! All that is worked out beside the window, while panes that need it are shown.

use netreel_protocol::stats::Stats;

use crate::aside::Aside;
use crate::believed::{Believed, ValueRow};
use crate::by_field::ByField;
use crate::comparison::Comparison;
use crate::course::Track;
use crate::flow::LinkFlow;
use crate::links::LinkEnds;
use crate::log_lines::LogLines;

/// Of which session, and of what in it.
type Of<T> = (u32, T);

/// See the module.
#[derive(Default)]
pub(crate) struct Beside {
    /// Of the filter's text.
    pub stats: Aside<Of<String>, Stats>,
    /// The same by fields.
    pub by_field: Aside<Of<String>, ByField>,
    pub flow: Aside<Of<LinkEnds>, LinkFlow>,
    pub believed: Aside<u32, Believed>,
    pub track: Aside<Of<ValueRow>, Track>,
    /// What nodes wrote.
    pub lines: Aside<u32, LogLines>,
    /// Of the other session, by where it lies in memory.
    pub compared: Aside<Of<usize>, Comparison>,
}

impl Beside {
    /// Waits for all of it.
    pub fn finish(&self) {
        self.stats.finish();
        self.by_field.finish();
        self.flow.finish();
        self.believed.finish();
        self.track.finish();
        self.lines.finish();
        self.compared.finish();
    }

    /// Whether any of it is under way.
    pub fn is_coming(&self) -> bool {
        self.stats.is_coming()
            || self.by_field.is_coming()
            || self.flow.is_coming()
            || self.believed.is_coming()
            || self.track.is_coming()
            || self.lines.is_coming()
            || self.compared.is_coming()
    }
}
