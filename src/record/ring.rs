//! Ring mode on the command line: what keeps a window, and who is asked for the same.

use std::collections::BTreeSet;
use std::net::ToSocketAddrs;
use std::path::{Path, PathBuf};
use std::sync::mpsc::Receiver;

use netreel_capture::ring_mode::{PeerOptions, Peers, TriggerNews, Triggers};
use netreel_capture::{Options, Presence};
use netreel_system::trigger;

use super::arguments::{RingArguments, TriggerSignal};
use super::findings::Findings;
use crate::arguments::Record;
use crate::open;
use crate::outcome::{Failure, Result};

/// How to record, for all ways, and what may keep a window while the recording runs: the live line
/// takes it along.
pub fn options(arguments: &Record, folder: &Path) -> Result<(Options, Armed)> {
    let mut options = arguments.recording.options();
    let ring = &arguments.ring;
    let triggers = options.triggers.clone();
    let news = triggers.news();
    options.ring = ring.ring();
    let signal = match ring.trigger_signal {
        _ if options.ring.is_none() => None,
        Some(TriggerSignal::None) => None,
        Some(TriggerSignal::Usr2) => trigger::OTHER,
        Some(TriggerSignal::Usr1) | None => trigger::USUAL,
    };
    if let Some(signal) = signal {
        triggers.on_signal(signal).map_err(Failure::new)?;
        triggers.hear_in(folder);
    }
    let peers = peers(ring)?.map(|options| Peers::start(options, &triggers));
    let findings = ring.trigger_on_finding.map(|level| {
        let wire = open::wire_given(&arguments.live.wire)?;
        Findings::watch(folder, level, wire, &triggers).map_err(Failure::new)
    });
    let armed = Armed {
        triggers,
        news,
        joined: BTreeSet::new(),
        presence: None,
        folder: folder.to_owned(),
        signal: options.ring.map(|_| signal),
        _peers: peers.transpose()?,
        findings: findings.transpose()?,
    };
    Ok((options, armed))
}

/// All that may keep a window while a recording runs. Disarmed when it is dropped.
pub struct Armed {
    triggers: Triggers,
    news: Receiver<TriggerNews>,
    /// The triggers that were said to join a window: each recording says it of its own.
    joined: BTreeSet<u64>,
    /// Shows others that this recorder is at work; from when its folder is there.
    presence: Option<Presence>,
    folder: PathBuf,
    /// The signal that is a trigger; `None` out of ring mode.
    signal: Option<Option<i32>>,
    _peers: Option<Peers>,
    findings: Option<Findings>,
}

impl Armed {
    /// What triggers came to since the last time, a sentence each. To be asked now and then.
    pub fn news(&mut self) -> Vec<String> {
        self.triggers.look_for_signal();
        if let Some(signal) = self.signal
            && self.presence.is_none()
            && self.folder.is_dir()
        {
            // Without it, `netreel trigger` finds nobody, and all else works.
            self.presence = Presence::show(&self.folder, signal).ok();
        }
        let mut told = Vec::new();
        let mut say = |sentence: &str| told.push(sentence.to_owned());
        for news in self.news.try_iter() {
            match news {
                TriggerNews::Pulled { trigger, text } => {
                    let by = trigger.cause.name();
                    if trigger.from_peer {
                        say(&format!("triggered by another node ({by}): {text}"))
                    } else {
                        say(&format!("triggered ({by}): {text}"))
                    }
                }
                TriggerNews::Kept(window) => {
                    let lacks = match window.lacks {
                        0 => String::new(),
                        lacks => format!(", without {lacks} of its parts"),
                    };
                    say(&format!("kept {}{lacks}", window.folder.display()));
                }
                TriggerNews::Joined { folder, id } => {
                    if self.joined.insert(id) {
                        say(&format!("the trigger joined {}", folder.display()));
                    }
                }
                TriggerNews::Renamed { from, to } => say(&format!(
                    "{} has the name of an earlier trigger now: {}",
                    from.display(),
                    to.display()
                )),
                TriggerNews::Closed { .. } => {}
                TriggerNews::Refused(why) | TriggerNews::Failed(why) => say(&why),
            }
        }
        told.extend(self.findings.iter().flat_map(Findings::doubts));
        told
    }
}

fn peers(arguments: &RingArguments) -> Result<Option<PeerOptions>> {
    if arguments.trigger_listen.is_none() && arguments.trigger_peers.is_empty() {
        return Ok(None);
    }
    let path = arguments.trigger_key.clone().unwrap_or_default();
    let failed = |why: &dyn std::fmt::Display| {
        Failure::new(format!("--trigger-key {}: {why}", path.display()))
    };
    let text = std::fs::read_to_string(&path).map_err(|error| failed(&error))?;
    let key = text.lines().next().unwrap_or_default().trim().to_owned();
    let mut peers = Vec::new();
    for name in &arguments.trigger_peers {
        let wrong = |why: &dyn std::fmt::Display| {
            Failure::new(format!("--trigger-peers {name}: {why}; write HOST:PORT"))
        };
        let mut found = name.to_socket_addrs().map_err(|error| wrong(&error))?;
        peers.push(found.next().ok_or_else(|| wrong(&"no such host"))?);
    }
    let node = node_name();
    Ok(Some(PeerOptions {
        listen: arguments.trigger_listen,
        peers,
        key,
        node,
    }))
}

/// The machine's name.
fn node_name() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").ok();
    // Windows'.
    let name = name.or_else(|| std::env::var("COMPUTERNAME").ok());
    name.unwrap_or_default().trim().to_owned()
}
