//! Descriptors that a program was started with: what stands for each when it is started again, and
//! which of them are others than they were.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

use netreel_capture::preload::Descriptor;
use netreel_replay::program::{Began, Held};

/// So many are named.
const NAMED_MAX: usize = 8;

/// Those behind the first three, and a sentence for each that is another one than recorded. A file that
/// was only read is opened again, and read on from where it was.
pub fn held(began: &Began) -> (Vec<Descriptor>, Vec<String>) {
    let (mut all, mut told, mut more) = (Vec::new(), Vec::new(), 0);
    for (fd, target) in began.descriptors.iter().filter(|(fd, _)| *fd > 2) {
        let (file, how) = again(target, began.held.get(fd));
        if let Some(how) = how {
            match told.len() < NAMED_MAX {
                true => told.push(format!("descriptor {fd} led to {target}, {how}")),
                false => more += 1,
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

const NOTHING: &str = "and leads to nothing now (/dev/null)";
const CHANGED: &str = "which was changed since";

/// From where a file is read again, where it can be, and how the descriptor is another one than it was.
fn again(target: &str, held: Option<&Held>) -> (Option<u64>, Option<&'static str>) {
    if target == "/dev/null" {
        return (None, None);
    }
    let Some(held) = held.filter(|held| held.flags & libc::O_ACCMODE as u32 == 0) else {
        return (None, Some(NOTHING));
    };
    // The path is a reel's, which may name anything: a device, a pipe.
    let Some(now) = Path::new(target).metadata().ok().filter(|it| it.is_file()) else {
        return (
            None,
            Some("which is gone: it leads to nothing now (/dev/null)"),
        );
    };
    let changed = now.mtime().wrapping_mul(1_000_000_000);
    let is_same = now.len() == held.size && changed.wrapping_add(now.mtime_nsec()) == held.changed;
    (Some(held.position), (!is_same).then_some(CHANGED))
}
