//! What stands in an index, in its order.
//!
//! Each structure is taken apart field by field, so that a new field does not compile before it is
//! here. What is large is columns; the rest goes through serde.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, OnceLock};

use netreel_reel::Reel;
use netreel_table::{Misfit, Putting, Taking};

use super::plain::{Indexed, put_list, put_plain, take_list, take_plain};
use crate::session::facts::told::Told;
use crate::session::weave::rows::{Rows, Track};
use crate::session::{Observer, ReelInput, Session, Warnings};

/// The place of a reel among those of the session.
fn place(reel: &Arc<Reel>, reels: &[Arc<Reel>]) -> io::Result<u32> {
    let place = reels.iter().position(|other| Arc::ptr_eq(reel, other));
    place
        .map(|place| place as u32)
        .ok_or_else(|| io::Error::other("the session has a reel that is not given"))
}

fn reel(place: Option<u32>, reels: &[ReelInput]) -> Result<Option<Arc<Reel>>, Misfit> {
    let reel = |place: u32| Some(reels.get(place as usize)?.reel.clone());
    place.map(|place| reel(place).ok_or(Misfit)).transpose()
}

pub(crate) fn put(session: &Session, reels: &[Arc<Reel>], to: &mut Putting<'_>) -> io::Result<()> {
    let Session {
        nodes,
        wire: _,
        start_utc_ns,
        span,
        reels: of_nodes,
        observers,
        proxies,
        warnings,
        rows,
        tracks,
        bounds: _,
        workers: _,
        early,
        told,
        traffic,
        seen: _,
        looks: _,
        wait_ns,
        firm: _,
        ways,
        took_part: _,
        kept_history: _,
    } = session;
    let place = |reel: &Option<Arc<Reel>>| reel.as_ref().map(|it| place(it, reels)).transpose();
    let of_nodes: Vec<Option<u32>> = of_nodes.iter().map(place).collect::<io::Result<_>>()?;
    put_plain(&(nodes, start_utc_ns, span, of_nodes, proxies), to)?;
    let Warnings {
        before,
        after,
        added: _,
    } = warnings;
    put_plain(&(before, after, tracks, early, wait_ns, ways), to)?;
    put_list(observers, to, |observer, to| {
        let Observer {
            name,
            span,
            complete,
            clock_error_ns,
            holes,
            packets,
            cut,
            missed,
            interfaces,
            window,
            triggers,
            notes,
            reel,
        } = observer;
        let reel = place(&Some(reel.clone()))?;
        put_plain(&(name, span, complete, clock_error_ns, holes, reel), to)?;
        put_plain(
            &(packets, cut, missed, interfaces, window, triggers, notes),
            to,
        )
    })?;
    put_rows(rows, to, place)?;
    put_plain(&traffic.get(), to)?;
    match told.get() {
        None => to.number(0),
        Some(told) => {
            to.number(1)?;
            told.put(to)
        }
    }
}

pub(crate) fn take(reels: &[ReelInput], from: &mut Taking) -> Result<Session, Misfit> {
    let mut session = Session::default();
    let of_nodes: Vec<Option<u32>>;
    (
        session.nodes,
        session.start_utc_ns,
        session.span,
        of_nodes,
        session.proxies,
    ) = take_plain(from)?;
    let of_nodes = of_nodes.into_iter().map(|place| reel(place, reels));
    session.reels = of_nodes.collect::<Result<_, _>>()?;
    (
        session.warnings.before,
        session.warnings.after,
        session.tracks,
        session.early,
        session.wait_ns,
        session.ways,
    ) = take_plain(from)?;
    session.observers = take_list(from, |from| {
        let (name, span, complete, clock_error_ns, holes, place) = take_plain(from)?;
        let (packets, cut, missed, interfaces, window, triggers, notes) = take_plain(from)?;
        Ok(Observer {
            name,
            span,
            complete,
            clock_error_ns,
            holes,
            packets,
            cut,
            missed,
            interfaces,
            window,
            triggers,
            notes,
            reel: reel(place, reels)?.ok_or(Misfit)?,
        })
    })?;
    session.rows = take_rows(reels, from)?;
    if let Some(traffic) = take_plain::<Option<BTreeMap<_, _>>>(from)? {
        session.traffic = OnceLock::from(traffic);
    }
    match from.number()? {
        0 => {}
        1 => session.told = OnceLock::from(Told::take(from)?),
        _ => return Err(Misfit),
    }
    Ok(session)
}

fn put_rows(
    rows: &Rows,
    to: &mut Putting<'_>,
    place: impl Fn(&Option<Arc<Reel>>) -> io::Result<Option<u32>>,
) -> io::Result<()> {
    let Rows {
        places,
        tracks,
        links,
        link,
        told,
        receipt,
        state,
        odd,
        shared,
        passing,
    } = rows;
    put_plain(&(places, links, odd, shared), to)?;
    for column in [link, told, receipt, state] {
        column.put(to)?;
    }
    passing.put(to)?;
    put_list(tracks, to, |track, to| {
        let Track {
            reel,
            clock,
            sides,
            packets,
            connections,
            faults,
            observer,
            ticks,
            words,
        } = track;
        put_plain(&(place(reel)?, clock, connections, faults, observer), to)?;
        sides.put(to)?;
        packets.put(to)?;
        ticks.put(to)?;
        words.put(to)
    })
}

fn take_rows(reels: &[ReelInput], from: &mut Taking) -> Result<Rows, Misfit> {
    let (places, links, odd, shared) = take_plain(from)?;
    Ok(Rows {
        places,
        links,
        odd,
        shared,
        link: from.column()?,
        told: from.column()?,
        receipt: from.column()?,
        state: from.column()?,
        passing: Indexed::take(from)?,
        tracks: take_list(from, |from| {
            let (place, clock, connections, faults, observer) = take_plain(from)?;
            Ok(Track {
                reel: reel(place, reels)?,
                clock,
                connections,
                faults,
                observer,
                sides: Indexed::take(from)?,
                packets: Indexed::take(from)?,
                ticks: Indexed::take(from)?,
                words: Indexed::take(from)?,
            })
        })?,
    })
}
