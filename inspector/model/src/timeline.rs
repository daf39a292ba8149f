//! The timeline of one frame: arrows while they can be told apart, above that density.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use netreel_protocol::history::Level;
use netreel_protocol::session::{NodeId, PacketId, Session, SessionTime};

use crate::Model;
use crate::crowd::{Crowd, Lane};
use crate::density::{Bucket, Drawn};
use crate::judged::rank as rank_of;
use crate::scale::Scale;
use crate::seen::{ARROWS_MAX, Arrow};

/// Where more packets than these lie on a pixel there is density as well: arrows would be one colour.
const ARROWS_PER_PIXEL: f32 = 1.0;

/// Most marks of duplicated receipts in a frame.
const DUPLICATES_MAX: usize = 2_000;

/// What the timeline shows between its axes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Traffic {
    /// For each node, its busy columns of pixels; empty where every packet is an arrow.
    pub density: Vec<Vec<Bucket>>,
    /// Where the first of those columns begins, in pixels from the left edge: at it, or less than a
    /// pixel before it.
    pub density_left: f32,
    /// Whether the density is that of packets which the filter does not take, behind those which it
    /// takes.
    pub density_is_rest: bool,
    /// Packets of their own: all, or those that the filter takes, or only those of the selection.
    pub arrows: Vec<Arrow>,
}

/// A finding at its node and time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flag {
    /// The node that saw it.
    pub node: NodeId,
    /// When.
    pub time: SessionTime,
    /// The finding, by its place in the history; the first of those that share the place.
    pub finding: usize,
    /// How bad.
    pub level: Level,
    /// How many findings of this node and level it stands for.
    pub count: usize,
    /// Whether it is the selected one.
    pub selected: bool,
}

/// A column of the minimap.
pub type MinimapColumn = Bucket;

/// The minimap as it was drawn last.
#[derive(Debug, Default)]
pub(crate) struct Minimap {
    all: Latest<MinimapColumn>,
    taken: Latest<MinimapColumn>,
    flags: Latest<Flag>,
}

/// What was worked out last, and of what: a scale, and a number that changes with what else it was of.
#[derive(Debug)]
struct Latest<T>(Mutex<Option<(Of, Arc<[T]>)>>);

type Of = (Scale, u64);

impl<T> Default for Latest<T> {
    fn default() -> Latest<T> {
        Latest(Mutex::new(None))
    }
}

impl<T> Latest<T> {
    fn of(&self, key: Of, make: impl FnOnce() -> Arc<[T]>) -> Arc<[T]> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, made)) = known.as_ref().filter(|(of, _)| *of == key) {
            return Arc::clone(made);
        }
        let made = make();
        *known = Some((key, Arc::clone(&made)));
        made
    }
}

/// The first of these, from a place on, that is not before a time. It is looked for close by at first: most
/// flags have few findings.
fn first_from(times: &[(i64, u32)], place: usize, time: i64) -> usize {
    let (mut low, mut reach) = (place, 1);
    while times.get(low + reach).is_some_and(|&(at, _)| at < time) {
        low += reach;
        reach *= 2;
    }
    let high = times.len().min(low + reach);
    let rest = times.get(low..high).unwrap_or(&[]);
    low + rest.partition_point(|&(at, _)| at < time)
}

impl Model {
    /// What happened in the visible time, over `scale`'s pixels: at most [`ARROWS_MAX`] arrows, and no
    /// more than there are pixels, beside those of the selection.
    pub fn traffic(&self, scale: &Scale) -> Traffic {
        let all = |row| Some(PacketId(row as u32));
        let most = ARROWS_MAX.min((scale.columns() as f32 * ARROWS_PER_PIXEL) as usize);
        let range = (scale.range(), most);
        if let Some(packets) = self.touching(&self.index.all, None, all, range.clone()) {
            return Traffic {
                arrows: self.arrows(&packets),
                ..Traffic::default()
            };
        }
        let whole = || {
            let densities = &self.densities;
            densities.all(self.session(), &self.index.all, scale)
        };
        let of = |Drawn { left, lanes }: Drawn| Traffic {
            density: lanes,
            density_left: left,
            ..Traffic::default()
        };
        let (Some(crowd), Some(taken)) = (self.filter.crowd(), self.filter.taken()) else {
            return Traffic {
                arrows: self.marked_arrows(),
                ..of(whole())
            };
        };
        let changed = self.filter.changed();
        match self.touching(crowd, Some(changed), |row| taken.get(row), range) {
            Some(packets) => {
                let mut arrows = self.arrows(&packets);
                let marked = self.marked_arrows().into_iter();
                arrows.extend(marked.filter(|arrow| !arrow.matches));
                Traffic {
                    density_is_rest: true,
                    arrows,
                    ..of(whole())
                }
            }
            None => {
                let densities = &self.densities;
                Traffic {
                    arrows: self.marked_arrows(),
                    ..of(densities.taken(self.session(), crowd, scale, changed))
                }
            }
        }
    }

    /// The packets that are drawn as arrows: how many pixels there are decides nothing about it.
    pub(crate) fn arrows_in_view(&self) -> Vec<Arrow> {
        let range = (self.scale(1.0).range(), ARROWS_MAX);
        let all = |row| Some(PacketId(row as u32));
        if let Some(packets) = self.touching(&self.index.all, None, all, range.clone()) {
            return self.arrows(&packets);
        }
        let mut arrows = self.marked_arrows();
        if let (Some(crowd), Some(taken)) = (self.filter.crowd(), self.filter.taken()) {
            let changed = Some(self.filter.changed());
            let packets = self.touching(crowd, changed, |row| taken.get(row), range);
            arrows.extend(self.arrows(packets.as_deref().unwrap_or_default()));
        }
        arrows
    }

    /// The packets of a crowd that touch a time, unless there are more than `most`. `packet` gives the
    /// packet of a row.
    fn touching(
        &self,
        crowd: &Crowd,
        changed: Option<u64>,
        packet: impl Fn(usize) -> Option<PacketId>,
        (range, most): (Range<i64>, usize),
    ) -> Option<Arc<[PacketId]>> {
        let find = || {
            let stretch = |row: usize| {
                let arrow = self.plain_arrow(packet(row)?)?;
                let (start, end) = (arrow.start.0, arrow.end.0);
                Some((start.min(end), start.max(end)))
            };
            let touching = crowd.arrows.touching(&range, most, stretch);
            let rows = touching.rows.into_iter();
            touching
                .complete
                .then(|| rows.filter_map(&packet).collect())
        };
        self.seen.visible((range.clone(), most, changed), find)
    }

    fn arrows(&self, packets: &[PacketId]) -> Vec<Arrow> {
        packets.iter().filter_map(|&id| self.arrow(id)).collect()
    }

    /// How many columns of density were counted so far, and of how many packets an arrow was worked
    /// out: what frames have cost that is not kept for the next.
    pub fn counted(&self) -> (u64, u64) {
        (self.densities.counted(), self.seen.looked())
    }

    /// The selected packet and the packets of the story.
    fn marked_arrows(&self) -> Vec<Arrow> {
        let mut packets: Vec<PacketId> = self.story().iter().map(|e| e.packet).collect();
        packets.extend(self.selection.packet);
        packets.sort_unstable();
        packets.dedup();
        packets
            .into_iter()
            .filter_map(|id| self.arrow(id))
            .collect()
    }

    /// Receipts beyond the first, in the visible time.
    pub fn duplicates(&self, scale: &Scale) -> Vec<(NodeId, SessionTime, PacketId)> {
        let times = &self.index.duplicates;
        let range = scale.range();
        let (first, end) = (times.place(range.start), times.place(range.end));
        (first..end)
            .take(DUPLICATES_MAX)
            .filter_map(|place| {
                let packet = PacketId(self.index.duplicate_packets.get(place) as u32);
                let (_, to) = self.session().link(packet)?;
                Some((to, SessionTime(times.get(place)?), packet))
            })
            .collect()
    }

    /// The findings in the visible time, the worst level of each node first. Where several of one
    /// level are less than `fold` pixels apart there is one flag for them; those of level info stand
    /// three times as far apart as the others.
    pub fn flags(&self, scale: &Scale, fold: f32) -> Vec<Flag> {
        let range = scale.range();
        let mut flags: Vec<Flag> = Vec::new();
        for (node, levels) in self.finding_marks().flags.iter().enumerate() {
            for (rank, times) in levels.iter().enumerate() {
                let apart = if rank == rank_of(Level::Info) {
                    3.0
                } else {
                    1.0
                };
                let step = scale.ns(fold * apart).max(1);
                let mut place = times.partition_point(|&(time, _)| time < range.start);
                while let Some(&(time, finding)) = times.get(place)
                    && time < range.end
                {
                    let next = first_from(times, place, time.saturating_add(step));
                    let node = NodeId(node as u16);
                    flags.extend(self.flag(node, time, finding, next - place));
                    place = next;
                }
            }
        }
        if let Some(finding) = self.selection.finding
            && let Some(found) = self.history().findings.get(finding)
            && !flags.iter().any(|flag| flag.finding == finding)
            && range.contains(&found.time.0)
        {
            flags.extend(self.flag(found.node, found.time.0, finding as u32, 1));
        }
        flags
    }

    fn flag(&self, node: NodeId, time: i64, finding: u32, count: usize) -> Option<Flag> {
        let place = finding as usize;
        Some(Flag {
            node,
            time: SessionTime(time),
            finding: place,
            level: self.history().findings.get(place)?.level,
            count,
            selected: self.selection.finding == Some(place),
        })
    }

    /// The whole session over this many pixels.
    pub fn whole_scale(&self, width: f32) -> Scale {
        Scale::folded(&self.whole(), width, self.index.folds.clone())
    }

    /// The whole session over `width` columns.
    pub fn minimap(&self, width: f32) -> Arc<[MinimapColumn]> {
        let scale = self.whole_scale(width);
        let make = || self.columns_of(&self.index.all, &scale).into();
        self.minimap.all.of((scale.clone(), 0), make)
    }

    /// The same of the packets that the filter takes; `None` where it takes all.
    pub fn minimap_taken(&self, width: f32) -> Option<Arc<[MinimapColumn]>> {
        let crowd = self.filter.crowd()?;
        let scale = self.whole_scale(width);
        let make = || self.columns_of(crowd, &scale).into();
        let key = (scale.clone(), self.filter.changed());
        Some(self.minimap.taken.of(key, make))
    }

    /// The findings of the whole session over `width` columns: see [`Model::flags`].
    pub fn minimap_flags(&self, width: f32) -> Arc<[Flag]> {
        let scale = self.whole_scale(width);
        let selected = self.selection.finding.map_or(0, |place| place as u64 + 1);
        let make = || self.flags(&scale, 1.0).into();
        self.minimap.flags.of((scale.clone(), selected), make)
    }

    /// A crowd over the columns of pixels, all lanes together.
    fn columns_of(&self, crowd: &Crowd, scale: &Scale) -> Vec<MinimapColumn> {
        let mut columns: BTreeMap<u32, Bucket> = BTreeMap::new();
        for lane in &crowd.lanes {
            for bucket in buckets(self.session(), lane, scale) {
                let all = columns.entry(bucket.column).or_insert(Bucket {
                    events: 0,
                    lost: 0,
                    ..bucket
                });
                all.events += bucket.events;
                all.lost += bucket.lost;
            }
        }
        columns.into_values().collect()
    }

    /// One packet as an arrow.
    pub fn arrow(&self, id: PacketId) -> Option<Arrow> {
        let mut arrow = self.plain_arrow(id)?;
        arrow.matches = self.filter.taken().is_none_or(|taken| taken.has(id));
        arrow.selected = self.selection.packet == Some(id);
        arrow.evidence = self.story().iter().any(|piece| piece.packet == id);
        Some(arrow)
    }

    /// The same where nothing is picked out.
    fn plain_arrow(&self, id: PacketId) -> Option<Arrow> {
        let make = || {
            let packet = self.packet(id)?;
            let (start, end) = self.index.links.stretch(&packet);
            let arrow = Arrow {
                packet: id,
                from: packet.from,
                to: packet.to,
                start: SessionTime(start),
                end: SessionTime(end),
                start_known: packet.departed().is_some(),
                fate: packet.fate,
                kind: self.lead(id),
                matches: true,
                selected: false,
                evidence: false,
                level: self.worst(id),
            };
            Some((arrow, self.session.looks_at_once()))
        };
        self.seen.arrow(id, make)
    }
}

/// The columns of pixels of a lane in which something happened.
fn buckets(session: &Session, lane: &Lane, scale: &Scale) -> Vec<Bucket> {
    let events = [lane.sends(session), lane.receipts(session)];
    let lost = lane.lost(session);
    let from = |time: i64| events.each_ref().map(|times| times.place(time));
    let mut buckets = Vec::new();
    let mut column = 0;
    let end = scale.range().end;
    let mut first = from(scale.range().start);
    while column < scale.columns() {
        let range = scale.column(column);
        let ahead = events
            .iter()
            .zip(first)
            .filter_map(|(times, place)| times.get(place));
        let Some(next) = ahead.min() else { break };
        if next < range.end {
            let last = from(range.end);
            let count = last.iter().sum::<usize>() - first.iter().sum::<usize>();
            buckets.push(Bucket {
                column: column as u32,
                events: count as u32,
                lost: (lost.place(range.end) - lost.place(range.start)) as u32,
            });
            first = last;
            column += 1;
        } else if next < end {
            // Jump over columns in which nothing happened.
            let ahead = scale.x(SessionTime(next)).floor().max(0.0) as usize;
            column = ahead.saturating_sub(1).max(column + 1);
            first = from(scale.column(column).start);
        } else {
            break;
        }
    }
    buckets
}
