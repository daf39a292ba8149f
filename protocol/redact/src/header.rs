//! What a reel says of itself before the first event.

use netreel_reel::{Header, Removed, WireText};
use netreel_wire::Wire;

use crate::content::texts;
use crate::forms::Form;
use crate::report::ReelReport;
use crate::rules::{DROPPED, Texts};
use crate::survey::Survey;

impl Survey {
    /// The header of the copy, but for what it says of the copy itself.
    pub(crate) fn header(&self, old: &Header, report: &mut ReelReport) -> Header {
        let (rules, map) = (&self.rules, &self.map);
        let mut new = old.clone();
        new.redacted = None;
        if let Some(name) = map.nodes.get(&old.node) {
            report.count(Removed::Nodes);
            new.node.clone_from(name);
        }
        if old.session != [0; 16] {
            report.count(Removed::SessionId);
            new.session = map.token("session", &old.session);
        }
        for (text, kind, what) in [
            (&mut new.clock.boot_id, "boot", Removed::BootId),
            (&mut new.build, "build", Removed::Build),
        ] {
            if !text.is_empty() {
                report.count(what);
                *text = format!("{kind}-{:016x}", map.hash(kind, text.as_bytes(), 0));
            }
        }
        let stands = || self.stands_in(&old.start).map(|_| vec![0; old.start.len()]);
        if let Some(start) = rules.start.of(&old.start).or_else(stands) {
            report.count(Removed::Start);
            new.start = start;
        }
        for (_, seed) in &mut new.seeds {
            if rules.random.of(&seed.to_le_bytes()).is_some() {
                report.count(Removed::Random);
                *seed = 0;
            }
        }
        let hashes = new.hashes.iter_mut().map(|(name, _)| name);
        for name in hashes.chain(new.wires.iter_mut().map(|wire| &mut wire.name)) {
            // A path on somebody's machine says more than the file's name.
            if let Some((_, file)) = name.rsplit_once(['/', '\\']) {
                *name = file.to_owned();
                report.count(Removed::Paths);
            }
        }
        for (text, what, form) in texts(&mut new) {
            match rules.args {
                Texts::Drop if what == Removed::Args => {
                    report.count(what);
                    DROPPED.clone_into(text);
                }
                Texts::Keep
                    if what == Removed::Args && self.stands_in(text.as_bytes()).is_none() => {}
                _ => self.scrub(text, (what, form), report),
            }
        }
        for wire in &mut new.wires {
            self.wire(wire, report);
        }
        new
    }

    /// Maps what a text names.
    fn scrub(&self, text: &mut String, (what, form): (Removed, Form), report: &mut ReelReport) {
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
    fn wire(&self, wire: &mut WireText, report: &mut ReelReport) {
        if !self.stands_in_wire(&wire.text) {
            return;
        }
        report.count(Removed::Wires);
        let scrubbed = self
            .map
            .text(&wire.text, Form::Any, &self.rules.remove)
            .unwrap_or_default();
        let reads = |text: &str| Wire::compile("wire", text).is_ok();
        let is_broken = self.stands_in_wire(&scrubbed) || reads(&wire.text) && !reads(&scrubbed);
        wire.text = match is_broken {
            // Without its text nobody is misled by it.
            true => format!("// {DROPPED}\n"),
            false => scrubbed,
        };
    }
}
