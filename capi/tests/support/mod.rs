//! The system's compilers and the programs that they make.
#![allow(dead_code, unused_imports, unused_macros)] // each test uses some

#[path = "../../../tests/support/skipped.rs"]
mod skipped;
pub mod table;
#[path = "../../../tests/support/windows.rs"]
pub mod windows;

use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

pub use skipped::skipped;

/// The folder of the built library. Cargo makes `libnetreel.so` in the same breath as the `lib`
/// that every test links, in the folder of the tests themselves.
pub fn library_folder() -> PathBuf {
    if let Some(folder) = windows::folder() {
        return folder;
    }
    let test = std::env::current_exe().unwrap();
    let folder = test.parent().unwrap();
    let library = folder.join("libnetreel.so");
    assert!(library.is_file(), "{} is not there", library.display());
    folder.to_owned()
}

/// A file of this package.
pub fn file(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// A compiler with its language and standard.
#[derive(Clone, Copy)]
pub struct Compiler {
    pub command: &'static str,
    pub language: &'static str,
    pub standard: &'static str,
}

pub const C99: Compiler = Compiler {
    command: "cc",
    language: "c",
    standard: "-std=c99",
};
pub const CPP11: Compiler = Compiler {
    command: "c++",
    language: "c++",
    standard: "-std=c++11",
};
pub const CPP17: Compiler = Compiler {
    standard: "-std=c++17",
    ..CPP11
};
pub const CPP20: Compiler = Compiler {
    standard: "-std=c++20",
    ..CPP11
};

impl Compiler {
    /// Whether it can compile; says what is skipped where it cannot.
    pub fn is_here(self) -> bool {
        is_here(windows::compiler(self.command))
    }

    /// The compiler with all warnings as errors.
    pub fn strict(self) -> Command {
        let mut command = Command::new(windows::compiler(self.command));
        command
            .arg(self.standard)
            .args(["-Wall", "-Wextra", "-Werror", "-pedantic"])
            .arg("-I")
            .arg(file("include"));
        command
    }

    /// Compiles `source` and links it with libnetreel; `None` where there is no such compiler.
    pub fn build(self, source: &Path, folder: &Path, libraries: &[&str]) -> Option<PathBuf> {
        if !self.is_here() {
            return None;
        }
        let mut program = folder.join(source.file_stem().unwrap());
        let library = library_folder();
        let mut found = vec![format!("-Wl,-rpath,{}", library.display())];
        let mut linked = OsString::from("-lnetreel");
        if windows::folder().is_some() {
            program.set_extension("exe");
            // The library, and what `./dev windows` lays beside it for Wine.
            for name in ["netreel.dll", "bcryptprimitives.dll"] {
                std::fs::copy(library.join(name), folder.join(name)).unwrap();
            }
            found = ["-lws2_32", "-static"].map(str::to_owned).into();
            // With -static, -lnetreel would be the static library.
            linked = library.join("libnetreel.dll.a").into();
        }
        let mut command = self.strict();
        command
            .args(["-x", self.language])
            .arg(source)
            .args(["-x", "none", "-o"])
            .arg(&program)
            .arg("-L")
            .arg(&library)
            .arg(linked)
            .args(libraries)
            .args(found);
        checked(&mut command);
        Some(program)
    }
}

/// A tool that is asked for its version; says what is skipped where it is not here.
pub fn is_here(command: &str) -> bool {
    let asked = Command::new(command).arg("--version").output();
    let here = asked.is_ok_and(|output| output.status.success());
    if !here {
        skipped(format_args!("there is no {command} here"));
    }
    here
}

/// Whether libenet and its header are here; says what is skipped where they are not.
pub fn libenet_is_here() -> bool {
    if !C99.is_here() {
        return false;
    }
    let mut command = Command::new(C99.command);
    command.args(["-x", "c", "-", "-lenet", "-o", "/dev/null"]);
    let mut child = command
        .stdin(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut source = child.stdin.take().unwrap();
    let text = "#include <enet/enet.h>\nint main(void) { return enet_initialize(); }\n";
    source.write_all(text.as_bytes()).unwrap();
    drop(source);
    let here = child.wait().unwrap().success();
    if !here {
        skipped("libenet-dev is not here");
    }
    here
}

/// Runs a command that must succeed, and returns what it printed.
pub fn checked(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let text = text(&output);
    assert!(output.status.success(), "{command:?}:\n{text}");
    text
}

/// What a program printed, to both outputs.
pub fn text(output: &Output) -> String {
    let out = String::from_utf8_lossy(&output.stdout);
    let err = String::from_utf8_lossy(&output.stderr);
    format!("{out}{err}")
}

/// Runs a program that [`Compiler::build`] made.
pub fn run(program: &Path) -> Command {
    match windows::folder() {
        None => Command::new(program),
        Some(_) => windows::command(program),
    }
}

/// A program that records, and that printed its port.
pub struct Node {
    pub child: Child,
    pub port: String,
}

/// Starts `program record REEL [PORT]` and waits for its port.
pub fn start(program: &Path, reel: &Path, peer: Option<&str>) -> Node {
    let mut child = run(program)
        .arg("record")
        .arg(reel)
        .args(peer)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    output.read_line(&mut line).unwrap();
    // What it prints later is not read; it is far from filling the pipe.
    child.stdout = Some(output.into_inner());
    let port = line.trim().to_owned();
    Node { child, port }
}

/// Records a session of two nodes, `server.reel` and `client.reel` in `folder`. What each printed
/// at its end.
pub fn session(program: &Path, folder: &Path) -> [String; 2] {
    let mut server = start(program, &folder.join("server.reel"), None);
    let port = server.port.clone();
    let mut client = start(program, &folder.join("client.reel"), Some(&port));
    assert!(client.child.wait().unwrap().success());
    assert!(server.child.wait().unwrap().success());
    [server, client].map(|node| {
        let mut rest = String::new();
        let mut output = node.child.stdout.unwrap();
        output.read_to_string(&mut rest).unwrap();
        rest
    })
}

/// `program replay REEL [OTHER]`: whether it was exact, and what it printed.
pub fn replay(program: &Path, reel: &Path, other: Option<&str>) -> (bool, String) {
    let output = run(program)
        .arg("replay")
        .arg(reel)
        .args(other)
        .output()
        .unwrap();
    (output.status.success(), text(&output))
}
