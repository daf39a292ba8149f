//! The engine that the command knows by itself: its start conditions, and its layer.

use std::sync::Arc;

use netreel_reel::Reel;
use netreel_replay::{MakeLayer, Stepper};
use netreel_sample_engine::{Event, NetLayer, Refusal, Start};
use netreel_transport::{InputError, Layer, ObjectBelief, Transport};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::boxes::ENGINE;
use crate::outcome::{Failure, Result, fail};
use crate::text;

/// What of the start conditions is to be another than recorded, each as `NAME=VALUE`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Changes<'a> {
    /// The engine's constants.
    pub tune: &'a [String],
    /// The other conditions.
    pub set: &'a [String],
}

impl Changes<'_> {
    /// As they are written on the command line.
    pub fn words(&self) -> String {
        let tune = self.tune.iter().map(|change| format!("--tune {change}"));
        let set = self.set.iter().map(|change| format!("--set {change}"));
        text::joined(tune.chain(set), " ")
    }
}

/// A start condition that is another than recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Changed {
    pub name: String,
    pub recorded: String,
    pub now: String,
}

/// What these changes make another one than this reel has it; nothing where they make no sense.
pub fn unlike_recorded(reel: &Reel, changes: Changes<'_>) -> Vec<Changed> {
    let conditions = |changes| {
        let start = start(reel, changes).ok();
        let fields = start.and_then(|start| serde_json::to_value(start).ok());
        fields.unwrap_or_default()
    };
    let (recorded, now) = (conditions(Changes::default()), conditions(changes));
    let name = |change: &String| Some(change.split_once('=')?.0.trim().to_owned());
    let differs = |name: String, recorded: &Value, now: &Value| {
        let word = |value: &Value| match value.get(&name)? {
            Value::String(word) => Some(word.clone()),
            other => Some(other.to_string()),
        };
        let (recorded, now) = (word(recorded)?, word(now)?);
        (recorded != now).then_some(Changed {
            name,
            recorded,
            now,
        })
    };
    let tune = changes
        .tune
        .iter()
        .filter_map(name)
        .filter_map(|name| differs(name, &recorded["tuning"], &now["tuning"]));
    let set = changes
        .set
        .iter()
        .filter_map(name)
        .filter_map(|name| differs(name, &recorded, &now));
    let mut all: Vec<Changed> = Vec::new();
    for change in tune.chain(set) {
        if !all.contains(&change) {
            all.push(change);
        }
    }
    all
}

/// The start conditions of a reel, with the changes that were asked for.
pub fn start(reel: &Reel, changes: Changes<'_>) -> Result<Start> {
    let header = reel.header();
    if header.engine != ENGINE {
        return fail(format!(
            "the reel of {} was recorded at the engine `{}`; this command can replay `{}` alone",
            header.node, header.engine, ENGINE
        ));
    }
    let mut start = Start::decode(&header.start).map_err(|error| {
        format!(
            "the start conditions in the reel of {}: {error}",
            header.node
        )
    })?;
    for change in changes.tune {
        start.tuning = changed(&start.tuning, "--tune", change)?;
    }
    for change in changes.set {
        start = changed(&start, "--set", change)?;
    }
    Ok(start)
}

/// The layer that starts from these conditions.
pub fn layer(reel: &Reel, start: Start, changes: Changes<'_>) -> Result<NetLayer> {
    let asked = match changes.words() {
        words if words.is_empty() => {
            format!("the start conditions in the reel of {}", reel.header().node)
        }
        words => words,
    };
    NetLayer::new(start).map_err(|error| Failure::new(format!("{asked}: {error}")))
}

/// `of` with one of its fields changed: to a whole number, true or false, or a word.
fn changed<T: Serialize + DeserializeOwned>(of: &T, option: &str, change: &str) -> Result<T> {
    let wrong = |why: &dyn std::fmt::Display| Failure::new(format!("{option} {change}: {why}"));
    let mut fields = serde_json::to_value(of).map_err(|error| wrong(&error))?;
    let (name, value) = change
        .split_once('=')
        .ok_or_else(|| wrong(&"write it as NAME=VALUE"))?;
    let (name, value) = (name.trim(), value.trim());
    let is_number = fields.get(name).is_some_and(Value::is_number);
    // A name that is not one is a number of nothing: what reads it lists all names.
    fields[name] = match (value.parse::<u64>(), value.parse::<bool>()) {
        (Ok(number), _) => number.into(),
        _ if is_number => return Err(wrong(&format!("`{value}` is not a whole number"))),
        (_, Ok(flag)) => flag.into(),
        _ => value.into(),
    };
    serde_json::from_value(fields).map_err(|error| wrong(&error))
}

/// The layer, without its game: nobody else asks what became of a call that it did not obey.
pub struct Alone(pub NetLayer);

impl Layer for Alone {
    fn tick(&mut self, io: &mut dyn Transport) {
        self.0.tick(io);
    }

    fn time_outs(&mut self, on: bool) -> bool {
        self.0.time_outs(on)
    }

    fn beliefs(&self, say: &mut dyn FnMut(ObjectBelief)) -> bool {
        self.0.beliefs(say)
    }

    fn fork(&self) -> Option<Box<dyn Layer>> {
        Some(Box::new(Alone(self.0.clone())))
    }

    fn input(&mut self, call: &[u8], io: &mut dyn Transport) -> Result<(), InputError> {
        while self.0.poll_event().is_some() {}
        self.0.input(call, io)?;
        let mut refused = None;
        while let Some(event) = self.0.poll_event() {
            if let Event::Refused { because } = event {
                refused = Some(because);
            }
        }
        match refused {
            None => Ok(()),
            Some(because) => Err(InputError {
                length: call.len(),
                why: words(because).to_owned(),
            }),
        }
    }
}

fn words(because: Refusal) -> &'static str {
    match because {
        Refusal::Ended => "the session is over",
        Refusal::Unknown => "the object does not exist here",
        Refusal::NotOwner => "this node does not own the object",
        Refusal::NotHost => "only HOST may do that",
        Refusal::Unfit => "the type or a value does not fit the declaration",
        Refusal::NoPeer => "the peer does not exist, has left, or is this node itself",
        Refusal::OnlyToAll => "a client cannot call one peer, only all",
        Refusal::TooLarge => "it is too large",
    }
}

/// Plays a reel into the sample engine's layer, with what is to be another than recorded. Says what is
/// wrong with the reel or with the changes before anything else.
pub fn stepper(reel: &Arc<Reel>, changes: Changes<'_>) -> Result<Stepper> {
    let of = Arc::clone(reel);
    let (tune, set) = (changes.tune.to_vec(), changes.set.to_vec());
    netreel_replay::check_replayable(&of)?;
    let layer = move || {
        let (tune, set) = (tune.as_slice(), set.as_slice());
        let changes = Changes { tune, set };
        self::layer(&of, start(&of, changes)?, changes)
    };
    layer()?;
    let make: MakeLayer = Box::new(move |_| match layer() {
        Ok(layer) => Ok(Box::new(layer)),
        Err(failure) => Err(failure.to_string()),
    });
    Ok(Stepper::new(Arc::clone(reel), make)?)
}
