//! The example: a game of two, at 60 frames a second over loopback UDP, with a delay on the way and one
//! packet in twenty lost, so that GGRS rolls back. Each tells the other a checksum of every tenth frame.
//! `cargo run -p ggrs-rollback -- --out DIR [--desync FRAME] [--delay MS] [--ahead FRAMES]`

use std::net::SocketAddr;
use std::path::Path;
use std::time::{Duration, Instant};

use ggrs::{
    Config, DesyncDetection, GgrsError, GgrsEvent, GgrsRequest, InputStatus, P2PSession,
    PlayerType, PredictRepeatLast, SessionBuilder, SessionState,
};
use netreel_record::{Options, Recorded, Recorder, Shared, clock_anchor};
use netreel_reel::{Header, Time, WireText};
use netreel_transport::{Faults, LinkEnd, LinkFaults, Transport, UdpTransport};
use serde::{Deserialize, Serialize};

use crate::GgrsSocket;

type Failure = Box<dyn std::error::Error>;
type Io = Shared<Recorded<Faults<UdpTransport>>>;

/// How many frames are played.
pub const FRAMES: i32 = 300;

/// One frame.
const FRAME: Duration = Duration::from_micros(16_667);

/// What the recording does not say: what GGRS asked of a node's game, and what it told it.
#[derive(Clone, Debug, Default)]
pub struct Truth {
    /// For each rollback how many frames were played again.
    pub rollbacks: Vec<i32>,
    /// The first frame of which GGRS itself says that the checksums differ.
    pub desync: Option<i32>,
}

/// Which buttons a player holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Buttons(u8);

/// The game.
struct Duel;

impl Config for Duel {
    type Input = Buttons;
    type InputPredictor = PredictRepeatLast;
    type State = Arena;
    type Address = SocketAddr;
}

/// Where the two are, how fast, and the game's own random draws.
#[derive(Clone, Debug, Default)]
struct Arena {
    frame: i32,
    places: [(i32, i32); 2],
    speeds: [(i32, i32); 2],
    draw: u64,
}

impl Arena {
    /// One frame on. `off` is what the node's arithmetic is wrong by.
    fn step(&mut self, inputs: &[(Buttons, InputStatus)], off: i32) {
        self.draw = self
            .draw
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        let wind = (self.draw >> 60) as i32 - 7 + off;
        for (player, &(Buttons(held), _)) in inputs.iter().enumerate().take(2) {
            let pull = |plus: u8, minus: u8| {
                i32::from(held >> plus & 1) * 40 - i32::from(held >> minus & 1) * 40
            };
            let (speed, place) = (&mut self.speeds[player], &mut self.places[player]);
            speed.0 = (speed.0 * 9 + pull(0, 1)) / 10 + wind;
            speed.1 = (speed.1 * 9 + pull(2, 3)) / 10;
            place.0 += speed.0;
            place.1 += speed.1;
        }
        self.frame += 1;
    }

    /// Fletcher's checksum of all of it.
    fn checksum(&self) -> u128 {
        let numbers = (0..2).flat_map(|player| {
            let (place, speed) = (self.places[player], self.speeds[player]);
            [place.0, place.1, speed.0, speed.1]
        });
        let (mut one, mut other) = (1u64, 0u64);
        for number in numbers.chain([self.frame]) {
            one = (one + u64::from(number as u32)) % 0xffff_fffb;
            other = (other + one) % 0xffff_fffb;
        }
        u128::from(other << 32 | one)
    }
}

/// What a player holds in a frame: never the same as in the one before, so that no guess is right.
fn buttons(player: usize, frame: i32) -> Buttons {
    Buttons((frame as u8).wrapping_mul(5).wrapping_add(player as u8) & 0x0f)
}

/// One of the two.
struct Node {
    io: Io,
    recorder: Recorder,
    session: P2PSession<Duel>,
    player: usize,
    arena: Arena,
    /// From this frame on its arithmetic is wrong.
    desync: Option<i32>,
    truth: Truth,
    /// How many frames it waits for the other.
    wait: u32,
}

impl Node {
    /// One frame, if GGRS lets the game go on.
    fn turn(&mut self, tick: u64) -> Result<(), Failure> {
        self.io.tick(tick, Time(tick * FRAME.as_nanos() as u64));
        self.session.poll_remote_clients();
        let events: Vec<GgrsEvent<Duel>> = self.session.events().collect();
        for event in events {
            match event {
                GgrsEvent::WaitRecommendation { skip_frames } => self.wait = skip_frames,
                GgrsEvent::DesyncDetected { frame, .. } => {
                    let first = self.truth.desync.get_or_insert(frame);
                    *first = frame.min(*first);
                }
                _ => {}
            }
        }
        let is_over = self.session.current_frame() >= FRAMES;
        if self.session.current_state() != SessionState::Running || is_over {
            return Ok(());
        }
        if self.wait > 0 {
            self.wait -= 1;
            return Ok(());
        }
        let held = buttons(self.player, self.session.current_frame());
        self.io.input(&[held.0]);
        self.session.add_local_input(self.player, held)?;
        match self.session.advance_frame() {
            Ok(requests) => requests.into_iter().for_each(|it| self.carry_out(it)),
            Err(GgrsError::PredictionThreshold) => {}
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }

    fn carry_out(&mut self, request: GgrsRequest<Duel>) {
        match request {
            GgrsRequest::SaveGameState { cell, frame } => {
                let checksum = self.arena.checksum();
                cell.save(frame, Some(self.arena.clone()), Some(checksum));
            }
            GgrsRequest::LoadGameState { cell, frame } => {
                self.truth.rollbacks.push(self.arena.frame - frame);
                if let Some(saved) = cell.load() {
                    self.arena = saved;
                }
            }
            GgrsRequest::AdvanceFrame { inputs } => {
                let is_off = self.desync.is_some_and(|from| self.arena.frame >= from);
                self.arena.step(&inputs, i32::from(is_off));
            }
        }
    }
}

/// What is played, and what is wrong with it.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// From this frame on the game of b works something else out.
    pub desync: Option<i32>,
    /// How long packets take, and up to half as long again by chance.
    pub delay: Duration,
    /// How many frames a node plays ahead of the other's inputs.
    pub ahead: usize,
}

impl Default for Plan {
    fn default() -> Plan {
        Plan {
            desync: None,
            delay: Duration::from_millis(40),
            ahead: 8,
        }
    }
}

/// Plays and records a session: `out/a.reel`, `out/b.reel`. Says what GGRS asked of each, a first.
pub fn record(out: &Path, plan: Plan) -> Result<[Truth; 2], Failure> {
    let [a, b] = [(); 2].map(|()| UdpTransport::bind(([127, 0, 0, 1], 0).into()));
    let sockets = [("a", a?), ("b", b?)];
    let ends = [0, 1].map(|end| (sockets[usize::from(end)].1.local(), LinkEnd(end)));
    let bad = LinkFaults {
        delay: plan.delay,
        jitter: plan.delay / 2,
        loss: 0.05,
        ..LinkFaults::default()
    };
    let mut nodes = Vec::new();
    for (player, (name, socket)) in sockets.into_iter().enumerate() {
        let header = Header {
            node: name.to_owned(),
            clock: clock_anchor(),
            engine: "ggrs example".to_owned(),
            wires: vec![WireText {
                name: "ggrs.wire".to_owned(),
                text: include_str!("../../../wires/ggrs.wire").to_owned(),
            }],
            ..Header::default()
        };
        let recorder = Recorder::create(
            out.join(format!("{name}.reel")),
            &header,
            Options::default(),
        )?;
        let (local, end) = ends[player];
        let mut io = Faults::new(socket, 7, end, ends);
        io.set_egress(ends[1 - player].1, bad);
        let io = Shared::new(Recorded::new(io, recorder.pusher()?, local));
        let mut builder = SessionBuilder::<Duel>::new()
            .with_num_players(2)?
            .with_max_prediction_window(plan.ahead)
            .with_desync_detection_mode(DesyncDetection::On { interval: 10 });
        for (handle, &(address, _)) in ends.iter().enumerate() {
            let whose = match handle == player {
                true => PlayerType::Local,
                false => PlayerType::Remote(address),
            };
            builder = builder.add_player(whose, handle)?;
        }
        nodes.push(Node {
            session: builder.start_p2p_session(GgrsSocket::new(io.clone()))?,
            io,
            recorder,
            player,
            arena: Arena::default(),
            desync: plan.desync.filter(|_| player == 1),
            truth: Truth::default(),
            wait: 0,
        });
    }
    let begin = Instant::now();
    for tick in 0..20 * FRAMES as u32 {
        for node in &mut nodes {
            node.turn(u64::from(tick))?;
        }
        // The last checksums are of frames that are confirmed a little later.
        let is_over = |node: &Node| node.session.confirmed_frame() >= FRAMES - 1;
        if nodes.iter().all(is_over) {
            break;
        }
        std::thread::sleep((FRAME * (tick + 1)).saturating_sub(begin.elapsed()));
    }
    // What is under way arrives, and what nobody has read by then is known to be lost.
    for _ in 0..20 {
        std::thread::sleep(FRAME);
        for node in &mut nodes {
            node.session.poll_remote_clients();
        }
    }
    let mut truths = Vec::new();
    for node in nodes {
        let Node {
            io,
            recorder,
            session,
            truth,
            ..
        } = node;
        drop((session, io));
        recorder.finish()?;
        truths.push(truth);
    }
    let [a, b] = &truths[..] else {
        return Err("two played".into());
    };
    Ok([a.clone(), b.clone()])
}
