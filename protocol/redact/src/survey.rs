//! One look at all reels: what they name, and what stands for it in the copies.

use std::collections::BTreeMap;
use std::sync::Arc;

use netreel_reel::{CallId, Event, Header, Reel, Removed};
use netreel_wire::Wire;

use crate::blank::{MadePackets, blank};
use crate::calls;
use crate::content::{Content, Parts, texts};
use crate::fields::Field;
use crate::forms::Form;
use crate::map::{Found, Map};
use crate::rules::{Bytes, RedactError, Redaction, Texts};
use crate::secrets::{Place, Secrets};
use crate::story::Story;

/// What a redaction knows of a session before it copies a reel.
#[derive(Clone, Debug)]
pub struct Survey {
    pub(crate) rules: Redaction,
    pub(crate) map: Map,
    pub(crate) secrets: Secrets,
    /// What is blanked with which wire.
    pub(crate) fields: Option<(Arc<Wire>, Vec<Field>)>,
    /// By the place of the reel.
    pub(crate) made: Vec<MadePackets>,
    counts: BTreeMap<String, u64>,
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
            reel.for_each(|record| event(&mut found, &rules, record.event));
        }
        let map = Map::new(&rules, &found)?;
        let secrets = Secrets::new(&rules, &map, &found.paths)?;
        Ok(Survey {
            rules,
            map,
            secrets,
            fields: None,
            made: Vec::new(),
            counts: BTreeMap::new(),
        })
    }

    /// Blanks fields of packets. `reels` are those of the survey, and `story` is made of them, so that
    /// both nodes of a packet get the same bytes.
    pub fn blank(&mut self, story: &Story, reels: &[Arc<Reel>], fields: Vec<Field>) {
        let (made, tally) = blank(story, reels, &fields, self.rules.doubtful);
        self.made = made;
        self.counts = fields.iter().map(|it| (it.text().to_owned(), 0)).collect();
        self.counts.extend(tally.counts);
        self.secrets.values(tally.values);
        self.fields = Some((story.wire().clone(), fields));
    }

    /// How many fields were blanked, by what asked for them.
    pub fn fields(&self) -> &BTreeMap<String, u64> {
        &self.counts
    }

    /// How many addresses were given another one.
    pub fn addresses(&self) -> usize {
        self.map.addresses.len()
    }

    /// A text, such as a file's name, with what is mapped mapped.
    pub(crate) fn text(&self, text: &str) -> String {
        let new = self.map.text(text, Form::Any, &self.rules.remove);
        new.unwrap_or_else(|| text.to_owned())
    }

    /// What a node is called in the copies.
    pub(crate) fn node<'a>(&'a self, name: &'a str) -> &'a str {
        self.map.nodes.get(name).map_or(name, String::as_str)
    }

    /// What of all that is removed stands in these bytes.
    pub(crate) fn stands_in(&self, bytes: &[u8]) -> Option<Removed> {
        let found = self.secrets.find(bytes, Place::Content);
        found.map(|(_, what)| what)
    }

    /// The same, of the details of a call.
    pub(crate) fn stands_in_call(&self, call: CallId, details: &[u8]) -> Option<Removed> {
        let searched = calls::searched(call, details).into_iter();
        let mut found = searched.filter_map(|(bytes, place)| self.secrets.find(bytes, place));
        found.next().map(|(_, what)| what)
    }

    pub(crate) fn stands_in_wire(&self, text: &str) -> bool {
        self.secrets.find(text.as_bytes(), Place::Wire).is_some()
    }
}

fn header(found: &mut Found, rules: &Redaction, header: &Header) {
    found.nodes.insert(header.node.clone());
    for (text, what, form) in texts(&mut header.clone()) {
        if what != Removed::Args || rules.args != Texts::Keep {
            found.text(text, form);
        }
    }
}

fn event(found: &mut Found, rules: &Redaction, mut event: Event<'_>) {
    let mut parts = Parts::of(&mut event);
    parts.endpoints().for_each(|at| found.endpoint(*at));
    match parts.content {
        Content::Text(form, text) if rules.notes != Texts::Keep => {
            found.text(&String::from_utf8_lossy(text), form);
        }
        Content::Details(call, details) => {
            if let Some(endpoint) = calls::endpoint(call, details) {
                found.endpoint(endpoint);
            }
            let of_file = calls::file(call, details);
            for path in calls::path(call, details).into_iter().chain(of_file) {
                found.text(path, Form::Any);
            }
            if let Some(text) = calls::written(call, details) {
                found.people(&String::from_utf8_lossy(text));
            }
            if let Some((name, value)) = calls::variable(call, details) {
                found.variable(name, value);
            }
            let of_file = of_file.filter(|_| rules.files == Texts::Drop);
            let folder = calls::folder(call, details).filter(|_| rules.environment != Bytes::Keep);
            of_file
                .into_iter()
                .chain(folder)
                .for_each(|path| found.path(path));
            if rules.lookups == Bytes::Keep {
                calls::looked_up(call, details).for_each(|at| found.address(at.ip()));
            }
        }
        Content::Nothing | Content::Text(..) | Content::Bytes(..) | Content::Random(_) => {}
    }
}
