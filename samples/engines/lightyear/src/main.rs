//! `lightyear-links --out DIR`: plays and records a session in which one packet in twelve is lost.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments = std::env::args().skip(1).collect::<Vec<_>>();
    let [flag, out] = &arguments[..] else {
        return Err("say where to: --out DIR".into());
    };
    if flag != "--out" {
        return Err(format!("{flag} is not known here: --out DIR").into());
    }
    std::fs::create_dir_all(out)?;
    let plan = lightyear_recorded::example::Plan {
        loss: 1.0 / 12.0,
        lz4: false,
    };
    lightyear_recorded::example::record(out.as_ref(), plan)?;
    Ok(())
}
