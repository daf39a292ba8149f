//! Builds the library that `netreel record` loads into programs, so that the command can carry it.
//!
//! The package `capture/preload` cannot be a dependency: its hooks would be linked into the
//! command. It depends on `capture/shared` alone, which depends on nothing, so that the compiler is
//! all that is needed.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;

fn main() {
    // Links to the sources of both packages; in a packed crate they stand in their place.
    println!("cargo::rerun-if-changed=carried/preload");
    println!("cargo::rerun-if-changed=carried/shared");
    println!("cargo::rerun-if-changed=build.rs");
    let folder = PathBuf::from(variable("OUT_DIR"));
    let library = folder.join("libnetreel_preload.so");
    let known = ["x86_64", "aarch64"].map(Into::into);
    let glibc = variable("CARGO_CFG_TARGET_OS") == "linux"
        && variable("CARGO_CFG_TARGET_ENV") == "gnu"
        && known.contains(&variable("CARGO_CFG_TARGET_ARCH"));
    if !glibc {
        // Elsewhere the command says that it cannot record unmodified programs.
        std::fs::write(&library, b"").expect("cannot write to OUT_DIR");
        return;
    }
    let shared = folder.join("libnetreel_shared.rlib");
    let mut compiler = compiler("shared", "rlib");
    compiler.arg("-o").arg(&shared);
    run(compiler);
    let mut of_shared = OsString::from("netreel_shared=");
    of_shared.push(&shared);
    let mut compiler = self::compiler("preload", "cdylib");
    compiler
        .args(["-C", "codegen-units=1", "-C", "strip=symbols"])
        // A hook that is given to whoever looks it up is ours, whatever else is preloaded.
        .args(["-C", "link-arg=-Wl,-Bsymbolic-functions"])
        .args(["--cfg", "feature=\"carried\"", "--extern"])
        .arg(of_shared)
        .arg("-o")
        .arg(&library);
    let linker = variable("RUSTC_LINKER");
    if !linker.is_empty() {
        compiler
            .arg("-C")
            .arg(format!("linker={}", linker.to_string_lossy()));
    }
    run(compiler);
}

fn variable(name: &str) -> std::ffi::OsString {
    std::env::var_os(name).unwrap_or_default()
}

/// Cargo's own compiler, for the package of that name.
fn compiler(name: &str, kind: &str) -> Command {
    let mut compiler = Command::new(variable("RUSTC"));
    compiler
        .arg(format!("carried/{name}/lib.rs"))
        .args(["--edition", "2024", "--cap-lints", "allow"])
        .args(["--crate-type", kind, "--crate-name"])
        .arg(format!("netreel_{name}"))
        .args(["-C", "opt-level=3", "-C", "panic=abort"])
        .arg("--target")
        .arg(variable("TARGET"));
    compiler
}

fn run(mut compiler: Command) {
    let status = compiler.status().expect("cannot run the compiler");
    assert!(status.success(), "the preload library does not compile");
}
