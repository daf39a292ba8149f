//! A whole packet from JSON.

use serde_json::Value as Json;

use super::full::Full;
use super::machine::{Entry, Sink, Stop, run};
use super::problem::Problem;
use super::writing::Writing;
use crate::encode::Change;
use crate::facts::PacketFacts;
use crate::program::Program;

/// What became of it.
pub(crate) enum Written {
    Packet {
        bytes: Vec<u8>,
        changes: Vec<Change>,
    },
    /// Why not, with the paths of the fields.
    Refused(Vec<(String, String)>),
}

/// Writes the struct that a packet is, and after it `rest`: bits that the wire does not explain.
pub(crate) fn write(
    program: &Program,
    root: Option<&Json>,
    rest: Option<(Vec<u8>, u32)>,
) -> Written {
    let tape = Writing::new(&program.dictionary, root, rest.is_some());
    // It knows how to say what is wrong.
    let mut full = Full::new(program, "packet", &[]);
    let mut facts = PacketFacts::default();
    let (plan, facts) = (&program.full, &mut facts);
    run(
        program,
        plan,
        Entry::Packet,
        tape,
        facts,
        &mut full,
        |machine, end| {
            let mut tape = machine.tape;
            if let Err(Stop { field, problem }) = end
                && problem != Problem::NotWritten
                && rest.is_none()
            {
                machine.sink.problem(field, 0, problem);
                let why = machine.sink.diagnostics.pop();
                tape.refused.extend(why.map(|why| (why.path, why.message)));
            }
            if !tape.refused.is_empty() {
                return Written::Refused(tape.refused);
            }
            if let Some((bytes, bits)) = rest {
                tape.write_part(&bytes, bits);
            }
            Written::Packet {
                bytes: tape.into_bytes(),
                changes: Vec::new(),
            }
        },
    )
}
