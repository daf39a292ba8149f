//! What a reel says of itself before the first event.

use netreel_reel::{Header, WireText};
use netreel_wire::Wire;

use super::Texts;
use super::forms::Form;
use super::report::{ReelReport, Removed};
use super::survey::Survey;

/// What stands where a text was dropped.
pub(super) const DROPPED: &str = "[removed]";

impl Survey {
    /// The header of the copy, but for what it says of the copy itself.
    pub(super) fn header(&self, old: &Header, report: &mut ReelReport) -> Header {
        let mut new = old.clone();
        let map = &self.map;
        if let Some(name) = map.nodes.get(&old.node) {
            report.count(Removed::Nodes);
            new.node.clone_from(name);
        } else {
            self.scrub(&mut new.node, Removed::Nodes, report);
        }
        if old.session != [0; 16] {
            report.count(Removed::SessionId);
            new.session = map.token("session", &old.session);
        }
        if !old.clock.boot_id.is_empty() {
            report.count(Removed::BootId);
            let token = map.hash("boot", old.clock.boot_id.as_bytes(), 0);
            new.clock.boot_id = format!("boot-{token:016x}");
        }
        if !old.build.is_empty() {
            report.count(Removed::Build);
            let token = map.hash("build", old.build.as_bytes(), 0);
            new.build = format!("build-{token:016x}");
        }
        self.scrub(&mut new.engine, Removed::Texts, report);
        for text in &mut new.args {
            match self.rules.args {
                Texts::Keep if self.stands_in(text.as_bytes()).is_none() => {}
                Texts::Keep | Texts::Scrub => {
                    self.scrub_as((text, Form::Argument), Removed::Args, report)
                }
                Texts::Drop => {
                    report.count(Removed::Args);
                    DROPPED.clone_into(text);
                }
            }
        }
        if let Some(start) = self.rules.start.of(&old.start) {
            report.count(Removed::Start);
            new.start = start;
        } else if self.stands_in(&old.start).is_some() {
            report.count(Removed::Start);
            new.start = vec![0; old.start.len()];
        }
        for (name, seed) in &mut new.seeds {
            self.scrub(name, Removed::Texts, report);
            if self.rules.random.of(&seed.to_le_bytes()).is_some() {
                report.count(Removed::Random);
                *seed = 0;
            }
        }
        for (name, hash) in &mut new.hashes {
            shorten(name, report);
            self.scrub(name, Removed::Texts, report);
            self.scrub(hash, Removed::Texts, report);
        }
        new.wires = old
            .wires
            .iter()
            .map(|wire| self.wire(wire, report))
            .collect();
        new.redacted = None;
        new
    }

    /// Maps what a text names.
    fn scrub(&self, text: &mut String, what: Removed, report: &mut ReelReport) {
        self.scrub_as((text, Form::Any), what, report);
    }

    fn scrub_as(&self, (text, form): (&mut String, Form), what: Removed, report: &mut ReelReport) {
        if let Some(new) = self.map.text(text, form, &self.rules.remove) {
            report.count(what);
            *text = new;
        }
        if self.stands_in(text.as_bytes()).is_some() {
            report.count(what);
            DROPPED.clone_into(text);
        }
    }

    /// A wire stays what it was unless it names an address, or a text that is removed.
    fn wire(&self, old: &WireText, report: &mut ReelReport) -> WireText {
        let mut new = old.clone();
        shorten(&mut new.name, report);
        self.scrub(&mut new.name, Removed::Texts, report);
        if !self.stands_in_wire(&old.text) {
            return new;
        }
        report.count(Removed::Wires);
        let scrubbed = self.map.text(&old.text, Form::Any, &self.rules.remove);
        new.text = scrubbed.unwrap_or_default();
        let reads = |text: &str| Wire::compile("wire", text).is_ok();
        if self.stands_in_wire(&new.text) || reads(&old.text) && !reads(&new.text) {
            // Without its text nobody is misled by it.
            new.text = format!("// {DROPPED}\n");
        }
        new
    }
}

/// A path on somebody's machine says more than the file's name.
fn shorten(name: &mut String, report: &mut ReelReport) {
    if let Some((_, file)) = name.rsplit_once(['/', '\\']) {
        let file = file.to_owned();
        report.count(Removed::Paths);
        *name = file;
    }
}
