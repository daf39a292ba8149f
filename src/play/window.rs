//! The window of `netreel play`, and a picture of it.

use std::cell::RefCell;
use std::io::Write;
use std::path::Path;
use std::process::{Child, Command as Program, Stdio};
use std::rc::Rc;
use std::time::Duration;

use netreel_inspector::Place;
use netreel_play::view::{Board, Command};
use netreel_play::{LiveStage, Progress, Script, Setup, SimStage, Stage};
use netreel_sample_engine::{Mode, ObjectId, Peer, Start, Topology};

use crate::arguments::Play;
use crate::boxes;
use crate::inspect::drawn;
use crate::outcome::{Failure, Result, fail};

/// How large the window is at first.
const SIZE: (u32, u32) = (1400, 860);

/// Between two frames: a tick.
const FRAME: Duration = Duration::from_millis(16);

/// A script in virtual time that takes longer has failed. Ticks.
const LIMIT: u64 = 60 * 60 * 10;

/// Plays in a window until it is closed; how many events were recorded.
pub fn play(
    stage: LiveStage,
    (setup, here): (&Setup, Vec<Peer>),
    folder: &Path,
    inspects: bool,
) -> Result<u64> {
    let about = about((setup.mode, setup.topology));
    let mut board = Board::new(setup.names(), here, about);
    let mut inspector = Inspector::default();
    if inspects {
        inspector.open(folder, None)?;
    }
    let stage = Rc::new(RefCell::new(stage));
    let played = Rc::clone(&stage);
    let recorded = folder.to_owned();
    let show = move |ui: &mut _| {
        let mut stage = played.borrow_mut();
        let seen = stage.seen();
        board.show(ui, &seen);
        for command in board.take_commands() {
            match command {
                Command::Order(to, order) => stage.order(to, order),
                Command::Inspect(object) => {
                    if let Err(why) = inspector.open(&recorded, object) {
                        board.say(why);
                    }
                }
            }
        }
        inspector.tidy();
        ui.ctx().request_repaint_after(FRAME);
    };
    let title = format!("play · {}", folder.display());
    let place = if inspects {
        Place::Left
    } else {
        Place::Anywhere
    };
    netreel_inspector::run_views(&title, (SIZE, place), Box::new(show))?;
    let stage = Rc::try_unwrap(stage).map_err(|_| Failure::new("the window has not closed"))?;
    Ok(stage.into_inner().finish()?)
}

/// The inspector beside the game, a program of its own: it stays open when the game ends.
#[derive(Default)]
struct Inspector(Option<Child>);

impl Inspector {
    /// Opens one that follows what is recorded, of one object where it is named; the one that is open
    /// already shows that.
    fn open(&mut self, folder: &Path, object: Option<ObjectId>) -> Result<(), String> {
        self.tidy();
        let filter = object.map(|object| format!("object == {}", object.0));
        if let Some(child) = &mut self.0
            && let Some(filters) = &mut child.stdin
            && writeln!(filters, "{}", filter.clone().unwrap_or_default()).is_ok()
        {
            return Ok(());
        }
        let failed = |error| format!("cannot open the inspector: {error}");
        let program = std::env::current_exe().map_err(failed)?;
        let mut program = Program::new(program);
        program
            .args(["inspect", "--follow", "--beside", "--filters"])
            .arg(folder)
            .stdin(Stdio::piped());
        if let Some(filter) = filter {
            program.args(["--filter", &filter]);
        }
        self.0 = Some(program.spawn().map_err(failed)?);
        Ok(())
    }

    /// Lets go of one that was closed.
    fn tidy(&mut self) {
        self.0
            .take_if(|inspector| !matches!(inspector.try_wait(), Ok(None)));
    }
}

/// Plays a script in virtual time, and draws the window as it is then.
pub fn draw(arguments: &Play, how: (Mode, Topology), script: Script, file: &Path) -> Result {
    let seed = arguments.seed;
    let header = |name: &str, start: &Start| boxes::header(name, [0; 16], ("play", seed), start);
    let mut stage = SimStage::new(how, (arguments.nodes, seed), &header)?;
    let here: Vec<Peer> = (0..arguments.nodes).map(Peer).collect();
    let mut board = Board::new(stage.names().to_vec(), here, about(how));
    let mut reader = script.play();
    let mut ticks = 0;
    while let Progress::Waits(line) = reader.go_on(&mut stage) {
        if ticks >= LIMIT {
            return fail(format!(
                "the script waits in line {line} for what does not happen"
            ));
        }
        ticks += 1;
        stage.run(1);
        board.look(&stage.seen());
    }
    let size = drawn::size(&arguments.size)?;
    let seen = stage.seen();
    Ok(netreel_inspector::draw_views(
        &mut |ui| board.show(ui, &seen),
        size,
        file,
    )?)
}

/// What is played, for the bar.
fn about((mode, topology): (Mode, Topology)) -> String {
    let who = match mode {
        Mode::Host => "HOST announces new owners",
        Mode::Counter => "a new owner announces itself, with a counter that UPDATEs lack",
        Mode::Owner => "a new owner announces itself, with a counter",
        Mode::Queue => "HOST announces new owners, and what is early waits",
        Mode::Handshake => "a new owner takes over when all have confirmed",
        Mode::Order => "all hear of objects from HOST, in one order",
    };
    let how = match topology {
        Topology::PeerToPeer => "everybody to everybody",
        Topology::ClientServer => "all through HOST",
    };
    format!("{who}; {how}")
}
