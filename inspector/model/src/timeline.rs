//! The timeline of one frame: arrows while they can be told apart, above that density.

use std::ops::Range;
use std::sync::Arc;

use netreel_protocol::history::Level;
use netreel_protocol::session::{NodeId, PacketId, SessionTime};

use crate::Model;
use crate::crowd::Crowd;
use crate::density::{Bucket, count};
use crate::judged::rank as rank_of;
use crate::latest::Latest;
use crate::scale::Scale;
use crate::seen::{ARROWS_MAX, Arrow};
use crate::taken::packet_of;

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

/// The minimap as it was drawn last: over a scale, and of what has a number that changes with it.
#[derive(Debug, Default)]
pub struct Minimap {
    all: Latest<Scale, Arc<[MinimapColumn]>>,
    taken: Latest<(Scale, u64), Arc<[MinimapColumn]>>,
    flags: Latest<(Scale, Option<usize>), Arc<[Flag]>>,
}

/// The first of these, from a place on, that is not before a time. It is looked for close by at first: most
/// flags have few findings.
fn first_from(times: &[(i64, u32)], place: usize, time: i64) -> usize {
    let (mut low, mut reach) = (place, 1);
    while times.get(low + reach).is_some_and(|&(at, _)| at < time) {
        low += reach;
        reach *= 2;
    }
    let rest = times.get(low..times.len().min(low + reach)).unwrap_or(&[]);
    low + rest.partition_point(|&(at, _)| at < time)
}

impl Model {
    /// What happened in the visible time, over `scale`'s pixels: at most [`ARROWS_MAX`] arrows, and no
    /// more than there are pixels, beside those of the selection.
    pub fn traffic(&self, scale: &Scale) -> Traffic {
        let most = ARROWS_MAX.min((scale.columns() as f32 * ARROWS_PER_PIXEL) as usize);
        let range = (scale.range(), most);
        if let Some(packets) = self.touching(&self.index.all, None, range.clone()) {
            return Traffic {
                arrows: self.arrows(&packets),
                ..Traffic::default()
            };
        }
        let mut arrows = self.marked_arrows();
        let (mut crowd, mut changed) = (&self.index.all, None);
        let mut density_is_rest = false;
        if let Some(taken) = self.filter.crowd() {
            let now = Some(self.filter.changed());
            match self.touching(taken, now, range) {
                Some(packets) => {
                    arrows.retain(|arrow| !arrow.matches);
                    arrows.splice(0..0, self.arrows(&packets));
                    density_is_rest = true;
                }
                None => (crowd, changed) = (taken, now),
            }
        }
        let drawn = self.densities.draw(&self.session, crowd, scale, changed);
        Traffic {
            density: drawn.lanes,
            density_left: drawn.left,
            density_is_rest,
            arrows,
        }
    }

    /// The packets that are drawn as arrows: how many pixels there are decides nothing about it.
    pub(crate) fn arrows_in_view(&self) -> Vec<Arrow> {
        let range = (self.scale(1.0).range(), ARROWS_MAX);
        if let Some(packets) = self.touching(&self.index.all, None, range.clone()) {
            return self.arrows(&packets);
        }
        let mut arrows = self.marked_arrows();
        if let Some(crowd) = self.filter.crowd() {
            let packets = self.touching(crowd, Some(self.filter.changed()), range);
            arrows.extend(self.arrows(packets.as_deref().unwrap_or_default()));
        }
        arrows
    }

    /// The packets of a crowd that touch a time, unless there are more than `most`: of all packets, or of
    /// those that the filter takes, which has `changed` so often.
    fn touching(
        &self,
        crowd: &Crowd,
        changed: Option<u64>,
        (range, most): (Range<i64>, usize),
    ) -> Option<Arc<[PacketId]>> {
        let taken = self.filter.taken().filter(|_| changed.is_some());
        let packet = |row: usize| packet_of(taken, row);
        let find = || {
            let stretch = |row: usize| {
                let arrow = self.plain_arrow(packet(row)?)?;
                let (start, end) = (arrow.start.0, arrow.end.0);
                Some((start.min(end), start.max(end)))
            };
            let touching = crowd.arrows.touching(&range, most, stretch);
            let rows = touching.rows.into_iter();
            touching.complete.then(|| rows.filter_map(packet).collect())
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
        let mut packets: Vec<PacketId> = self.story.iter().map(|e| e.packet).collect();
        packets.extend(self.selection.packet);
        packets.sort_unstable();
        packets.dedup();
        self.arrows(&packets)
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
                let (_, to) = self.session.link(packet)?;
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
                    flags.extend(self.flag(NodeId(node as u16), time, finding, next - place));
                    place = next;
                }
            }
        }
        if let Some(finding) = self.selection.finding
            && let Some(found) = self.finding(finding)
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
            level: self.finding(place)?.level,
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
        let make = || self.columns_of(&self.index.all, &scale);
        self.minimap.all.of(scale.clone(), make)
    }

    /// The same of the packets that the filter takes; `None` where it takes all.
    pub fn minimap_taken(&self, width: f32) -> Option<Arc<[MinimapColumn]>> {
        let crowd = self.filter.crowd()?;
        let scale = self.whole_scale(width);
        let key = (scale.clone(), self.filter.changed());
        Some(
            self.minimap
                .taken
                .of(key, || self.columns_of(crowd, &scale)),
        )
    }

    /// The findings of the whole session over `width` columns: see [`Model::flags`].
    pub fn minimap_flags(&self, width: f32) -> Arc<[Flag]> {
        let scale = self.whole_scale(width);
        let key = (scale.clone(), self.selection.finding);
        self.minimap
            .flags
            .of(key, || self.flags(&scale, 1.0).into())
    }

    /// A crowd over the columns of pixels, all lanes together.
    fn columns_of(&self, crowd: &Crowd, scale: &Scale) -> Arc<[MinimapColumn]> {
        let time = |column| scale.edge(column as usize);
        let place = |time| scale.x(SessionTime(time)).floor().max(0.0) as i64;
        let counted = crowd.lanes.iter().flat_map(|lane| {
            let all = 0..scale.columns() as i64;
            count(&self.session, lane, all, (time, place))
        });
        Bucket::together(counted.map(|it| it.bucket(0))).into()
    }

    /// One packet as an arrow.
    pub fn arrow(&self, id: PacketId) -> Option<Arrow> {
        let mut arrow = self.plain_arrow(id)?;
        arrow.matches = self.filter.taken().is_none_or(|taken| taken.has(id));
        arrow.selected = self.selection.packet == Some(id);
        arrow.evidence = self.story.iter().any(|piece| piece.packet == id);
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
