//! What is handed on as text: what is selected, and what somebody else needs to see the same.

use std::collections::BTreeSet;

use netreel_protocol::query::Query;
use netreel_protocol::session::{Fate, NodeId, PacketId};
use netreel_wire::KindId;

use crate::links::LinkEnds;
use crate::times::first_time;
use crate::{FieldRow, Model, text};

/// More bytes of a packet are not written out.
const BYTES_MAX: usize = 4096;

/// More objects of a packet are not filtered by.
const OBJECTS_MAX: usize = 8;

/// How many bytes stand in a line.
const LINE: usize = 16;

impl Model {
    /// What is picked out, as text: the pinned field, else the packet with its fields and bytes, else
    /// the finding with its proof and what led to it. `None` where nothing is.
    pub fn selected_text(&self) -> Option<String> {
        let selection = self.selection();
        match (selection.packet, selection.field, selection.finding) {
            (Some(_), Some(field), _) => Some(self.detail.sentence(field)),
            (Some(packet), None, _) => Some(self.whole_packet_text(packet)),
            (None, _, Some(finding)) => self.story_text(finding),
            (None, ..) => None,
        }
    }

    /// Everything about the selected packet, or a line or two about another one.
    pub fn whole_packet_text(&self, id: PacketId) -> String {
        let mut text = String::new();
        if let Some(when) = first_time(&self.session, id) {
            text.push_str(&format!("{}  ", text::moment(when)));
        }
        text.push_str(&self.packet_text(id));
        text.push('\n');
        if self.selection.packet != Some(id) {
            return text;
        }
        for problem in self.detail.problems() {
            text.push_str(&format!("{problem}\n"));
        }
        for row in self.detail.rows() {
            let value = match row.value.as_str() {
                "" => row.type_name,
                value => value.to_owned(),
            };
            let problem = row
                .problem
                .map_or_else(String::new, |it| format!("  ! {it}"));
            let indent = "  ".repeat(row.depth + 1);
            text.push_str(&format!("{indent}{}  {value}{problem}\n", row.name));
        }
        text.push_str(&self.bytes_text());
        text
    }

    /// The bytes of the selected packet: a line for sixteen of them, with its place.
    pub fn bytes_text(&self) -> String {
        let bytes = self.detail.bytes().unwrap_or_default();
        let mut text = String::new();
        for (place, line) in bytes.chunks(LINE).take(BYTES_MAX / LINE).enumerate() {
            let (place, line) = (place * LINE, text::hex(line));
            text.push_str(&format!("{place:04x}  {line}\n"));
        }
        if bytes.len() > BYTES_MAX {
            text.push_str(&format!("... {} bytes in all\n", bytes.len()));
        }
        text
    }

    /// The bytes of the shown stream in which something is lit.
    pub fn lit_bytes(&self) -> Option<&[u8]> {
        let bits = self.lit_bits()?;
        self.detail
            .stream_bytes(self.selection.stream)?
            .get((bits.start / 8) as usize..bits.end.div_ceil(8) as usize)
    }

    /// The filter that takes what went the packet's way.
    pub fn link_filter(&self, id: PacketId) -> Option<String> {
        let packet = self.packet(id)?;
        self.filter_of_link((packet.from, packet.to))
    }

    /// The filter that takes what went from one node to another.
    pub fn filter_of_link(&self, (from, to): LinkEnds) -> Option<String> {
        let (from, to) = (self.quoted(from)?, self.quoted(to)?);
        Some(format!("from == {from} && to == {to}"))
    }

    /// The filter that takes the packets with a message of a kind; `None` where its name is no word.
    pub fn filter_of_kind(&self, kind: KindId) -> Option<String> {
        let name = self.kind_name(Some(kind));
        name.chars()
            .all(|it| it.is_alphanumeric() || it == '_')
            .then(|| format!("kind == {name}"))
    }

    /// The filter that takes what is about the same objects as a packet; `None` where that is about
    /// none.
    pub fn filter_of_objects(&self, id: PacketId) -> Option<String> {
        let objects: BTreeSet<u64> = self
            .messages_of(id)
            .filter_map(|(_, facts)| facts.object)
            .collect();
        let each: Vec<String> = objects
            .iter()
            .take(OBJECTS_MAX)
            .map(|object| format!("object == {object}"))
            .collect();
        (!each.is_empty()).then(|| each.join(" || "))
    }

    /// The filter that takes what fared as a packet did.
    pub fn filter_of_fate(&self, id: PacketId) -> Option<&'static str> {
        Some(match self.packet(id)?.fate {
            Fate::SendFailed => "failed",
            fate => fate.name(),
        })
    }

    /// The same for what was late on that link; `None` where nobody knows how long packets took.
    pub fn filter_of_late(&self, ends: LinkEnds) -> Option<String> {
        let above = self.index.links.late_above_ns(ends)?;
        let link = self.filter_of_link(ends)?;
        Some(format!("{link} && late > {above}ns"))
    }

    /// The filter that takes the packets in which a field of the selected one has its value; `None` where
    /// no filter can say that.
    pub fn field_filter(&self, row: &FieldRow) -> Option<String> {
        let mut path = String::new();
        let mut is_place = false;
        // Repeats have no place in a filter's names.
        for letter in self.detail.path(row.id).chars() {
            match letter {
                '[' => is_place = true,
                ']' => is_place = false,
                _ if is_place => {}
                letter => path.push(letter),
            }
        }
        let value = match row.value.split_once("  (") {
            Some((name, _)) => name,
            None => row.value.as_str(),
        };
        let text = format!("{path} == {}", value.trim());
        let is_known = Query::parse(&text)
            .ok()?
            .unknown_names(&self.session)
            .is_empty();
        (is_known && !value.is_empty()).then_some(text)
    }

    /// The filter that takes a finding, and the others of its rule about the same object at the same
    /// node.
    pub fn finding_filter(&self, finding: usize) -> Option<String> {
        let finding = self.finding(finding)?;
        let node = self.quoted(finding.node)?;
        let object = finding
            .object()
            .map_or_else(String::new, |object| format!(" && object == {object}"));
        Some(format!(
            "rule == {} && node == {node}{object}",
            finding.rule
        ))
    }

    /// A node's name as a filter has it; `None` where no filter can.
    fn quoted(&self, node: NodeId) -> Option<String> {
        let name = self.session.name(node);
        let mut quotes = ['"', '\''].into_iter();
        let quote = quotes.find(|quote| !name.contains(*quote))?;
        Some(format!("{quote}{name}{quote}"))
    }

    /// A finding with its proof and what led to it; `None` where there is none of that place.
    pub fn story_text(&self, finding: usize) -> Option<String> {
        let row = self.finding_row(finding)?;
        let mut text = format!(
            "{} at {}, {} s: {}\n",
            row.rule, row.node, row.time, row.sentence
        );
        for piece in self.evidence_rows(finding) {
            let (packet, time) = (piece.packet.0, &piece.time);
            text.push_str(&format!(
                "  packet {packet}  {time} s  {}  {}\n",
                piece.node, piece.what
            ));
        }
        for (sentence, _, _) in self
            .finding(finding)
            .iter()
            .filter(|it| !it.each.is_empty())
            .flat_map(|it| it.told())
        {
            text.push_str(&format!("  {sentence}\n"));
        }
        if self.selection.finding == Some(finding) {
            for why in self.why_rows().iter() {
                let indent = "  ".repeat(why.depth + 1);
                text.push_str(&format!("{indent}because {}\n", why.sentence));
            }
        }
        Some(text)
    }

    /// What somebody needs who is to see the same: the recording in words, what was found, what is
    /// selected, bookmarks, and the command that shows it. `title` is what was opened.
    pub fn report(&self, title: &str) -> String {
        let version = env!("CARGO_PKG_VERSION");
        let mut text = format!("netreel {version}: {title}\n{}\n", self.status());
        let wire = self.session.wire.as_ref();
        text.push_str(&match wire {
            Some(wire) => format!("wire {}\n", wire.name()),
            None => "no wire\n".to_owned(),
        });
        text.push_str(&format!("{}\n", self.verdict().1));
        let reasons = self.judgement().map_or(&[][..], |it| &it.reasons);
        for reason in reasons {
            text.push_str(&format!("- {}\n", reason.sentence));
        }
        if let Some(until) = self.judgement().and_then(|it| it.until()) {
            text.push_str(&format!("- {until}\n"));
        }
        for warning in self.warnings() {
            text.push_str(&format!("note: {warning}\n"));
        }
        let mut command = format!("netreel inspect {title}");
        let filter = self.filter.text.trim();
        if !filter.is_empty() {
            text.push_str(&format!("\nfilter: {filter}\n"));
            command.push_str(&format!(" --filter '{}'", filter.replace('\'', r"'\''")));
        }
        let selection = self.selection();
        if let Some(story) = selection.finding.and_then(|it| self.story_text(it)) {
            text.push_str(&format!("\n{story}"));
        }
        if let Some(packet) = selection.packet {
            text.push_str(&format!("\n{}", self.whole_packet_text(packet)));
            command.push_str(&format!(" --select {}", packet.0));
        }
        if !self.bookmark_rows().is_empty() {
            text.push_str(&format!("\nbookmarks:\n{}", self.bookmarks_text()));
        }
        let visible = self.visible();
        let (from, to) = (text::seconds(visible.start), text::seconds(visible.end));
        command.push_str(&format!(" --from={from}s --to={to}s"));
        if let Some(at) = self.cursor() {
            command.push_str(&format!(" --at={}s", text::seconds(at)));
        }
        text.push_str(&format!(
            "\nas a picture of what was shown: {command} --screenshot FILE.png\n"
        ));
        text
    }
}
