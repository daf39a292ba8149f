//! A network of machines: clocks that differ, addresses that are translated, links that lose,
//! repeat, reorder and hold up packets, and recorders that were not there all the time.

use std::collections::BTreeSet;
use std::ops::Range;

use netreel_reel::Endpoint;

use crate::clock::Clock;
use crate::draws::Draws;
use crate::traffic::{Kind, Link, Sent, carry, distinct};

pub const MS: u64 = 1_000_000;
pub const SECOND: u64 = 1000 * MS;

/// How a machine's packets look to others.
#[derive(Clone, Debug)]
pub enum Reach {
    /// Under its own address.
    Open,
    /// Through a router that translates its address: the router, and whether it gives it a port for
    /// each peer. From a moment on, ports are others.
    Behind {
        router: usize,
        port_each: bool,
        anew_at: Option<u64>,
    },
}

/// Of what a machine did the reel has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kept {
    Nothing,
    All,
    /// What was until a moment; whether the reel was closed then.
    Until(u64, bool),
    /// What was from a moment on: the last parts of a recording that rotates.
    From(u64),
    /// The same of a recording that was switched on then.
    SwitchedOn(u64),
    /// All but this.
    Without(Range<u64>),
}

impl Kept {
    pub fn has(&self, at: u64) -> bool {
        match self {
            Kept::Nothing => false,
            Kept::All => true,
            Kept::Until(end, _) => at < *end,
            Kept::From(begin) | Kept::SwitchedOn(begin) => at >= *begin,
            Kept::Without(hole) => !hole.contains(&at),
        }
    }
}

/// A machine.
#[derive(Clone, Debug)]
pub struct Machine {
    pub clock: Clock,
    /// Which host it is on: those of one host share a clock and speak over loopback.
    pub host: usize,
    /// Its address in its own network.
    pub address: [u8; 4],
    pub port: u16,
    /// Whether its socket is bound to every address.
    pub is_unspecific: bool,
    pub reach: Reach,
    pub kept: Kept,
    /// How far its calendar is off, in ns.
    pub calendar_off: i64,
}

/// Which clocks are set.
#[derive(Clone, Debug)]
pub enum Set {
    /// Not the first one, which is the session's; by 0.5 to 5 s.
    Others,
    /// Any, by this many ns; small steps are as many as large ones.
    Any(Range<u64>),
}

/// How a world is made.
#[derive(Clone, Debug)]
pub struct Plan {
    pub machines: usize,
    pub seconds: u64,
    /// On each link and of each kind.
    pub packets: u64,
    pub mesh: bool,
    pub loss_max: u64,
    /// How many times clocks are set.
    pub steps: usize,
    pub set: Set,
    pub translated: u64,
    /// How many machines of a thousand have no reel, or a part.
    pub missing: u64,
    pub partial: u64,
    pub kinds: Vec<Kind>,
}

/// What really happened.
pub struct World {
    pub machines: Vec<Machine>,
    pub sends: Vec<Sent>,
    pub end: u64,
}

impl World {
    pub fn play(seed: u64, plan: &Plan) -> World {
        let mut draws = Draws(seed);
        let length = plan.seconds * SECOND;
        let mut machines = machines(&mut draws, plan, length);
        set_clocks(&mut draws, plan, length, &mut machines);
        let mut sends = Vec::new();
        for link in links(&mut draws, plan, &machines) {
            let mut own = Vec::new();
            for &kind in &plan.kinds {
                say(&mut draws, plan, length, (link, kind), &mut own);
            }
            own.sort_by_key(|sent| sent.at);
            carry(&mut draws, link, &mut own);
            sends.append(&mut own);
        }
        distinct(&mut sends);
        let last = sends
            .iter()
            .flat_map(|each| each.arrived.iter().chain([&each.at]));
        let end = last.max().copied().unwrap_or(0) + 3 * SECOND;
        World {
            machines,
            sends,
            end,
        }
    }

    /// Where `from` sends what is for `to`, at a moment.
    pub fn address(&self, from: usize, to: usize, at: u64) -> Endpoint {
        self.seen_as(to, from, at)
    }

    /// Under which endpoint `peer` sees `machine`, at a moment.
    pub fn seen_as(&self, machine: usize, peer: usize, at: u64) -> Endpoint {
        let (own, other) = (&self.machines[machine], &self.machines[peer]);
        if own.host == other.host {
            return ([127, 0, 0, 1], own.port).into();
        }
        let local = (own.address, own.port).into();
        let Reach::Behind {
            router,
            port_each,
            anew_at,
        } = own.reach
        else {
            return local;
        };
        if matches!(other.reach, Reach::Behind { router: its, .. } if its == router) {
            return local;
        }
        let mut port = match port_each {
            true => 20_000 + 100 * machine + peer,
            // The router keeps the port where it can.
            false if self.has_port_alone(machine, router) => usize::from(own.port),
            false => 40_000 + machine,
        };
        if anew_at.is_some_and(|anew| anew <= at) {
            port += 10_000;
        }
        ([203, 0, 113, router as u8], port as u16).into()
    }

    fn has_port_alone(&self, machine: usize, router: usize) -> bool {
        let port = self.machines[machine].port;
        let mut earlier = self.machines[..machine].iter();
        !earlier.any(|other| {
            let behind = matches!(other.reach, Reach::Behind { router: its, .. } if its == router);
            behind && other.port == port
        })
    }

    /// The endpoints under which anybody may know a machine, with the machine.
    pub fn endpoints(&self) -> Vec<(Endpoint, usize)> {
        let mut all = BTreeSet::new();
        for machine in 0..self.machines.len() {
            for peer in (0..self.machines.len()).filter(|&peer| peer != machine) {
                for at in [0, u64::MAX] {
                    all.insert((self.seen_as(machine, peer, at), machine));
                }
            }
        }
        all.into_iter().collect()
    }
}

fn machines(draws: &mut Draws, plan: &Plan, length: u64) -> Vec<Machine> {
    let one_port = draws.per_mille(400);
    let mut machines: Vec<Machine> = Vec::new();
    for place in 0..plan.machines {
        let with = place.checked_sub(1).filter(|_| draws.per_mille(100));
        let with = with.and_then(|with| machines.get(with)).cloned();
        let clock = Clock {
            at_zero: i128::from(draws.within(100 * SECOND, 100_000 * SECOND)),
            drift: i128::from(draws.below(200_001)) - 100_000,
            steps: Vec::new(),
        };
        let router = draws.below(1 + plan.machines as u64 / 2) as usize;
        let is_behind = draws.per_mille(plan.translated);
        let reach = match is_behind {
            true => Reach::Behind {
                router,
                port_each: draws.per_mille(300),
                anew_at: draws
                    .per_mille(200)
                    .then(|| draws.within(length / 4, length)),
            },
            false => Reach::Open,
        };
        let beside = machines.iter().filter(
            |other| matches!(other.reach, Reach::Behind { router: its, .. } if its == router),
        );
        let address = match is_behind {
            // The same private addresses behind all routers.
            true => [192, 168, 0, 2 + beside.count() as u8],
            false => [198, 51, 100, 1 + place as u8],
        };
        let part = length / 8..length / 8 * 7;
        let moment = draws.within(part.start, part.end);
        let kept = match draws.below(1000) {
            it if it < plan.missing => Kept::Nothing,
            it if it < plan.missing + plan.partial => match draws.below(5) {
                0 => Kept::Until(moment, true),
                1 => Kept::Until(moment, false),
                2 => Kept::From(moment),
                3 => Kept::SwitchedOn(moment),
                _ => Kept::Without(moment..moment + length / 8),
            },
            _ => Kept::All,
        };
        let is_alone = !(one_port && with.is_none());
        let port = match is_alone {
            true => 4000 + place as u16,
            false => 7000,
        };
        let host = with.as_ref().map_or(place, |with| with.host);
        machines.push(Machine {
            clock: with.as_ref().map_or(clock, |with| with.clock.clone()),
            host,
            address: with.as_ref().map_or(address, |with| with.address),
            port,
            is_unspecific: draws.per_mille(600) || host != place,
            reach: with.map_or(reach, |with| with.reach),
            kept,
            calendar_off: draws.below(10 * SECOND) as i64 - 5 * SECOND as i64,
        });
    }
    // Who shares a host is reached there, and at its address.
    for place in 1..machines.len() {
        let host = machines[place].host;
        if host != place {
            machines[host].is_unspecific = true;
        }
    }
    // Two reels at least, of which the first has all and is even.
    machines[0].kept = Kept::All;
    if machines.iter().skip(1).all(|it| it.kept == Kept::Nothing) {
        machines[1].kept = Kept::All;
    }
    machines
}

/// Sets clocks.
fn set_clocks(draws: &mut Draws, plan: &Plan, length: u64, machines: &mut [Machine]) {
    for _ in 0..plan.steps {
        let first = u64::from(matches!(plan.set, Set::Others));
        let place = draws.within(first, machines.len() as u64) as usize;
        let host = machines[place].host;
        let by = match &plan.set {
            Set::Others if host == 0 => continue,
            Set::Others => draws.within(SECOND / 2, 5 * SECOND),
            Set::Any(by) => {
                let ratio = by.end as f64 / by.start as f64;
                let part = draws.below(1000) as f64 / 1000.0;
                (by.start as f64 * ratio.powf(part)) as u64
            }
        };
        let by = i128::from(by);
        let by = if draws.per_mille(500) { by } else { -by };
        // Steps of one clock leave time for packets between them.
        let from = length / 5 * (1 + machines[place].clock.steps.len() as u64);
        if from < length / 5 * 4 {
            let at = draws.within(from + length / 20, from + length / 10);
            // Two clocks that were set between the same two packets: nobody could tell them apart.
            let mut known = machines.iter().flat_map(|it| &it.clock.steps);
            let is_near = |step: &(u64, i128)| step.0.abs_diff(at) < 2 * SECOND;
            if matches!(plan.set, Set::Any(_)) && known.any(is_near) {
                continue;
            }
            for machine in machines.iter_mut().filter(|it| it.host == host) {
                machine.clock.steps.push((at, by));
            }
        }
    }
}

fn links(draws: &mut Draws, plan: &Plan, machines: &[Machine]) -> Vec<Link> {
    let mut links = Vec::new();
    for from in 0..plan.machines {
        for to in (0..plan.machines).filter(|&to| to != from) {
            if !plan.mesh && from != 0 && to != 0 {
                continue;
            }
            let is_near = machines[from].host == machines[to].host;
            let latency_ns = match is_near {
                true => 30_000,
                false => draws.of(&[200_000, 5 * MS, 40 * MS, 150 * MS]),
            };
            links.push(Link {
                from,
                to,
                latency_ns,
                jitter_ns: latency_ns / draws.of(&[100, 20, 5]),
                overtakes: draws.per_mille(300),
                loss: draws.below(plan.loss_max + 1),
                twice: draws.of(&[0, 0, 20, 100]),
            });
        }
    }
    links
}

/// What one machine has to say to another: a row of packets of a kind.
fn say(
    draws: &mut Draws,
    plan: &Plan,
    length: u64,
    (link, kind): (Link, Kind),
    to: &mut Vec<Sent>,
) {
    let period_ns = length / (plan.packets + 1);
    let mut now = draws.below(period_ns.min(SECOND)) + 1;
    for n in 0..plan.packets {
        now += period_ns / 2 + draws.below(period_ns);
        let number = match kind {
            Kind::Keepalive => 0,
            Kind::Byte => n % 256,
            Kind::Numbered | Kind::Resent => n,
        };
        let who = match kind {
            Kind::Keepalive => [0, 0],
            _ => [link.from as u8, link.to as u8],
        };
        let payload = [&[kind as u8], &who[..], number.to_le_bytes().as_slice()].concat();
        let mut sent = Sent {
            from: link.from,
            to: link.to,
            at: now,
            payload,
            kind,
            arrived: Vec::new(),
        };
        to.push(sent.clone());
        // The timer of a sender that waits for an ack.
        let wait_ns = link.latency_ns * 2 + 20 * MS + draws.below(30 * MS);
        while kind == Kind::Resent && draws.per_mille(link.loss + 30) {
            sent.at += wait_ns;
            to.push(sent.clone());
        }
    }
}
