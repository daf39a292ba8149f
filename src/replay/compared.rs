//! What became of a session that was played on, beside what it was.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::Path;

use netreel_protocol::diff::{Findings, Same, finding_key};
use netreel_protocol::export;
use netreel_protocol::history::{Finding, Level};
use netreel_protocol::session::{Session, SessionTime};
use netreel_protocol::verdict::Judgement;
use netreel_reel::Endpoint;
use netreel_replay::together::{Left, Played, PlayedNode, Why};
use netreel_replay::{FieldDifference, explain};
use serde_json::{Value, json};

use super::boxes::Changed;
use super::likely;
use super::reels::names;
use crate::open::Story;
use crate::outcome::Result;
use crate::{check, text};

/// How many refused calls of a node are told one by one.
const REFUSED_TOLD: usize = 3;

/// What was asked, played.
pub struct PlayedOn<'a> {
    pub session: &'a Session,
    pub folder: &'a Path,
    /// What was changed, as it was asked for; empty where nothing was.
    pub changes: String,
    /// Which settings of which node are others than recorded.
    pub changed: BTreeMap<String, Vec<Changed>>,
    pub seed: u64,
    /// Nodes without a layer, a sentence each: what they sent arrives as it did.
    pub left_out: Vec<String>,
    /// With nothing changed, where something is.
    pub unchanged: Option<Played>,
    pub played: Played,
}

/// The findings of the recording.
pub struct Before {
    findings: Vec<KnownFinding>,
    packets: usize,
}

#[derive(Clone)]
struct KnownFinding {
    key: Same,
    level: Level,
    sentence: String,
    json: Value,
}

pub struct Compared<'a> {
    on: &'a PlayedOn<'a>,
    before: &'a Before,
    after: &'a Story,
    judgement: &'a Judgement,
    gone: Vec<&'a KnownFinding>,
    /// At nodes that were not played: nobody knows whether they are gone.
    not_played: Vec<&'a KnownFinding>,
    new: Vec<KnownFinding>,
    /// With the level that each had before.
    stayed: Vec<(KnownFinding, Level)>,
    /// The names of the nodes behind endpoints.
    names: Box<dyn Fn(Endpoint) -> Option<String>>,
}

impl Before {
    pub fn new(story: &Story) -> Before {
        let session = &story.session;
        let findings = story.history().findings.iter();
        Before {
            findings: findings
                .map(|finding| KnownFinding::new(session, finding))
                .collect(),
            packets: session.packet_count(),
        }
    }
}

impl KnownFinding {
    fn new(session: &Session, finding: &Finding) -> KnownFinding {
        KnownFinding {
            key: finding_key(session, finding),
            level: finding.level,
            sentence: finding.sentence.clone(),
            json: json!(export::finding(session, finding)),
        }
    }
}

impl<'a> Compared<'a> {
    pub fn new(
        on: &'a PlayedOn<'a>,
        before: &'a Before,
        after: &'a Story,
        judgement: &'a Judgement,
    ) -> Compared<'a> {
        let findings = after.history().findings.iter();
        let now: Vec<KnownFinding> = findings
            .map(|it| KnownFinding::new(&after.session, it))
            .collect();
        let keys = |all: &[KnownFinding]| {
            let keys = all.iter().map(|told| (told.key.clone(), told.level));
            keys.collect::<Vec<_>>()
        };
        let findings = Findings::of(&keys(&before.findings), &keys(&now));
        let [gone, new] = findings.only;
        let gone = gone.into_iter().map(|place| &before.findings[place]);
        let new = new.into_iter().map(|place| now[place].clone()).collect();
        let stayed = findings
            .both
            .into_iter()
            .map(|[was, is]| {
                let level = before.findings[was].level;
                (now[is].clone(), level)
            })
            .collect();
        let played: BTreeSet<&str> = on
            .played
            .nodes
            .iter()
            .filter(|node| node.played)
            .map(|node| node.name.as_str())
            .collect();
        let is_played = |told: &&KnownFinding| played.contains(told.key.node.as_str());
        let (gone, not_played) = gone.partition(is_played);
        let reels: Vec<_> = on.session.reels.iter().flatten().cloned().collect();
        Compared {
            on,
            before,
            after,
            judgement,
            gone,
            not_played,
            new,
            stayed,
            names: Box::new(names(&reels)),
        }
    }

    pub fn print(&self, out: &mut dyn Write) -> Result {
        let on = self.on;
        match &on.unchanged {
            None if !on.changes.is_empty() => {
                writeln!(out, "with {}: {}", on.changes, self.how(&on.played))?;
            }
            None => writeln!(
                out,
                "played on with nothing changed: {}",
                self.how(&on.played)
            )?,
            Some(unchanged) => {
                writeln!(out, "with nothing changed: {}", self.how(unchanged))?;
                writeln!(out, "with {}: {}", on.changes, self.how(&on.played))?;
            }
        }
        for node in &on.played.nodes {
            self.node(node, out)?;
        }
        writeln!(out)?;
        self.counts(out)?;
        writeln!(out)?;
        self.findings(out)?;
        writeln!(out, "the reels are in {}", on.folder.display())?;
        check::verdict(self.judgement, out)
    }

    /// In a few words, how near to the recording it was.
    fn how(&self, played: &Played) -> String {
        let nodes = played.nodes.iter().filter(|node| node.played);
        let off = nodes.clone().filter(|node| node.left.is_some());
        match (off.count(), nodes.count()) {
            (0, 1) => "exact, the node did what it did".to_owned(),
            (0, nodes) => format!("exact, all {nodes} nodes did what they did"),
            (off, nodes) => {
                let sent = played.sum(PlayedNode::sent);
                let equal = played.sum(|node| node.equal);
                format!(
                    "{off} of {nodes} nodes did something else, {equal} of {sent} packets are equal"
                )
            }
        }
    }

    fn node(&self, node: &PlayedNode, out: &mut dyn Write) -> Result {
        let name = &node.name;
        if let Some(left) = &node.left {
            let time = text::seconds(SessionTime(left.at_ns));
            writeln!(
                out,
                "    {name} from {time} s on (event {}): {}",
                left.number,
                self.why(name, left)
            )?;
            if let Some(changed) = self.changed(name, left) {
                writeln!(out, "        likely because {}", likely::words(changed))?;
            }
        }
        if node.refused.is_empty() {
            return Ok(());
        }
        let before = self.on.unchanged.as_ref().map(|unchanged| {
            let mut nodes = unchanged.nodes.iter();
            let same = nodes.find(|it| it.name == *name);
            same.map_or(0, |it| it.refused.len())
        });
        let calls = text::counted(node.refused.len(), "call");
        match before {
            Some(before) if before == node.refused.len() => return Ok(()),
            Some(before) => writeln!(
                out,
                "    {name} refused {calls} of the game, {before} before:"
            )?,
            None => writeln!(out, "    {name} refused {calls} of the game:")?,
        }
        for refused in node.refused.iter().take(REFUSED_TOLD) {
            let time = text::seconds(SessionTime(refused.at_ns));
            writeln!(
                out,
                "        {time} s, event {}: {}",
                refused.number, refused.why
            )?;
        }
        if node.refused.len() > REFUSED_TOLD {
            writeln!(
                out,
                "        and {} more",
                node.refused.len() - REFUSED_TOLD
            )?;
        }
        Ok(())
    }

    /// The changed settings, where the node itself did something else than it did, and would not
    /// have without them.
    fn changed(&self, node: &str, left: &Left) -> Option<&[Changed]> {
        let unchanged = self.on.unchanged.as_ref()?;
        let without = unchanged.nodes.iter().find(|it| it.name == node)?;
        let as_well = without
            .left
            .as_ref()
            .is_some_and(|without| without.number <= left.number);
        let changed = self.on.changed.get(node)?;
        let is_own = matches!(left.why, Why::Step(_)) && !as_well && !changed.is_empty();
        is_own.then_some(changed)
    }

    /// Why the node of this name left its recording.
    fn why(&self, node: &str, left: &Left) -> String {
        let names = &self.names;
        let named = |endpoint| names(endpoint).unwrap_or_else(|| endpoint.to_string());
        match &left.why {
            Why::Step(divergence) => {
                let wire = self.on.session.wire.as_deref();
                // Up to there the node did what it did, so that its reel tells what came before.
                let mut reels = self.on.session.reels.iter().flatten();
                let own = reels.find(|reel| reel.header().node == node);
                let reel = own.map(|reel| &**reel);
                let explained = explain(divergence, (wire, reel), names);
                match explained.field {
                    None => format!("{} in place of {}", explained.came, explained.expected),
                    Some(field) => format!("{}, but {}", explained.came, differs(&field)),
                }
            }
            Why::NothingCame { from } => {
                format!("got nothing where it got a packet of {}", named(*from))
            }
            Why::OtherCame { from, instead } => {
                if *instead {
                    format!("got another packet, of {}", named(*from))
                } else {
                    format!("got a packet of {} where it got none", named(*from))
                }
            }
        }
    }

    fn counts(&self, out: &mut dyn Write) -> Result {
        let nodes = &self.on.played.nodes;
        let widest = nodes.iter().map(|node| node.name.chars().count()).max();
        let width = widest.unwrap_or(0).max("packets sent".len());
        writeln!(
            out,
            "{:<width$}  {:>8}  {:>6}  {:>6}  {:>7}  {:>6}  {:>7}",
            "packets sent", "recorded", "now", "equal", "changed", "new", "missing"
        )?;
        let mut line = |name: &str, numbers: [u64; 6]| {
            let [recorded, sent, equal, changed, new, missing] = numbers;
            writeln!(
                out,
                "{name:<width$}  {recorded:>8}  {sent:>6}  {equal:>6}  {changed:>7}  {new:>6}  {missing:>7}"
            )
        };
        let played = nodes.iter().filter(|node| node.played);
        let mut sums = [0; 6];
        for node in played.clone() {
            let numbers = [
                node.recorded,
                node.sent(),
                node.equal,
                node.changed,
                node.new,
                node.missing,
            ];
            for (sum, number) in sums.iter_mut().zip(numbers) {
                *sum += number;
            }
            line(&node.name, numbers)?;
        }
        if played.count() > 1 {
            line("together", sums)?;
        }
        Ok(())
    }

    fn findings(&self, out: &mut dyn Write) -> Result {
        let (before, after) = (
            self.before.findings.len(),
            self.after.history().findings.len(),
        );
        writeln!(
            out,
            "{} before, {after} now",
            text::counted(before, "finding")
        )?;
        for told in &self.gone {
            one("gone", told, out)?;
        }
        for told in &self.not_played {
            one("not played", told, out)?;
        }
        for (told, was) in &self.stayed {
            if told.level == *was {
                one("stays", told, out)?
            } else {
                one(&format!("was {}", was.name()), told, out)?
            }
        }
        for told in &self.new {
            one("new", told, out)?;
        }
        Ok(())
    }

    pub fn json(&self) -> Value {
        let on = self.on;
        let all = |told: &[KnownFinding]| {
            told.iter()
                .map(|told| told.json.clone())
                .collect::<Vec<_>>()
        };
        let stay: Vec<Value> = self
            .stayed
            .iter()
            .map(|(told, was)| {
                let mut finding = told.json.clone();
                finding["level_before"] = was.name().into();
                finding
            })
            .collect();
        let [gone, not_played] = [&self.gone, &self.not_played]
            .map(|all| all.iter().map(|told| &told.json).collect::<Vec<&Value>>());
        json!({
            "folder": on.folder.display().to_string(),
            "changes": on.changes,
            "seed": on.seed,
            "left_out": on.left_out,
            "unchanged": on.unchanged.as_ref().map(|played| self.played(played, false)),
            "played": self.played(&on.played, true),
            "packets": { "before": self.before.packets, "now": self.after.session.packet_count() },
            "findings": { "gone": gone, "not_played": not_played, "stay": stay, "new": all(&self.new) },
            "check": export::check(&self.after.session, self.after.history(), self.judgement),
        })
    }

    fn played(&self, played: &Played, is_changed: bool) -> Value {
        let nodes = played.nodes.iter().map(|node| {
            json!({
                "node": node.name,
                "played": node.played,
                "ticks": node.ticks,
                "inputs": node.inputs,
                "received": node.received,
                "not_sent_after_all": node.not_sent_after_all,
                "sent": {
                    "recorded": node.recorded,
                    "now": node.sent(),
                    "equal": node.equal,
                    "changed": node.changed,
                    "new": node.new,
                    "missing": node.missing,
                },
                "refused": node.refused.iter().map(|refused| json!({
                    "event": refused.number.0,
                    "time_ns": refused.at_ns,
                    "why": refused.why,
                })).collect::<Vec<_>>(),
                "left": node.left.as_ref().map(|left| {
                    let mut told = json!({
                        "event": left.number.0,
                        "time_ns": left.at_ns,
                        "why": self.why(&node.name, left),
                    });
                    // Those of what was played with nothing changed have no such cause.
                    let changed = is_changed.then(|| self.changed(&node.name, left)).flatten();
                    if let Some(changed) = changed {
                        told["changed"] = likely::as_json(changed);
                    }
                    told
                }),
            })
        });
        json!({ "exact": played.is_exact(), "nodes": nodes.collect::<Vec<_>>() })
    }
}

fn one(word: &str, told: &KnownFinding, out: &mut dyn Write) -> Result {
    let style = check::style(told.level);
    writeln!(
        out,
        "  {word:<11}  {style}{:<7}{style:#}  {} at {}",
        told.level.name(),
        told.key.rule,
        told.key.node
    )?;
    Ok(writeln!(out, "      {}", told.sentence)?)
}

/// `length is 4, was 3`, and the same of what differs inside.
fn differs(field: &FieldDifference) -> String {
    let own = format!("{} is {}, was {}", field.path, field.came, field.expected);
    match &field.inside {
        None => own,
        Some(inside) => format!("{own}; inside, {}", differs(inside)),
    }
}
