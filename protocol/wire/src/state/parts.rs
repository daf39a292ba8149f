//! Split messages under way: parts by index until all are there.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::limits::{JOINED_BYTES_MAX, PARTS_BYTES_MAX, PARTS_MAX};

/// Messages of which some parts have come, at most as many as the capacity and
/// [`PARTS_BYTES_MAX`] bytes; the one that began longest ago is given up first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Parts {
    capacity: usize,
    /// In the order in which they began. Shared by checkpoints until a part comes.
    under_way: Vec<Arc<Partial>>,
}

/// One message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Partial {
    key: i128,
    /// `None` while no part has told it.
    count: Option<u32>,
    /// Sorted by part.
    places: Vec<Place>,
    /// The parts in the order in which they came.
    bytes: Vec<u8>,
}

/// Where a part stands in [`Partial::bytes`].
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct Place {
    part: u32,
    start: u32,
    length: u32,
}

/// Why a part cannot be taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BadPart {
    /// There is no such part in this many.
    Index { index: i128, count: i128 },
    /// A message of this many parts is not joined.
    TooMany { count: i128 },
    /// The message has more than [`JOINED_BYTES_MAX`] bytes.
    TooLong,
}

impl Parts {
    pub(crate) fn new(capacity: usize) -> Parts {
        Parts {
            capacity: capacity.max(1),
            under_way: Vec::new(),
        }
    }

    /// Takes a part. Where it was the last that lacked, `whole` is filled with the message and the
    /// result is true. A part that comes again replaces the first; another count begins anew. A
    /// count of 0 is one that this part does not tell.
    pub(crate) fn add(
        &mut self,
        key: i128,
        (index, count): (i128, i128),
        data: &[u8],
        whole: &mut Vec<u8>,
    ) -> Result<bool, BadPart> {
        if count > i128::from(PARTS_MAX) {
            return Err(BadPart::TooMany { count });
        }
        let indices = if count == 0 { PARTS_MAX.into() } else { count };
        if index < 0 || index >= indices {
            return Err(BadPart::Index { index, count });
        }
        let (index, count) = (index as u32, (count != 0).then_some(count as u32));
        if data.len() > JOINED_BYTES_MAX {
            return Err(BadPart::TooLong);
        }
        let place = self.place(key, index, count);
        let Some(shared) = self.under_way.get_mut(place) else {
            return Ok(false);
        };
        let partial = Arc::make_mut(shared);
        if partial.bytes.len() + data.len() > JOINED_BYTES_MAX {
            self.under_way.remove(place);
            return Err(BadPart::TooLong);
        }
        partial.add(index, data);
        if partial.count.map(|count| count as usize) == Some(partial.places.len()) {
            partial.join(whole);
            self.under_way.remove(place);
            return Ok(true);
        }
        while self.bytes() > PARTS_BYTES_MAX {
            self.under_way.remove(0);
        }
        Ok(false)
    }

    /// How many bytes it holds.
    pub(crate) fn bytes(&self) -> usize {
        self.under_way
            .iter()
            .map(|partial| partial.bytes.len())
            .sum()
    }

    /// The message with this key, begun anew where it has another count.
    fn place(&mut self, key: i128, index: u32, count: Option<u32>) -> usize {
        let known = self.under_way.iter().position(|each| each.key == key);
        if let Some(place) = known
            && let Some(shared) = self.under_way.get_mut(place)
        {
            if shared.fits(index, count) {
                if shared.count.is_none() && count.is_some() {
                    Arc::make_mut(shared).count = count;
                }
                return place;
            }
            self.under_way.remove(place);
        } else if self.under_way.len() >= self.capacity {
            self.under_way.remove(0);
        }
        self.under_way.push(Arc::new(Partial {
            key,
            count,
            places: Vec::new(),
            bytes: Vec::new(),
        }));
        self.under_way.len() - 1
    }
}

impl Partial {
    /// Whether the message can have this part, and this many.
    fn fits(&self, index: u32, count: Option<u32>) -> bool {
        match (self.count, count) {
            (None, None) => true,
            (Some(known), None) => index < known,
            (Some(known), Some(count)) => known == count,
            (None, Some(count)) => self.places.last().is_none_or(|last| last.part < count),
        }
    }

    fn add(&mut self, part: u32, data: &[u8]) {
        let found = self.places.binary_search_by_key(&part, |place| place.part);
        if let Ok(known) = found
            && let Some(place) = self.places.get(known)
            && place.length as usize == data.len()
        {
            let start = place.start as usize;
            if let Some(old) = self.bytes.get_mut(start..start + data.len()) {
                old.copy_from_slice(data);
            }
            return;
        }
        let place = Place {
            part,
            start: self.bytes.len() as u32,
            length: data.len() as u32,
        };
        self.bytes.extend_from_slice(data);
        match found {
            Ok(known) => self.places[known] = place,
            Err(new) => self.places.insert(new, place),
        }
    }

    fn join(&self, whole: &mut Vec<u8>) {
        whole.clear();
        for place in &self.places {
            let start = place.start as usize;
            let part = self.bytes.get(start..start + place.length as usize);
            whole.extend_from_slice(part.unwrap_or_default());
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn add(parts: &mut Parts, key: i128, part: (i128, i128), data: &[u8]) -> Option<Vec<u8>> {
        let mut whole = Vec::new();
        match parts.add(key, part, data, &mut whole) {
            Ok(true) => Some(whole),
            Ok(false) => None,
            Err(why) => panic!("{why:?}"),
        }
    }

    #[test]
    fn the_last_part_that_lacks_completes_the_message() {
        let mut parts = Parts::new(4);
        assert_eq!(add(&mut parts, 9, (2, 3), b"c"), None);
        assert_eq!(add(&mut parts, 9, (0, 3), b"aa"), None);
        assert_eq!(add(&mut parts, 9, (2, 3), b"cc"), None);
        assert_eq!(
            add(&mut parts, 9, (1, 3), b""),
            Some(b"aacc".to_vec()),
            "a part that came again counts once"
        );
        assert_eq!(parts.bytes(), 0);
    }

    #[test]
    fn the_oldest_message_makes_room() {
        let mut parts = Parts::new(2);
        for key in [1, 2, 3] {
            add(&mut parts, key, (0, 2), b"a");
        }
        assert_eq!(add(&mut parts, 1, (1, 2), b"b"), None, "1 was given up");
        assert_eq!(add(&mut parts, 3, (1, 2), b"b"), Some(b"ab".to_vec()));
    }

    #[test]
    fn another_count_begins_anew() {
        let mut parts = Parts::new(2);
        add(&mut parts, 1, (0, 3), b"old");
        add(&mut parts, 1, (0, 2), b"a");
        assert_eq!(add(&mut parts, 1, (1, 2), b"b"), Some(b"ab".to_vec()));
    }

    #[test]
    fn the_count_may_come_with_any_part() {
        let mut parts = Parts::new(2);
        add(&mut parts, 1, (0, 0), b"a");
        add(&mut parts, 1, (2, 3), b"c");
        assert_eq!(add(&mut parts, 1, (1, 0), b"b"), Some(b"abc".to_vec()));
        assert_eq!(add(&mut parts, 1, (0, 1), b"d"), Some(b"d".to_vec()));
        add(&mut parts, 1, (2, 0), b"of a longer message");
        add(&mut parts, 1, (1, 2), b"b");
        assert_eq!(add(&mut parts, 1, (0, 0), b"a"), Some(b"ab".to_vec()));
        add(&mut parts, 1, (1, 2), b"b");
        add(&mut parts, 1, (2, 0), b"of a longer message");
        assert_eq!(add(&mut parts, 1, (0, 2), b"a"), None);
    }

    #[test]
    fn parts_that_cannot_be_are_refused() {
        let mut parts = Parts::new(2);
        let mut whole = Vec::new();
        let mut refused = |part, data: &[u8]| parts.add(1, part, data, &mut whole).unwrap_err();
        let index = |index, count| BadPart::Index { index, count };
        assert_eq!(refused((2, 2), b""), index(2, 2));
        assert_eq!(refused((-1, 2), b""), index(-1, 2));
        assert_eq!(
            refused((PARTS_MAX.into(), 0), b""),
            index(PARTS_MAX.into(), 0)
        );
        let count = i128::from(PARTS_MAX) + 1;
        assert_eq!(refused((0, count), b""), BadPart::TooMany { count });
        let long = vec![0; JOINED_BYTES_MAX + 1];
        assert_eq!(refused((0, 2), &long), BadPart::TooLong);
    }

    #[test]
    fn bytes_are_bounded() {
        let mut parts = Parts::new(4096);
        let data = vec![0; JOINED_BYTES_MAX];
        for key in 0..10 {
            add(&mut parts, key, (0, 2), &data);
            assert!(parts.bytes() <= PARTS_BYTES_MAX);
        }
    }

    proptest! {
        #[test]
        fn any_order_of_parts_joins_to_the_same(
            pieces in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..5), 1..8),
            seed in prop::collection::vec(any::<u16>(), 8),
        ) {
            let mut order: Vec<usize> = (0..pieces.len()).collect();
            order.sort_by_key(|&place| seed[place]);
            let mut parts = Parts::new(2);
            let mut joined = None;
            for place in order {
                prop_assert_eq!(&joined, &None);
                let part = (place as i128, pieces.len() as i128);
                joined = add(&mut parts, 5, part, &pieces[place]);
            }
            prop_assert_eq!(joined, Some(pieces.concat()));
        }
    }
}
