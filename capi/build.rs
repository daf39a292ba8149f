//! How the shared library is linked.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("linux") {
        // Its writing thread runs code of the library: an unload under it would be a crash.
        println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete");
        // Who links against it by a path must not have that path written into the program.
        println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libnetreel.so");
    }
}
