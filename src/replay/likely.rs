//! What a divergence likely comes from: what was changed on purpose, what the steps tell, another build.

use std::io::Write;
use std::sync::Arc;

use netreel_reel::{EventNumber, Reel, Removed};
use netreel_replay::{Report, cause};
use serde_json::{Value as Json, json};

use super::boxes::Changed;
use crate::outcome::Result;
use crate::text;

/// What is played into the layer that is replayed, beside what was recorded.
#[derive(Clone)]
pub struct Plays {
    /// What of the start conditions is another than recorded.
    pub changed: Vec<Changed>,
    /// The layer's build; `None` where a plugin does not say its own.
    pub build: Option<String>,
}

/// What is known of why a layer parts from its recording.
pub struct Likely {
    changed: Vec<Changed>,
    /// What comes of it with nothing changed; `None`: it was not tried.
    unchanged: Option<Unchanged>,
    /// What the steps tell.
    cause: Option<String>,
    /// The recorded build, and the own one.
    other_build: Option<(String, Option<String>)>,
}

/// How the same recording is replayed with nothing changed.
pub enum Unchanged {
    Exact,
    /// It parts as well, elsewhere or in another way.
    Elsewhere(EventNumber),
    /// It parts here, in the same way.
    AsWell,
}

impl Unchanged {
    /// What `unchanged` came to, beside the `report` of the replay with changes.
    pub fn of(report: &Report, unchanged: &Report) -> Unchanged {
        match (report.divergence(), unchanged.divergence()) {
            (_, None) => Unchanged::Exact,
            (Some(with), Some(without)) if with.number < without.number => {
                Unchanged::Elsewhere(without.number)
            }
            (Some(with), Some(without)) if with.number == without.number && with != without => {
                Unchanged::Elsewhere(without.number)
            }
            _ => Unchanged::AsWell,
        }
    }
}

impl Likely {
    /// What is known of a divergence that `report` tells of. Where something was changed on purpose,
    /// that is told, and not the builds.
    pub fn of(reel: &Arc<Reel>, report: &Report, plays: Plays) -> Likely {
        let recorded = recorded_build(reel).filter(|_| plays.changed.is_empty());
        let own = plays.build;
        let other_build = recorded.filter(|it| own.as_ref() != Some(it));
        Likely {
            changed: plays.changed,
            unchanged: None,
            cause: cause(reel, report).map(|cause| cause.to_string()),
            other_build: other_build.map(|recorded| (recorded, own)),
        }
    }

    /// With what comes of the recording with nothing changed.
    pub fn beside(mut self, unchanged: Option<Unchanged>) -> Likely {
        self.unchanged = unchanged;
        self
    }

    /// A line for each.
    pub fn print(&self, out: &mut dyn Write) -> Result {
        for sentence in self.sentences() {
            writeln!(out, "    {sentence}")?;
        }
        Ok(())
    }

    /// A sentence for each: `likely because changed setting mode = owner (recorded: host)`.
    pub fn sentences(&self) -> Vec<String> {
        let changed = words(&self.changed);
        let on_purpose = match &self.unchanged {
            _ if self.changed.is_empty() => None,
            None => Some(format!("likely because {changed}")),
            Some(Unchanged::Exact) => Some(format!(
                "likely because {changed}; with nothing changed it is exact"
            )),
            Some(Unchanged::Elsewhere(event)) => Some(format!(
                "likely because {changed}; with nothing changed it diverges otherwise, at event \
                 {event}"
            )),
            Some(Unchanged::AsWell) => Some(format!(
                "not because {changed}: with nothing changed it diverges as well"
            )),
        };
        let cause = self.cause.as_ref();
        let cause = cause.map(|cause| format!("likely because {cause}"));
        let other = self.other_build.as_ref().map(|(recorded, own)| {
            let own = match own {
                Some(own) => format!("this is {own}"),
                None => "the plugin does not say its own (`build` in netreel_layer.h, the third word of \
                    `layer!`)"
                    .to_owned(),
            };
            format!("maybe because it was recorded with another build: {recorded}, and {own}")
        });
        let all = [on_purpose, cause, other];
        all.into_iter().flatten().collect()
    }

    /// Puts it into a divergence, as `--json` prints one.
    pub fn put(&self, divergence: &mut Json) {
        if let Some(cause) = &self.cause {
            divergence["cause"] = cause.as_str().into();
        }
        if !self.changed.is_empty() {
            divergence["changed"] = as_json(&self.changed);
        }
        if let Some(unchanged) = self.unchanged.as_ref().filter(|_| !self.changed.is_empty()) {
            divergence["unchanged"] = match unchanged {
                Unchanged::Exact => "exact",
                Unchanged::Elsewhere(_) => "diverges otherwise",
                Unchanged::AsWell => "diverges as well",
            }
            .into();
        }
        if let Some((recorded, own)) = &self.other_build {
            divergence["other_build"] = json!({ "recorded": recorded, "own": own });
        }
    }
}

/// The build that a reel names, where it does and was not redacted.
fn recorded_build(reel: &Reel) -> Option<String> {
    let header = reel.header();
    let redacted = header.redacted.as_ref();
    let is_known = !redacted.is_some_and(|redacted| redacted.has(Removed::Build));
    (is_known && !header.build.is_empty()).then(|| header.build.clone())
}

/// `changed setting mode = owner (recorded: host)`, and so on.
pub fn words(changed: &[Changed]) -> String {
    let each = changed.iter().map(|it| {
        let Changed {
            name,
            recorded,
            now,
        } = it;
        format!("changed setting {name} = {now} (recorded: {recorded})")
    });
    text::joined(each, ", ")
}

/// The same as `--json` prints it.
pub fn as_json(changed: &[Changed]) -> Json {
    let each = changed
        .iter()
        .map(|it| json!({ "name": it.name, "recorded": it.recorded, "now": it.now }));
    each.collect()
}
