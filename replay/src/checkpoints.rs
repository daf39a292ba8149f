//! States of the layer on the way, so that going back need not start at the beginning.

use std::collections::BTreeMap;

use netreel_reel::EventNumber;

/// The fewest events between two checkpoints.
const SPACING: u64 = 256;

/// States before turns; denser near where one is.
pub(crate) struct Checkpoints {
    states: BTreeMap<EventNumber, Vec<u8>>,
    bytes: usize,
    bytes_max: usize,
}

impl Checkpoints {
    /// Keeps at most this many bytes.
    pub fn new(bytes_max: usize) -> Checkpoints {
        Checkpoints {
            states: BTreeMap::new(),
            bytes: 0,
            bytes_max,
        }
    }

    /// Whether a state at `number` would help.
    pub fn wants(&self, number: EventNumber) -> bool {
        let before = self.states.range(..=number).next_back();
        let before = before.map_or(0, |(before, _)| before.0);
        number.0.saturating_sub(before) >= SPACING
    }

    /// Keeps the state before the turn that begins at `number`; who asks is there.
    pub fn keep(&mut self, number: EventNumber, state: Vec<u8>) {
        if state.len() > self.bytes_max {
            return;
        }
        self.bytes += state.len();
        if let Some(known) = self.states.insert(number, state) {
            self.bytes -= known.len();
        }
        while self.bytes > self.bytes_max {
            let Some(least) = self.least(number) else {
                return;
            };
            if let Some(state) = self.states.remove(&least) {
                self.bytes -= state.len();
            }
        }
    }

    /// The last state at or before `number`.
    pub fn before(&self, number: EventNumber) -> Option<(EventNumber, &[u8])> {
        let (number, state) = self.states.range(..=number).next_back()?;
        Some((*number, state))
    }

    /// How many there are, and how many bytes they have.
    pub fn kept(&self) -> (usize, usize) {
        (self.states.len(), self.bytes)
    }

    /// The one that is missed least: the gap that it would leave is small for how far away it is.
    fn least(&self, here: EventNumber) -> Option<EventNumber> {
        let numbers: Vec<u64> = self.states.keys().map(|number| number.0).collect();
        let mut least: Option<(f64, u64)> = None;
        for (place, &number) in numbers.iter().enumerate() {
            let before = place
                .checked_sub(1)
                .and_then(|place| numbers.get(place))
                .map_or(0, |&it| it);
            let behind = numbers.get(place + 1).map_or(number + SPACING, |&it| it);
            let gap = behind.saturating_sub(before) as f64;
            let distance = number.abs_diff(here.0) as f64 + SPACING as f64;
            let missed = gap / distance;
            if number != here.0 && least.is_none_or(|(known, _)| missed < known) {
                least = Some((missed, number));
            }
        }
        least.map(|(_, number)| EventNumber(number))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(count: u64, bytes_max: usize) -> Checkpoints {
        let mut checkpoints = Checkpoints::new(bytes_max);
        for place in 1..=count {
            let number = EventNumber(place * SPACING);
            assert!(checkpoints.wants(number));
            checkpoints.keep(number, vec![0; 100]);
        }
        checkpoints
    }

    #[test]
    fn no_more_bytes_are_kept_than_allowed() {
        assert_eq!(filled(1000, 3200).kept(), (32, 3200));
    }

    #[test]
    fn they_are_denser_near_where_one_is() {
        let checkpoints = filled(1000, 3200);
        let numbers: Vec<u64> = checkpoints.states.keys().map(|it| it.0).collect();
        let near = numbers[30] - numbers[29];
        let far = numbers[2] - numbers[1];
        assert!(near * 4 < far, "{numbers:?}");
        assert_eq!(numbers[31], 1000 * SPACING);
    }

    #[test]
    fn the_last_before_a_number_is_found() {
        let checkpoints = filled(4, 3200);
        let before = |number| checkpoints.before(EventNumber(number)).map(|(it, _)| it.0);
        assert_eq!(before(SPACING * 2 + 5), Some(SPACING * 2));
        assert_eq!(before(SPACING - 1), None);
    }
}
