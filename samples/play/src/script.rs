//! A game that nobody's hand plays: a text of orders and of what is waited for.
//!
//! ```text
//! # A creates a box; X hears of it last.
//! wait all
//! link A X delay 3s
//! A spawn
//! wait B has 41
//! B throw away 41
//! wait X has 41
//! rest 1s
//! ```

use std::time::Duration;

use netreel_sample_engine::{Deed, Event, ObjectId, ObjectMessage, Peer};

use crate::link_setting::LinkSetting;
use crate::node::Order;
use crate::seen::Seen;
use crate::stage::Stage;

/// The zombie, made by hand: whoever plays does it in a minute.
pub const ZOMBIE: &str = "\
wait all
link A X held
A spawn
wait B has 41
B pick up 41
wait B holds 41
B push 41
rest 400ms
B throw away 41
wait X hears destroy 41
link A X
wait X has 41
rest 1200ms
";

/// Ticks in a second.
pub(crate) const TICKS_A_SECOND: f64 = 60.0;

/// A script that was read.
#[derive(Clone, Debug, PartialEq)]
pub struct Script {
    steps: Vec<(usize, Step)>,
}

/// A line that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {why}")]
pub struct ScriptError {
    /// Which line, from 1.
    pub line: usize,
    /// What is wrong with it, and what could stand there.
    pub why: String,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Step {
    Order(Peer, Order),
    Rest(Duration),
    All,
    Wait(Peer, Awaited),
}

/// What a script waits for at one node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Awaited {
    Has(ObjectId),
    Lacks(ObjectId),
    Holds(ObjectId),
    Owns(ObjectId),
    HearsDestroy(ObjectId),
}

/// Somebody who plays a script.
#[derive(Clone, Debug)]
pub struct Reader {
    script: Script,
    at: usize,
    rests_since: Option<u64>,
}

/// How far a script has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// It waits, in this line.
    Waits(usize),
    /// It is over.
    Over,
}

impl Script {
    /// Reads a script for nodes of these names.
    ///
    /// # Errors
    /// The first line that cannot be read.
    pub fn parse(text: &str, names: &[String]) -> Result<Script, ScriptError> {
        let mut steps = Vec::new();
        for (line, text) in (1..).zip(text.lines()) {
            let text = text.split('#').next().unwrap_or_default();
            let words: Vec<&str> = text.split_whitespace().collect();
            if !words.is_empty() {
                let step = step(&words, names).map_err(|why| ScriptError { line, why })?;
                steps.push((line, step));
            }
        }
        Ok(Script { steps })
    }

    /// Begins to play it.
    pub fn play(self) -> Reader {
        Reader {
            script: self,
            at: 0,
            rests_since: None,
        }
    }
}

impl Reader {
    /// Gives the orders up to what has to be waited for. To be called again after every tick or so.
    pub fn go_on(&mut self, stage: &mut dyn Stage) -> Progress {
        let seen = stage.seen();
        while let Some(&(line, step)) = self.script.steps.get(self.at) {
            match step {
                Step::Order(to, order) => stage.order(to, order),
                step => {
                    if !self.is_met(step, &seen) {
                        return Progress::Waits(line);
                    }
                    self.rests_since = None;
                }
            }
            self.at += 1;
        }
        Progress::Over
    }

    fn is_met(&mut self, step: Step, seen: &[Seen]) -> bool {
        match step {
            Step::Order(..) => true,
            Step::Rest(length) => {
                // Whatever was ordered above reaches a node with its next tick.
                let tick = seen.first().map_or(0, |node| node.tick);
                let since = *self.rests_since.get_or_insert(tick);
                let ticks = (length.as_secs_f64() * TICKS_A_SECOND).round() as u64;
                tick >= since + ticks
            }
            Step::All => seen.iter().all(Seen::has_all),
            Step::Wait(peer, awaited) => {
                let node = seen.iter().find(|node| node.peer == peer);
                node.is_some_and(|node| awaited.is_so(node))
            }
        }
    }
}

impl Awaited {
    pub(crate) fn is_so(self, node: &Seen) -> bool {
        match self {
            Awaited::Has(id) => node.thing(id).is_some(),
            Awaited::Lacks(id) => node.thing(id).is_none(),
            Awaited::Holds(id) => node.held == Some(id),
            Awaited::Owns(id) => node.thing(id).is_some_and(|it| it.owner == node.peer),
            Awaited::HearsDestroy(id) => node.news.iter().any(|news| match news.event {
                Event::Destroyed { object } => object == id,
                Event::Ignored {
                    message, object, ..
                } => message == ObjectMessage::Destroy && object == id,
                _ => false,
            }),
        }
    }
}

const STEPS: &str = "write `wait all`, `wait NODE has|lacks|holds|owns|hears destroy BOX`, \
     `link FROM TO [delay TIME] [jitter TIME] [loss PERCENT%] [burst PERCENT%] \
     [corrupt PERCENT%] [held]`, `rest TIME`, or \
     `NODE spawn|pick up|put down|push|throw away|leave [BOX]`, `NODE go RIGHT UP`";

fn step(words: &[&str], names: &[String]) -> Result<Step, String> {
    let node = |name: &str| {
        let found = names
            .iter()
            .position(|known| known == name)
            .and_then(|at| u8::try_from(at).ok());
        let there = names.join(", ");
        found
            .map(Peer)
            .ok_or_else(|| format!("there is no node {name:?}; there are {there}; or {STEPS}"))
    };
    match *words {
        ["wait", "all"] => Ok(Step::All),
        ["wait", name, ref what @ ..] => Ok(Step::Wait(node(name)?, awaited(what)?)),
        ["rest", length] => Ok(Step::Rest(time(length)?)),
        ["link", from, to, ref what @ ..] => {
            let (from, to) = (node(from)?, node(to)?);
            let setting = setting(what)?;
            Ok(Step::Order(to, Order::Link { from, setting }))
        }
        [name, ref what @ ..] => Ok(Step::Order(node(name)?, Order::Deed(deed(what)?))),
        [] => Err(STEPS.to_owned()),
    }
}

pub(crate) fn awaited(words: &[&str]) -> Result<Awaited, String> {
    Ok(match *words {
        ["has", id] => Awaited::Has(object(id)?),
        ["lacks", id] => Awaited::Lacks(object(id)?),
        ["holds", id] => Awaited::Holds(object(id)?),
        ["owns", id] => Awaited::Owns(object(id)?),
        ["hears", "destroy", id] => Awaited::HearsDestroy(object(id)?),
        _ => return Err(STEPS.to_owned()),
    })
}

pub(crate) fn deed(words: &[&str]) -> Result<Deed, String> {
    let optional = |rest: &[&str]| match *rest {
        [] => Ok(None),
        [id] => object(id).map(Some),
        _ => Err(STEPS.to_owned()),
    };
    match *words {
        ["spawn"] => Ok(Deed::Spawn),
        ["pick", "up", ref rest @ ..] => Ok(Deed::PickUp(optional(rest)?)),
        ["put", "down"] => Ok(Deed::PutDown),
        ["leave"] => Ok(Deed::Leave),
        ["push", ref rest @ ..] => Ok(Deed::Push(optional(rest)?)),
        ["throw", "away", ref rest @ ..] => Ok(Deed::ThrowAway(optional(rest)?)),
        ["go", right, up] => {
            let part = |text: &str| text.parse::<f64>().ok().filter(|it| it.is_finite());
            let place = part(right)
                .zip(part(up))
                .map(|(right, up)| [right, up])
                .ok_or("write two numbers after `go`: to the right and up")?;
            Ok(Deed::Go(place))
        }
        _ => Err(STEPS.to_owned()),
    }
}

pub(crate) fn setting(words: &[&str]) -> Result<LinkSetting, String> {
    let mut setting = LinkSetting::default();
    let mut rest = words.iter();
    while let Some(&what) = rest.next() {
        if what == "held" {
            setting.held = true;
            continue;
        }
        let value = rest.next().ok_or(STEPS)?;
        match what {
            "delay" => setting.delay = time(value)?,
            "jitter" => setting.jitter = time(value)?,
            "loss" => setting.loss = chance(value)?,
            "burst" => setting.burst = chance(value)?,
            "corrupt" => setting.corrupt = chance(value)?,
            _ => return Err(STEPS.to_owned()),
        }
    }
    Ok(setting)
}

/// `5%`.
fn chance(text: &str) -> Result<f64, String> {
    let percent = text
        .strip_suffix('%')
        .and_then(|it| it.parse::<f64>().ok())
        .filter(|it| (0.0..=100.0).contains(it));
    Ok(percent.ok_or("write a chance from `0%` to `100%`")? / 100.0)
}

/// `400ms`, `3s`, up to an hour.
fn time(text: &str) -> Result<Duration, String> {
    let wrong = || format!("{text:?} is no time: write `400ms` or `3s`, up to an hour");
    let (number, unit) = match text.strip_suffix("ms") {
        Some(number) => (number, 0.001),
        None => (text.strip_suffix('s').ok_or_else(wrong)?, 1.0),
    };
    let seconds = number.parse::<f64>().map_err(|_| wrong())? * unit;
    if (0.0..=3600.0).contains(&seconds) {
        Ok(Duration::from_secs_f64(seconds))
    } else {
        Err(wrong())
    }
}

fn object(text: &str) -> Result<ObjectId, String> {
    let number = text.parse::<u64>();
    number
        .map(ObjectId)
        .map_err(|_| format!("{text:?} is no box: write its number, as the panes show it"))
}
