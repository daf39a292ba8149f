//! `netreel trigger DIR`: pulls the triggers of the recorders that are at work in a folder.

use std::io::Write;

use netreel_capture::PresentRecorder;

use crate::arguments::Trigger;
use crate::outcome::{Answer, Result, fail};

pub fn run(arguments: &Trigger, out: &mut dyn Write) -> Result<Answer> {
    let folder = &arguments.folder;
    let shown = folder.display();
    let found = PresentRecorder::find(folder).map_err(|error| format!("{shown}: {error}"))?;
    if found.is_empty() {
        return fail(format!(
            "{shown}: nobody records into it in ring mode; `netreel record --ring SECS --out \
             {shown} ...` does"
        ));
    }
    let (mut answer, mut keep) = (Answer::Clean, Vec::new());
    for (recorder, asked) in found
        .iter()
        .zip(PresentRecorder::trigger(&found, &arguments.text.join(" ")))
    {
        let process = recorder.process;
        match asked {
            Ok(true) => keep.push(process.to_string()),
            // That is what was asked of it.
            Ok(false) => writeln!(
                out,
                "recorder {process} was started with --trigger-signal none, and keeps nothing"
            )?,
            Err(error) => {
                answer = Answer::Wrong;
                writeln!(out, "recorder {process} cannot be asked: {error}")?;
            }
        }
    }
    match &keep[..] {
        [] => answer = Answer::Wrong,
        [one] => writeln!(out, "recorder {one} keeps its last seconds in {shown}")?,
        [others @ .., last] => writeln!(
            out,
            "recorders {} and {last} keep their last seconds in {shown}, as one window",
            others.join(", ")
        )?,
    }
    Ok(answer)
}
