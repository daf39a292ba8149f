//! A stack whose first entries take no memory of their own: most packets open few windows.

/// How many entries stand in the stack itself.
const NEAR: usize = 4;

#[derive(Debug)]
pub(super) struct Stack<T> {
    near: [Option<T>; NEAR],
    /// What did not fit.
    far: Vec<T>,
    length: usize,
}

impl<T: Copy> Stack<T> {
    pub(super) fn new() -> Stack<T> {
        Stack {
            near: [None; NEAR],
            far: Vec::new(),
            length: 0,
        }
    }

    #[inline]
    pub(super) fn push(&mut self, entry: T) {
        match self.near.get_mut(self.length) {
            Some(place) => *place = Some(entry),
            None => self.far.push(entry),
        }
        self.length += 1;
    }

    #[inline]
    pub(super) fn pop(&mut self) -> Option<T> {
        self.length = self.length.checked_sub(1)?;
        match self.near.get(self.length) {
            Some(entry) => *entry,
            None => self.far.pop(),
        }
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        self.length
    }

    #[inline]
    pub(super) fn get(&self, place: usize) -> Option<&T> {
        if place >= self.length {
            return None;
        }
        match self.near.get(place) {
            Some(entry) => entry.as_ref(),
            None => self.far.get(place - NEAR),
        }
    }

    #[inline]
    pub(super) fn last(&self) -> Option<&T> {
        self.get(self.length.checked_sub(1)?)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &T> {
        (0..self.length).filter_map(|place| self.get(place))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_comes_back_in_order_too() {
        let mut stack = Stack::new();
        (0..10).for_each(|entry| stack.push(entry));
        assert_eq!(stack.pop(), Some(9));
        (6..9)
            .rev()
            .for_each(|entry| assert_eq!(stack.pop(), Some(entry)));
        assert_eq!(
            (stack.last(), stack.get(6), stack.len()),
            (Some(&5), None, 6)
        );
        assert_eq!(
            stack.iter().copied().collect::<Vec<i32>>(),
            [0, 1, 2, 3, 4, 5]
        );
        let rest: Vec<i32> = std::iter::from_fn(|| stack.pop()).collect();
        assert_eq!(rest, [5, 4, 3, 2, 1, 0]);
        stack.push(7);
        assert_eq!(stack.iter().copied().collect::<Vec<i32>>(), [7]);
    }
}
