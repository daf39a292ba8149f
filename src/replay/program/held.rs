//! Descriptors that a program was started with: what stands for each when it is started again, and
//! which of them are others than they were.

use std::path::Path;

use netreel_capture::preload::{Descriptor, Standard, Terminal, WrittenFile};
use netreel_reel::is_terminal;
use netreel_replay::program::{Began, Held};
use netreel_system::file::changed_ns;

/// Linux's flags of descriptors, as reels have them: to read and write, and which bits say that.
const READ_WRITE: i32 = 2;
const ACCESS: u32 = 3;
/// How many threads are named.
const NAMED_MAX: usize = 8;

/// Those behind the first three, and a sentence for each that is another one than recorded. A file that
/// was only read is opened again, and read on from where it was.
pub fn held(began: &Began) -> (Vec<Descriptor>, Vec<String>) {
    let (mut all, mut told, mut more) = (Vec::new(), Vec::new(), 0);
    for (fd, target) in began.descriptors.iter().filter(|(fd, _)| *fd > 2) {
        let (file, how) = again(target, began.held.get(fd));
        if let Some(how) = how {
            if told.len() < NAMED_MAX {
                told.push(format!("descriptor {fd} led to {target}, {how}"))
            } else {
                more += 1
            }
        }
        let file = file.map(|position| (target.into(), position));
        all.push(Descriptor { fd: *fd, file });
    }
    if more > 0 {
        told.push(format!(
            "{more} more descriptors lead to nothing as well, and did not"
        ));
    }
    (all, told)
}

/// The first three, each of the kind that it was, and a sentence for each that is another one than
/// recorded.
pub fn standard(began: &Began) -> ([Option<Standard>; 3], Vec<String>) {
    let mut told = Vec::new();
    let each = [0, 1, 2].map(|fd| {
        let (_, target) = began.descriptors.iter().find(|(it, _)| *it == fd)?;
        let (kind, how) = of_kind(began, fd, target);
        let how = how.map(|how| format!("descriptor {fd} led to {target}, {how}"));
        told.extend(how);
        Some(kind)
    });
    (each, told)
}

/// How many rows and columns a terminal has of which nothing is known.
const USUAL_SIZE: (u16, u16) = (24, 80);

fn of_kind(began: &Began, fd: i32, target: &str) -> (Standard, Option<&'static str>) {
    let numbered = |kind: &str| {
        let number = target.strip_prefix(kind)?.strip_suffix(']')?;
        number.parse().ok()
    };
    let held = began.held.get(&fd);
    let nothing = Standard::Nothing(held.map_or(READ_WRITE, |it| it.flags as i32));
    if target == "/dev/null" {
        return (nothing, None);
    }
    if let Some(number) = numbered("pipe:[") {
        return (Standard::Pipe(number), None);
    }
    if let Some(number) = numbered("socket:[") {
        return (Standard::Socket(number), None);
    }
    if is_terminal(target) {
        let size = began.terminals.get(&fd).copied();
        let terminal = Terminal {
            path: target.to_owned(),
            size: size.unwrap_or(USUAL_SIZE),
        };
        return (Standard::Terminal(terminal), None);
    }
    let Some(held) = held else {
        return (nothing, Some(NOTHING));
    };
    if held.flags & ACCESS != 0 {
        let written = WrittenFile {
            path: target.into(),
            flags: held.flags as i32,
            position: held.position,
        };
        return (Standard::Written(written), None);
    }
    let (position, how) = again(target, Some(held));
    let read = Standard::Read {
        path: position.map(|_| target.into()),
        position: held.position,
    };
    (read, how)
}

const NOTHING: &str = "and leads to nothing now (/dev/null)";
const CHANGED: &str = "which was changed since";

/// From where a file is read again, where it can be, and how the descriptor is another one than it was.
fn again(target: &str, held: Option<&Held>) -> (Option<u64>, Option<&'static str>) {
    if target == "/dev/null" {
        return (None, None);
    }
    let Some(held) = held.filter(|held| held.flags & ACCESS == 0) else {
        return (None, Some(NOTHING));
    };
    // The path is a reel's, which may name anything: a device, a pipe.
    let Some(now) = Path::new(target).metadata().ok().filter(|it| it.is_file()) else {
        return (
            None,
            Some("which is gone: it leads to nothing now (/dev/null)"),
        );
    };
    let is_same = now.len() == held.size && changed_ns(&now) == held.changed;
    (Some(held.position), (!is_same).then_some(CHANGED))
}
