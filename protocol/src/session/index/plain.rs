//! What goes into an index through serde, and lists and maps of what does not.

use std::collections::BTreeMap;
use std::io;

use bincode::config::{Configuration, Limit};
use netreel_table::{Misfit, Putting, Taking};
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

/// Puts a map whose values are put one by one.
pub(crate) fn put_map<V>(
    map: &BTreeMap<u32, V>,
    to: &mut Putting<'_>,
    mut put: impl FnMut(&V, &mut Putting<'_>) -> io::Result<()>,
) -> io::Result<()> {
    to.number(map.len() as u64)?;
    map.iter().try_for_each(|(&key, value)| {
        to.number(u64::from(key))?;
        put(value, to)
    })
}

/// Takes what [`put_map`] put.
pub(crate) fn take_map<V>(
    from: &mut Taking,
    mut take: impl FnMut(&mut Taking) -> Result<V, Misfit>,
) -> Result<BTreeMap<u32, V>, Misfit> {
    let entries = take_list(from, |from| Ok((from.number()? as u32, take(from)?)))?;
    Ok(entries.into_iter().collect())
}
