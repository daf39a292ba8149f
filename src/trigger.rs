//! `netreel trigger DIR`: pulls the triggers of the recorders that are at work in a folder.

use std::io::Write;

use netreel_capture::PresentRecorder;

use crate::arguments::Trigger;
use crate::outcome::{Answer, Failure};

pub fn run(arguments: &Trigger, out: &mut dyn Write) -> Result<Answer, Failure> {
    let folder = &arguments.folder;
    let shown = folder.display();
    let found =
        PresentRecorder::find(folder).map_err(|error| Failure::new(format!("{shown}: {error}")))?;
    if found.is_empty() {
        return Err(Failure::new(format!(
            "{shown}: nobody records into it in ring mode; `netreel record --ring SECS --out \
             {shown} ...` does"
        )));
    }
    let mut answer = Answer::Clean;
    for recorder in found {
        let process = recorder.process;
        match recorder.trigger() {
            Ok(true) => writeln!(out, "recorder {process} keeps its last seconds in {shown}")?,
            Ok(false) => {
                answer = Answer::Wrong;
                writeln!(
                    out,
                    "recorder {process} was started with --trigger-signal none, and keeps nothing"
                )?;
            }
            Err(error) => {
                answer = Answer::Wrong;
                writeln!(out, "recorder {process} cannot be asked: {error}")?;
            }
        }
    }
    Ok(answer)
}
