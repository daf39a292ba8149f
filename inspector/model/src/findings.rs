//! Findings as rows, and the story that the window opens with.

use netreel_protocol::history::{Evidence, Finding, Level};
use netreel_protocol::session::{PacketId, SessionTime};

use crate::{Model, text};

/// Most findings that one story joins.
const STORY_FINDINGS_MAX: usize = 16;

/// Most pieces of proof of one finding that a story has.
const STORY_PIECES_MAX: usize = 64;

/// One finding as a row.
#[derive(Clone, Debug, PartialEq)]
pub struct FindingRow {
    /// Its place in the history.
    pub finding: usize,
    /// How bad.
    pub level: Level,
    /// `zombie-object`
    pub rule: &'static str,
    /// For people.
    pub sentence: String,
    /// The node that saw it.
    pub node: String,
    /// When.
    pub time: String,
    /// Whether it is the selected one.
    pub selected: bool,
}

/// One piece of a finding's proof as a row.
#[derive(Clone, Debug, PartialEq)]
pub struct EvidenceRow {
    /// `MIGRATE dropped`
    pub what: String,
    /// The packet that carried it.
    pub packet: PacketId,
    /// The short name of the node that it is seen at.
    pub node: String,
    /// When.
    pub time: String,
    /// Its step in [`Model::story`], from 1, where the finding is the selected one.
    pub step: Option<usize>,
    /// The object that it tells of, where the finding is about several.
    pub object: Option<u64>,
    /// The rule of the finding that it proves, where that is not this one but another that tells the
    /// same story.
    pub of: Option<&'static str>,
    /// Whether its packet is the selected one.
    pub selected: bool,
}

impl Model {
    /// A finding by its place in the history.
    pub fn finding(&self, place: usize) -> Option<&Finding> {
        self.history().findings.get(place)
    }

    /// The finding whose story is pinned.
    pub fn pinned_finding(&self) -> Option<&Finding> {
        self.finding(self.selection.finding?)
    }

    /// How many findings of a level there are.
    pub fn finding_count(&self, level: Level) -> usize {
        self.judged.finding_counts[crate::judged::rank(level)]
    }

    /// The findings of a level in words: `1 error`, `2 warnings`, `3 info`; `None` where there are none.
    pub fn findings_counted(&self, level: Level) -> Option<String> {
        let count = self.finding_count(level);
        let said = match level {
            Level::Info => format!("{count} info"),
            level => text::counted(count as u64, level.name()),
        };
        (count > 0).then_some(said)
    }

    /// How many findings the list has: those that the filter takes, without those of muted rules.
    pub fn finding_rows_count(&self) -> usize {
        self.listed_findings().len()
    }

    /// The rows `range` of the list: the worst first, then by time.
    pub fn finding_rows(&self, range: std::ops::Range<usize>) -> Vec<FindingRow> {
        range
            .map_while(|row| self.listed_findings().get(row))
            .filter_map(|&finding| self.finding_row(finding))
            .collect()
    }

    /// One finding as a row.
    pub fn finding_row(&self, place: usize) -> Option<FindingRow> {
        let finding = self.finding(place)?;
        Some(FindingRow {
            finding: place,
            level: finding.level,
            rule: finding.rule,
            sentence: finding.sentence.clone(),
            node: self.node_name(finding.node).to_owned(),
            time: text::seconds(finding.time),
            selected: self.selection.finding == Some(place),
        })
    }

    /// What proves a finding, in the order of time; of the selected one the whole story, so that the
    /// list has the steps that the timeline has.
    pub fn evidence_rows(&self, finding: usize) -> Vec<EvidenceRow> {
        let own = self.finding(finding);
        let proves = |of: &Finding, piece: &Evidence| {
            of.proof()
                .any(|it| (it.message, it.node) == (piece.message, piece.node))
        };
        let other = |piece: &Evidence| {
            if own.is_none_or(|own| proves(own, piece)) {
                return None;
            }
            self.same_story(finding)
                .find(|of| proves(of, piece))
                .map(|of| of.rule)
        };
        let pieces = self.pieces(finding).iter().enumerate();
        let told = self.selection.finding == Some(finding);
        let row = |(place, piece): (usize, &Evidence)| EvidenceRow {
            what: piece.what.clone(),
            packet: piece.packet,
            node: self.short_name(piece.node).to_owned(),
            time: text::seconds(piece.time),
            step: told.then_some(place + 1),
            object: own.and_then(|own| object_of(own, piece)),
            of: other(piece),
            selected: self.selection.packet == Some(piece.packet),
        };
        pieces.map(row).collect()
    }

    /// What stands below a finding in the list.
    pub(crate) fn pieces(&self, finding: usize) -> &[Evidence] {
        if self.selection.finding == Some(finding) {
            return &self.story;
        }
        self.finding(finding)
            .map_or(&[], |finding| &finding.evidence)
    }

    /// What proves the selected finding.
    pub fn evidence(&self) -> &[Evidence] {
        self.pinned_finding()
            .map_or(&[], |finding| &finding.evidence)
    }

    /// The selected finding's proof together with that of the findings that tell the same story:
    /// same node, same object, same level. In the order of time, each piece once.
    pub fn story(&self) -> &[Evidence] {
        &self.story
    }

    /// The findings that tell the same story as one of them, and that one.
    fn same_story(&self, place: usize) -> impl Iterator<Item = &Finding> {
        let findings = &self.history().findings;
        let told = self.finding(place);
        let told = told.filter(|told| !told.objects.is_empty() && told.level > Level::Info);
        let same = move |other: &&Finding| {
            told.is_some_and(|told| {
                let about = |object: &u64| other.is_about(*object);
                (other.node, other.level) == (told.node, told.level)
                    && told.objects.iter().any(about)
            })
        };
        findings.iter().filter(same).take(STORY_FINDINGS_MAX)
    }

    /// Works out [`Model::story`] for the selected finding.
    pub(crate) fn tell(&self) -> Vec<Evidence> {
        let Some(told) = self.pinned_finding() else {
            return Vec::new();
        };
        let mut story: Vec<Evidence> = told.proof().take(STORY_PIECES_MAX).cloned().collect();
        for finding in self
            .selection
            .finding
            .into_iter()
            .flat_map(|place| self.same_story(place))
        {
            story.extend(finding.evidence.iter().cloned());
        }
        story.sort_by_key(|piece| (piece.time, piece.message, piece.node));
        story.dedup_by_key(|piece| (piece.message, piece.node));
        story
    }

    /// Selects a finding, its object and its first packet, and brings all its evidence into view.
    pub(crate) fn select_finding(&mut self, place: usize) {
        let Some(finding) = self.finding(place) else {
            return;
        };
        let (object, first) = (finding.object(), finding.evidence.first().cloned());
        self.select_nothing();
        if let Some(first) = first {
            self.select_packet(first.packet);
            self.selection.message = self.carried(first.message, first.packet);
        }
        self.selection.finding = Some(place);
        if object.is_some() {
            self.set_object(object);
        }
        self.story = self.tell();
        self.frame(&self.story_times());
    }

    /// When the story's packets were sent and received, and when the finding was seen.
    pub(crate) fn story_times(&self) -> Vec<SessionTime> {
        let mut times: Vec<SessionTime> = self.pinned_finding().iter().map(|it| it.time).collect();
        for piece in self.evidence().iter().chain(&self.story) {
            times.push(piece.time);
            if let Some(arrow) = self.arrow(piece.packet) {
                times.extend([arrow.start, arrow.end]);
            }
        }
        times
    }

    /// Selects the first packet that the filter takes, for whoever has not looked around.
    pub fn open_first(&mut self) {
        if let Some(first) = self.packet_at(0) {
            self.select_packet(first);
        }
    }

    /// Whether somebody has looked around.
    pub fn is_looked_at(&self) -> bool {
        self.is_looked_at
    }

    /// What a newly opened session shows: its errors where there are any, otherwise all of it. What
    /// the filter takes comes before what it leaves out, whatever its level. What is muted is not
    /// shown.
    pub(crate) fn open_story(&mut self) {
        self.visible = self.whole();
        let heard = self.heard_findings();
        let order = match self.listed_findings() {
            [] => heard,
            taken => taken,
        };
        let Some(&first) = order.first() else {
            return;
        };
        let is_asked_for = order.len() < heard.len();
        // The story of the worst finding's object; errors about others are in the list.
        let about = |place: usize| self.finding(place).map(|it| (it.level, it.object()));
        let worst = about(first);
        if worst.map(|(level, _)| level) < Some(Level::Warning) && !is_asked_for {
            return;
        }
        // Among equals the one with the most proof tells the most.
        let proof = |place: usize| self.finding(place).map_or(0, |it| it.evidence.len());
        let told = order
            .iter()
            .copied()
            .filter(|&place| about(place) == worst)
            .max_by_key(|&place| (proof(place), std::cmp::Reverse(place)));
        self.select_finding(told.unwrap_or(first));
        // What no packet proves is about a recording, which is seen best whole.
        if self.evidence().is_empty() {
            self.visible = self.whole();
        }
    }

    /// Shows all of `times` with some room on both sides.
    pub(crate) fn frame(&mut self, times: &[SessionTime]) {
        let (Some(first), Some(last)) = (times.iter().min(), times.iter().max()) else {
            return;
        };
        let length = last.0.saturating_sub(first.0);
        // Proof within microseconds is told by what stands around it.
        let span = &self.session.span;
        let least = (span.end.0.saturating_sub(span.start.0) / 20).clamp(0, 50_000_000);
        let margin = (length / 8)
            .max(least.saturating_sub(length) / 2)
            .max(200_000);
        let (start, end) = (first.0 - margin, last.0.saturating_add(margin));
        self.show(SessionTime(start)..SessionTime(end));
    }
}

/// The object that a piece of proof tells of, where a finding is about several.
fn object_of(finding: &Finding, piece: &Evidence) -> Option<u64> {
    finding
        .each
        .iter()
        .find(|it| it.evidence.contains(piece))?
        .object
}
