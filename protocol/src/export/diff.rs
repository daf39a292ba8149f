//! `diff`: what differs between two sessions.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value as Json;

use super::check::{FindingJson, finding};
use super::state::known_json;
use crate::diff::{
    Changed, ComparedSession, Counted, Diff, Differently, First, Only, Spoken, Valued,
};
use crate::history::state::{Apart, apart_words};
use crate::history::{Belief, Effect};
use crate::session::Session;

/// Something of the first session, and the same of the second.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Both<T> {
    /// Of the first.
    pub first: T,
    /// Of the second.
    pub second: T,
}

/// The answer of `netreel diff --json`.
#[derive(Clone, Debug, Serialize)]
pub struct DiffJson {
    /// Whether nothing differs.
    pub same: bool,
    /// Where they first part; `null` where they do not in what was said, done or believed.
    pub first: Option<FirstJson>,
    /// The names of nodes that both have.
    pub nodes: Vec<String>,
    /// Those that one alone has: nothing of them is compared.
    pub other_nodes: Both<Vec<String>>,
    /// Whether migration counters are compared: both have some.
    pub counters: bool,
    /// How many messages both have.
    pub messages: u64,
    /// Messages that one alone has.
    pub only: Both<Vec<SpokenJson>>,
    /// Messages that say something else.
    pub changed: Vec<ChangedJson>,
    /// Messages with which a node did something else.
    pub differently: Vec<DifferentlyJson>,
    /// How many rows of beliefs were compared.
    pub beliefs: u64,
    /// Those that differ.
    pub believed: Vec<BelievedJson>,
    /// How many last values were compared.
    pub values: u64,
    /// Those that differ.
    pub valued: Vec<ValuedJson>,
    /// How many findings both have.
    pub findings: u64,
    /// Those that one alone has.
    pub findings_only: Both<Vec<FindingJson>>,
    /// Those that both have at other levels.
    pub levels: Vec<LevelJson>,
}

/// Where two sessions first part.
#[derive(Clone, Debug, Serialize)]
pub struct FirstJson {
    /// When, in the session that has it, or has it earlier.
    pub time_ns: i64,
    /// In which list it stands: `only`, `changed`, `differently`, `believed`.
    pub list: &'static str,
    /// For people.
    pub words: String,
}

/// A message that one session alone has.
#[derive(Clone, Debug, Serialize)]
pub struct SpokenJson {
    /// Its number there.
    pub message: u32,
    /// The packet that carried it first.
    pub packet: u32,
    /// When that is first known of.
    pub time_ns: i64,
    /// Who said it.
    pub from: String,
    /// To whom.
    pub to: String,
    /// What it is.
    #[serde(flatten)]
    pub about: AboutJson,
}

/// What makes two messages the same.
#[derive(Clone, Debug, Serialize)]
pub struct AboutJson {
    /// As the wire spells it.
    pub kind: String,
    /// The RPC that it is; `null` where the wire names none.
    pub rpc: Option<String>,
    /// The object.
    pub object: Option<u64>,
    /// The migration counter.
    pub counter: Option<u64>,
    /// The owner, or the new owner.
    pub owner: Option<String>,
    /// Who said it first.
    pub origin: Option<String>,
    /// The tick.
    pub tick: Option<u64>,
    /// All of that for people.
    pub words: String,
}

/// A message that says something else.
#[derive(Clone, Debug, Serialize)]
pub struct ChangedJson {
    /// Who said it.
    pub from: String,
    /// To whom.
    pub to: String,
    /// What it is.
    #[serde(flatten)]
    pub about: AboutJson,
    /// The packets that carried it first.
    pub packets: Both<u32>,
    /// When, in the session that had it earlier.
    pub time_ns: i64,
    /// The fields.
    pub fields: Vec<FieldChangeJson>,
}

/// A field that says something else.
#[derive(Clone, Debug, Serialize)]
pub struct FieldChangeJson {
    /// Its path in the message.
    pub path: String,
    /// What it says; `null` where it is not there.
    #[serde(flatten)]
    pub values: Both<Option<String>>,
}

/// Messages of one kind of which the same fields say something else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Alike<'a> {
    /// The kind.
    pub kind: &'a str,
    /// The paths of the fields; none where they cannot be told.
    pub paths: Vec<&'a str>,
    /// Places in [`DiffJson::changed`].
    pub places: Vec<usize>,
}

/// A message with which a node did something else.
#[derive(Clone, Debug, Serialize)]
pub struct DifferentlyJson {
    /// The node.
    pub node: String,
    /// Who said it.
    pub from: String,
    /// To whom.
    pub to: String,
    /// What it is.
    #[serde(flatten)]
    pub about: AboutJson,
    /// The packets that carried it first.
    pub packets: Both<u32>,
    /// When, in the session where that was earlier.
    pub time_ns: i64,
    /// What the node did; `null`: its engine was never handed it.
    pub effects: Both<Option<&'static str>>,
}

/// What a node came to believe of an object otherwise.
#[derive(Clone, Debug, Serialize)]
pub struct BelievedJson {
    /// The object.
    pub object: u64,
    /// The node.
    pub node: String,
    /// Its beliefs, one after the other.
    pub beliefs: Both<Vec<String>>,
    /// When they part, in the session that is there first.
    pub time_ns: i64,
}

/// A property whose last value is not the same.
#[derive(Clone, Debug, Serialize)]
pub struct ValuedJson {
    /// The object.
    pub object: u64,
    /// The node.
    pub node: String,
    /// The property.
    pub property: String,
    /// The values; `null` where there is none.
    pub values: Both<Json>,
    /// For people; `null` where the node never heard of it.
    pub words: Both<Option<String>>,
    /// How far they are apart, for people; `null` where one is none.
    pub apart: Option<String>,
}

/// A finding that both have, at other levels.
#[derive(Clone, Debug, Serialize)]
pub struct LevelJson {
    /// The rule.
    pub rule: &'static str,
    /// The node.
    pub node: String,
    /// The object.
    pub object: Option<u64>,
    /// The levels.
    pub levels: Both<&'static str>,
}

/// What differs between two sessions, in plain fields.
pub fn diff(sides: [ComparedSession<'_>; 2], diff: &Diff) -> DiffJson {
    let names = Names { sides, diff };
    let only = both([0, 1].map(|side| {
        let all = diff.said.only[side].iter();
        all.map(|it| names.only(side, it)).collect()
    }));
    let changed = diff.said.changed.iter().map(|it| names.changed(it));
    let differently = diff.said.differently.iter().map(|it| names.differently(it));
    let believed = diff.believed.iter().map(|it| {
        let beliefs = [0, 1].map(|side| {
            let all = it.beliefs[side].iter();
            all.map(|it| belief(sides[side].session, it)).collect()
        });
        BelievedJson {
            object: it.object,
            node: names.node(it.node),
            beliefs: both(beliefs),
            time_ns: it.time.0,
        }
    });
    let findings = &diff.findings;
    let found = |side: usize, place: usize| {
        let findings = &sides[side].history.findings;
        let found = findings.get(place);
        found.map(|it| finding(sides[side].session, it))
    };
    let findings_only = [0, 1].map(|side| {
        let places = findings.only[side].iter();
        places.filter_map(|&place| found(side, place)).collect()
    });
    let levels = findings.levels.iter().filter_map(|&(place, levels)| {
        let found = found(1, findings.both.get(place)?[1])?;
        Some(LevelJson {
            rule: found.rule,
            node: found.node,
            object: found.object,
            levels: both(levels.map(|level| level.name())),
        })
    });
    let mut json = DiffJson {
        same: diff.is_same(),
        first: None,
        nodes: diff.nodes.clone(),
        other_nodes: both(diff.other_nodes.clone()),
        counters: diff.counts,
        messages: diff.said.both,
        only,
        changed: changed.collect(),
        differently: differently.collect(),
        beliefs: diff.beliefs,
        believed: believed.collect(),
        values: diff.values,
        valued: diff.valued.iter().map(|it| names.valued(it)).collect(),
        findings: findings.both.len() as u64,
        findings_only: both(findings_only),
        levels: levels.collect(),
    };
    json.first = diff.first().and_then(|first| json.words_of(first));
    json
}

impl DiffJson {
    /// The messages that say something else, those of one kind with the same fields together, in the
    /// order of their first ones.
    pub fn changed_alike(&self) -> Vec<Alike<'_>> {
        let mut alike: BTreeMap<(&str, Vec<&str>), Vec<usize>> = BTreeMap::new();
        for (place, each) in self.changed.iter().enumerate() {
            let paths = each.fields.iter().map(|field| field.path.as_str());
            let key = (each.about.kind.as_str(), paths.collect());
            alike.entry(key).or_default().push(place);
        }
        let alike = alike.into_iter();
        let alike = alike.map(|((kind, paths), places)| Alike {
            kind,
            paths,
            places,
        });
        let mut alike: Vec<Alike<'_>> = alike.collect();
        alike.sort_by_key(|it| it.places.first().copied());
        alike
    }

    fn words_of(&self, first: First) -> Option<FirstJson> {
        let (list, time_ns, words) = match first {
            First::Only { side, place } => {
                let (all, which) = match side {
                    0 => (&self.only.first, "first"),
                    _ => (&self.only.second, "second"),
                };
                let it = all.get(place)?;
                let words = format!(
                    "the {which} session alone has {} from {} to {} (packet {})",
                    it.about.words, it.from, it.to, it.packet
                );
                ("only", it.time_ns, words)
            }
            First::Changed(place) => {
                let it = self.changed.get(place)?;
                let words = format!(
                    "{} from {} to {} says something else{}",
                    it.about.words,
                    it.from,
                    it.to,
                    it.fields
                        .first()
                        .map_or(String::new(), |field| format!(": {}", field.words()))
                );
                ("changed", it.time_ns, words)
            }
            First::Differently(place) => {
                let it = self.differently.get(place)?;
                ("differently", it.time_ns, it.words())
            }
            First::Believed(place) => {
                let it = self.believed.get(place)?;
                ("believed", it.time_ns, it.words())
            }
        };
        Some(FirstJson {
            time_ns,
            list,
            words,
        })
    }
}

impl Alike<'_> {
    /// For people: `310 create: has_counter`.
    pub fn words(&self) -> String {
        let fields = if self.paths.is_empty() {
            "its bytes".to_owned()
        } else {
            self.paths.join(", ")
        };
        format!("{} {}: {fields}", self.places.len(), self.kind)
    }
}

impl ChangedJson {
    /// What its fields say, for people.
    pub fn fields_in_words(&self) -> String {
        let words: Vec<String> = self.fields.iter().map(FieldChangeJson::words).collect();
        words.join("; ")
    }
}

impl ValuedJson {
    /// For people.
    pub fn sentence(&self) -> String {
        let shown = |words: &Option<String>| words.clone().unwrap_or("not heard of".to_owned());
        format!(
            "object {} at {}: {} is {}, was {}",
            self.object,
            self.node,
            self.property,
            shown(&self.words.second),
            shown(&self.words.first)
        )
    }
}

impl FieldChangeJson {
    /// For people: `create.owner is 1, was 2`.
    pub fn words(&self) -> String {
        let Both { first, second } = &self.values;
        match (first, second) {
            (Some(was), Some(is)) => format!("{} is {is}, was {was}", self.path),
            (None, Some(is)) => format!("{} is {is}, was not there", self.path),
            (Some(was), None) => format!("{} is not there, was {was}", self.path),
            (None, None) => self.path.clone(),
        }
    }
}

impl DifferentlyJson {
    /// For people.
    pub fn words(&self) -> String {
        let shown = |effect: Option<&str>| effect.unwrap_or("never handed over").to_owned();
        format!(
            "{} from {} to {} at {}: {}, was {}",
            self.about.words,
            self.from,
            self.to,
            self.node,
            shown(self.effects.second),
            shown(self.effects.first),
        )
    }
}

impl BelievedJson {
    /// For people.
    pub fn words(&self) -> String {
        let shown = |beliefs: &[String]| match beliefs {
            [] => "nothing".to_owned(),
            all => all.join(", then "),
        };
        format!(
            "object {} at {}: {}; was {}",
            self.object,
            self.node,
            shown(&self.beliefs.second),
            shown(&self.beliefs.first),
        )
    }
}

fn both<T>([first, second]: [T; 2]) -> Both<T> {
    Both { first, second }
}

/// What people call things of two sessions.
struct Names<'a> {
    sides: [ComparedSession<'a>; 2],
    diff: &'a Diff,
}

impl Names<'_> {
    fn node(&self, place: u16) -> String {
        let name = self.diff.nodes.get(usize::from(place));
        name.cloned().unwrap_or_default()
    }

    fn only(&self, side: usize, only: &Only) -> SpokenJson {
        SpokenJson {
            message: only.message.0,
            packet: only.packet.0,
            time_ns: only.time.0,
            from: self.node(only.spoken.from),
            to: self.node(only.spoken.to),
            about: self.about(side, &only.spoken),
        }
    }

    fn changed(&self, changed: &Changed) -> ChangedJson {
        let fields = changed.fields.iter().map(|field| FieldChangeJson {
            path: field.path.clone(),
            values: both(field.values.clone()),
        });
        ChangedJson {
            from: self.node(changed.spoken.from),
            to: self.node(changed.spoken.to),
            about: self.about(0, &changed.spoken),
            packets: both(changed.packets.map(|packet| packet.0)),
            time_ns: changed.time.0,
            fields: fields.collect(),
        }
    }

    fn differently(&self, done: &Differently) -> DifferentlyJson {
        DifferentlyJson {
            node: self.node(done.node),
            from: self.node(done.spoken.from),
            to: self.node(done.spoken.to),
            about: self.about(0, &done.spoken),
            packets: both(done.packets.map(|packet| packet.0)),
            time_ns: done.time.0,
            effects: both(done.effects.map(|effect| effect.map(Effect::name))),
        }
    }

    fn about(&self, side: usize, spoken: &Spoken) -> AboutJson {
        let peer = |peer: Option<u64>| peer.map(|it| self.sides[side].session.peer_name(it));
        let mut about = AboutJson {
            kind: spoken.kind.clone(),
            rpc: spoken.rpc.clone(),
            object: spoken.object,
            counter: spoken.counter,
            owner: peer(spoken.owner),
            origin: peer(spoken.origin),
            tick: spoken.tick,
            words: spoken.kind.clone(),
        };
        let mut say = |what: &str, value: Option<String>| {
            if let Some(value) = value {
                about.words.push_str(&format!(" {what}{value}"));
            }
        };
        say("", spoken.rpc.clone());
        say("of object ", spoken.object.map(|it| it.to_string()));
        say("to owner ", about.owner.clone());
        say("at counter ", spoken.counter.map(|it| it.to_string()));
        say("at tick ", spoken.tick.map(|it| it.to_string()));
        about
    }

    fn valued(&self, it: &Valued) -> ValuedJson {
        let states = it.values.each_ref().map(Option::as_ref);
        let words = states.map(|known| Some(known?.words(&it.property)));
        ValuedJson {
            object: it.object,
            node: self.node(it.node),
            property: it.property.name.clone(),
            values: both(states.map(|known| known.map_or(Json::Null, known_json))),
            words: both(words),
            apart: it
                .apart
                .filter(|apart| *apart != Apart::Same)
                .map(|apart| apart_words(&it.property, apart)),
        }
    }
}

fn belief(session: &Session, (belief, counter): &Counted) -> String {
    let mut words = match belief {
        Belief::Owned(peer) => format!("owned by {}", session.peer_name(*peer)),
        Belief::Orphaned(peer) => format!("orphaned by {}", session.peer_name(*peer)),
        Belief::Destroyed => "destroyed".to_owned(),
        Belief::Unknown => "unknown".to_owned(),
    };
    if let Some(counter) = counter {
        words.push_str(&format!(" (counter {counter})"));
    }
    words
}
