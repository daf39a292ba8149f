//! What makes the layers that a recording is played into.

use std::cell::RefCell;
use std::path::Path;
use std::sync::Arc;

use netreel_plugin::{Failed, LoadError, Plugin, PluginLayer, Sockets};
use netreel_reel::Reel;
use netreel_replay::{
    Driver, MakeLayer, Report, Stepper, check_replayable, check_replayable_sockets,
    check_replayable_whole,
};
use netreel_system::locked;
use netreel_transport::{InputError, Layer, ObjectBelief, RestoreError, Transport};

use super::boxes::{self, Alone, Changed, Changes};
use super::likely::{Likely, Plays, Unchanged};
use super::watched;
use crate::arguments::Replay;
use crate::boxes::ENGINE;
use crate::outcome::{Failure, Result, fail};

/// An engine's network layer.
pub enum Engine<'a> {
    /// The sample engine's.
    Boxes(Changes<'a>),
    /// That of a shared library.
    Plugin(Loaded<'a>),
}

/// A plugin, and what became of its layers.
pub struct Loaded<'a> {
    path: &'a Path,
    plugin: Plugin,
    layers: RefCell<Vec<(String, Failed)>>,
}

/// A layer that says where it is, for the case that it dies.
struct Watched {
    node: String,
    layer: PluginLayer,
    /// For who steps: a failure is told when it comes.
    tells: Option<Tell>,
    /// For who plays again and again: a failure is a panic.
    panics: bool,
}

/// Hears a sentence about a plugin's layer that failed, at once and not more than once.
pub type Tell = Arc<dyn Fn(String) + Send + Sync>;

impl<'a> Engine<'a> {
    /// The engine that was asked for.
    pub fn asked(plugin: Option<&'a Path>, changes: Changes<'a>) -> Result<Engine<'a>> {
        let Some(path) = plugin else {
            return Ok(Engine::Boxes(changes));
        };
        watched::say("while it was loaded");
        let plugin = Plugin::load(path).map_err(plain)?;
        watched::say_safe(false);
        Ok(Engine::Plugin(Loaded {
            path,
            plugin,
            layers: RefCell::default(),
        }))
    }

    /// The same of a replay.
    pub fn of(arguments: &'a Replay) -> Result<Engine<'a>> {
        let changes = Changes {
            tune: &arguments.tune,
            set: &arguments.set,
        };
        Engine::asked(arguments.together.layer.as_deref(), changes)
    }

    /// What was changed, as it was asked for.
    pub fn words(&self) -> String {
        match self {
            Engine::Boxes(changes) => changes.words(),
            Engine::Plugin(loaded) => format!("--layer {}", loaded.path.display()),
        }
    }

    /// Why it cannot play the recording of a node; `None`: it can.
    pub fn cannot_play(&self, reel: &Reel) -> Option<String> {
        let header = reel.header();
        let (node, engine) = (&header.node, &header.engine);
        let (can, own) = match self {
            Engine::Boxes(_) => (check_replayable(reel).map(drop), ENGINE),
            Engine::Plugin(loaded) if loaded.plugin.offers_states() => {
                (check_replayable_sockets(reel).map(drop), loaded.name())
            }
            Engine::Plugin(loaded) => (check_replayable_whole(reel), loaded.name()),
        };
        if let Err(why) = can {
            return Some(why.to_string());
        }
        (engine != own).then(|| match self {
            Engine::Boxes(_) => format!(
                "the reel of {node} was recorded at the engine `{engine}`; this command can replay \
                 `{own}` alone; another engine's layer is given with --layer (docs/engines.md)"
            ),
            Engine::Plugin(loaded) => format!(
                "the reel of {node} was recorded at the engine `{engine}`, and {} says that \
                 it is `{own}`; give the plugin of that engine, or the name of its reels",
                loaded.path.display()
            ),
        })
    }

    /// What is another than a reel has it, as it was asked for.
    pub fn changed(&self, reel: &Reel) -> Vec<Changed> {
        match self {
            Engine::Boxes(changes) => boxes::unlike_recorded(reel, *changes),
            Engine::Plugin(_) => Vec::new(),
        }
    }

    /// What it plays a reel with.
    pub fn plays(&self, reel: &Reel) -> Plays {
        let recorded_file = reel.header().build.starts_with("file ");
        let build = match self {
            Engine::Boxes(_) => Some(crate::boxes::build()),
            // A name after the file is comparable with another such name alone.
            Engine::Plugin(loaded) => {
                let of_file = loaded.plugin.file_build().filter(|_| recorded_file);
                loaded.plugin.build().or(of_file).map(str::to_owned)
            }
        };
        let changed = self.changed(reel);
        Plays { changed, build }
    }

    /// What is known of why a reel is not replayed exactly.
    pub fn likely(&self, reel: &Arc<Reel>, report: &Report) -> Likely {
        let plays = self.plays(reel);
        let unchanged = match plays.changed[..] {
            [] => None,
            _ => Engine::Boxes(Changes::default()).replay(reel).ok(),
        };
        let unchanged = unchanged.map(|unchanged| Unchanged::of(report, &unchanged));
        Likely::of(reel, report, plays).beside(unchanged)
    }

    /// The start conditions that it begins with.
    pub fn start(&self, reel: &Reel) -> Result<Vec<u8>> {
        match self {
            Engine::Boxes(changes) => {
                let start = boxes::start(reel, *changes)?;
                let encoded = start.encode();
                boxes::layer(reel, start, *changes)?;
                Ok(encoded)
            }
            Engine::Plugin(_) => Ok(reel.header().start.clone()),
        }
    }

    /// The layer of a node that is played on.
    pub fn layer(&self, reel: &Reel, io: impl Sockets + 'static) -> Result<Box<dyn Layer>> {
        match self {
            Engine::Boxes(changes) => {
                let layer = boxes::layer(reel, boxes::start(reel, *changes)?, *changes)?;
                Ok(Box::new(Alone(layer)))
            }
            Engine::Plugin(loaded) => Ok(Box::new(loaded.layer(reel, Box::new(io))?)),
        }
    }

    /// The same for whoever plays again and again: where a layer fails, it panics with what it says.
    pub fn tried_layer(&self, reel: &Reel, io: impl Sockets + 'static) -> Result<Box<dyn Layer>> {
        match self {
            Engine::Boxes(_) => self.layer(reel, io),
            Engine::Plugin(loaded) => {
                let made = loaded.made(reel, Box::new(io))?;
                let panics = true;
                Ok(Box::new(Watched { panics, ..made }))
            }
        }
    }

    /// Plays a reel into a fresh layer.
    pub fn replay(&self, reel: &Arc<Reel>) -> Result<Report> {
        self.played(reel, |driver, layer| driver.run(layer))
    }

    /// The same with the layer's time-outs off; whether it has a switch for them.
    pub fn replay_without_time_outs(&self, reel: &Arc<Reel>) -> Result<(Report, bool)> {
        self.played(reel, |driver, layer| driver.run_without_time_outs(layer))
    }

    fn played<T>(
        &self,
        reel: &Arc<Reel>,
        run: impl FnOnce(Driver, &mut dyn Layer) -> T,
    ) -> Result<T> {
        if let Some(why) = self.cannot_play(reel) {
            return fail(why);
        }
        match self {
            Engine::Boxes(changes) => {
                let driver = Driver::new(Arc::clone(reel))?;
                let start = boxes::start(reel, *changes)?;
                let mut layer = boxes::layer(reel, start, *changes)?;
                Ok(run(driver, &mut layer))
            }
            Engine::Plugin(loaded) => {
                let driver = if loaded.plugin.offers_states() {
                    Driver::with_sockets_and_states(Arc::clone(reel))
                } else {
                    Driver::with_sockets(Arc::clone(reel))
                };
                let driver = driver?;
                let mut layer = loaded.layer(reel, Box::new(driver.transport()))?;
                let played = run(driver, &mut layer);
                drop(layer);
                self.check_alive()?;
                Ok(played)
            }
        }
    }

    /// Plays a reel into a layer, turn by turn. `tell` hears what fails in a plugin, as it happens.
    pub fn stepper(self, reel: &Arc<Reel>, tell: Tell) -> Result<Stepper> {
        if let Some(why) = self.cannot_play(reel) {
            return fail(why);
        }
        let Loaded { path, plugin, .. } = match self {
            Engine::Boxes(changes) => return boxes::stepper(reel, changes),
            Engine::Plugin(loaded) => loaded,
        };
        let (of, path) = (Arc::clone(reel), path.display().to_string());
        let has_states = plugin.offers_states();
        let make: MakeLayer = Box::new(move |current| {
            let node = of.header().node.clone();
            watched::say(&format!("at {node}, while its layer was made"));
            let layer = plugin
                .layer(&of, Box::new(current.clone()))
                .map_err(|why| why.to_string())?;
            let (path, tell) = (path.clone(), Arc::clone(&tell));
            let tells: Tell = Arc::new(move |why| tell(format!("--layer {path}: {why}")));
            Ok(Box::new(Watched {
                node,
                layer,
                tells: Some(tells),
                panics: false,
            }))
        });
        let stepper = if has_states {
            Stepper::with_sockets_and_states(Arc::clone(reel), make)
        } else {
            Stepper::with_sockets(Arc::clone(reel), make)
        };
        Ok(stepper?)
    }

    /// Fails where a layer has failed: what came after it says nothing.
    pub fn check_alive(&self) -> Result {
        watched::say_safe(false);
        let Engine::Plugin(loaded) = self else {
            return Ok(());
        };
        for (node, failed) in loaded.layers.borrow().iter() {
            if let Some(why) = locked(failed).clone() {
                let path = loaded.path.display();
                return fail(format!("--layer {path}: at {node}: {why}"));
            }
        }
        Ok(())
    }
}

impl Loaded<'_> {
    /// What the plugin calls its engine in reels.
    pub fn name(&self) -> &str {
        self.plugin.name()
    }

    fn layer(&self, reel: &Reel, sockets: Box<dyn Sockets>) -> Result<Watched> {
        let made = self.made(reel, sockets)?;
        self.layers
            .borrow_mut()
            .push((made.node.clone(), made.layer.failed()));
        Ok(made)
    }

    fn made(&self, reel: &Reel, sockets: Box<dyn Sockets>) -> Result<Watched> {
        let node = reel.header().node.clone();
        watched::say(&format!("at {node}, while its layer was made"));
        Ok(Watched {
            layer: self.plugin.layer(reel, sockets).map_err(plain)?,
            node,
            tells: None,
            panics: false,
        })
    }
}

impl Watched {
    /// Panics where the layer has failed, if that is asked for.
    fn panic_if_failed(&self) {
        if !self.panics {
            return;
        }
        if let Some(why) = locked(&self.layer.failed()).clone() {
            // Whoever asked for it catches it: nothing is said of it here.
            std::panic::resume_unwind(Box::new(why));
        }
    }
}

impl Layer for Watched {
    fn tick(&mut self, io: &mut dyn Transport) {
        let event = self.layer.turn();
        watched::say(&format!("at {}, in the tick of event {event}", self.node));
        self.layer.tick(io);
        watched::returned();
        self.panic_if_failed();
        let Some(tell) = &self.tells else { return };
        if let Some(why) = locked(&self.layer.failed()).clone() {
            let node = &self.node;
            tell(format!("at {node}, in the tick of event {event}: {why}"));
            self.tells = None;
        }
    }

    fn input(&mut self, call: &[u8], io: &mut dyn Transport) -> Result<(), InputError> {
        let event = self.layer.turn();
        watched::say(&format!("at {}, in the call of event {event}", self.node));
        let answer = self.layer.input(call, io);
        watched::returned();
        self.panic_if_failed();
        answer
    }

    fn save(&self) -> Option<Vec<u8>> {
        watched::say(&format!("at {}, while its state was saved", self.node));
        self.layer.save()
    }

    fn restore(&mut self, state: &[u8]) -> Result<(), RestoreError> {
        watched::say(&format!("at {}, while a state was restored", self.node));
        self.layer.restore(state)
    }

    fn time_outs(&mut self, on: bool) -> bool {
        let node = &self.node;
        watched::say(&format!("at {node}, while its time-outs were thrown"));
        self.layer.time_outs(on)
    }

    fn beliefs(&self, say: &mut dyn FnMut(ObjectBelief)) -> bool {
        self.layer.beliefs(say)
    }
}

/// Nothing of the plugin runs after its error.
fn plain(error: LoadError) -> Failure {
    watched::say_safe(false);
    Failure::new(error)
}
