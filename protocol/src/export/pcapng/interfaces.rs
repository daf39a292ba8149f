//! The interfaces of the file: one for each node and each proxy, and those of an observer.

use std::borrow::Borrow;
use std::collections::BTreeSet;

use super::proxies::{Proxies, Proxy};
use super::whose::Whose;
use crate::figures::{length, listed_first};
use crate::session::{NodeId, ObserverId, Session};

/// The name and the description of every interface, and for each reel the place of its first.
pub(super) fn all(
    session: &Session,
    proxies: &Proxies<'_>,
    reels: impl Iterator<Item = Whose>,
) -> (Vec<(String, String)>, Vec<usize>) {
    let (mut all, mut first) = (Vec::new(), Vec::new());
    for whose in reels {
        first.push(all.len());
        match whose {
            Whose::Node(id) => node(session, id, &mut all),
            Whose::Proxy(place) => all.push(passed(session, proxies.get(place))),
            Whose::Observer(id) => watched(session, id, &mut all),
        }
    }
    (all, first)
}

/// An observer's interfaces: under their own names where nobody else has them, and they have any.
fn watched(session: &Session, id: ObserverId, all: &mut Vec<(String, String)>) {
    let observer = session.observer_name(id);
    let known = session.observers.get(usize::from(id.0));
    let incomplete = if known.is_some_and(|known| !known.complete) {
        "; its reel is not complete"
    } else {
        ""
    };
    let interfaces = known.map_or(&[][..], |known| &known.interfaces);
    if interfaces.len() < 2 && interfaces.iter().all(|it| it.name.is_empty()) {
        let description = format!("an observer; it took no part{incomplete}");
        return all.push((observer, description));
    }
    let taken: BTreeSet<String> = all.iter().map(|(name, _)| name.clone()).collect();
    for (place, interface) in interfaces.iter().enumerate() {
        let name = match interface.name.as_str() {
            "" => format!("{observer} interface {place}"),
            name if taken.contains(name) => format!("{observer} {name}"),
            name => name.to_owned(),
        };
        let description = format!("of the observer {observer}; it took no part{incomplete}");
        all.push((name, description));
    }
}

/// The name and the description of a proxy's interface.
fn passed(session: &Session, proxy: Option<&Proxy<'_>>) -> (String, String) {
    let Some(proxy) = proxy else {
        return (String::new(), String::new());
    };
    let ends: Vec<String> = proxy.ends.iter().map(|&end| session.name(end)).collect();
    let mut description = format!("a proxy; it tells of {}", list(&ends));
    let first = proxy.ends.first();
    let known = first.and_then(|end| session.node(*end));
    if known.is_some_and(|known| !known.complete) {
        description.push_str("; its reel is not complete");
    }
    (proxy.name().to_owned(), description)
}

/// A node's interface; several where it was captured at several.
fn node(session: &Session, id: NodeId, all: &mut Vec<(String, String)>) {
    let (name, description) = described(session, id);
    match session.captured_at(id) {
        [] => all.push((name, description)),
        [only] if only.name.is_empty() => all.push((name, description)),
        [only] => all.push((name, format!("{description}; captured at {}", only.name))),
        several => all.extend(several.iter().enumerate().map(|(place, at)| {
            let at = match at.name.as_str() {
                "" => format!("interface {place}"),
                at => at.to_owned(),
            };
            (format!("{name} {at}"), description.clone())
        })),
    }
}

/// The name and the description of a node.
fn described(session: &Session, node: NodeId) -> (String, String) {
    let Some(known) = session.node(node) else {
        return (session.name(node), String::new());
    };
    let endpoints: Vec<String> = known.endpoints.iter().map(ToString::to_string).collect();
    let mut description = match endpoints.as_slice() {
        [] => "address unknown".to_owned(),
        some => list(some),
    };
    description.push_str(if known.complete {
        "; its reel is complete"
    } else {
        "; its reel is not complete"
    });
    match known.clock_error_ns {
        0 => {}
        u64::MAX => description.push_str("; its clock is placed by the calendar"),
        error_ns => {
            description.push_str(&format!("; its clock may be off by {}", length(error_ns)));
        }
    }
    (known.name.clone(), description)
}

/// More names are counted.
const LIST_MAX: usize = 16;

/// `A, B and X`
pub(super) fn list<S: Borrow<str>>(names: &[S]) -> String {
    match names {
        [] => "nobody".to_owned(),
        names => listed_first(names, LIST_MAX),
    }
}
