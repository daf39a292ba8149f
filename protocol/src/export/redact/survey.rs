//! One look at all reels: what they name, and what stands for it in the copies.

use std::collections::BTreeMap;
use std::sync::Arc;

use netreel_reel::{Event, Header, Reel};
use netreel_wire::Wire;

use super::blank::{Blanked, Blanking};
use super::calls;
use super::forms::Form;
use super::map::{Found, Map};
use super::secrets::Secrets;
use super::{Field, RedactError, Redaction, Texts};
use crate::session::Session;

/// What a redaction knows of a session before it copies a reel.
#[derive(Clone, Debug)]
pub struct Survey {
    pub(super) rules: Redaction,
    pub(super) map: Map,
    pub(super) secrets: Secrets,
    /// What is blanked with which wire.
    pub(super) fields: Option<(Arc<Wire>, Vec<Field>)>,
    /// By the place of the reel.
    pub(super) blanked: Vec<Blanked>,
    /// How many fields of messages in fragments were blanked, by what asked for them.
    joined: BTreeMap<String, u64>,
}

impl Survey {
    /// Reads all reels of a session once. The same rules and reels give the same survey.
    ///
    /// # Errors
    /// There are more addresses or ports than others to put in their place; a text to remove is too
    /// short.
    pub fn new(rules: Redaction, reels: &[Arc<Reel>]) -> Result<Survey, RedactError> {
        let mut found = Found::default();
        for reel in reels {
            header(&mut found, &rules, reel.header());
            let open = reel.parts().iter().flat_map(|opened| &opened.part.sockets);
            open.for_each(|(_, local)| found.endpoint(*local));
            reel.for_each(|record| event(&mut found, &rules, &record.event));
        }
        let map = Map::new(&rules, &found)?;
        let secrets = Secrets::new(&rules, &map)?;
        Ok(Survey {
            rules,
            map,
            secrets,
            fields: None,
            blanked: Vec::new(),
            joined: BTreeMap::new(),
        })
    }

    /// Blanks fields of packets. `reels` are those of the survey; `session` is made of them, with
    /// `wire`, so that both nodes of a packet get the same bytes.
    pub fn blank(
        &mut self,
        (session, wire): (&Session, &Arc<Wire>),
        reels: &[Arc<Reel>],
        fields: Vec<Field>,
    ) {
        let blanking = Blanking::new((session, wire), reels, &fields, self.rules.doubtful);
        let finished = blanking.finish();
        self.secrets.values(finished.values);
        self.blanked = finished.blanked;
        self.joined = finished.joined;
        self.fields = Some((wire.clone(), fields));
    }

    /// How many fields were blanked, by what asked for them.
    pub fn fields(&self) -> BTreeMap<&str, u64> {
        let fields = self.fields.iter().flat_map(|(_, fields)| fields);
        let mut counts: BTreeMap<&str, u64> = fields.map(|field| (field.text(), 0)).collect();
        let of_reels = self.blanked.iter().flat_map(|blanked| &blanked.fields);
        for (field, count) in of_reels.chain(&self.joined) {
            *counts.entry(field).or_default() += count;
        }
        counts
    }

    /// How many addresses were given another one.
    pub fn addresses(&self) -> usize {
        self.map.addresses.len()
    }

    /// A text, such as a file's name, with what is mapped mapped.
    pub fn text(&self, text: &str) -> String {
        let new = self.map.text(text, Form::Any, &self.rules.remove);
        new.unwrap_or_else(|| text.to_owned())
    }

    /// What a node is called in the copies.
    pub fn node<'a>(&'a self, name: &'a str) -> &'a str {
        self.map.nodes.get(name).map_or(name, String::as_str)
    }
}

fn header(found: &mut Found, rules: &Redaction, header: &Header) {
    found.nodes.insert(header.node.clone());
    found.text(&header.node, Form::Any);
    found.text(&header.engine, Form::Any);
    if rules.args != Texts::Keep {
        header
            .args
            .iter()
            .for_each(|text| found.text(text, Form::Argument));
    }
    let names = header.seeds.iter().map(|(name, _)| name);
    let names = names.chain(header.hashes.iter().map(|(name, _)| name));
    names.for_each(|text| found.text(text, Form::Any));
    header
        .wires
        .iter()
        .for_each(|wire| found.text(&wire.name, Form::Any));
}

fn event(found: &mut Found, rules: &Redaction, event: &Event<'_>) {
    let form = Form::of(event);
    match *event {
        Event::SocketOpened {
            local: endpoint, ..
        }
        | Event::Sent { to: endpoint, .. }
        | Event::Received { from: endpoint, .. }
        | Event::Relay {
            client: endpoint, ..
        } => found.endpoint(endpoint),
        Event::Seen { from, to, .. } => {
            found.endpoint(from);
            found.endpoint(to);
        }
        Event::Called { call, details, .. } => {
            if let Some(endpoint) = calls::endpoint(call, details) {
                found.endpoint(endpoint);
            }
            if let Some(path) = calls::path(call, details) {
                found.text(path, Form::Any);
            }
        }
        Event::Note { text }
        | Event::Triggered { text, .. }
        | Event::Interface { name: text, .. }
            if rules.notes != Texts::Keep =>
        {
            found.text(&String::from_utf8_lossy(text), form);
        }
        Event::Note { .. }
        | Event::Triggered { .. }
        | Event::Interface { .. }
        | Event::SocketClosed { .. }
        | Event::SendResult { .. }
        | Event::PollEmpty { .. }
        | Event::ReceiveFailed { .. }
        | Event::Clock { .. }
        | Event::Random { .. }
        | Event::Input { .. }
        | Event::Tick { .. }
        | Event::Snapshot { .. }
        | Event::Switched { .. }
        | Event::Dropped { .. }
        | Event::Stalled { .. }
        | Event::WriteFailed { .. }
        | Event::ClockRead { .. }
        | Event::CaptureDrops { .. }
        | Event::Cut { .. }
        | Event::Fault { .. } => {}
    }
}
