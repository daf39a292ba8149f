//! Wire files: read with what they import, compiled, and remembered; and a wire that takes every packet as it
//! is.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use netreel_wire::{CompileError, Wire};

use crate::open::wire_text;
use crate::outcome::{Failure, Result};

/// A wire file that was compiled, and every file that had to do with it.
pub struct Source {
    pub path: PathBuf,
    /// What became of it; the outer error: the file cannot be read.
    pub wire: Result<Result<Wire, CompileError>, String>,
    /// The files that were asked for, and their texts at that moment.
    pub read: Vec<(PathBuf, Result<String, String>)>,
}

impl Source {
    pub fn read(path: &Path) -> Source {
        let text = wire_text(path);
        let mut read = vec![(path.to_owned(), text.clone())];
        let folder = path.parent().unwrap_or(Path::new(""));
        let wire = text.map(|text| {
            Wire::compile_with(&path.display().to_string(), &text, &mut |imported| {
                // The language lets no path out of the folder.
                let path = folder.join(imported);
                let text = wire_text(&path);
                read.push((path, text.clone()));
                text.map_err(std::io::Error::other)
            })
        });
        Source {
            path: path.to_owned(),
            wire,
            read,
        }
    }

    /// Whether some file is no longer what it was.
    pub fn has_changed(&self) -> bool {
        let changed = |(path, text): &(PathBuf, Result<String, String>)| wire_text(path) != *text;
        self.read.iter().any(changed)
    }

    /// The wire, where there has to be one.
    pub fn wire(self) -> Result<Wire> {
        let shown = self.path.display().to_string();
        let wire = self.wire.map_err(|why| format!("{shown}: {why}"))?;
        wire.map_err(|error| Failure::new(format!("{shown} does not compile\n{error}")))
    }
}

const ANY: &str = "wire any { byte_order = big; bit_order = msb; root = Packet; }
struct Packet { data: bytes(rest); }";

/// A wire for which every packet is bytes: a session needs one before it tells how a packet travelled, and
/// asks none that stands in its reels where one is given.
pub fn any() -> Result<Arc<Wire>> {
    let wire = Wire::compile("any.wire", ANY)?;
    Ok(Arc::new(wire))
}
