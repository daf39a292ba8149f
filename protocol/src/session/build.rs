//! From reels to a session.

mod nodes;
mod steps;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use netreel_reel::{Header, Time};
use netreel_wire::{PacketFacts, Wire};

use super::builder::SessionBuilder;
use super::clock::copied::Copies;
use super::clock::pieces::epochs;
use super::clock::{Aligned, Alignment, Reels, align, is_one_clock, readings};
use super::counted::packets;
use super::facts::told::Told;
use super::read::cut::trim;
use super::read::ends::{EndAt, Ends};
use super::read::grown::Look;
use super::read::payloads;
use super::read::scan::Scan;
use super::read::source::{ReelInput, Source, drop_copies, one_session, sources};
use super::weave::fate;
use super::weave::missing::Missing;
use super::weave::order::{Order, Ordered};
use super::weave::places::{EndId, Places};
use super::weave::samples::samples;
use super::weave::sockets::OwnPorts;
use super::weave::strangers::Strangers;
use super::weave::weaver::Weaver;
use super::who::cast::{Cast, utc_ns};
use super::who::meeting::{one_meeting, proxied};
use super::who::proxied::take_apart;
use super::who::roads::Roads;
use super::who::watched;
use super::{Hole, Link, Node, NodeId, Session, SessionError, SessionTime, parallel};

impl Session {
    /// Begins to say how reels are read; [`SessionBuilder::build`] reads them.
    pub fn builder() -> SessionBuilder {
        SessionBuilder::default()
    }

    /// Puts together what was read of all reels; `about_wire` is what there is to say of the wire.
    pub(super) fn put_together(
        how: &SessionBuilder,
        reels: Vec<(ReelInput, Look)>,
        (wire, about_wire): (Option<Arc<Wire>>, Vec<String>),
    ) -> Result<Session, SessionError> {
        let (workers, cancel) = (how.processors(), &how.cancel);
        let mut warnings = Vec::new();
        let mut sources = sources(reels, &mut warnings);
        if sources.is_empty() {
            return Err(SessionError::NoReels);
        }
        one_session(&sources)?;
        warnings.extend(about_wire);
        drop_copies(&mut sources, &mut warnings);
        let proxies = take_apart(&mut sources, &mut warnings)?;
        let mut scans: Vec<Scan> = sources
            .iter_mut()
            .map(|each| std::mem::take(&mut each.scan))
            .collect();
        let headers: Vec<&Header> = sources.iter().map(|each| each.reel.header()).collect();
        let names: Vec<String> = sources.iter().map(|each| each.node.clone()).collect();
        let cast = Cast::new(&names, &headers, &scans, &mut warnings);
        if cast.members.len() > usize::from(u16::MAX) {
            return Err(SessionError::TooLarge {
                what: format!(
                    "{} nodes and endpoints, and ids go up to {}",
                    cast.members.len(),
                    u16::MAX
                ),
            });
        }
        let mut roads = Roads::new(&cast, &headers, &scans);
        roads.trim(trim(&roads, &sources));
        let anchors: Vec<_> = headers.iter().map(|header| &header.clock).collect();
        let is_one = is_one_clock(&anchors);
        let places = Places::new(&scans)?;
        let aligned = |copies: &Copies| {
            let those: Vec<&Scan> = scans.iter().collect();
            let whole = parallel::map(those, workers, |scan| epochs(scan, &[]));
            let readings = readings(&anchors, whole, |boot| copies.has(boot));
            let gather = |pieces: &_| samples(&roads, &places, pieces, workers);
            let reels = Reels {
                readings: &readings,
                gather: &gather,
                scans: &scans,
            };
            with_zero(align(&reels), &scans)
        };
        let (mut clocks, mut zero_ns) = match is_one {
            true => with_zero(Aligned::one(scans.len()), &scans),
            false => aligned(&Copies::default()),
        };
        let strangers = Strangers::new(&cast, roads.acquainted());
        let ports = OwnPorts::new(&scans);
        let weave = |clocks: &[Alignment]| {
            let weaver = Weaver {
                roads: &roads,
                places: &places,
                clocks,
                missing: &Missing::new(&sources, &scans, clocks),
                strangers: &strangers,
                ports: &ports,
                workers,
                join: &|ends| are_numbered(ends, wire.as_deref(), (&sources, &scans, &places)),
                cancel,
            };
            weaver.weave()
        };
        let still_wanted = || match cancel.goes_on() {
            true => Ok(()),
            false => Err(SessionError::GivenUp),
        };
        let mut woven = weave(&clocks.clocks);
        still_wanted()?;
        let copies = Copies::find(&anchors, &scans, &places, &woven);
        let is_one = is_one && copies.is_empty();
        if !copies.is_empty() {
            (clocks, zero_ns) = aligned(&copies);
            woven = weave(&clocks.clocks);
            still_wanted()?;
        }
        copies.warn(&sources, &mut warnings);
        if clocks.is_unexplained {
            warnings.push(
                "the packets fit no clocks that drift evenly, nor such that were set here and \
                 there: the clocks are placed so that packets arrive as little before they were \
                 sent as can be had, and may be far off"
                    .to_owned(),
            );
        }
        woven.met.extend(proxied(&sources));
        // Hashes have told what they can, and take more memory than all else.
        let known = roads.into_known();
        for scan in &mut scans {
            scan.sides_mut().into_iter().for_each(Ends::forget_hashes);
        }
        let roads = Roads::with(known, &cast, &headers, &scans);
        one_meeting(&sources, &scans, &woven.met, &mut warnings)?;

        let mut builder = Builder::new(&sources, &scans, &cast, &clocks.clocks, zero_ns, wire);
        builder.out_of_time(&mut warnings);
        builder.set_clocks(&mut warnings);
        let is_direct = proxies.is_empty();
        builder.session.proxies = proxies;
        builder.session.workers = workers;
        builder.session.bounds = how.bounds.clone();
        builder.nodes();
        let (unread, from_start) = (builder.unread(&roads), builder.recorded_from_start());
        let order = Order {
            unread: &unread,
            roads: &roads,
            sources: &sources,
            places: &places,
            node_of: &builder.node_of,
            nodes: &builder.session.nodes,
            clocks: &clocks.clocks,
            from_start: &from_start,
            workers,
            cancel,
        };
        let ordered = order.rows(woven)?;
        let (mut session, tracks) = builder.finish(ordered, warnings, !clocks.is_unexplained);
        // With several clocks, or where it shows at the other end alone whose a packet is, what was
        // told of packets may be told otherwise when more of them are known.
        let from_start = scans.iter().all(|scan| scan.observer || scan.from_start);
        let stays = is_one && from_start && !roads.is_shared() && is_direct;
        drop(roads);
        let known = session.rows.tracks.iter_mut();
        for ((track, source), scan) in known.zip(&sources).zip(&mut scans) {
            track.take(&source.reel, scan);
        }
        session.tracks = tracks;
        session.wait_ns = session.wait_ns.filter(|_| stays);
        let firm = sources.iter_mut().map(|source| source.firm.take());
        session.firm = firm.collect::<Option<Vec<_>>>().unwrap_or_default();
        let answers = sources.iter_mut().map(|source| source.answers.take());
        let answers: Vec<_> = answers.collect();
        if let Some(wire) = &session.wire
            && answers.iter().any(Option::is_some)
        {
            let told = Told::new(&session.rows, wire, workers, answers);
            session.told = OnceLock::from(told);
        }
        Ok(session)
    }
}

/// The clocks on the session's, and its zero on the clock of the first reel.
fn with_zero(clocks: Aligned, scans: &[Scan]) -> (Aligned, i128) {
    let first = scans
        .iter()
        .zip(&clocks.clocks)
        .filter_map(|(scan, clock)| {
            let (first, last) = scan.span?;
            Some(clock.map.span_ns(first, last).0)
        });
    let zero_ns = first.min().unwrap_or(0);
    (clocks.with_zero(zero_ns), zero_ns)
}

/// For each receipt of an equal payload that nobody is known to have sent whether the wire finds a sequence
/// number in it: with one, they are one packet that was received several times.
fn are_numbered(
    ends: &[EndId],
    wire: Option<&Wire>,
    (sources, scans, places): (&[Source], &[Scan], &Places),
) -> Vec<bool> {
    let mut numbered = vec![false; ends.len()];
    let Some(wire) = wire else {
        return numbered;
    };
    let mut facts = PacketFacts::default();
    let ends: Vec<EndAt> = ends.iter().map(|&end| places.find(end)).collect();
    let reels = sources.iter().map(|source| &*source.reel);
    payloads::of_ends(reels.zip(scans), &ends, |nth, raw, payload| {
        let (reel, side, _) = ends[nth];
        let connection = scans[reel].connection(raw);
        let context = connection.map(|each| each.context(side.is_out(raw)));
        let context = context.unwrap_or_default();
        wire.facts_in(&context, &mut wire.new_state(), payload, &mut facts);
        numbered[nth] = facts.sequence.is_some();
    });
    numbered
}

/// A session under way.
struct Builder<'a> {
    sources: &'a [Source],
    scans: &'a [Scan],
    cast: &'a Cast,
    clocks: &'a [Alignment],
    /// For each member its node.
    node_of: Vec<NodeId>,
    session: Session,
}

impl<'a> Builder<'a> {
    fn new(
        sources: &'a [Source],
        scans: &'a [Scan],
        cast: &'a Cast,
        clocks: &'a [Alignment],
        zero_ns: i128,
        wire: Option<Arc<Wire>>,
    ) -> Builder<'a> {
        let anchor = sources.first().map(|source| &source.reel.header().clock);
        let start_utc_ns = anchor.map_or(0, |anchor| {
            let utc_ns = i128::from(anchor.utc_ns) + zero_ns - i128::from(anchor.monotonic.0);
            utc_ns.clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64
        });
        let session = Session {
            wire,
            start_utc_ns,
            ..Session::default()
        };
        Builder {
            sources,
            scans,
            cast,
            clocks,
            node_of: Vec::new(),
            session,
        }
    }

    /// Says that there are times which cannot be told.
    fn out_of_time(&self, warnings: &mut Vec<String>) {
        let spans = self.sources.iter().zip(self.scans);
        let latest = spans.filter_map(|(source, scan)| {
            let (_, last) = scan.span?;
            Some(utc_ns(source.reel.header(), last))
        });
        if latest.max().is_some_and(|latest| latest > i64::MAX.into()) {
            warnings.push(
                "there are times beyond the year 2262, which stand here as the latest that can be \
                 told"
                    .to_owned(),
            );
        }
    }

    /// The session's time of what is known by its time alone.
    fn time(&self, reel: usize, time: Time) -> SessionTime {
        self.clocks[reel].map.time_alone(time)
    }

    /// From when to when a reel reaches.
    fn span(&self, reel: usize, (first, last): (Time, Time)) -> Range<SessionTime> {
        let (first, last) = self.clocks[reel].map.span_ns(first, last);
        SessionTime::of_ns(first)..SessionTime::of_ns(last)
    }

    /// For each node the ports of sockets that were closed with packets in their buffers, and when.
    fn unread(&self, roads: &Roads<'_>) -> Vec<BTreeMap<u16, SessionTime>> {
        let mut unread = vec![BTreeMap::new(); self.session.nodes.len()];
        for (reel, node) in self.recorded().filter(|_| !roads.is_shared()) {
            if let Some(ports) = node.of_mut(&mut unread) {
                let closed = self.scans[reel].unread.iter();
                ports.extend(closed.map(|(&port, &at)| (port, self.time(reel, at))));
            }
        }
        unread
    }

    /// For each node whether nothing can have reached it before its reel began.
    fn recorded_from_start(&self) -> Vec<bool> {
        let mut from_start = vec![false; self.session.nodes.len()];
        for (reel, node) in self.recorded() {
            if let Some(slot) = node.of_mut(&mut from_start) {
                *slot = self.scans[reel].from_start;
            }
        }
        from_start
    }

    /// The reels of nodes.
    fn recorded(&self) -> impl Iterator<Item = (usize, NodeId)> + '_ {
        self.cast.recorded(&self.node_of)
    }

    /// The session, and each node's track.
    fn finish(
        mut self,
        ordered: Ordered,
        warnings: Vec<String>,
        is_explained: bool,
    ) -> (Session, Vec<Option<usize>>) {
        let mut tracks = vec![None; self.session.nodes.len()];
        for (reel, node) in self.recorded() {
            if let Some(slot) = node.of_mut(&mut tracks) {
                *slot = Some(reel);
            }
        }
        let Ordered {
            rows,
            seen,
            strays,
            early,
            wait_ns,
            ways,
        } = ordered;
        watched::note_seen(&mut self.session.nodes, &seen);
        self.session.rows = rows;
        self.session.wait_ns = Some(wait_ns);
        self.session.ways = ways;
        self.session.early = !early.is_empty();
        self.session.warnings.before = warnings;
        self.doubts(&strays, &early, is_explained);
        (self.session, tracks)
    }

    /// Says what the packets leave in doubt.
    fn doubts(
        &mut self,
        strays: &[(Link, SessionTime)],
        early: &BTreeMap<Link, (u64, i64)>,
        is_explained: bool,
    ) {
        let session = &mut self.session;
        let before = &mut session.warnings.before;
        for node in &session.nodes {
            if node.recorded && node.clock_error_ns == u64::MAX && is_explained {
                before.push(format!(
                    "no packets both ways tie the clock of {} to the others: it is placed by the \
                     calendar and may be far off",
                    node.name
                ));
            }
        }
        before.extend(watched::missing(&session.observers));
        before.extend(watched::captured(&session.nodes));
        for &(from, _) in &session.rows.links {
            // Nothing comes from a group.
            if let Some(from) = from.of_mut(&mut session.nodes) {
                from.group = false;
            }
        }
        let nodes = &session.nodes;
        let is_group = |node: NodeId| node.of(nodes).is_some_and(|it| it.group);
        let links = session.rows.links.iter();
        let to_groups: BTreeSet<NodeId> = links
            .filter(|(_, to)| is_group(*to))
            .map(|(from, _)| *from)
            .collect();
        let mut stray: BTreeMap<Link, u64> = BTreeMap::new();
        for &(link, at) in strays {
            let sender = link.0.of(nodes);
            // What went to a group may have been received by anybody.
            let sender = sender.filter(|_| !to_groups.contains(&link.0));
            if sender.is_some_and(|node| covers(node, at)) {
                *stray.entry(link).or_default() += 1;
            }
        }
        let mut after = Vec::new();
        for ((from, to), count) in stray {
            let (from, to) = (session.name(from), session.name(to));
            after.push(format!(
                "{to} received {} from {from} that the reel of {from} does not hold",
                packets(count),
            ));
        }
        for (&(from, to), &(count, worst_ns)) in early {
            let (from, to) = (session.name(from), session.name(to));
            after.push(format!(
                "{} from {from} to {to} seem to arrive before they were sent, by up \
                 to {worst_ns} ns: the clocks disagree",
                packets(count),
            ));
        }
        session.warnings.after = after;
    }
}

/// Whether the node recorded without a hole around this time and for as long before it as a packet
/// may be on its way: what was sent in a hole may come after it.
fn covers(node: &Node, time: SessionTime) -> bool {
    let within = |span: &Range<SessionTime>| span.start <= time && time <= span.end;
    let after = |hole: &Hole| {
        let until = hole.time.end.0.saturating_add(fate::WAIT_NS_MIN);
        hole.time.start..SessionTime(until)
    };
    within(&node.span) && !node.holes.iter().any(|hole| within(&after(hole)))
}
