//! How the command is linked on Windows.

/// The main thread has as much room there as it has on Linux: 8 MiB instead of one.
const STACK_BYTES: u32 = 8 << 20;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let target = |what: &str| std::env::var(format!("CARGO_CFG_TARGET_{what}"));
    if target("OS").is_ok_and(|it| it == "windows") {
        let argument = match target("ENV").as_deref() {
            Ok("msvc") => format!("/STACK:{STACK_BYTES}"),
            _ => format!("-Wl,--stack,{STACK_BYTES}"),
        };
        println!("cargo::rustc-link-arg-bins={argument}");
    }
}
