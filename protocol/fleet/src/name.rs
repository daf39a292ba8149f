//! What a session is called in a dataset.

use chrono::{DateTime, NaiveDate};
use netreel_protocol::session::Session;
use netreel_reel::Reel;
use twox_hash::XxHash3_64;

/// What a session is called, and the day on which it was: its place in a dataset. Whoever writes the
/// same recording again writes over what it wrote before.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Name {
    /// The day on which it began, in UTC: `2026-11-23`.
    pub date: String,
    /// Tells it from all others: `s` and 16 hexadecimal digits, from what its reels say of themselves
    /// and where they begin. A letter stands first, so that nobody takes it for a number.
    pub session: String,
}

impl Name {
    /// The name of a session.
    pub fn of(session: &Session) -> Name {
        let reels = session.session_reels();
        let mut reels: Vec<u64> = reels.iter().map(|reel| identity(reel.reel)).collect();
        reels.sort_unstable();
        reels.dedup();
        let all: Vec<u8> = reels.iter().flat_map(|it| it.to_le_bytes()).collect();
        Name {
            date: date(session.start_utc_ns),
            session: format!("s{:016x}", XxHash3_64::oneshot(&all)),
        }
    }
}

fn date(utc_ns: i64) -> String {
    let day = DateTime::from_timestamp_nanos(utc_ns).date_naive();
    // A broken reel may claim any time; a year of four digits is one that every reader takes.
    day.clamp(NaiveDate::default(), NaiveDate::MAX)
        .format("%Y-%m-%d")
        .to_string()
}

/// A number that another recording has not: of who was recorded, when, from which start, and of the
/// first event, as a recorder that keeps windows makes several reels of one start.
fn identity(reel: &Reel) -> u64 {
    let header = reel.header();
    let mut told = Vec::new();
    let mut tell = |bytes: &[u8]| {
        told.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
        told.extend_from_slice(bytes);
    };
    tell(header.node.as_bytes());
    tell(&header.session);
    tell(&header.clock.monotonic.0.to_le_bytes());
    tell(&header.clock.utc_ns.to_le_bytes());
    tell(header.clock.boot_id.as_bytes());
    tell(header.engine.as_bytes());
    tell(header.build.as_bytes());
    tell(&header.start);
    for text in &header.args {
        tell(text.as_bytes());
    }
    for (name, seed) in &header.seeds {
        tell(name.as_bytes());
        tell(&seed.to_le_bytes());
    }
    tell(&reel.identity().to_le_bytes());
    if let Some(first) = reel.block_infos().first() {
        tell(&first.first.0.to_le_bytes());
        tell(&first.time.0.to_le_bytes());
    }
    XxHash3_64::oneshot(&told)
}

#[cfg(test)]
mod tests {
    use super::date;

    #[test]
    fn a_date_is_a_day_of_utc_with_four_digits_of_year() {
        assert_eq!(date(0), "1970-01-01");
        assert_eq!(date(1_795_305_599_999_999_999), "2026-11-21");
        assert_eq!(date(i64::MAX), "2262-04-11");
        assert_eq!(date(i64::MIN), "1970-01-01");
    }
}
