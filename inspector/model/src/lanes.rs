//! How lanes lie: in which order, which of them are shown, and which of them stand together.
//!
//! Nodes are known by their names here, because their numbers may be others when the same session is
//! read again.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::Arc;

use netreel_protocol::session::{Node, NodeId, Session};

use crate::Model;

/// How somebody wants the lanes to lie. The usual one: every node that talks has a lane, in the order
/// of the session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LanePlan {
    /// Nodes from the top, by their names. Who is not in it stands behind those who are.
    pub order: Vec<String>,
    /// The nodes without a lane, by their names.
    pub hidden: BTreeSet<String>,
    /// The only nodes with a lane, by their names; empty: all but those that are hidden.
    pub alone: BTreeSet<String>,
    /// Whether the nodes of a host stand together.
    pub by_host: bool,
    /// The hosts whose nodes share one lane, where they stand together.
    pub folded: BTreeSet<String>,
}

/// What a hand does to lanes. A lane is named by a node of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LaneMove {
    /// It goes before the one above it.
    Up(NodeId),
    /// It goes behind the one below it.
    Down(NodeId),
    /// The first goes to where the second is. Where nodes stand together by their hosts, all of the
    /// host go along to another one.
    To(NodeId, NodeId),
    /// It goes away, or comes back. The last one stays.
    Toggle(NodeId),
    /// It is the only one, or all are there again that are not hidden.
    Alone(NodeId),
    /// Nodes of a host stand together, or no longer.
    ByHost(bool),
    /// The nodes of its host share one lane, or have their own again.
    Fold(NodeId),
    /// All of it as it was at first.
    AsAtFirst,
}

/// A lane: of one node, with those that it was before its address changed, or of all nodes of a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LaneRow {
    /// Whose; never empty.
    pub nodes: Vec<NodeId>,
    /// The host that it stands with, where nodes stand together by their hosts.
    pub host: Option<String>,
    /// Whether it is that of a host. Else several nodes are one whose address changed.
    pub folded: bool,
}

/// The lanes of a session under a plan.
#[derive(Clone, Debug, Default)]
pub struct Lanes {
    plan: Arc<LanePlan>,
    rows: Vec<LaneRow>,
    /// All nodes that talk, in the order of their lanes, those without one too.
    order: Vec<NodeId>,
    /// What a node is known by in a plan, and its host, by the node's number.
    keys: Vec<String>,
    hosts: Vec<String>,
    /// The nodes whose address changed, each with the one that it was before.
    same: Same,
}

/// See [`History::same_as`](netreel_protocol::history::History::same_as).
type Same = BTreeMap<NodeId, NodeId>;

impl Lanes {
    fn new(session: &Session, talking: &[NodeId], plan: Arc<LanePlan>, same: Same) -> Lanes {
        let keys = keys(&session.nodes);
        let hosts: Vec<String> = session.nodes.iter().map(host).collect();
        let mut lanes = Lanes {
            plan,
            keys,
            hosts,
            same,
            ..Lanes::default()
        };
        lanes.order = lanes.ordered(talking);
        lanes.rows = lanes.rows_of(&lanes.order);
        lanes
    }

    fn key(&self, node: NodeId) -> &str {
        self.keys
            .get(usize::from(node.0))
            .map_or("", String::as_str)
    }

    fn host(&self, node: NodeId) -> &str {
        self.hosts
            .get(usize::from(node.0))
            .map_or("", String::as_str)
    }

    /// The node that a node was when it was first heard of.
    fn first_of(&self, mut node: NodeId) -> NodeId {
        // Each change is later than the one before; who would be its own past is taken as it is.
        for _ in 0..self.same.len() {
            match self.same.get(&node) {
                Some(&before) => node = before,
                None => break,
            }
        }
        node
    }

    fn ordered(&self, talking: &[NodeId]) -> Vec<NodeId> {
        let places: BTreeMap<&String, usize> = self.plan.order.iter().zip(0_usize..).collect();
        let place = |node: &NodeId| {
            let key = self.keys.get(usize::from(node.0));
            key.and_then(|key| places.get(key))
                .copied()
                .unwrap_or(usize::MAX)
        };
        let mut order = talking.to_vec();
        order.sort_by_key(place);
        if self.plan.by_host {
            let mut first: BTreeMap<&str, usize> = BTreeMap::new();
            for (place, &node) in order.iter().enumerate() {
                first.entry(self.host(node)).or_insert(place);
            }
            let of_host = |node: &NodeId| first.get(self.host(*node)).copied();
            order.sort_by_key(of_host);
        }
        order
    }

    fn is_shown(&self, node: NodeId) -> bool {
        let key = self.key(node);
        if self.plan.alone.is_empty() {
            !self.plan.hidden.contains(key)
        } else {
            self.plan.alone.contains(key)
        }
    }

    fn rows_of(&self, order: &[NodeId]) -> Vec<LaneRow> {
        let mut rows: Vec<LaneRow> = Vec::new();
        let shown = || order.iter().copied().filter(|node| self.is_shown(*node));
        // Somebody hid nodes of another session of that name: nobody is left.
        let is_any = shown().next().is_some();
        for &node in order.iter().filter(|node| !is_any || self.is_shown(**node)) {
            let host = self.plan.by_host.then(|| self.host(node).to_owned());
            let is_folded = |host: &String| self.plan.folded.contains(host);
            let folded = host.as_ref().is_some_and(is_folded);
            let first = self.first_of(node);
            let is_same = |row: &&mut LaneRow| {
                let mut nodes = row.nodes.iter();
                !row.folded && nodes.any(|&other| self.first_of(other) == first)
            };
            let same = (!folded && !self.same.is_empty()).then(|| rows.iter_mut().find(is_same));
            if let Some(row) = same.flatten() {
                row.nodes.push(node);
                continue;
            }
            match rows.last_mut() {
                Some(row) if folded && row.folded && row.host == host => row.nodes.push(node),
                _ => rows.push(LaneRow {
                    nodes: vec![node],
                    host,
                    folded,
                }),
            }
        }
        rows
    }

    fn row_of(&self, node: NodeId) -> Option<usize> {
        self.rows.iter().position(|row| row.nodes.contains(&node))
    }

    /// The nodes that a hand takes hold of where it moves a node towards another one.
    fn unit(&self, node: NodeId, other: NodeId) -> Vec<NodeId> {
        if self.plan.by_host && self.host(node) != self.host(other) {
            return self
                .order
                .iter()
                .copied()
                .filter(|it| self.host(*it) == self.host(node))
                .collect();
        }
        let row = self.row_of(node).and_then(|row| self.rows.get(row));
        row.map_or_else(|| vec![node], |row| row.nodes.clone())
    }

    /// A node's lane, and those that move with it, before or behind those of another one.
    fn moved(&self, node: NodeId, to: NodeId) -> Option<Vec<String>> {
        let place = |node: NodeId| self.order.iter().position(|it| *it == node);
        let is_down = place(node)? < place(to)?;
        let (unit, other) = (self.unit(node, to), self.unit(to, node));
        if unit.iter().any(|node| other.contains(node)) {
            return None;
        }
        let mut order = self.order.clone();
        order.retain(|node| !unit.contains(node));
        let mut places = order.iter().enumerate();
        let is_other = |(_, node): &(usize, &NodeId)| other.contains(node);
        let at = if is_down {
            places.rfind(is_other)?.0 + 1
        } else {
            places.find(is_other)?.0
        };
        order.splice(at..at, unit);
        Some(
            order
                .into_iter()
                .map(|it| self.key(it).to_owned())
                .collect(),
        )
    }

    /// The keys of the nodes that have a lane with this one.
    fn with(&self, node: NodeId) -> BTreeSet<String> {
        self.unit(node, node)
            .into_iter()
            .map(|node| self.key(node).to_owned())
            .collect()
    }

    fn changed(&self, change: &LaneMove) -> Option<LanePlan> {
        let mut plan = LanePlan::clone(&self.plan);
        let beside = |node: NodeId, down: bool| {
            let row = self.row_of(node)?;
            let other = if down { row + 1 } else { row.checked_sub(1)? };
            self.rows.get(other)?.nodes.first().copied()
        };
        match *change {
            LaneMove::Up(node) => plan.order = self.moved(node, beside(node, false)?)?,
            LaneMove::Down(node) => plan.order = self.moved(node, beside(node, true)?)?,
            LaneMove::To(node, to) => plan.order = self.moved(node, to)?,
            LaneMove::Toggle(node) if self.row_of(node).is_some() => {
                if self.rows.len() == 1 {
                    return None;
                }
                let with = self.with(node);
                if plan.alone.is_empty() {
                    plan.hidden.extend(with)
                } else {
                    plan.alone.retain(|it| !with.contains(it))
                }
            }
            LaneMove::Toggle(node) => {
                let key = self.key(node).to_owned();
                plan.hidden.remove(&key);
                if !plan.alone.is_empty() {
                    plan.alone.insert(key);
                }
            }
            LaneMove::Alone(node) => {
                let with = self.with(node);
                plan.alone = if plan.alone == with {
                    BTreeSet::new()
                } else {
                    with
                };
            }
            LaneMove::ByHost(by_host) => plan.by_host = by_host,
            LaneMove::Fold(node) => {
                let host = self.host(node).to_owned();
                // Whoever folds the nodes of a host wants them together.
                let is_folded = plan.by_host && plan.folded.contains(&host);
                plan.by_host = true;
                if is_folded {
                    plan.folded.remove(&host);
                } else {
                    plan.folded.insert(host);
                }
            }
            LaneMove::AsAtFirst => plan = LanePlan::default(),
        }
        Some(plan)
    }
}

impl Model {
    /// How somebody wants the lanes to lie.
    pub fn lane_plan(&self) -> &Arc<LanePlan> {
        &self.lanes.plan
    }

    /// Lays the lanes so. Names that no node of the session has are kept.
    pub fn set_lanes(&mut self, plan: Arc<LanePlan>) {
        if self.lanes.plan != plan {
            self.lanes = Lanes::new(&self.session, self.lanes(), plan, self.lanes.same.clone());
            self.trigger_lanes = self.trigger_lanes();
        }
    }

    /// Lays the lanes of another session as those before. Whose address changed its history tells.
    pub(crate) fn arrange_lanes(&mut self) {
        let plan = Arc::clone(&self.lanes.plan);
        self.lanes = Lanes::new(&self.session, self.lanes(), plan, Same::new());
    }

    /// Gives the nodes one lane that are one whose address changed, as the history tells.
    pub(crate) fn join_lanes(&mut self) {
        let same = self.judged.history.same_as(&self.session);
        if self.lanes.same != same {
            let plan = Arc::clone(&self.lanes.plan);
            self.lanes = Lanes::new(&self.session, self.lanes(), plan, same);
            self.trigger_lanes = self.trigger_lanes();
        }
    }

    pub(crate) fn move_lanes(&mut self, change: &LaneMove) {
        if let Some(plan) = self.lanes.changed(change) {
            self.set_lanes(plan.into());
        }
    }

    /// The lanes from the top. Where all nodes are hidden, all are shown.
    pub fn lane_rows(&self) -> &[LaneRow] {
        &self.lanes.rows
    }

    /// All nodes that talk, in the order of their lanes, with those that are hidden.
    pub fn lane_order(&self) -> &[NodeId] {
        &self.lanes.order
    }

    /// The nodes that talk and have no lane, in the order in which they would.
    pub fn hidden_lanes(&self) -> Vec<NodeId> {
        let shown: BTreeSet<NodeId> = self
            .lanes
            .rows
            .iter()
            .flat_map(|row| row.nodes.iter().copied())
            .collect();
        self.lanes
            .order
            .iter()
            .copied()
            .filter(|node| !shown.contains(node))
            .collect()
    }

    /// The host of a node, by its first address; `no address` where it has none.
    pub fn host_of(&self, node: NodeId) -> &str {
        self.lanes.host(node)
    }

    /// What a lane is called: its node, with the ports that it went on at, or its host and how many nodes
    /// share it.
    pub fn lane_title(&self, row: &LaneRow) -> String {
        match (row.nodes.as_slice(), &row.host) {
            (nodes, Some(host)) if row.folded && nodes.len() > 1 => {
                format!("{host} · {}", nodes.len())
            }
            ([first, then @ ..], _) => {
                let node = |id: &NodeId| self.session.node(*id);
                let port = |id: &NodeId| Some(address(node(id)?)?.port());
                then.iter()
                    .filter_map(port)
                    .map(|port| format!(", :{port}"))
                    .fold(self.lane_name(*first).to_owned(), |title, port| {
                        title + &port
                    })
            }
            ([], _) => String::new(),
        }
    }
}

/// A node's name; from the second of a name on with a number.
fn keys(nodes: &[Node]) -> Vec<String> {
    let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
    let key = |node: &'_ Node, count: usize| match count {
        1 => node.name.clone(),
        count => format!("{} #{count}", node.name),
    };
    let mut keys = Vec::with_capacity(nodes.len());
    for node in nodes {
        let count = seen.entry(node.name.as_str()).or_insert(0);
        *count += 1;
        keys.push(key(node, *count));
    }
    keys
}

fn host(node: &Node) -> String {
    address(node).map_or_else(|| "no address".to_owned(), |at| at.ip().to_string())
}

fn address(node: &Node) -> Option<SocketAddr> {
    let named = || node.name.parse().ok();
    node.endpoints.first().copied().or_else(named)
}
