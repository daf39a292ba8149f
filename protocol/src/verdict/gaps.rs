//! Reasons about what reels lack: their ends, their beginnings, stretches between.

use std::collections::BTreeSet;
use std::sync::Arc;

use netreel_reel::Reel;

use super::reason::{
    CUT, CUT_PACKETS, HOLES, LACKS_PACKETS, LATE, LIMIT, NEWER, Reason, WINDOW, list, names,
};
use crate::session::{Hole, NodeId, Observer, Session, is_closed, packets};

/// Something that a reel lacks.
struct Gap {
    id: &'static str,
    /// What people call the reel's owner.
    whose: String,
    /// Why, and how much.
    why: String,
}

/// What reels can lack.
const OF_REELS: [&str; 6] = [CUT, LIMIT, WINDOW, LATE, HOLES, NEWER];

/// Why a reel has no end that was not cut.
const GOES_ON: &str = "it is still being recorded";

/// A reel and what the session knows of it.
struct Known<'a> {
    whose: &'a str,
    reel: Option<&'a Reel>,
    complete: bool,
    window: bool,
    limit: Option<&'a str>,
    holes: &'a [Hole],
}

/// What the reels of nodes lack, and those of observers on which something rests. Each sort of gap
/// is one reason, however many reels have it.
pub(super) fn of_reels(session: &Session, observers: &[&Observer]) -> Vec<Reason> {
    let mut gaps: Vec<Gap> = Vec::new();
    for (id, node) in session.recorded_nodes() {
        let known = Known {
            whose: node.recorder(),
            reel: session.reel(id).map(Arc::as_ref),
            complete: node.complete,
            window: node.window,
            limit: node.limit.as_deref(),
            holes: &node.holes,
        };
        note(&known, &mut gaps);
    }
    for observer in observers {
        let known = Known {
            whose: &observer.name,
            reel: Some(&observer.reel),
            complete: observer.complete,
            window: observer.window,
            limit: None,
            holes: &observer.holes,
        };
        note(&known, &mut gaps);
        if observer.missed > 0 {
            gaps.push(Gap {
                id: HOLES,
                whose: observer.name.clone(),
                why: format!("{} passed unseen", packets(observer.missed)),
            });
        }
    }
    OF_REELS.iter().filter_map(|id| told(id, &gaps)).collect()
}

fn note(known: &Known<'_>, gaps: &mut Vec<Gap>) {
    let mut gap = |id, why: &str| {
        gaps.push(Gap {
            id,
            whose: known.whose.to_owned(),
            why: why.to_owned(),
        });
    };
    let begins_late = known.reel.is_some_and(|reel| reel.first_number().0 > 0);
    let (first, inner) = match known.holes {
        [first, inner @ ..] if begins_late => (Some(first), inner),
        holes => (None, holes),
    };
    if known.window {
        // That it begins late is what was asked for.
        gap(WINDOW, "");
    } else {
        if let Some(reel) = known.reel.filter(|reel| !is_closed(reel)) {
            let goes_on = reel.ending().is_still_recorded();
            gap(CUT, if goes_on { GOES_ON } else { "" });
        }
        if let Some(limit) = known.limit {
            gap(LIMIT, limit);
        }
        if begins_late {
            let why = first.map_or("its beginning is not there", |hole| &hole.why);
            gap(LATE, why);
        }
    }
    for hole in inner {
        gap(HOLES, &hole.why);
    }
    let closed = known.reel.is_some_and(is_closed);
    if closed && !known.complete && known.holes.is_empty() {
        gap(HOLES, "some of its bytes are damaged");
    }
    if known.reel.is_some_and(|reel| !reel.unknown().is_empty()) {
        gap(NEWER, "");
    }
}

/// One reason for all gaps of a sort.
fn told(id: &'static str, gaps: &[Gap]) -> Option<Reason> {
    let those: Vec<&Gap> = gaps.iter().filter(|gap| gap.id == id).collect();
    let first = &those.first()?.why;
    let mut whose: Vec<String> = Vec::new();
    for gap in &those {
        if !whose.contains(&gap.whose) {
            whose.push(gap.whose.clone());
        }
    }
    let who = list(&whose);
    let one = whose.len() == 1;
    let ((reels, is, was, begins), (ends, them)) = if one {
        (("reel", "is", "was", "begins"), ("its end", "it"))
    } else {
        (("reels", "are", "were", "begin"), ("their ends", "them"))
    };
    let reels = format!("the {reels} of {who}");
    let goes_on = those.iter().all(|gap| gap.why == GOES_ON);
    let sentence = match (id, one) {
        (CUT, _) if goes_on => {
            format!("{reels} {is} still being recorded: what is yet to come is unknown")
        }
        (CUT, _) => format!("{reels} {was} cut: what came after {ends} is unknown"),
        (LIMIT, true) => format!("the recording of {who} ended early: {first}"),
        (LIMIT, false) => format!("the recordings of {who} ended early, each at a limit"),
        (WINDOW, _) => {
            let windows = if one { "the window" } else { "windows" };
            format!(
                "{reels} {is} {windows} that a trigger kept: what was before and after {them} is unknown"
            )
        }
        (LATE, _) => {
            let why = if one {
                first.as_str()
            } else {
                "what came before is not there"
            };
            format!("{reels} {begins} late: {why}")
        }
        (HOLES, true) if those.len() == 1 => format!("{reels} has a hole: {first}"),
        (HOLES, true) => format!("{reels} has {} holes; the first: {first}", those.len()),
        (HOLES, false) => format!("{reels} have holes; the first: {first}"),
        _ => format!("{reels} {was} made by a newer recorder: events in {them} were skipped"),
    };
    Some(Reason::about(id, whose, sentence))
}

/// Nodes whose reels look whole and lack packets that others received from them: their recording
/// began after the game did, or ended before it.
pub(super) fn lacking_packets(session: &Session, reasons: &[Reason]) -> Option<Reason> {
    let told = |node: &str| {
        let about = reasons
            .iter()
            .filter(|reason| OF_REELS.contains(&reason.id));
        let mut nodes = about.flat_map(|reason| &reason.nodes);
        nodes.any(|name| name == node)
    };
    let to_group = |id: NodeId| {
        let node = session.node(id);
        node.is_some_and(|node| node.group)
    };
    let mut count = 0u64;
    let mut lacking: BTreeSet<NodeId> = BTreeSet::new();
    // What went to a group may have been received by anybody.
    let mut to_groups: BTreeSet<NodeId> = BTreeSet::new();
    let links = session.links().iter();
    to_groups.extend(links.filter(|(_, to)| to_group(*to)).map(|(from, _)| *from));
    let whole = |id: NodeId| {
        let from = session.node(id);
        from.is_some_and(|from| {
            from.recorded && !from.captured && !from.proxied && !told(&from.name)
        })
    };
    for (&(from, _), traffic) in session.traffic() {
        if traffic.unsent > 0 && whole(from) && !to_groups.contains(&from) {
            count += traffic.unsent;
            lacking.insert(from);
        }
    }
    let nodes = names(session, lacking);
    let whose = match nodes.len() {
        0 => return None,
        1 => "its reel does",
        _ => "their reels do",
    };
    let sentence = format!(
        "{} {} received from {} that {whose} not hold",
        packets(count),
        if count == 1 { "was" } else { "were" },
        list(&nodes)
    );
    Some(Reason::about(LACKS_PACKETS, nodes, sentence))
}

/// Observers that kept the first bytes of packets only.
pub(super) fn cut_packets(observers: &[&Observer]) -> Option<Reason> {
    let those = observers.iter().filter(|observer| observer.cut > 0);
    let cut: u64 = those.clone().map(|observer| observer.cut).sum();
    let names: Vec<String> = those.map(|observer| observer.name.clone()).collect();
    if names.is_empty() {
        return None;
    }
    let sentence = format!(
        "{} kept only the first bytes of {}: what stands behind them is unknown",
        list(&names),
        packets(cut)
    );
    Some(Reason::about(CUT_PACKETS, names, sentence))
}
