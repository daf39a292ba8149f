//! Builds the library that `netreel record` loads into programs, so that the command can carry it.
//!
//! The package `capture/preload` cannot be a dependency: its hooks would be linked into the
//! command. It has no dependencies of its own, so that the compiler is all that is needed.

use std::path::PathBuf;
use std::process::Command;

fn main() {
    // A link to the sources of `capture/preload`; in a packed crate they stand in its place.
    println!("cargo::rerun-if-changed=carried");
    println!("cargo::rerun-if-changed=build.rs");
    let variable = |name: &str| std::env::var_os(name).unwrap_or_default();
    let library = PathBuf::from(variable("OUT_DIR")).join("libnetreel_preload.so");
    let known = ["x86_64", "aarch64"].map(Into::into);
    let glibc = variable("CARGO_CFG_TARGET_OS") == "linux"
        && variable("CARGO_CFG_TARGET_ENV") == "gnu"
        && known.contains(&variable("CARGO_CFG_TARGET_ARCH"));
    if !glibc {
        // Elsewhere the command says that it cannot record unmodified programs.
        std::fs::write(&library, b"").expect("cannot write to OUT_DIR");
        return;
    }
    let mut compiler = Command::new(variable("RUSTC"));
    compiler
        .arg("carried/lib.rs")
        .args(["--edition", "2024", "--crate-name", "netreel_preload"])
        .args(["--crate-type", "cdylib", "--cap-lints", "allow"])
        .args(["-C", "opt-level=3", "-C", "codegen-units=1"])
        .args(["-C", "panic=abort", "-C", "strip=symbols"])
        // A hook that is given to whoever looks it up is ours, whatever else is preloaded.
        .args(["-C", "link-arg=-Wl,-Bsymbolic-functions"])
        .args(["--cfg", "feature=\"carried\""])
        .arg("--target")
        .arg(variable("TARGET"))
        .arg("-o")
        .arg(&library);
    let linker = variable("RUSTC_LINKER");
    if !linker.is_empty() {
        compiler
            .arg("-C")
            .arg(format!("linker={}", linker.to_string_lossy()));
    }
    let status = compiler.status().expect("cannot run the compiler");
    assert!(status.success(), "the preload library does not compile");
}
