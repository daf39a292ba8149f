//! `silent-link`: for a while nothing that one node sent to another arrived, or almost nothing.
//!
//! This many packets in a row, over this long a time, are not lost by chance: a cable, a firewall, an address
//! that a router gave to somebody else. A warning, which says how many of the packets that were sent the
//! other way meanwhile arrived, and what follows from that share: where nearly all did, the link was open one
//! way only; where nearly none did, it was cut both ways, and one that passed at the edge changes nothing,
//! nor does one that passed in the middle. Who had fallen silent itself, or was not recorded to the end, may
//! just have gone, and is not meant.

use super::prelude::*;

/// Packets are looked at in pieces of this many.
const PIECE: usize = 4096;

/// Where fewer than one in this many of a link's packets arrived, almost nothing did.
const ALMOST: u64 = 20;

/// Packets of a link that were lost one after the other, but for a few.
#[derive(Clone, Copy)]
struct Silence {
    first: PacketId,
    last: PacketId,
    since: SessionTime,
    until: SessionTime,
    lost: u64,
    /// Arrived amid those that were lost.
    through: u64,
    /// What was sent the other way between the first and the last of them.
    back: Back,
    /// The same, after the last.
    behind: Back,
}

/// What became of the packets that were sent the other way.
#[derive(Clone, Copy, Default)]
struct Back {
    arrived: u64,
    sent: u64,
}

impl Silence {
    fn length_ns(&self) -> i64 {
        self.until.since(self.since)
    }
}

impl Back {
    fn add(&mut self, fate: Fate) {
        self.sent += u64::from(matches!(fate, Fate::Received | Fate::Lost));
        self.arrived += u64::from(fate == Fate::Received);
    }

    fn and(self, other: Back) -> Back {
        Back {
            arrived: self.arrived + other.arrived,
            sent: self.sent + other.sent,
        }
    }
}

/// A link's silences: how many, and the longest.
#[derive(Default)]
struct Silences {
    /// One that is over, with nothing lost since.
    earlier: Option<Silence>,
    /// Arrived since it.
    since: u64,
    /// One that is under way.
    open: Option<Silence>,
    count: u64,
    longest: Option<Silence>,
}

pub(super) fn find(case: &Case<'_>) -> Vec<Found> {
    let session = case.session;
    let packets_min = session.bounds.silent_link.packets;
    let is_suspect = |link: &&Link| {
        let lost = session
            .traffic()
            .get(link)
            .map_or(0, |it| it.fate(Fate::Lost));
        lost >= packets_min && is_known(session, **link)
    };
    let suspects = session.links().iter().filter(is_suspect);
    let mut links: BTreeMap<Link, Silences> =
        suspects.map(|&link| (link, Silences::default())).collect();
    if links.is_empty() {
        return Vec::new();
    }
    for first in (0..session.packet_count()).step_by(PIECE) {
        let some = session.some(first, PIECE);
        for place in 0..some.len() {
            let Some(&(from, to)) = some.links().get(some.link(place)) else {
                continue;
            };
            let (fate, id) = (some.fate(place), PacketId((first + place) as u32));
            if let Some(silences) = links.get_mut(&(to, from)) {
                let latest = silences.open.as_mut().or(silences.earlier.as_mut());
                latest.into_iter().for_each(|it| it.behind.add(fate));
            }
            let Some(silences) = links.get_mut(&(from, to)) else {
                continue;
            };
            match fate {
                Fate::Lost if !some.is_doubtful(place) => silences.lose(id, some.time(place)),
                Fate::Received => silences.arrive(session, to),
                // What failed was not sent, and says nothing.
                Fate::SendFailed => {}
                _ => silences.end(session, to),
            }
        }
    }
    let found = links.into_iter().filter_map(|(link, mut silences)| {
        silences.end(session, link.1);
        Some(silences.longest?.found(session, link, silences.count))
    });
    found.collect()
}

/// Whether both ends have a reel of their own: what became of a packet is known of no others.
pub(super) fn is_known(session: &Session, (from, to): Link) -> bool {
    [from, to].into_iter().all(|node| {
        let node = session.node(node);
        node.is_some_and(|node| node.recorded && !node.captured && !node.proxied)
    })
}

impl Silence {
    /// Both, and what arrived between them; `None` where that is more than almost nothing.
    fn joined(&self, since: u64, later: &Silence) -> Option<Silence> {
        let both = Silence {
            last: later.last,
            until: later.until,
            lost: self.lost + later.lost,
            through: self.through + since + later.through,
            back: self.back.and(self.behind).and(later.back),
            behind: later.behind,
            ..*self
        };
        (both.through * ALMOST < both.lost).then_some(both)
    }

    fn found(&self, session: &Session, (from, to): Link, count: u64) -> Found {
        let (name, other) = (session.name(from), session.name(to));
        let arrived = match self.through {
            0 => "nothing",
            _ => "almost nothing",
        };
        let pieces = [
            sent(session, self.first, "the first that did not arrive sent"),
            sent(session, self.last, "the last sent"),
        ];
        let sentence = format!(
            "for {} {arrived} arrived of what {name} sent to {other} ({} of {}), {}{}",
            duration(self.length_ns()),
            self.through,
            packets(self.lost + self.through),
            self.back.words((&name, &other)),
            and_more(count),
        );
        Found::new(Level::Warning, to, self.until, pieces, sentence)
    }
}

impl Silences {
    fn lose(&mut self, id: PacketId, time: SessionTime) {
        let open = self.open.get_or_insert(Silence {
            first: id,
            last: id,
            since: time,
            until: time,
            lost: 0,
            through: 0,
            back: Back::default(),
            behind: Back::default(),
        });
        (open.last, open.until) = (id, time);
        open.back = open.back.and(std::mem::take(&mut open.behind));
        open.lost += 1;
    }

    /// Something arrived: what was under way is over, unless it goes on.
    fn arrive(&mut self, session: &Session, to: NodeId) {
        if let Some(open) = self.open.take() {
            let earlier = self.earlier.as_ref();
            let both = earlier.and_then(|earlier| earlier.joined(self.since, &open));
            if both.is_none() {
                self.judge(session, to);
            }
            self.earlier = both.or(Some(open));
            self.since = 0;
        }
        self.since += 1;
    }

    /// No more is known.
    fn end(&mut self, session: &Session, to: NodeId) {
        self.arrive(session, to);
        self.judge(session, to);
    }

    /// Whether one that is over was long enough.
    fn judge(&mut self, session: &Session, to: NodeId) {
        let Some(silence) = self.earlier.take() else {
            return;
        };
        let bounds = &session.bounds.silent_link;
        // Who sends nothing afterwards may have gone.
        let is_there = || session.sends_after(to, silence.until).is_some();
        if silence.lost < bounds.packets || silence.length_ns() < bounds.longest.0 || !is_there() {
            return;
        }
        self.count += 1;
        let longest = self.longest.as_ref();
        if longest.is_none_or(|it| it.length_ns() < silence.length_ns()) {
            self.longest = Some(silence);
        }
    }
}

/// Where fewer in a hundred arrived, a way was cut as well.
const CUT_PERCENT: u64 = 10;

/// Where this many in a hundred arrived, a way was open.
const OPEN_PERCENT: u64 = 50;

impl Back {
    /// What the way back from `other` to `name` was like, in words that go on after a comma.
    fn words(self, (name, other): (&str, &str)) -> String {
        let Back { arrived, sent } = self;
        if sent == 0 {
            return format!("and {other} sent {name} nothing meanwhile");
        }
        let what = match arrived * 100 {
            percent if percent < CUT_PERCENT * sent => "the link was cut both ways",
            percent if percent >= OPEN_PERCENT * sent => "the link was open one way only",
            _ => "the way back was bad as well",
        };
        format!(
            "and {arrived} of {} that {other} sent to {name} meanwhile: {what}",
            packets(sent)
        )
    }
}
