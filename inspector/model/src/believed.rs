//! What nodes believed of objects: a row for each property of each object, a value for each node, at
//! the cursor, and held against another moment.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use netreel_protocol::history::state::{Apart, Known, States, words};
use netreel_protocol::history::{Belief, Existence, History};
use netreel_protocol::session::{NodeId, Session, SessionTime};
use netreel_system::Cancel;
use netreel_wire::{PropertyId, PropertyKind};

use crate::Model;
use crate::latest::Latest;
use crate::map::{Extent, Mark, Walked};

/// A property of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ValueRow {
    /// The object.
    pub object: u64,
    /// Its property.
    pub property: PropertyId,
}

/// What a node believed of it.
#[derive(Clone, Debug, PartialEq)]
pub struct ValueCell {
    /// For people; empty where the node knew nothing of the object.
    pub text: String,
    /// Whether it is a value, and not a word about why there is none.
    pub is_value: bool,
    /// Whether the node believed that it owned the object.
    pub is_owner: bool,
    /// Whether it differs from what the owner believed, or the object lives there, or does not, against
    /// the owner's word; where two nodes are held against each other,
    /// from what the other one believed.
    pub differs: bool,
    /// What the node believed at the pinned moment, where that was something else.
    pub before: Option<String>,
}

/// Which rows are shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RowsOf {
    /// Of the objects that somebody knows at the moment.
    #[default]
    Known,
    /// Those in which a node differs from the owner, or one of two nodes from the other.
    Differing,
    /// Those that changed since the pinned moment.
    Changed,
}

impl RowsOf {
    /// All of them and their names.
    pub const ALL: [(&'static str, RowsOf); 3] = [
        ("all", RowsOf::Known),
        ("differing", RowsOf::Differing),
        ("changed", RowsOf::Changed),
    ];
}

/// Up to this many values are looked at for a frame; of more all rows are shown.
const LOOKED_AT_MAX: usize = 60_000;

/// All that was believed, and what is computed of it once.
pub struct Believed {
    /// What each node believed.
    pub(crate) states: States,
    /// Who took part when: of whom an object may be missed.
    existence: Existence,
    rows: Vec<ValueRow>,
    pub(crate) extent: Option<Extent>,
    /// What was arranged last, for each of [`RowsOf`].
    arranged: [Latest<Asked, ValueRows>; 3],
    pub(crate) marks: Latest<Asked, Arc<[Mark]>>,
    pub(crate) walked: Mutex<Walked>,
}

/// Rows, as they are shown.
#[derive(Clone, Debug)]
pub struct ValueRows {
    /// In order of objects and properties.
    pub rows: Arc<[ValueRow]>,
    /// How many values in them differ from the owner's, or are there, or not, against its word; `None` where
    /// there are too many to tell, and to tell which rows are asked for: then they are all.
    pub differing: Option<usize>,
}

/// What is true of an object at a moment.
pub struct Word {
    /// The node that believed that it owned the object; `None` where that were none or several.
    pub owner: Option<NodeId>,
    /// The nodes at which it lived, or did not, against the word of its owner, or of who saw it end.
    pub otherwise: Vec<NodeId>,
}

/// What rows were arranged for.
#[derive(Clone, Debug, PartialEq)]
pub struct Asked {
    at: SessionTime,
    pinned: Option<SessionTime>,
    pair: Option<(NodeId, NodeId)>,
    taken: Option<usize>,
    filter: String,
}

impl Believed {
    /// `None` where it is no longer wanted.
    pub(crate) fn new(session: &Session, history: &History, cancel: &Cancel) -> Option<Believed> {
        let states = States::of(session, history, &|_| cancel.goes_on());
        let rows: Vec<ValueRow> = states
            .objects()
            .into_iter()
            .flat_map(|(object, properties)| {
                properties
                    .into_iter()
                    .map(move |property| ValueRow { object, property })
            })
            .collect();
        let extent = Extent::of(&states, &rows, session);
        cancel.goes_on().then(|| Believed {
            states,
            existence: Existence::new(session, history),
            rows,
            extent,
            arranged: Default::default(),
            marks: Latest::default(),
            walked: Mutex::default(),
        })
    }

    /// A property's name.
    pub fn property_name(&self, property: PropertyId) -> &str {
        let known = self.states.property(property);
        known.map_or("?", |known| known.name.as_str())
    }

    /// How many properties of objects there are.
    pub fn row_count(&self) -> usize {
        self.rows.len()
    }
}

impl Model {
    /// The moment at which values are shown: the cursor, else the end.
    pub fn moment(&self) -> SessionTime {
        self.cursor().unwrap_or(self.span().end)
    }

    /// The last moment before the selected packet was received, and the moment at which it was; of one
    /// that was not, when it was sent. What it changed lies between them.
    pub fn around_packet(&self) -> Option<(SessionTime, SessionTime)> {
        let packet = self.packet(self.selection.packet?)?;
        let at = packet.received.or(packet.first())?.time;
        Some((SessionTime(at.0.saturating_sub(1)), at))
    }

    /// The other moment that values are held against.
    pub fn pinned(&self) -> Option<SessionTime> {
        self.pinned
    }

    /// The nodes that are held against each other: one, until another is chosen.
    pub fn against(&self) -> Option<(NodeId, Option<NodeId>)> {
        self.against
    }

    /// The two nodes that are held against each other.
    pub fn pair(&self) -> Option<(NodeId, NodeId)> {
        let (one, other) = self.against?;
        Some((one, other?))
    }

    /// The nodes whose values are shown: the two that are held against each other, else all
    /// [`believers`](Model::believers).
    pub fn value_nodes(&self) -> Vec<NodeId> {
        match self.pair() {
            Some((one, other)) => vec![one, other],
            None => self.believers(),
        }
    }

    /// The nodes of which is known what they believed.
    pub fn believers(&self) -> Vec<NodeId> {
        let lanes = self.lanes().iter().copied();
        let recorded = |node: &NodeId| {
            let known = self.session.node(*node);
            known.is_some_and(|known| known.recorded) && self.talks(*node)
        };
        lanes.filter(recorded).collect()
    }

    /// Why there are no values.
    pub fn why_no_values(&self) -> Option<String> {
        let Some(wire) = &self.session.wire else {
            return Some("no wire says what packets are about".to_owned());
        };
        if wire.properties().is_empty() {
            return Some(
                "the wire declares no properties of objects; put `@property` on the fields that say \
                 what objects are like"
                    .to_owned(),
            );
        }
        if self.believers().is_empty() {
            return Some(
                "no node was recorded, so what they believed of objects is unknown; of a capture \
                 make reels of its nodes with `netreel import --node NAME=ADDRESS`"
                    .to_owned(),
            );
        }
        self.why_not_yet().map(str::to_owned)
    }

    /// What all nodes believed; `None` until it is worked out, which this begins.
    pub fn believed(&self) -> Option<Arc<Believed>> {
        if self.why_no_values().is_some() {
            return None;
        }
        let (session, history) = (Arc::clone(&self.session), Arc::clone(&self.judged.history));
        let work = move |cancel: &Cancel| Believed::new(&session, &history, cancel);
        let (believed, _) = self.aside(&self.beside.believed, (), work)?;
        Some(believed)
    }

    /// For what rows and marks are arranged now.
    pub(crate) fn asked_of_values(&self) -> Asked {
        Asked {
            at: self.moment(),
            pinned: self.pinned,
            pair: self.pair(),
            taken: self.filter.objects().map(BTreeSet::len),
            filter: self.filter.text.clone(),
        }
    }

    /// The rows that are asked for.
    pub fn value_rows(&self, believed: &Believed, of: RowsOf) -> ValueRows {
        believed.arranged[of as usize]
            .of(self.asked_of_values(), || self.arrange_values(believed, of))
    }

    fn arrange_values(&self, believed: &Believed, of: RowsOf) -> ValueRows {
        let (taken, nodes) = (self.filter.objects(), self.value_nodes());
        let shown = |row: &&ValueRow| taken.is_none_or(|taken| taken.contains(&row.object));
        let all = believed.rows.iter().filter(shown).copied();
        if believed.rows.len() * nodes.len() > LOOKED_AT_MAX {
            return ValueRows {
                rows: all.collect(),
                differing: None,
            };
        }
        let rows: Arc<[ValueRow]> = all
            .filter(|&row| self.is_asked_for(believed, row, of, &nodes))
            .collect();
        let at = self.moment();
        let differing = rows.iter().map(|&row| {
            if let Some(pair) = self.pair() {
                return usize::from(self.are_apart(believed, row, pair, at));
            }
            let word = self.word_at(believed, row.object, &nodes, at);
            let differs = |node: &&NodeId| self.differs(believed, row, &word, **node, at);
            nodes.iter().filter(differs).count()
        });
        ValueRows {
            differing: Some(differing.sum()),
            rows,
        }
    }

    fn is_asked_for(
        &self,
        believed: &Believed,
        row: ValueRow,
        of: RowsOf,
        nodes: &[NodeId],
    ) -> bool {
        let at = self.moment();
        let held = |node, at| believed.states.at(row.object, row.property, node, at);
        match of {
            RowsOf::Known => nodes
                .iter()
                .any(|&node| held(node, at).is_some_and(|held| held.value != Known::Nothing)),
            RowsOf::Differing => match self.pair() {
                Some(pair) => self.are_apart(believed, row, pair, at),
                None => {
                    let word = self.word_at(believed, row.object, nodes, at);
                    nodes
                        .iter()
                        .any(|&node| self.differs(believed, row, &word, node, at))
                }
            },
            RowsOf::Changed => self.pinned.is_some_and(|pinned| {
                let value = |node, at| held(node, at).map(|held| held.value);
                nodes
                    .iter()
                    .any(|&node| value(node, at) != value(node, pinned))
            }),
        }
    }

    /// The node that believed that it owned an object; `None` where that were none or several.
    pub(crate) fn owner_at(
        &self,
        object: u64,
        nodes: &[NodeId],
        at: SessionTime,
    ) -> Option<NodeId> {
        let owns = |node: &&NodeId| {
            let peer = self.session.node(**node).and_then(|node| node.peer);
            let span = self.history().belief_at(object, **node, at);
            peer.is_some() && span.map(|span| span.belief) == peer.map(Belief::Owned)
        };
        let mut owners = nodes.iter().filter(owns);
        match (owners.next(), owners.next()) {
            (Some(owner), None) => Some(*owner),
            _ => None,
        }
    }

    /// What is true of an object at a moment.
    pub(crate) fn word_at(
        &self,
        believed: &Believed,
        object: u64,
        nodes: &[NodeId],
        at: SessionTime,
    ) -> Word {
        let differing = believed
            .existence
            .differing(&self.session, self.history(), object, at);
        Word {
            owner: self.owner_at(object, nodes, at),
            otherwise: differing.into_iter().map(|it| it.node).collect(),
        }
    }

    /// Whether a node believed another value than the owner, or the object lived there, or did not, against
    /// the owner's word.
    pub(crate) fn differs(
        &self,
        believed: &Believed,
        row: ValueRow,
        word: &Word,
        node: NodeId,
        at: SessionTime,
    ) -> bool {
        if word.otherwise.contains(&node) {
            return true;
        }
        let Some(owner) = word.owner.filter(|owner| *owner != node) else {
            return false;
        };
        let apart = believed
            .states
            .apart(row.object, row.property, (owner, node), at);
        apart.is_some_and(|apart| apart != Apart::Same)
    }

    /// Whether two nodes believed something else: another value by more than the wire allows, or one of
    /// them none.
    fn are_apart(
        &self,
        believed: &Believed,
        row: ValueRow,
        pair: (NodeId, NodeId),
        at: SessionTime,
    ) -> bool {
        let one = self.value_text(believed, row, pair.0, at);
        let other = self.value_text(believed, row, pair.1, at);
        if one.1 && other.1 {
            let apart = believed.states.apart(row.object, row.property, pair, at);
            return apart.is_some_and(|apart| apart != Apart::Same);
        }
        one != other
    }

    /// What each node believed of a row, in the order of [`believers`](Model::believers).
    pub fn value_cells(
        &self,
        believed: &Believed,
        row: ValueRow,
        nodes: &[NodeId],
    ) -> Vec<ValueCell> {
        let at = self.moment();
        let word = self.word_at(believed, row.object, &self.believers(), at);
        let apart = self
            .pair()
            .map(|pair| self.are_apart(believed, row, pair, at));
        nodes
            .iter()
            .map(|&node| {
                let text = |at| self.value_text(believed, row, node, at);
                let (now, is_value) = text(at);
                let before = self.pinned.map(|pinned| text(pinned).0);
                let is_missed = now.is_empty() && word.otherwise.contains(&node);
                ValueCell {
                    is_value,
                    is_owner: word.owner == Some(node),
                    differs: apart.unwrap_or_else(|| self.differs(believed, row, &word, node, at)),
                    before: before.filter(|before| *before != now),
                    text: if is_missed {
                        "never told".to_owned()
                    } else {
                        now
                    },
                }
            })
            .collect()
    }

    fn value_text(
        &self,
        believed: &Believed,
        row: ValueRow,
        node: NodeId,
        at: SessionTime,
    ) -> (String, bool) {
        let states = &believed.states;
        let is_gone = self
            .history()
            .belief_at(row.object, node, at)
            .is_some_and(|span| span.belief == Belief::Destroyed);
        let held = states.at(row.object, row.property, node, at);
        let (Some(held), Some(declared)) = (held, states.property(row.property)) else {
            return (String::new(), false);
        };
        match held.value {
            _ if is_gone => ("destroyed".to_owned(), false),
            Known::Value(parts) => (words(declared, &parts), true),
            Known::Unknown => ("unknown".to_owned(), false),
            Known::Nothing => ("not told".to_owned(), false),
        }
    }

    /// Since when a node has believed it, and the packet that told it.
    pub fn value_since(&self, believed: &Believed, row: ValueRow, node: NodeId) -> Option<String> {
        let held = believed
            .states
            .at(row.object, row.property, node, self.moment())?;
        let packet = held
            .because
            .and_then(|it| self.session.carrier(it))
            .map_or_else(String::new, |it| format!(", packet {}", it.0));
        let since = crate::text::seconds(held.since);
        Some(format!("since {since} s{packet}"))
    }

    /// The message that told a node what it believed.
    pub fn value_because(
        &self,
        believed: &Believed,
        row: ValueRow,
        node: NodeId,
    ) -> Option<netreel_protocol::session::MessageId> {
        let held = believed
            .states
            .at(row.object, row.property, node, self.moment());
        held?.because
    }

    /// The value in focus: the picked property of the selected object, else its first one that can be
    /// measured.
    pub fn value_in_focus(&self, believed: &Believed) -> Option<ValueRow> {
        let selection = self.selection();
        let of = |object| {
            let first = believed.rows.partition_point(|row| row.object < object);
            let mut own = believed
                .rows
                .get(first..)
                .unwrap_or_default()
                .iter()
                .take_while(move |row| row.object == object);
            let picked = own
                .clone()
                .find(|row| selection.property == Some(row.property));
            let kind = |row: &&ValueRow| {
                believed.states.property(row.property).is_some_and(|it| {
                    matches!(
                        it.kind,
                        PropertyKind::Position
                            | PropertyKind::Number
                            | PropertyKind::Angle
                            | PropertyKind::Count
                    )
                })
            };
            picked
                .or_else(|| own.clone().find(kind))
                .or_else(|| own.next())
        };
        let of_first = || of(believed.rows.first()?.object);
        selection.object.and_then(of).or_else(of_first).copied()
    }

    /// The moment of the next packet's departure or arrival behind the moment that is shown, or of the
    /// last before it.
    pub fn next_moment(&self, is_next: bool) -> Option<SessionTime> {
        let crowd = self.filter.crowd().unwrap_or(&self.index.all);
        let at = match (self.cursor(), is_next) {
            (Some(at), _) => at.0,
            (None, true) => self.visible().start.0,
            (None, false) => self.visible().end.0,
        };
        let session = &self.session;
        let times = crowd
            .lanes
            .iter()
            .flat_map(|lane| [lane.sends.line(session), lane.receipts.line(session)])
            .filter_map(|line| {
                if is_next {
                    line.get(line.place(at.saturating_add(1)))
                } else {
                    line.get(line.place(at).checked_sub(1)?)
                }
            });
        let found = if is_next { times.min() } else { times.max() };
        found.map(SessionTime)
    }
}
