//! Which packets were seen of a node that was not recorded.

use netreel_reel::EventNumber;
use netreel_table::below;

/// The packets that were seen of a node, by the numbers of the observer's events.
pub(crate) enum Seen {
    /// Their own order.
    AsTheyCame(usize),
    /// Their places in the order of their numbers: several observers saw them.
    Sorted(Vec<u32>),
}

impl Seen {
    /// Of this many, each with its number; those without one are not found.
    pub fn of(count: usize, number: impl Fn(usize) -> Option<EventNumber>) -> Seen {
        let numbers = (0..count).map(&number);
        if numbers.is_sorted_by(|one, next| one.is_some() && one <= next) {
            return Seen::AsTheyCame(count);
        }
        let mut places: Vec<u32> = (0..count as u32).collect();
        places.retain(|&place| number(place as usize).is_some());
        places.sort_by_cached_key(|&place| number(place as usize));
        Seen::Sorted(places)
    }

    /// The first place of this number.
    pub fn find(
        &self,
        number: EventNumber,
        number_at: impl Fn(usize) -> Option<EventNumber>,
    ) -> Option<usize> {
        let count = match self {
            Seen::AsTheyCame(count) => *count,
            Seen::Sorted(places) => places.len(),
        };
        let place = |at: usize| match self {
            Seen::AsTheyCame(_) => at,
            Seen::Sorted(places) => places[at] as usize,
        };
        let first = below(0..count, |at| number_at(place(at)) < Some(number));
        let found = (first < count).then(|| place(first))?;
        (number_at(found) == Some(number)).then_some(found)
    }
}

#[cfg(test)]
mod tests {
    use netreel_reel::EventNumber;

    use super::Seen;

    fn found(numbers: &[Option<u64>], number: u64) -> Option<usize> {
        let at = |place: usize| numbers[place].map(EventNumber);
        Seen::of(numbers.len(), at).find(EventNumber(number), at)
    }

    #[test]
    fn the_first_packet_of_a_number_is_found_whatever_their_order() {
        let ascending = [Some(2), Some(5), Some(5), Some(9)];
        let mixed = [Some(9), None, Some(5), Some(2), Some(5)];
        for number in 0..12 {
            for numbers in [&ascending[..], &mixed[..], &[None], &[]] {
                let first = numbers.iter().position(|it| *it == Some(number));
                assert_eq!(found(numbers, number), first, "{number} in {numbers:?}");
            }
        }
    }
}
