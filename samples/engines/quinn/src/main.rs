//! `quinn-quic --out DIR`: plays and records a session.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments = std::env::args().skip(1).collect::<Vec<_>>();
    let [flag, out] = &arguments[..] else {
        return Err("say where to: --out DIR".into());
    };
    if flag != "--out" {
        return Err(format!("{flag} is not known here: --out DIR").into());
    }
    std::fs::create_dir_all(out)?;
    quinn_recorded::example::record(out.as_ref())
}
