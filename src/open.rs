//! From paths on the command line to a story.

use std::path::Path;
use std::sync::Arc;

use netreel_protocol::history::History;
use netreel_protocol::query::Query;
use netreel_protocol::session::{ReelInput, Session, SessionTime};
use netreel_wire::Wire;

use crate::arguments::Read;
use crate::outcome::Failure;

/// A session and what followed from its packets.
pub struct Story {
    pub session: Session,
    pub history: History,
}

/// Opens what `arguments` name. What is missing is said on the error output.
pub fn story(arguments: &Read) -> Result<Story, Failure> {
    let wire = arguments.wire.as_deref().map(wire).transpose()?;
    build(reels(&arguments.paths)?, wire)
}

/// Makes a story of reels. What is missing is said on the error output.
pub fn build(reels: Vec<ReelInput>, wire: Option<Arc<Wire>>) -> Result<Story, Failure> {
    let session = Session::build(reels, wire).map_err(Failure::new)?;
    for warning in &session.warnings {
        anstream::eprintln!("netreel: {warning}");
    }
    let history = History::build(&session);
    Ok(Story { session, history })
}

/// Opens the reels that `paths` name. Those that cannot be opened are said on the error output,
/// as long as there are others.
pub fn reels(paths: &[impl AsRef<Path>]) -> Result<Vec<ReelInput>, Failure> {
    let opened = netreel_capture::open_session(paths).map_err(Failure::new)?;
    for failed in &opened.failed {
        anstream::eprintln!("netreel: {failed}");
    }
    let inputs = opened.reels.into_iter().map(|opened| ReelInput {
        name: opened.path.display().to_string(),
        reel: opened.reel,
    });
    Ok(inputs.collect())
}

/// Compiles a wire file.
pub fn wire(path: &Path) -> Result<Arc<Wire>, Failure> {
    let text = std::fs::read_to_string(path)
        .map_err(|error| Failure::new(format!("wire {}: {error}", path.display())))?;
    let wire = Wire::compile(&path.display().to_string(), &text).map_err(Failure::new)?;
    Ok(Arc::new(wire))
}

/// The filter that was given, or one that everything fits. Names that the session does not have
/// are said on the error output.
pub fn query(filter: Option<&str>, session: &Session) -> Result<Query, Failure> {
    let query = Query::parse(filter.unwrap_or_default())
        .map_err(|error| Failure::new(format!("--filter: {error}")))?;
    for sentence in query.unknown_names(session) {
        anstream::eprintln!("netreel: --filter: {sentence}");
    }
    Ok(query)
}

/// A time of the session: `1.25s`, `300ms`, or seconds without a unit.
pub fn time(text: &str) -> Result<SessionTime, Failure> {
    let units = [
        ("ns", 1.0),
        ("us", 1e3),
        ("µs", 1e3),
        ("ms", 1e6),
        ("s", 1e9),
        ("", 1e9),
    ];
    let parsed = units.iter().find_map(|(unit, nanos)| {
        let number = text.trim().strip_suffix(unit)?.trim().parse::<f64>().ok()?;
        number
            .is_finite()
            .then_some(SessionTime((number * nanos) as i64))
    });
    parsed.ok_or_else(|| {
        Failure::new(format!(
            "`{text}` is not a time of the session; write `1.25s` or `300ms`"
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, nanos: i64) {
        assert_eq!(time(text).ok(), Some(SessionTime(nanos)));
    }

    #[test]
    fn a_time_without_a_unit_is_in_seconds() {
        check("1.5", 1_500_000_000);
    }

    #[test]
    fn a_time_may_have_a_unit() {
        check("300ms", 300_000_000);
        check("20 us", 20_000);
        check("2s", 2_000_000_000);
    }

    #[test]
    fn a_time_that_is_none_says_how_to_write_one() {
        assert!(
            time("soon")
                .err()
                .unwrap()
                .to_string()
                .contains("write `1.25s`")
        );
    }
}
