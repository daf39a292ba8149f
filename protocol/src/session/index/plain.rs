//! How structures go into an index and come out of it: by lists of their fields, and through serde.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use bincode::config::{Configuration, Limit};
use netreel_table::{Blobs, Column, Misfit, Putting, Taking};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// What goes through serde takes no more memory than this at a time, whatever its bytes say.
const PLAIN_MAX: usize = 1 << 30;

fn configuration()
-> Configuration<bincode::config::LittleEndian, bincode::config::Varint, Limit<PLAIN_MAX>> {
    bincode::config::standard().with_limit::<PLAIN_MAX>()
}

/// Puts what serde can write.
pub(crate) fn put_plain<T: Serialize>(it: &T, to: &mut Putting<'_>) -> io::Result<()> {
    let bytes = bincode::serde::encode_to_vec(it, configuration()).map_err(io::Error::other)?;
    to.bytes(&bytes)
}

/// Takes what [`put_plain`] put.
pub(crate) fn take_plain<T: DeserializeOwned>(from: &mut Taking) -> Result<T, Misfit> {
    let bytes = from.bytes()?;
    let taken = bincode::serde::decode_from_slice(&bytes, configuration());
    let (it, length) = taken.map_err(|_| Misfit)?;
    if length == bytes.len() {
        Ok(it)
    } else {
        Err(Misfit)
    }
}

/// Puts a list of what is put one by one.
pub(crate) fn put_list<T>(
    list: &[T],
    to: &mut Putting<'_>,
    mut put: impl FnMut(&T, &mut Putting<'_>) -> io::Result<()>,
) -> io::Result<()> {
    to.number(list.len() as u64)?;
    list.iter().try_for_each(|it| put(it, to))
}

/// Takes what [`put_list`] put.
pub(crate) fn take_list<T>(
    from: &mut Taking,
    mut take: impl FnMut(&mut Taking) -> Result<T, Misfit>,
) -> Result<Vec<T>, Misfit> {
    let count = from.number()?;
    let mut list = Vec::new();
    for _ in 0..count {
        list.push(take(from)?);
    }
    Ok(list)
}

/// What stands in an index.
pub(crate) trait Indexed: Sized {
    /// Puts it into an index.
    fn put(&self, to: &mut Putting<'_>) -> io::Result<()>;

    /// Takes what was put.
    fn take(from: &mut Taking) -> Result<Self, Misfit>;
}

/// Says what of a structure stands in an index, in its order: fields in parentheses go through serde, all
/// at once, and the others by themselves. Those behind `but` do not stand there. A field that is in none of
/// these does not compile.
macro_rules! indexed {
    (
        $of:ident: $(($($first:ident),+))? $($own:ident),* $(; ($($last:ident),+))? $(but $left:ident)?
    ) => {
        const _: () = {
            use netreel_table::{Misfit, Putting, Taking};
            use $crate::session::plain::*;

            impl Indexed for $of {
                fn put(&self, to: &mut Putting<'_>) -> std::io::Result<()> {
                    let $of { $($($first,)+)? $($own,)* $($($last,)+)? $($left: _)? } = self;
                    $(put_plain(&($($first,)+), to)?;)?
                    $($own.put(to)?;)*
                    $(put_plain(&($($last,)+), to)?;)?
                    Ok(())
                }

                fn take(from: &mut Taking) -> Result<$of, Misfit> {
                    $(let ($($first,)+) = take_plain(from)?;)?
                    $(let $own = Indexed::take(from)?;)*
                    $(let ($($last,)+) = take_plain(from)?;)?
                    Ok($of {
                        $($($first,)+)? $($own,)* $($($last,)+)? $($left: Default::default())?
                    })
                }
            }
        };
    };
}
pub(crate) use indexed;

impl Indexed for Column {
    fn put(&self, to: &mut Putting<'_>) -> io::Result<()> {
        to.column(self)
    }

    fn take(from: &mut Taking) -> Result<Column, Misfit> {
        from.column()
    }
}

impl Indexed for Blobs {
    fn put(&self, to: &mut Putting<'_>) -> io::Result<()> {
        to.blobs(self)
    }

    fn take(from: &mut Taking) -> Result<Blobs, Misfit> {
        from.blobs()
    }
}

impl<T: Indexed> Indexed for Arc<T> {
    fn put(&self, to: &mut Putting<'_>) -> io::Result<()> {
        T::put(self, to)
    }

    fn take(from: &mut Taking) -> Result<Arc<T>, Misfit> {
        T::take(from).map(Arc::new)
    }
}

impl<T: Indexed> Indexed for [T; 3] {
    fn put(&self, to: &mut Putting<'_>) -> io::Result<()> {
        self.iter().try_for_each(|it| it.put(to))
    }

    fn take(from: &mut Taking) -> Result<[T; 3], Misfit> {
        Ok([T::take(from)?, T::take(from)?, T::take(from)?])
    }
}

impl<T: Indexed> Indexed for Vec<T> {
    fn put(&self, to: &mut Putting<'_>) -> io::Result<()> {
        put_list(self, to, T::put)
    }

    fn take(from: &mut Taking) -> Result<Vec<T>, Misfit> {
        take_list(from, T::take)
    }
}

impl<T: Indexed> Indexed for BTreeMap<u32, T> {
    fn put(&self, to: &mut Putting<'_>) -> io::Result<()> {
        to.number(self.len() as u64)?;
        self.iter().try_for_each(|(&key, value)| {
            to.number(u64::from(key))?;
            value.put(to)
        })
    }

    fn take(from: &mut Taking) -> Result<BTreeMap<u32, T>, Misfit> {
        let entries = take_list(from, |from| Ok((from.number()? as u32, T::take(from)?)))?;
        Ok(entries.into_iter().collect())
    }
}
