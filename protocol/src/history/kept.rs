//! A history in the index of its session: who opens the session again need not work it out again.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, OnceLock};

use bytes::Bytes;
use netreel_table::{Column, Misfit, Putting, Taking};
use serde::{Deserialize, Serialize};

use super::delivered::{Delivered, Deliveries};
use super::found::proofs;
use super::wholes::one_of;
use super::{History, Object, RULES, Span};
use crate::session::{Indexed, NodeId, put_plain, take_plain};

/// An object, but for its deliveries, which are in a column of those of all objects.
#[derive(Serialize, Deserialize)]
struct KeptObject {
    id: u64,
    object_type: Option<u64>,
    lanes: BTreeMap<NodeId, Vec<Span>>,
    by_rules: BTreeMap<NodeId, Vec<Span>>,
    deliveries: u64,
}

impl History {
    /// Puts it into an index.
    pub(crate) fn put(&self, to: &mut Putting<'_>) -> io::Result<()> {
        let History {
            acked,
            named,
            ambiguous,
            resends,
            copies,
            deliveries,
            delivered,
            objects,
            telling: _,
            links,
            findings,
            numbers: _,
            fixed,
            proofs: _,
            joined,
            joined_of,
            undelivered,
            reused: _,
            ambiguous_messages,
            again,
            of_before,
            stragglers: _,
            partings,
            parting_messages,
            standing,
            unknown_values,
            inputs,
        } = self;
        to.column(acked)?;
        deliveries.put(to)?;
        to.number(u64::from(delivered.get().is_some()))?;
        if let Some(delivered) = delivered.get() {
            delivered.put(to)?;
        }
        let all = objects.values().flat_map(|object| &object.deliveries);
        let mut about: Column = all.map(|&place| u64::from(place)).collect();
        about.shrink();
        to.column(&about)?;
        let objects = objects.iter().map(|(&id, object)| KeptObject {
            id,
            object_type: object.object_type,
            lanes: object.lanes.clone(),
            by_rules: object.by_rules.clone(),
            deliveries: object.deliveries.len() as u64,
        });
        put_plain(&objects.collect::<Vec<_>>(), to)?;
        let rules: Vec<&str> = findings.iter().map(|finding| finding.rule).collect();
        put_plain(&(findings, rules, fixed), to)?;
        put_plain(
            &(named, ambiguous, resends, copies, links.get(), undelivered),
            to,
        )?;
        put_plain(&(joined, joined_of, partings, parting_messages, again), to)?;
        put_plain(
            &(
                standing,
                unknown_values,
                inputs,
                ambiguous_messages,
                of_before,
            ),
            to,
        )
    }
}

/// The history that [`History::put`] put; `None` where the bytes are of something else.
pub(super) fn take(bytes: Bytes) -> Option<History> {
    read(&mut Taking::new(bytes)).ok()
}

fn read(from: &mut Taking) -> Result<History, Misfit> {
    let mut history = History {
        acked: from.column()?,
        deliveries: Deliveries::take(from)?,
        ..History::default()
    };
    if from.number()? != 0 {
        history.delivered = OnceLock::from(Delivered::take(from)?);
    }
    let about = from.column()?;
    let mut about = about.iter();
    for object in take_plain::<Vec<KeptObject>>(from)? {
        let deliveries = about.by_ref().take(object.deliveries as usize);
        let kept = Object {
            object_type: object.object_type,
            lanes: object.lanes,
            by_rules: object.by_rules,
            deliveries: deliveries.map(|place| place as u32).collect(),
        };
        let telling: Vec<u32> = kept
            .deliveries
            .iter()
            .copied()
            .filter(|&place| history.deliveries.is_telling(place))
            .collect();
        history.telling.insert(object.id, telling);
        history.objects.insert(object.id, kept);
    }
    let rules: Vec<String>;
    (history.findings, rules, history.fixed) = take_plain(from)?;
    if [rules.len(), history.fixed.len()] != [history.findings.len(); 2] {
        return Err(Misfit);
    }
    for (finding, id) in history.findings.iter_mut().zip(rules) {
        finding.rule = RULES.into_iter().find(|rule| *rule == id).ok_or(Misfit)?;
    }
    history.proofs = proofs(&history.findings);
    let links: Option<BTreeMap<_, _>>;
    (
        history.named,
        history.ambiguous,
        history.resends,
        history.copies,
        links,
        history.undelivered,
    ) = take_plain(from)?;
    history.links = links.map_or_else(OnceLock::new, OnceLock::from);
    (
        history.joined,
        history.joined_of,
        history.partings,
        history.parting_messages,
        history.again,
    ) = take_plain(from)?;
    let known = Mutex::default();
    for joined in &mut history.joined {
        joined.facts = one_of(&known, std::mem::take(Arc::make_mut(&mut joined.facts)));
    }
    (
        history.standing,
        history.unknown_values,
        history.inputs,
        history.ambiguous_messages,
        history.of_before,
    ) = take_plain(from)?;
    if from.is_empty() {
        Ok(history)
    } else {
        Err(Misfit)
    }
}
