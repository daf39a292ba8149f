//! All that is worked out beside the window, while panes that need it are shown.

use netreel_protocol::stats::Stats;

use crate::aside::{Aside, Work};
use crate::believed::{Believed, ValueRow};
use crate::by_field::ByField;
use crate::comparison::Comparison;
use crate::course::Track;
use crate::flow::LinkFlow;
use crate::links::LinkEnds;
use crate::log_lines::LogLines;
use crate::measured::{self, Measured};
use crate::{plotted, sorting};

/// Of which session, and of what in it.
pub type Of<T> = (u32, T);

/// See the module.
#[derive(Default)]
pub struct Beside {
    /// Of the filter's text.
    pub stats: Aside<Of<String>, Stats>,
    /// The same by fields.
    pub by_field: Aside<Of<String>, ByField>,
    pub flow: Aside<Of<LinkEnds>, LinkFlow>,
    pub believed: Aside<Of<()>, Believed>,
    pub track: Aside<Of<ValueRow>, Track>,
    /// Of the packet table.
    pub order: Aside<Of<sorting::Of>, sorting::Order>,
    pub measured: Aside<Of<measured::Of>, Measured>,
    pub plotted: Aside<Of<plotted::Of>, plotted::Track>,
    /// What nodes wrote.
    pub lines: Aside<u32, LogLines>,
    /// Of the other session, by where it lies in memory.
    pub compared: Aside<Of<usize>, Comparison>,
}

impl Beside {
    /// All of it, with what people call it.
    fn all(&self) -> [(&'static str, &dyn Work); 10] {
        [
            ("what the bytes were", &self.stats),
            ("what fields take", &self.by_field),
            ("the link over time", &self.flow),
            ("what nodes believed", &self.believed),
            ("the value over time", &self.track),
            ("the order of the table", &self.order),
            ("what was sent in the measured time", &self.measured),
            ("the field over time", &self.plotted),
            ("what nodes wrote", &self.lines),
            ("the comparison", &self.compared),
        ]
    }

    /// Waits for all of it.
    pub fn finish(&self) {
        self.all().iter().for_each(|(_, work)| work.finish());
    }

    /// What of it is under way.
    pub fn coming(&self) -> Option<&'static str> {
        self.all()
            .into_iter()
            .find(|(_, work)| work.is_coming())
            .map(|(name, _)| name)
    }

    /// Works on none of it any more.
    pub fn give_up(&self) {
        self.all().iter().for_each(|(_, work)| work.give_up());
    }

    /// Works on what was given up, when it is asked for.
    pub fn go_on(&self) {
        self.all().iter().for_each(|(_, work)| work.go_on());
    }

    /// What of it was given up.
    pub fn given_up(&self) -> Option<&'static str> {
        self.all()
            .into_iter()
            .find(|(_, work)| work.is_given_up())
            .map(|(name, _)| name)
    }
}
