//! The commands of the prompt, in words.

use crate::outcome::{Result, fail};

/// What `help` prints.
pub const HELP: &str = "\
event, packet, message, tick, call [N]  on to the next one, or N of them; short: e, p, m, t
back event, back packet, ... [N]        the same backwards; short: b e, b p
continue, back continue                 to the next breakpoint, or the end; short: c, b c
until WHERE, back until WHERE           to what fits; short: u
    WHERE is a filter of packets (kind == migrate && object == 42), `event 218`, `time 1.2s`,
    `finding` or `finding RULE`, or what the node is to believe: `objects[42]` (it lives),
    `objects[42].owner == X`, `objects[42].position[0] > 3`
goto EVENT, goto 1.2s                   there, forward or back
break WHERE, breaks, delete N           breakpoints; they are kept beside the session
show                                    what is here, to the last bit
step [packet ...], print [object N ...] the same as these words alone; alone an event, and what is here
object N, objects                       what the node believed here; the layer's own word of it
state [NAME]                            the layer's state, or what of it begins with NAME
time-outs off, time-outs on             the layer's one switch of its time-outs, for all of the
                                        replay; off at the start, where the layer has one
where, help, quit
";

/// A command's word and the rest. Refuses what stands behind a command that takes nothing.
pub fn split(line: &str) -> Result<(&str, &str)> {
    let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
    let rest = rest.trim();
    let instead = match word {
        _ if rest.is_empty() => return Ok((word, rest)),
        "continue" | "c" => "it goes to the next breakpoint; `until WHERE` goes to what fits",
        "show" | "s" => "it shows what is here; `goto EVENT` goes somewhere else",
        "where" | "w" => "it says where one is; `goto EVENT` goes somewhere else",
        "objects" => "it lists all that the node knows; `object N` is about one",
        "breaks" => "it lists all; `break WHERE` makes one, `delete N` takes one away",
        "help" | "h" | "quit" | "q" | "exit" => "it takes nothing",
        _ => return Ok((word, rest)),
    };
    fail(format!(
        "`{word}` does not know what to do with `{rest}`: {instead}"
    ))
}
