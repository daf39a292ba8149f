//! What a build is called that has no name: after its file.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// The name of the build in a file: `file ` and the FNV-1a sum of its bytes, 64 bits in hexadecimal.
/// Two files with other bytes have another name.
///
/// # Errors
/// The file cannot be read.
pub fn file_build(path: &Path) -> io::Result<String> {
    let mut file = File::open(path)?;
    let mut buffer = vec![0; 1 << 16];
    let mut sum = 0xcbf2_9ce4_8422_2325_u64;
    loop {
        let length = match file.read(&mut buffer) {
            Ok(0) => return Ok(format!("file {sum:016x}")),
            Ok(length) => length,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        for &byte in buffer.iter().take(length) {
            sum = (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}

/// [`file_build`] of the program, or of the shared library, in which this function lies. An engine
/// whose network layer is one shared library, which the game loads and netreel too, records this as
/// `Header::build`: a replay then knows whether it has the same library. `None` where the system does
/// not tell.
pub fn own_build() -> Option<String> {
    let here = own_build as fn() -> Option<String> as usize;
    file_build(&netreel_system::library::file_of(here)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_called_after_its_file() {
        let own = own_build().unwrap();
        assert_eq!(own, file_build(&std::env::current_exe().unwrap()).unwrap());
        assert_eq!(own.len(), "file ".len() + 16);
    }

    #[test]
    fn other_bytes_make_another_name() {
        let folder = std::env::temp_dir();
        let of = |bytes: &[u8]| {
            let path = folder.join(format!("netreel-build-{}", std::process::id()));
            std::fs::write(&path, bytes).unwrap();
            let name = file_build(&path).unwrap();
            std::fs::remove_file(&path).unwrap();
            name
        };
        // The sums of the authors of the algorithm.
        assert_eq!(of(b""), "file cbf29ce484222325");
        assert_eq!(of(b"a"), "file af63dc4c8601ec8c");
    }
}
