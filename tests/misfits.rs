//! What of a session does not fit its wire.

mod support;

use std::path::Path;

use support::netreel;

#[test]
fn what_does_not_fit_a_session_is_said_once_for_many_packets() {
    let folder = tempfile::tempdir().expect("a folder");
    let samples = Path::new(env!("CARGO_MANIFEST_DIR")).join("samples");
    let boxes = std::fs::read_to_string(samples.join("wires/boxes.wire")).expect("the sample");
    let boxes = boxes.replace("    align(8) = 0;\n", "    align(8) = 0;\n    more: u64;\n");
    let path = folder.path().join("boxes.wire");
    std::fs::write(&path, boxes).expect("a wire");
    let session = samples.join("sessions/host").display().to_string();
    let wire = path.display().to_string();
    for command in ["info", "check"] {
        let ran = netreel(&[command, &session, "--no-index", "--wire", &wire]);
        let line =
            "573 x more: `u64` needs 64 bits, none is left before the packet's end  (packet 0)";
        assert!(ran.err.contains(line), "{command}: {}", ran.err);
    }
}
