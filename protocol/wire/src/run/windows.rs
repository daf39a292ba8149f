//! Windows: bytes that nothing inside reads past, and where a run goes on when something inside
//! cannot be read.

use std::ops::Range;

use super::machine::{Machine, Scope, Stop};
use super::problem::{Limit, Problem};
use super::sink::{Rest, Sink};
use super::tape::{Opened, Tape};
use crate::limits::BYTES_A_NODE;

impl<'p, T: Tape<'p>, S: Sink> Machine<'p, '_, T, S> {
    pub(super) fn begin_window(
        &mut self,
        bytes: Option<i128>,
        field: Option<u32>,
        scope: Scope,
    ) -> Result<(), Stop> {
        let (text, at) = (scope.text, self.tape.at());
        let stop = |problem| Stop { field, problem };
        let opened = self
            .tape
            .window(bytes, text, scope.rest, scope.catches)
            .map_err(stop)?;
        if let Opened::Short { left, limit } = opened
            && self.waits
            && limit == Limit::Whole
        {
            let needed = 0;
            return Err(Stop::here(Problem::PastEnd {
                needed,
                left,
                limit,
            }));
        }
        self.scopes.push(scope);
        if let Opened::Short { left, limit } = opened {
            let bytes = bytes.unwrap_or_default();
            let problem = Problem::ShortWindow {
                text,
                bytes,
                left,
                limit,
            };
            self.report(field, at, problem);
        }
        Ok(())
    }

    /// What stands somewhere else in the stream begins.
    pub(super) fn begin_elsewhere(&mut self, at: i128, scope: Scope) -> Result<(), Stop> {
        let begun = self.tape.jump(at, scope.text, scope.rest);
        begun.map_err(Stop::here)?;
        self.scopes.push(Scope {
            elsewhere: Some(self.tape.at()),
            ..scope
        });
        Ok(())
    }

    /// Whether blocks elsewhere have read all of these bits of the stream.
    pub(super) fn is_read_elsewhere(&self, bits: &Range<u32>) -> bool {
        let of_stream = self
            .read_elsewhere
            .iter()
            .filter(|(stream, _)| *stream == self.stream);
        let mut read: Vec<&Range<u32>> = of_stream.map(|(_, read)| read).collect();
        read.sort_unstable_by_key(|read| read.start);
        let mut at = bits.start;
        for each in read {
            if each.start <= at {
                at = at.max(each.end);
            }
        }
        at >= bits.end
    }

    pub(super) fn end_window(&mut self) -> Result<(), Stop> {
        let Some(scope) = self.scopes.pop() else {
            return Ok(());
        };
        let at = self.tape.at();
        if let Some(start) = scope.elsewhere.filter(|&start| start < at) {
            self.read_elsewhere.push((self.stream, start..at));
            self.count_elsewhere(at - start)?;
        }
        let rest = self.tape.rest();
        if !rest.is_empty() {
            let (bits, text) = (rest.end - rest.start, scope.text);
            self.report(None, at, Problem::LeftInWindow { bits, text });
            self.sink.rest_of_window(scope.rest, rest, None);
        }
        self.tape.end_window().map_err(Stop::here)
    }

    fn count_elsewhere(&mut self, bits: u32) -> Result<(), Stop> {
        let counted = self.count_nodes(bits / 8 / BYTES_A_NODE);
        counted.map_err(|_| Stop::here(Problem::TooMuchElsewhere))
    }

    /// Windows and layers inside the first `depth` end where they are.
    pub(super) fn leave_scopes(&mut self, depth: usize) {
        while self.scopes.len() > depth {
            if self.scopes.pop().is_some_and(|scope| scope.is_layer) {
                self.leave_stream();
            }
        }
        self.tape.unwind(depth);
    }

    /// Something cannot be read: the rest of the nearest window that can do without it is
    /// unexplained, and the run goes on after it; the operation there.
    pub(super) fn leave_window(&mut self, mut stop: Stop) -> Result<u32, Stop> {
        loop {
            // Every other window would run into this one again.
            if stop.problem.is_final() {
                return Err(stop);
            }
            let looked_through = self.tape.looked_through();
            let places = (0..self.scopes.len()).rev();
            let scopes = places.filter_map(|place| Some((place, *self.scopes.get(place)?)));
            let mut catching = scopes.filter(|(_, scope)| scope.catches);
            let found = catching.find(|(place, _)| self.tape.can_give_up(*place));
            let Some((place, scope)) = found else {
                return Err(stop);
            };
            if !matches!(stop.problem, Problem::Told | Problem::NotWritten) {
                self.report(stop.field, self.tape.at(), stop.problem);
            }
            let mut inside = (place..self.scopes.len()).filter_map(|it| self.scopes.get(it));
            // How far it was looked for what is not there, nobody has noted.
            if inside.any(|scope| scope.elsewhere.is_some()) {
                self.count_elsewhere(looked_through)?;
            }
            self.leave_scopes(place + 1);
            self.scopes.pop();
            self.end_messages(scope.open);
            self.frames.truncate(scope.frames);
            self.base = scope.base;
            let rest = self.tape.rest();
            let stopped = (scope.depth, Rest::of(stop.problem));
            self.sink.rest_of_window(scope.rest, rest, Some(stopped));
            let ended = if scope.is_layer {
                self.close_layer(scope.text)
            } else {
                self.tape.end_window().map_err(Stop::here)
            };
            self.tape.set_byte_order(scope.order);
            match ended {
                Ok(()) => return Ok(scope.end),
                Err(next) => stop = next,
            }
        }
    }
}
