//! A whole packet from JSON.

use serde_json::Value as Json;

use super::full::Full;
use super::machine::{Entry, Machine, Stop, Surroundings};
use super::problem::Problem;
use super::sink::Sink;
use super::tape::Tape as _;
use super::writing::Writing;
use super::writing::asked::Derived;
use crate::context::Context;
use crate::facts::PacketFacts;
use crate::layers::begin_packet;
use crate::program::Program;
use crate::state::ConnectionState;

/// A derived field that was worked out anew.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Which field: `messages[2].length`.
    pub path: String,
    /// What the JSON said.
    pub from: i128,
    /// What it is.
    pub to: i128,
}

/// What a packet is made of.
#[derive(Clone, Copy)]
pub(crate) struct Source<'j> {
    /// The struct that the packet is.
    pub root: Option<&'j Json>,
    /// Bits that the wire does not explain, and how many there are.
    pub rest: Option<&'j (Vec<u8>, u32)>,
    pub context: &'j Context,
    /// A packet, or a message that was joined from fragments.
    pub entry: Entry,
}

/// What became of it.
pub(crate) enum Written {
    Packet {
        bytes: Vec<u8>,
        changes: Vec<Change>,
    },
    /// Why not, with the paths of the fields.
    Refused(Vec<(String, String)>),
}

/// How often derived fields are worked out anew before they count as going round in circles.
const RUNS_MAX: usize = 16;

/// Writes the struct that a packet is, and after it `rest`: bits that the wire does not explain.
///
/// A derived field can come before what it is worked out from, and change where that stands. So the
/// packet is written again with what the run before worked out, until nothing changes any more.
///
/// `state` advances by the packet, unless it is refused.
pub(crate) fn write(program: &Program, source: Source<'_>, state: &mut ConnectionState) -> Written {
    let mut settled = Vec::new();
    for _ in 0..RUNS_MAX {
        let mut after = state.clone();
        let run = write_once(program, source, &settled, &mut after);
        if run.derived.iter().all(Derived::is_settled) {
            let written = run.end();
            if matches!(written, Written::Packet { .. }) {
                *state = after;
            }
            return written;
        }
        settled = run
            .derived
            .iter()
            .map(|derived| derived.worked_out.unwrap_or(derived.written))
            .collect();
    }
    let why = "derived fields depend on each other and do not come to rest";
    Written::Refused(vec![(String::new(), why.to_owned())])
}

/// One run.
struct Run {
    bytes: Vec<u8>,
    derived: Vec<Derived>,
    refused: Vec<(String, String)>,
}

impl Run {
    fn end(self) -> Written {
        if !self.refused.is_empty() {
            let mut refused = self.refused;
            refused.dedup();
            return Written::Refused(refused);
        }
        let change = |derived: Derived| {
            let from = derived.given.filter(|&given| given != derived.written)?;
            Some(Change {
                path: derived.path,
                from,
                to: derived.written,
            })
        };
        let changes = self.derived.into_iter().filter_map(change);
        Written::Packet {
            bytes: self.bytes,
            changes: changes.collect(),
        }
    }
}

fn write_once(
    program: &Program,
    source: Source<'_>,
    settled: &[i128],
    state: &mut ConnectionState,
) -> Run {
    // How long it gets shows when it is there.
    begin_packet(usize::MAX);
    let Source {
        root,
        rest,
        context,
        entry,
    } = source;
    let tape = Writing::new(&program.dictionary, root, rest.is_some(), settled);
    // It knows how to say what is wrong.
    let mut full = Full::new(program, "packet", &[]);
    let mut facts = PacketFacts::default();
    let around = Surroundings {
        context: *context,
        state,
    };
    let plan = &program.full;
    let mut registers = vec![0; plan.registers];
    let mut machine = Machine::new(
        program,
        plan,
        tape,
        &mut registers,
        around,
        &mut facts,
        &mut full,
    );
    let end = machine.run(entry);
    let mut tape = machine.tape;
    tape.unwind(0);
    if let Err(Stop { field, problem }) = end
        && problem != Problem::NotWritten
        && rest.is_none()
    {
        machine.sink.problem(field, 0, problem);
        let why = machine.sink.diagnostics.pop();
        tape.refused.extend(why.map(|why| (why.path, why.message)));
    }
    if let Some((bytes, bits)) = rest {
        tape.write_part(bytes, *bits);
    }
    let bytes = tape.finished();
    Run {
        derived: tape.derived,
        refused: tape.refused,
        bytes,
    }
}
