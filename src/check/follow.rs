//! `netreel check --follow`: what goes wrong, while it is recorded.

use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use netreel_capture::{OpenError, OpenWhy};
use netreel_protocol::export;
use netreel_protocol::history::{Certain, Finding};
use netreel_protocol::rules::RuleFile;
use netreel_protocol::session::Session;
use netreel_protocol::verdict::Judgement;

use crate::arguments::{Check, Source};
use crate::check::{answer, counts, one, pages, rules_of, verdict};
use crate::open;
use crate::outcome::{Answer, Failure, Result};
use crate::packets::json;
use crate::rules;
use crate::watch::{Now, Pace, TENTH, Watch};

/// The pause after a look that found something.
const PAUSE: Duration = Duration::from_millis(200);

pub fn run(arguments: &Check, out: &mut dyn Write) -> Result<Answer> {
    let source = &arguments.filtered.read.source;
    let mut watch = Watch::new(source.paths.clone(), open::how(source)?);
    // Nothing is waited for that cannot be judged.
    let rules = rules_of(arguments)?;
    let mut certain = Certain::default();
    let mut pace = Pace::new(PAUSE, TENTH);
    let as_json = arguments.filtered.read.json;
    // What a look read is certain with the next one at the earliest.
    let mut looks = 0;
    loop {
        let now = opened(source, watch.open())?;
        if now.as_ref().is_some_and(|now| now.is_new) {
            looks = 2;
        }
        match now {
            Some(now) if now.all_over() => {
                let rules = rules.as_ref().map(|(path, file)| (*path, file));
                return end((arguments, rules), now, &mut watch, &mut certain, out);
            }
            Some(now) if looks > 0 && pace.is_due() => {
                looks -= 1;
                let begun = Instant::now();
                // Two that have not met yet may meet.
                if let Ok((session, history)) = watch.look(&now) {
                    let fresh = certain.fresh(&session, &history, |reel| now.is_over(reel));
                    print(&session, &fresh, (as_json, arguments.verbose), out)?;
                    out.flush()?;
                }
                pace.looked(begun);
            }
            _ => {}
        }
        std::thread::sleep(PAUSE);
    }
}

/// What is there; nothing yet where a recorder may be about to begin.
fn opened(source: &Source, opened: Result<Now, OpenError>) -> Result<Option<Now>> {
    let error = match opened {
        Ok(now) => return Ok(Some(now)),
        Err(error) => error,
    };
    use netreel_reel::OpenError::{Empty, HeaderCut};
    let in_time = match &error.why {
        OpenWhy::NoReels | OpenWhy::Reel(Empty | HeaderCut { .. }) => true,
        OpenWhy::Io(_) => false,
        _ => source.paths.iter().any(|path| path.is_dir()),
    };
    if in_time {
        Ok(None)
    } else {
        Err(Failure::new(error))
    }
}

/// Says of the whole session what was not said before, and judges it.
fn end(
    (arguments, rules): (&Check, Option<(&Path, &RuleFile)>),
    now: Now,
    watch: &mut Watch,
    certain: &mut Certain,
    out: &mut dyn Write,
) -> Result<Answer> {
    let story = open::build_by(now.reels, |inputs| watch.growing().look(inputs))?;
    let unread = story.unread.clone();
    let (session, mut history) = story.into_parts();
    if let Some(rules) = rules {
        rules::add(rules, &session, &mut history)?;
    }
    let as_json = arguments.filtered.read.json;
    let verbose = arguments.verbose;
    print(
        &session,
        &certain.rest(&session, &history),
        (as_json, verbose),
        out,
    )?;
    let judgement = Judgement::new(&session, &history, arguments.fail_on.level(), &unread);
    if as_json {
        json(&export::conclusion(&session, &history, &judgement), out)?;
    } else {
        counts(&history.findings, out)?;
        pages(&history.findings, out)?;
        verdict(&judgement, out)?;
    }
    Ok(answer(arguments, &judgement))
}

fn print(
    session: &Session,
    findings: &[&Finding],
    (as_json, verbose): (bool, bool),
    out: &mut dyn Write,
) -> Result {
    findings.iter().try_for_each(|finding| {
        if as_json {
            json(&export::finding(session, finding), out)
        } else {
            one(session, finding, (None, verbose), out)
        }
    })
}
