//! Streams inside a packet: rows of bytes of their own, whose bits count from 0.

use std::ops::Range;

use super::arena::Arena;
use super::keeping::unpacked;
use super::machine::{Machine, OpenMessages, Stop, Surroundings};
use super::problem::{Limit, Problem};
use super::reading::Reading;
use super::sink::{Rest, Sink};
use super::tape::{Inflated, Tape};
use crate::arithmetic;
use crate::bits::BitReader;
use crate::facts::{Piece, PieceAt, Place};
use crate::layout::Order;
use crate::layout::StreamId;
use crate::limits::STREAM_DEPTH_MAX;
use crate::program::{FollowPlan, JoinPlan};
use crate::state::{BadPart, ConnectionState};

/// What to go back to where a record of a stream is not complete.
struct Before {
    sink: super::sink::Mark,
    messages: usize,
    ack_ranges: usize,
    nack_ranges: usize,
    echoed_times: usize,
    streams: u16,
    contents: usize,
    diagnostics: u32,
    nodes_left: u32,
    open: OpenMessages,
    /// Where a record can change it.
    state: Option<ConnectionState>,
}

/// What a machine that ran inside another one hands over.
struct Left {
    nodes: u32,
    open: OpenMessages,
    fragment: (Option<u64>, Option<u64>),
    streams: u16,
    inflated: Inflated,
}

impl<'p, T: Tape<'p>, S: Sink> Machine<'p, '_, T, S> {
    /// Runs operations along new bytes until they return. What cannot be read there is said of the
    /// stream alone, and the run goes on around it.
    pub(super) fn run_stream(
        &mut self,
        bytes: Vec<u8>,
        order: Order,
        start: u32,
    ) -> Result<(), Stop> {
        let stream = self.open_stream(&bytes, order)?;
        let around = self.open;
        let arena = Arena::default();
        let mut inner = self.inner(&bytes, order, stream, &arena);
        let end = match inner.interpret(start) {
            Ok(()) => {
                inner.sink.end_stream(None);
                Ok(())
            }
            Err(stop) => inner.give_stream_up(stop, around),
        };
        let left = inner.left();
        self.take_over(left);
        end
    }

    /// Parts of a split message: the operation at which the run goes on.
    pub(super) fn join(&mut self, join: JoinPlan, start: u32, end: u32) -> Result<u32, Stop> {
        if !self.tape.opens(join.field) {
            return Ok(end);
        }
        let (index, count) = (self.operand(join.index), self.operand(join.count));
        let unresolved = |value| arithmetic::unresolved_field(value).is_some();
        let bits = unpacked(self.register(join.data));
        let at = self.place(join.slot).ok().flatten();
        let Some((place, Some(key))) = at.map(|at| (at.place, at.key())) else {
            self.piece(join.slot, bits, None);
            return Ok(end);
        };
        if unresolved(index) || unresolved(count) {
            self.piece(place, bits, None);
            return Ok(end);
        }
        let piece = self.piece(place, bits.clone(), Some(PieceAt::Part { key, index }));
        let mut whole = Vec::new();
        let mut added: Result<bool, BadPart> = Ok(false);
        if let Some(parts) = self.state.parts(place) {
            self.tape.with_bytes(bits, |data| {
                added = parts.add(key, (index, count), data, &mut whole);
            });
        }
        match added {
            Ok(false) => {}
            Ok(true) => {
                self.count_nodes(join.weight)?;
                self.piece_is_last(piece, self.streams);
                self.run_stream(whole, self.program.dictionary.order, start)?;
            }
            Err(why) => self.report(Some(join.field), self.tape.at(), Problem::BadPart(why)),
        }
        Ok(end)
    }

    /// A piece of a byte stream that runs over packets: reads the records that are complete.
    pub(super) fn follow(&mut self, follow: FollowPlan, start: u32) -> Result<(), Stop> {
        if !self.tape.opens(follow.field) {
            return Ok(());
        }
        let position = self.operand(follow.position);
        let bits = unpacked(self.register(follow.data));
        let at = self.place(follow.slot).ok().flatten();
        let Some((place, None)) = at.map(|at| (at.place, at.key())) else {
            self.piece(follow.slot, bits, None);
            return Ok(());
        };
        if arithmetic::unresolved_field(position).is_some() {
            self.piece(place, bits, None);
            return Ok(());
        }
        let mut lost = 0;
        let mut bytes = Vec::new();
        let mut at = None;
        if let Some(stream) = self.state.stream(place) {
            let position_of_data = stream.place(position, follow.wrap_bits);
            self.tape.with_bytes(bits.clone(), |data| {
                lost = stream.add(position, follow.wrap_bits, data);
            });
            bytes.extend_from_slice(stream.ready());
            at = Some(PieceAt::Stream {
                position: position_of_data,
                start: stream.start(),
                read: 0,
            });
        }
        let piece = self.piece(place, bits, at);
        if lost > 0 {
            let problem = Problem::StreamLost { bytes: lost };
            self.report(Some(follow.field), self.tape.at(), problem);
        }
        if bytes.is_empty() {
            return Ok(());
        }
        let opened = self.streams;
        let (used, end) = self.records(follow, &bytes, start)?;
        if used > 0 {
            self.piece_is_last(piece, opened);
            let piece = self.sink.pieces().and_then(|all| all.get_mut(piece));
            if let Some(PieceAt::Stream { read, .. }) = piece.and_then(|it| it.at.as_mut()) {
                *read = used;
            }
        }
        if let Some(stream) = self.state.stream(place) {
            stream.consume(used);
        }
        end
    }

    /// Notes bytes that are put together with others, where somebody asks: its place among the
    /// pieces.
    fn piece(&mut self, kept: u16, bits: Range<u32>, at: Option<PieceAt>) -> usize {
        let stream = self.stream;
        let Some(pieces) = self.sink.pieces() else {
            return 0;
        };
        pieces.push(Piece {
            place: Place { stream, bits },
            kept,
            at,
            whole: None,
        });
        pieces.len() - 1
    }

    /// With this piece something is complete, and read in the stream after this many others.
    fn piece_is_last(&mut self, piece: usize, opened: u16) {
        if let Some(piece) = self.sink.pieces().and_then(|all| all.get_mut(piece)) {
            piece.whole = opened.checked_add(1).map(StreamId);
        }
    }

    /// The records at the front of some bytes; how many bytes they are, and whether the run can go
    /// on.
    fn records(
        &mut self,
        follow: FollowPlan,
        bytes: &[u8],
        start: u32,
    ) -> Result<(usize, Result<(), Stop>), Stop> {
        let nothing = self.before(false);
        let order = self.program.dictionary.order;
        let stream = self.open_stream(bytes, order)?;
        let around = self.open;
        let arena = Arena::default();
        let mut inner = self.inner(bytes, order, stream, &arena);
        inner.waits = true;
        inner.enter(follow.field, None);
        let mut used = 0;
        let mut end = Ok(());
        let mut gave_up = false;
        while inner.tape.more() {
            let before = inner.before(follow.changes_state);
            let at = inner.tape.at();
            let read = inner
                .count_nodes(follow.weight)
                .and_then(|()| inner.interpret(start));
            let read = match read {
                Ok(()) if inner.tape.at() == at => Err(Stop::here(Problem::EmptyElement)),
                read => read,
            };
            match read {
                Ok(()) => used = inner.tape.at() as usize / 8,
                Err(stop) if is_cut(stop.problem) => {
                    inner.leave_scopes(0);
                    inner.go_back(before);
                    break;
                }
                Err(stop) => {
                    used = bytes.len();
                    gave_up = true;
                    end = inner.give_stream_up(stop, around);
                    break;
                }
            }
        }
        if used > 0 && !gave_up {
            inner.sink.leave(used as u32 * 8);
            inner.sink.cut_stream(used);
            inner.sink.end_stream(None);
        }
        let left = inner.left();
        self.take_over(left);
        if used == 0 {
            self.sink.end_stream(None);
            self.go_back(nothing);
        }
        Ok((used, end))
    }

    fn open_stream(&mut self, bytes: &[u8], order: Order) -> Result<StreamId, Stop> {
        if self.streams_around >= STREAM_DEPTH_MAX {
            return Err(Stop::here(Problem::TooDeep));
        }
        let Some(streams) = self.streams.checked_add(1) else {
            return Err(Stop::here(Problem::TooManyNodes));
        };
        self.streams = streams;
        self.sink.begin_stream(BitReader::new(bytes, order));
        Ok(StreamId(streams))
    }

    /// A machine that reads other bytes into the same registers, state, facts and sink.
    fn inner<'s>(
        &'s mut self,
        bytes: &'s [u8],
        order: Order,
        stream: StreamId,
        arena: &'s Arena,
    ) -> Machine<'s, 's, Reading<'s>, S> {
        let mut tape = Reading::new(BitReader::new(bytes, order), arena);
        tape.set_inflated(self.tape.inflated());
        let around = Surroundings {
            context: self.context,
            state: &mut *self.state,
        };
        let (program, plan) = (self.program, self.plan);
        let (facts, sink) = (&mut *self.facts, &mut *self.sink);
        Machine {
            base: self.base,
            frames_around: self.frames_around + self.frames.len(),
            nodes_left: self.nodes_left,
            open: self.open,
            fragment: self.fragment,
            stream,
            streams: self.streams,
            streams_around: self.streams_around + 1,
            ..Machine::new(program, plan, tape, self.registers, around, facts, sink)
        }
    }

    /// What a machine around this one takes over.
    fn left(&self) -> Left {
        Left {
            nodes: self.nodes_left,
            open: self.open,
            fragment: self.fragment,
            streams: self.streams,
            inflated: self.tape.inflated(),
        }
    }

    fn take_over(&mut self, left: Left) {
        self.nodes_left = left.nodes;
        self.open = left.open;
        self.fragment = left.fragment;
        self.streams = left.streams;
        self.tape.set_inflated(left.inflated);
    }

    fn before(&self, changes_state: bool) -> Before {
        Before {
            sink: self.sink.mark(),
            messages: self.facts.messages.len(),
            ack_ranges: self.facts.ack_ranges.len(),
            nack_ranges: self.facts.nack_ranges.len(),
            echoed_times: self.facts.echoed_times.len(),
            streams: self.streams,
            contents: self.facts.contents.len(),
            diagnostics: self.facts.diagnostics,
            nodes_left: self.nodes_left,
            open: self.open,
            state: changes_state.then(|| self.state.clone()),
        }
    }

    fn go_back(&mut self, before: Before) {
        self.sink.go_back(before.sink);
        self.facts.messages.truncate(before.messages);
        self.facts.ack_ranges.truncate(before.ack_ranges);
        self.facts.nack_ranges.truncate(before.nack_ranges);
        self.facts.echoed_times.truncate(before.echoed_times);
        self.streams = before.streams;
        self.facts.contents.truncate(before.contents);
        self.facts.diagnostics = before.diagnostics;
        self.nodes_left = before.nodes_left;
        self.open = before.open;
        if let Some(state) = before.state {
            *self.state = state;
        }
    }
}

impl<'a, 'p: 'a, S: Sink> Machine<'p, '_, Reading<'a>, S> {
    /// Something in a stream cannot be read: the rest of it is unexplained.
    fn give_stream_up(&mut self, stop: Stop, around: OpenMessages) -> Result<(), Stop> {
        let problem = stop.problem;
        let goes_on = !problem.is_final();
        if goes_on && problem != Problem::Told {
            self.report(stop.field, self.tape.at(), problem);
        }
        self.end_messages(around);
        self.leave_scopes(0);
        let rest = self.tape.at()..self.tape.end();
        self.sink.end_stream(Some((rest, Rest::of(problem))));
        if goes_on { Ok(()) } else { Err(stop) }
    }
}

/// Whether more bytes could help.
pub(super) fn is_cut(problem: Problem) -> bool {
    let whole = Limit::Whole;
    matches!(problem, Problem::PastEnd { limit, .. } if limit == whole)
}
