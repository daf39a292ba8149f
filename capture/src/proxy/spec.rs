//! The words that say what faults a proxy makes.

use std::collections::BTreeSet;
use std::fmt;
use std::num::NonZeroU64;
use std::str::FromStr;
use std::time::Duration;

use netreel_transport::LinkFaults;

/// What is wrong with every link through a proxy, for each direction.
///
/// Read from words such as `delay=50ms,jitter=10ms,loss=2%,down:rate=1mbit`: items with commas
/// between them, each for both directions unless `up:` (to the server) or `down:` (from it) stands
/// before it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FaultSpec {
    /// Towards the server.
    pub up: WayFaults,
    /// From the server.
    pub down: WayFaults,
}

/// What is wrong with one direction of a link.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WayFaults {
    /// Delay, jitter, loss, duplication and reordering: a function of seed, link and the packet's
    /// number on the link.
    pub link: LinkFaults,
    /// Bits a second that the link carries; every packet has [`HEADERS`] bytes beyond its payload.
    pub rate: Option<u64>,
    /// A packet that would wait longer than this for the link is dropped.
    pub queue: Duration,
}

/// Bytes of IPv4 and UDP headers, which take their share of a link's bandwidth.
pub const HEADERS: usize = 28;

/// Longer nothing is held back.
const DELAY_MAX: Duration = Duration::from_secs(60);

impl Default for WayFaults {
    fn default() -> WayFaults {
        WayFaults {
            link: LinkFaults::default(),
            rate: None,
            queue: Duration::from_millis(200),
        }
    }
}

impl WayFaults {
    /// Whether every packet passes at once.
    pub fn is_clean(&self) -> bool {
        let LinkFaults {
            delay,
            jitter,
            loss,
            burst,
            burst_length: _,
            burst_loss: _,
            corrupt,
            duplicate,
            reorder,
            reorder_by: _,
            bytes_max,
            every,
        } = self.link;
        let chances = [loss, burst, corrupt, duplicate, reorder];
        delay.is_zero()
            && jitter.is_zero()
            && chances.iter().all(|&chance| chance <= 0.0)
            && bytes_max.is_none()
            && every.is_none()
            && self.rate.is_none()
    }
}

impl FaultSpec {
    /// Whether every packet passes at once.
    pub fn is_clean(&self) -> bool {
        self.up.is_clean() && self.down.is_clean()
    }
}

/// Words that are no faults.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{item}`: {why}")]
pub struct SpecError {
    /// The item that is wrong.
    pub item: String,
    /// What is wrong with it, and what is understood.
    pub why: String,
}

impl FromStr for FaultSpec {
    type Err = SpecError;

    fn from_str(words: &str) -> Result<FaultSpec, SpecError> {
        let mut spec = FaultSpec::default();
        let (mut given_up, mut given_down) = (BTreeSet::new(), BTreeSet::new());
        for item in words.split(',').map(str::trim) {
            let wrong = |why: String| SpecError {
                item: item.to_owned(),
                why,
            };
            let (ways, rest) = match (item.strip_prefix("up:"), item.strip_prefix("down:")) {
                (Some(rest), _) => (&mut [(&mut spec.up, &mut given_up)][..], rest),
                (_, Some(rest)) => (&mut [(&mut spec.down, &mut given_down)][..], rest),
                _ => (
                    &mut [
                        (&mut spec.up, &mut given_up),
                        (&mut spec.down, &mut given_down),
                    ][..],
                    item,
                ),
            };
            let (name, value) = rest
                .split_once('=')
                .ok_or_else(|| wrong("this is no NAME=VALUE, such as delay=50ms".to_owned()))?;
            let name = name.trim();
            for (way, given) in ways {
                set(way, name, value.trim()).map_err(wrong)?;
                if !given.insert(name) {
                    return Err(wrong(format!(
                        "{name} is given a second time for one direction; leave one of them out"
                    )));
                }
            }
        }
        Ok(spec)
    }
}

fn set(way: &mut WayFaults, name: &str, value: &str) -> Result<(), String> {
    let link = &mut way.link;
    match name {
        "delay" => link.delay = time(value)?,
        "jitter" => link.jitter = time(value)?,
        "loss" => link.loss = chance(value)?,
        "burst" => link.burst = chance(value)?,
        "burst-length" => link.burst_length = packets(value)?,
        "burst-loss" => link.burst_loss = chance(value)?,
        "corrupt" => link.corrupt = chance(value)?,
        "dup" => link.duplicate = chance(value)?,
        "reorder" => link.reorder = chance(value)?,
        "reorder-by" => link.reorder_by = time(value)?,
        "bytes-max" => link.bytes_max = Some(whole(value)? as usize),
        "every" => {
            let every = NonZeroU64::new(whole(value)?);
            link.every = Some(every.ok_or("there is no 0th packet")?);
        }
        "rate" => way.rate = Some(rate(value)?),
        "queue" => way.queue = time(value)?,
        _ => {
            return Err(
                "there is no such fault; there are delay, jitter, loss, burst, \
                 burst-length, burst-loss, corrupt, dup, reorder, reorder-by, bytes-max, every, rate and queue"
                    .to_owned(),
            );
        }
    }
    Ok(())
}

/// A whole number.
fn whole(value: &str) -> Result<u64, String> {
    let number = value.parse::<u64>();
    number.map_err(|_| format!("`{value}` is no whole number"))
}

/// How many packets on average.
fn packets(value: &str) -> Result<f64, String> {
    let number = value.parse::<f64>().ok();
    number
        .filter(|number| (1.0..=1000.0).contains(number))
        .ok_or_else(|| "a burst has from 1 to 1000 packets on average".to_owned())
}

/// A number and the unit behind it.
fn number(value: &str) -> Option<(f64, &str)> {
    let end = value
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(value.len());
    let (number, unit) = value.split_at(end);
    let number: f64 = number.parse().ok()?;
    number.is_finite().then_some((number, unit))
}

fn time(value: &str) -> Result<Duration, String> {
    let seconds = number(value)
        .and_then(|(number, unit)| {
            let one = match unit {
                "s" => 1.0,
                "ms" => 1e-3,
                "us" | "µs" => 1e-6,
                _ => return None,
            };
            Some(number * one)
        })
        .ok_or("a time has a unit: us, ms or s, such as 50ms")?;
    match Duration::try_from_secs_f64(seconds) {
        Ok(time) if time <= DELAY_MAX => Ok(time),
        _ => Err(format!("times go up to {} s", DELAY_MAX.as_secs())),
    }
}

fn chance(value: &str) -> Result<f64, String> {
    let chance = number(value).and_then(|(number, unit)| match unit {
        "%" => Some(number / 100.0),
        "" => Some(number),
        _ => None,
    });
    chance
        .filter(|chance| (0.0..=1.0).contains(chance))
        .ok_or_else(|| "a chance goes from 0 to 1, or from 0% to 100%".to_owned())
}

fn rate(value: &str) -> Result<u64, String> {
    let bits = number(value).and_then(|(number, unit)| {
        let one = match unit {
            "bit" => 1.0,
            "kbit" => 1e3,
            "mbit" => 1e6,
            "gbit" => 1e9,
            _ => return None,
        };
        Some(number * one)
    });
    let bits =
        bits.ok_or("a rate has a unit: bit, kbit, mbit or gbit (a second), such as 1mbit")?;
    if (1e3..=1e12).contains(&bits) {
        Ok(bits as u64)
    } else {
        Err("rates go from 1kbit to 1000gbit".to_owned())
    }
}

impl fmt::Display for FaultSpec {
    /// In the words that it can be read from again; nothing where there are no faults.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut items = Vec::new();
        if self.up == self.down {
            items.extend(words(&self.up, ""));
        } else {
            items.extend(words(&self.up, "up:"));
            items.extend(words(&self.down, "down:"));
        }
        f.write_str(&items.join(","))
    }
}

fn words(way: &WayFaults, prefix: &str) -> Vec<String> {
    let (link, plain) = (&way.link, WayFaults::default());
    let mut items = Vec::new();
    let mut item = |name: &str, value: String| items.push(format!("{prefix}{name}={value}"));
    let us = |time: Duration| format!("{}us", time.as_nanos() as f64 / 1e3);
    for (name, time, usual) in [
        ("delay", link.delay, plain.link.delay),
        ("jitter", link.jitter, plain.link.jitter),
        ("reorder-by", link.reorder_by, plain.link.reorder_by),
        ("queue", way.queue, plain.queue),
    ] {
        if time != usual {
            item(name, us(time));
        }
    }
    for (name, chance) in [
        ("loss", link.loss),
        ("burst", link.burst),
        ("corrupt", link.corrupt),
        ("dup", link.duplicate),
        ("reorder", link.reorder),
    ] {
        if chance > 0.0 {
            item(name, chance.to_string());
        }
    }
    let bursts = [
        ("burst-length", link.burst_length, plain.link.burst_length),
        ("burst-loss", link.burst_loss, plain.link.burst_loss),
    ];
    for (name, number, _) in bursts.iter().filter(|it| it.1.total_cmp(&it.2).is_ne()) {
        item(name, number.to_string());
    }
    if let Some(most) = link.bytes_max {
        item("bytes-max", most.to_string());
    }
    if let Some(every) = link.every {
        item("every", every.to_string());
    }
    if let Some(rate) = way.rate {
        item("rate", format!("{rate}bit"));
    }
    items
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(words: &str) -> FaultSpec {
        words.parse().unwrap()
    }

    #[test]
    fn an_item_is_for_both_directions_unless_one_stands_before_it() {
        let spec = read("delay=50ms,down:loss=2%, up:rate=1.5mbit");
        assert_eq!(spec.up.link.delay, Duration::from_millis(50));
        assert_eq!(spec.down.link.delay, Duration::from_millis(50));
        assert_eq!((spec.up.link.loss, spec.down.link.loss), (0.0, 0.02));
        assert_eq!((spec.up.rate, spec.down.rate), (Some(1_500_000), None));
        assert!(!spec.is_clean());
    }

    #[test]
    fn what_is_printed_is_read_as_the_same() {
        for words in [
            "delay=50ms,jitter=10ms,loss=2%,dup=1%,reorder=5%,rate=1mbit",
            "up:delay=1.5s,down:queue=0.5ms,down:reorder-by=7us,up:dup=0.25",
            "down:rate=64kbit",
            "bytes-max=1300,down:every=64",
            "burst=1%,burst-length=12.5,down:burst-loss=0.8,up:corrupt=0.1%",
        ] {
            let spec = read(words);
            assert_eq!(read(&spec.to_string()), spec, "{spec}");
        }
        assert_eq!(FaultSpec::default().to_string(), "");
    }

    #[test]
    fn what_cannot_be_read_says_what_can() {
        let why = |words: &str| words.parse::<FaultSpec>().unwrap_err().to_string();
        assert_eq!(
            why("delay=50"),
            "`delay=50`: a time has a unit: us, ms or s, such as 50ms"
        );
        assert_eq!(
            why("loss=200%"),
            "`loss=200%`: a chance goes from 0 to 1, or from 0% to 100%"
        );
        assert_eq!(why("delay=9000s"), "`delay=9000s`: times go up to 60 s");
        let twice = "loss is given a second time for one direction; leave one of them out";
        assert_eq!(why("loss=1%,loss=50%"), format!("`loss=50%`: {twice}"));
        assert_eq!(why("loss=1%,up:loss=2%"), format!("`up:loss=2%`: {twice}"));
        assert!("up:loss=1%,down:loss=2%".parse::<FaultSpec>().is_ok());
        for wrong in [
            "",
            "delay",
            "lag=5ms",
            "rate=1",
            "rate=0bit",
            "every=0",
            "bytes-max=many",
            "loss=-1",
            "burst-length=0.5",
            "burst=2",
            "delay=1e400s",
        ] {
            assert!(wrong.parse::<FaultSpec>().is_err(), "{wrong}");
        }
    }
}
