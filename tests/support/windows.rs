//! What was built for Windows, where that is tested: `./dev windows` says in which folder it lies.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The folder of `netreel.exe` and `netreel.dll`, from `NETREEL_WINDOWS`; `None` where this system's own are
/// tested.
pub fn folder() -> Option<PathBuf> {
    std::env::var_os("NETREEL_WINDOWS").map(PathBuf::from)
}

/// Runs a program for Windows, by what `NETREEL_WINE` names.
pub fn command(program: &Path) -> Command {
    let wine = std::env::var_os("NETREEL_WINE").unwrap_or("wine64".into());
    let mut command = Command::new(wine);
    command.arg(program);
    command
}

/// What a program says that ends by itself. Wine 8 ends one in some thousands of programs before it has said
/// a word, with code 1, with which no command of netreel ends in silence: such a one is begun again.
pub fn output(command: &mut Command) -> Output {
    let said = command.output().expect("the command starts");
    let is_silent = said.stdout.is_empty() && said.stderr.is_empty();
    if folder().is_some() && is_silent && said.status.code() == Some(1) {
        eprintln!("Wine ended {command:?} in silence: begun again");
        return command.output().expect("the command starts");
    }
    said
}

/// The compiler of C, or of C++, that makes programs for the system that is tested.
pub fn compiler(here: &str) -> &str {
    match (folder(), here) {
        (None, _) => here,
        (Some(_), "c++") => "x86_64-w64-mingw32-g++",
        (Some(_), _) => "x86_64-w64-mingw32-gcc",
    }
}
