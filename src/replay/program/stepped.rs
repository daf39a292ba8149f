//! A program that is started again and stops where somebody who steps through its recording goes.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};

use netreel_capture::preload::{self, RerunEnd, Then};
use netreel_reel::EventNumber;
use netreel_replay::program::{Ran, Runner, Tape};

use super::Prepared;

/// A program that is started again as often as somebody goes back.
pub struct Stepped {
    prepared: Prepared,
    running: Option<Running>,
}

/// One that runs, or stands still. A thread starts and watches it: whatever starts a program has to.
struct Running {
    then: Sender<Then>,
    came: Receiver<Came>,
    thread: JoinHandle<()>,
}

/// What is heard of it.
enum Came {
    Stopped(u32),
    Ended(Result<Box<RerunEnd>, String>),
}

impl Stepped {
    /// Starts nothing yet.
    pub fn new(prepared: Prepared) -> Stepped {
        Stepped {
            prepared,
            running: None,
        }
    }

    /// Waits until it stands still, or has ended.
    fn wait(&mut self) -> Result<Ran, String> {
        let came = self.running.as_ref().map(|running| running.came.recv());
        match came {
            Some(Ok(Came::Stopped(process))) => Ok(Ran::Stands(process)),
            Some(Ok(Came::Ended(end))) => {
                self.end();
                Ok(Ran::Ended(Box::new(self.prepared.judge(*end?))))
            }
            Some(Err(_)) | None => Err("the program is not watched any more".to_owned()),
        }
    }

    /// Ends it, where it is not over.
    fn end(&mut self) {
        let Some(running) = self.running.take() else {
            return;
        };
        // A program that is not stopped hears it when it stops, or has ended.
        let _ = running.then.send(Then::Ended);
        drop(running.then);
        drop(running.thread.join());
    }
}

impl Runner for Stepped {
    fn start(&mut self, until: EventNumber) -> Result<Ran, String> {
        self.end();
        self.prepared.tape.stop_at(until);
        let rerun = self.prepared.rerun();
        let (then, thens) = channel();
        let (says, came) = channel();
        let work = move || {
            let end = preload::rerun(&rerun, &mut |process| {
                drop(says.send(Came::Stopped(process)));
                // Whoever stepped has gone.
                thens.recv().unwrap_or(Then::Ended)
            });
            let end = end.map(Box::new).map_err(|error| error.to_string());
            drop(says.send(Came::Ended(end)));
        };
        let thread = thread::Builder::new()
            .name("program".to_owned())
            .spawn(work)
            .map_err(|error| format!("there can be no thread for it: {error}"))?;
        self.running = Some(Running { then, came, thread });
        self.wait()
    }

    fn go_on(&mut self, until: EventNumber) -> Result<Ran, String> {
        if let Some(running) = &self.running {
            let _ = running.then.send(Then::Until(until.0));
        }
        self.wait()
    }

    fn tape(&self) -> &Tape {
        &self.prepared.tape
    }
}

impl Drop for Stepped {
    fn drop(&mut self) {
        self.end();
    }
}
