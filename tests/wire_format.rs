//! `netreel wire format`: what becomes of files, and of the standard input.

mod support;

use std::io::Write;
use std::process::{Command, Stdio};

use support::netreel;

const WIRE: &str = "struct Packet {\n    magic: u8 = 0x47;   // always\n}\n";

#[test]
fn formatting_changes_the_file_and_nothing_else() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a.wire");
    let shown = path.display().to_string();
    let write = |text: &str| std::fs::write(&path, text).expect("a file is written");
    let read = || std::fs::read_to_string(&path).expect("the file");
    write(WIRE);
    assert_eq!(
        netreel(&["wire", "format", "--check", &shown])
            .expect(0)
            .out,
        ""
    );
    let untidy = WIRE.replace("    magic: u8 = 0x47;   ", "magic:u8=0x47 ;         ");
    write(&untidy);
    let ran = netreel(&["wire", "format", "--check", &shown]).expect(1);
    assert_eq!(ran.out, format!("{shown} is not formatted\n"));
    assert_eq!(read(), untidy);
    netreel(&["wire", "format", &shown]).expect(0);
    assert_eq!(read(), WIRE);
    write("struct A { a u8; }");
    let ran = netreel(&["wire", "format", &shown]).expect(1);
    assert!(ran.err.contains("is left as it is"), "{}", ran.err);
    assert_eq!(read(), "struct A { a u8; }");
    netreel(&["wire", "format", "/no/such.wire"]).expect(2);
}

#[test]
fn the_standard_input_goes_to_the_output() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_netreel"))
        .args(["wire", "format", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the command starts");
    let mut input = child.stdin.take().expect("an input");
    input.write_all(b"const A=1 ;").expect("it is read");
    drop(input);
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.stdout, b"const A = 1;\n");
}
