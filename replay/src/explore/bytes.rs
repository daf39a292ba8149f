//! Values as bytes, for an exploration that is kept in a file: whole numbers as LEB128, lists with their
//! lengths before them.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

/// What is written and read.
pub(super) trait Bytes: Sized {
    /// Puts it behind `out`.
    fn write(&self, out: &mut Vec<u8>);

    /// Takes it from the front; `None` where there is none.
    fn read(from: &mut &[u8]) -> Option<Self>;
}

impl Bytes for u64 {
    fn write(&self, out: &mut Vec<u8>) {
        let mut left = *self;
        while left >= 0x80 {
            out.push(left as u8 | 0x80);
            left >>= 7;
        }
        out.push(left as u8);
    }

    fn read(from: &mut &[u8]) -> Option<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let (&byte, rest) = from.split_first()?;
            *from = rest;
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(number);
            }
        }
        None
    }
}

impl Bytes for i64 {
    fn write(&self, out: &mut Vec<u8>) {
        // Small negative numbers are short as well.
        (((self << 1) ^ (self >> 63)) as u64).write(out);
    }

    fn read(from: &mut &[u8]) -> Option<i64> {
        let number = u64::read(from)?;
        Some((number >> 1) as i64 ^ -((number & 1) as i64))
    }
}

macro_rules! as_u64 {
    ($($kind:ty),*) => {$(
        impl Bytes for $kind {
            fn write(&self, out: &mut Vec<u8>) {
                (*self as u64).write(out);
            }

            fn read(from: &mut &[u8]) -> Option<$kind> {
                u64::read(from)?.try_into().ok()
            }
        }
    )*};
}

as_u64!(usize, u32, u8);

impl Bytes for bool {
    fn write(&self, out: &mut Vec<u8>) {
        u64::from(*self).write(out);
    }

    fn read(from: &mut &[u8]) -> Option<bool> {
        match u64::read(from)? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }
}

impl Bytes for String {
    fn write(&self, out: &mut Vec<u8>) {
        self.len().write(out);
        out.extend_from_slice(self.as_bytes());
    }

    fn read(from: &mut &[u8]) -> Option<String> {
        let length = usize::read(from)?;
        let (text, rest) = from.split_at_checked(length)?;
        *from = rest;
        String::from_utf8(text.to_vec()).ok()
    }
}

impl<T: Bytes> Bytes for Option<T> {
    fn write(&self, out: &mut Vec<u8>) {
        self.is_some().write(out);
        self.iter().for_each(|it| it.write(out));
    }

    fn read(from: &mut &[u8]) -> Option<Option<T>> {
        if bool::read(from)? {
            T::read(from).map(Some)
        } else {
            Some(None)
        }
    }
}

macro_rules! tuples {
    ($(($($name:ident $place:tt),*)),*) => {$(
        impl<$($name: Bytes),*> Bytes for ($($name,)*) {
            fn write(&self, out: &mut Vec<u8>) {
                $(self.$place.write(out);)*
            }

            fn read(from: &mut &[u8]) -> Option<Self> {
                Some(($($name::read(from)?,)*))
            }
        }
    )*};
}

tuples!((A 0, B 1), (A 0, B 1, C 2), (A 0, B 1, C 2, D 3));

macro_rules! lists {
    ($($kind:ty, ($($bound:tt)*);)*) => {$(
        impl<$($bound)*> Bytes for $kind {
            fn write(&self, out: &mut Vec<u8>) {
                self.len().write(out);
                self.iter().for_each(|it| it.write(out));
            }

            fn read(from: &mut &[u8]) -> Option<Self> {
                let length = usize::read(from)?;
                // No length is trusted: whoever has so many has them here.
                (0..length).map(|_| T::read(from)).collect()
            }
        }
    )*};
}

lists! {
    Vec<T>, (T: Bytes);
    VecDeque<T>, (T: Bytes);
    BTreeSet<T>, (T: Bytes + Ord);
    Arc<[T]>, (T: Bytes);
}

impl<K: Bytes + Ord, V: Bytes> Bytes for BTreeMap<K, V> {
    fn write(&self, out: &mut Vec<u8>) {
        self.len().write(out);
        for (key, value) in self {
            key.write(out);
            value.write(out);
        }
    }

    fn read(from: &mut &[u8]) -> Option<Self> {
        let length = usize::read(from)?;
        (0..length).map(|_| <(K, V)>::read(from)).collect()
    }
}

/// A struct is its fields, one behind the other.
macro_rules! fields {
    ($kind:ident { $($field:ident),* $(,)? }) => {
        impl $crate::explore::bytes::Bytes for $kind {
            fn write(&self, out: &mut Vec<u8>) {
                $($crate::explore::bytes::Bytes::write(&self.$field, out);)*
            }

            fn read(from: &mut &[u8]) -> Option<Self> {
                $(let $field = $crate::explore::bytes::Bytes::read(from)?;)*
                Some($kind { $($field),* })
            }
        }
    };
}

pub(super) use fields;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_read() {
        let all: Vec<(u64, i64, Option<String>)> = vec![
            (0, -1, None),
            (127, i64::MIN, Some("a".to_owned())),
            (u64::MAX, i64::MAX, Some(String::new())),
        ];
        let mut bytes = Vec::new();
        all.write(&mut bytes);
        let mut from = &bytes[..];
        assert_eq!(Vec::read(&mut from), Some(all));
        assert!(from.is_empty());
    }

    #[test]
    fn what_is_cut_is_not_read_and_no_length_is_trusted() {
        let mut bytes = Vec::new();
        vec![1u64, 300].write(&mut bytes);
        for length in 0..bytes.len() {
            assert_eq!(Vec::<u64>::read(&mut &bytes[..length]), None);
        }
        let mut many = Vec::new();
        u64::MAX.write(&mut many);
        assert_eq!(Vec::<u64>::read(&mut &many[..]), None);
        assert_eq!(String::read(&mut &many[..]), None);
    }
}
