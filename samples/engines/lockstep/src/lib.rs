//! Lockstep among equals, recorded and replayed: every node works the whole game out for itself, from the
//! inputs of all.
//!
//! It is the way of many strategy games (Bettner and Terrano, "1500 Archers on a 28.8", 2001): what a
//! player does is told some ticks before it has effect, and told again until it is acked. A node waits
//! for what lacks, or goes on without it, as some games do that must not stand still; those part as soon
//! as one node had an input in time and another had not.

pub mod example;

use std::collections::BTreeMap;

use netreel_record::Shared;
use netreel_reel::Endpoint;
use netreel_transport::{InputError, Layer, Transport};

/// An input has effect this many ticks after it was told first.
pub const DELAY: u32 = 6;

/// A packet repeats this many inputs at the most.
const REPEATED_MAX: u32 = 32;

/// A checksum is told of every this many ticks.
const SUMMED: u32 = 10;

/// What a node does where an input lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lacking {
    /// It stands still until the input is there.
    Wait,
    /// It goes on as if the player did nothing.
    GoOn,
}

/// What a node is started with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Start {
    /// Which of the players it is.
    pub player: u8,
    /// What it does where an input lacks.
    pub lacking: Lacking,
    /// How long its ticks are, in ns.
    pub tick_ns: u64,
    /// From this tick on its arithmetic is wrong; 0 for never.
    pub wrong_from: u32,
    /// All players, in order.
    pub players: Vec<Endpoint>,
}

impl Start {
    /// As the reel has it.
    pub fn to_bytes(&self) -> Vec<u8> {
        let lacking = u8::from(self.lacking == Lacking::GoOn);
        let players: Vec<String> = self.players.iter().map(Endpoint::to_string).collect();
        let mut bytes = vec![self.player, lacking];
        bytes.extend(self.tick_ns.to_be_bytes());
        bytes.extend(self.wrong_from.to_be_bytes());
        bytes.extend(players.join(" ").bytes());
        bytes
    }

    /// The other way round; `None` where the bytes are something else.
    pub fn of_bytes(bytes: &[u8]) -> Option<Start> {
        let (head, players) = bytes.split_at_checked(14)?;
        let players = std::str::from_utf8(players).ok()?.split(' ');
        Some(Start {
            player: head[0],
            lacking: match head[1] {
                0 => Lacking::Wait,
                _ => Lacking::GoOn,
            },
            tick_ns: u64::from_be_bytes(head[2..10].try_into().ok()?),
            wrong_from: u32::from_be_bytes(head[10..14].try_into().ok()?),
            players: players.map(|it| it.parse().ok()).collect::<Option<_>>()?,
        })
    }
}

/// What a node knows of another player.
#[derive(Default)]
struct Player {
    /// Inputs by tick, but for those that the node is past.
    inputs: BTreeMap<u32, u8>,
    /// It has all of this player's inputs up to this tick.
    has: u32,
    /// The player has all of the node's inputs up to this tick.
    acked: u32,
}

/// A node: its network layer, and the game.
pub struct Node<T> {
    io: Shared<T>,
    start: Start,
    players: Vec<Player>,
    /// The last tick that it has worked out.
    pub tick: u32,
    next_at: Option<u64>,
    held: u8,
    /// What it told of itself by tick, as far as somebody may lack it.
    told: BTreeMap<u32, u8>,
    game: Game,
    sum: Option<(u32, u32)>,
    /// How many inputs it had not been given when it went on.
    pub missed: u64,
    buffer: Vec<u8>,
}

impl<T: Transport> Node<T> {
    /// A node before its first tick. Nobody does anything in the first [`DELAY`] ticks.
    pub fn new(io: Shared<T>, start: Start) -> Node<T> {
        let count = start.players.len();
        let player = || Player {
            inputs: (1..=DELAY).map(|tick| (tick, 0)).collect(),
            has: DELAY,
            acked: DELAY,
        };
        Node {
            io,
            players: (0..count).map(|_| player()).collect(),
            tick: 0,
            next_at: None,
            held: 0,
            told: BTreeMap::new(),
            game: Game::new(count),
            sum: None,
            missed: 0,
            buffer: vec![0; 1500],
            start,
        }
    }

    fn take(&mut self, length: usize) -> Option<()> {
        let packet = &self.buffer[..length];
        let number = |at: usize| Some(u32::from_be_bytes(packet.get(at..at + 4)?.try_into().ok()?));
        let (acked, first) = (number(6)?, number(10)?);
        let inputs = packet.get(15..)?.get(..usize::from(*packet.get(14)?))?;
        let player = self.players.get_mut(usize::from(*packet.get(1)?))?;
        player.acked = player.acked.max(acked);
        for (tick, &held) in (first..).zip(inputs) {
            if tick > self.tick {
                player.inputs.entry(tick).or_insert(held);
            }
            if tick == player.has + 1 {
                player.has = tick;
            }
        }
        Some(())
    }

    /// Works out ticks until none is due, or an input lacks that it waits for.
    fn go_on(&mut self, now: u64) {
        let mut next_at = *self.next_at.get_or_insert(now);
        while now >= next_at {
            let tick = self.tick + 1;
            let lacks = |player: &&Player| !player.inputs.contains_key(&tick);
            let missing = self.players.iter().filter(lacks).count() as u64;
            if missing > 0 && self.start.lacking == Lacking::Wait {
                // The tick is due as soon as the input is there.
                next_at = now;
                break;
            }
            self.missed += missing;
            let inputs = self
                .players
                .iter_mut()
                .map(|it| it.inputs.remove(&tick).unwrap_or(0));
            let inputs: Vec<u8> = inputs.collect();
            let is_wrong = self.start.wrong_from != 0 && tick >= self.start.wrong_from;
            self.game.step(&inputs, is_wrong);
            self.tick = tick;
            if tick.is_multiple_of(SUMMED) {
                self.sum = Some((tick, self.game.checksum()));
            }
            let own = &mut self.players[usize::from(self.start.player)];
            own.inputs.insert(tick + DELAY, self.held);
            own.has = tick + DELAY;
            self.told.insert(tick + DELAY, self.held);
            while self.told.len() > REPEATED_MAX as usize {
                self.told.pop_first();
            }
            next_at += self.start.tick_ns;
            self.tell();
        }
        self.next_at = Some(next_at);
    }

    /// Tells all others what they lack of its inputs.
    fn tell(&mut self) {
        let me = usize::from(self.start.player);
        for other in (0..self.players.len()).filter(|&other| other != me) {
            let oldest = self.told.keys().next().copied().unwrap_or(1);
            let first = oldest.max(self.players[other].acked + 1);
            let mut packet = vec![
                u8::from(self.start.lacking == Lacking::GoOn),
                self.start.player,
            ];
            packet.extend(self.tick.to_be_bytes());
            packet.extend(self.players[other].has.to_be_bytes());
            packet.extend(first.to_be_bytes());
            packet.push(self.told.range(first..).count() as u8);
            packet.extend(self.told.range(first..).map(|(_, &held)| held));
            match self.sum {
                None => packet.push(0),
                Some((tick, sum)) => {
                    packet.push(1);
                    packet.extend(tick.to_be_bytes());
                    packet.extend(sum.to_be_bytes());
                }
            }
            // What is lost is told again.
            let _ = self.io.send(self.start.players[other], &packet);
        }
        self.sum = None;
    }
}

impl<T: Transport> Layer for Node<T> {
    // The node keeps its transport: what is handed over here is the same one.
    fn tick(&mut self, _: &mut dyn Transport) {
        while let Ok(Some(came)) = self.io.receive(&mut self.buffer) {
            // What is no packet of the game is passed over.
            let _ = self.take(came.length);
        }
        let now = self.io.now().nanos();
        self.go_on(now);
    }

    /// A call of the game: what the player holds from now on.
    fn input(&mut self, call: &[u8], _: &mut dyn Transport) -> Result<(), InputError> {
        self.held = call.first().copied().unwrap_or(0);
        Ok(())
    }
}

/// The game: where all players are, and how fast.
struct Game {
    places: Vec<(i32, i32)>,
    speeds: Vec<(i32, i32)>,
    draw: u64,
}

impl Game {
    fn new(players: usize) -> Game {
        Game {
            places: (0..players as i32)
                .map(|player| (player * 1000, 0))
                .collect(),
            speeds: vec![(0, 0); players],
            draw: 1,
        }
    }

    /// One tick on. `is_wrong`: the draws of the game are not what they should be.
    fn step(&mut self, inputs: &[u8], is_wrong: bool) {
        let next = self.draw.wrapping_mul(6_364_136_223_846_793_005);
        self.draw = next.wrapping_add(1 + u64::from(is_wrong));
        let wind = (self.draw >> 60) as i32 - 7;
        let players = self.places.iter_mut().zip(&mut self.speeds).zip(inputs);
        for ((place, speed), held) in players {
            let pull = |plus: u8, minus: u8| {
                i32::from(held >> plus & 1) * 40 - i32::from(held >> minus & 1) * 40
            };
            speed.0 = (speed.0 * 9 + pull(0, 1)) / 10 + wind;
            speed.1 = (speed.1 * 9 + pull(2, 3)) / 10;
            place.0 = place.0.wrapping_add(speed.0);
            place.1 = place.1.wrapping_add(speed.1);
        }
    }

    /// FNV-1a over all of it.
    fn checksum(&self) -> u32 {
        let pairs = self.places.iter().chain(&self.speeds);
        let bytes = pairs
            .flat_map(|&(x, y)| [x.to_be_bytes(), y.to_be_bytes()])
            .flatten();
        bytes.fold(0x811c_9dc5, |hash, byte| {
            (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
        })
    }
}
