//! The keys of connections, in the file that netreel, Wireshark and tshark read.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::Mutex;

use rustls::KeyLog;

/// `keys.log`: a line a secret, written when TLS makes it, so that a crash leaves the file whole.
///
/// Whoever has the file reads all that was said in these connections.
#[derive(Debug)]
pub struct KeyFile(Mutex<File>);

impl KeyFile {
    /// Writes on at the file's end; several endpoints may have the same one.
    ///
    /// # Errors
    /// The file cannot be opened.
    pub fn open(path: &Path) -> std::io::Result<KeyFile> {
        let file = File::options().append(true).create(true).open(path)?;
        Ok(KeyFile(Mutex::new(file)))
    }
}

impl KeyLog for KeyFile {
    fn log(&self, label: &str, client_random: &[u8], secret: &[u8]) {
        let hexadecimal =
            |bytes: &[u8]| -> String { bytes.iter().map(|byte| format!("{byte:02x}")).collect() };
        let (id, key) = (hexadecimal(client_random), hexadecimal(secret));
        // TLS goes on without the file: then the packets stay sealed, which every reader says.
        if let Ok(mut file) = self.0.lock() {
            let _ = file.write_all(format!("{label} {id} {key}\n").as_bytes());
        }
    }
}
