//! What becomes of packets on a link, as a script says it: `{delay=0.3, jitter=0.1, loss=5}`.

use mlua::{Table, Value};

/// The words that a node is told, in the language of `netreel record --faults`: `delay=300ms,loss=5%`; `none`
/// for a link as it is, which is nil here.
pub(crate) fn words(faults: Option<&Value>) -> Result<String, String> {
    let mut words = Vec::new();
    match faults {
        None | Some(Value::Nil) => {}
        Some(Value::Table(faults)) => each(faults, "", &mut words)?,
        Some(other) => return Err(format!("a {}: {THERE_ARE}", other.type_name())),
    }
    // The order in which Lua keeps them is another one in each run.
    words.sort();
    Ok(if words.is_empty() {
        "none".to_owned()
    } else {
        words.join(",")
    })
}

fn each(faults: &Table, way: &str, words: &mut Vec<String>) -> Result<(), String> {
    for pair in faults.pairs::<String, Value>() {
        let (name, value) = pair.map_err(|error| error.to_string())?;
        let number = value
            .as_number()
            .or(value.as_integer().map(|it| it as f64))
            .filter(|it| it.is_finite() && *it >= 0.0);
        let word = match (name.as_str(), number, &value) {
            ("up" | "down", _, Value::Table(faults)) if way.is_empty() => {
                each(faults, &format!("{name}:"), words)?;
                continue;
            }
            ("delay" | "jitter", Some(seconds), _) => format!("{name}={:.0}ms", seconds * 1000.0),
            ("loss" | "burst" | "corrupt" | "dup" | "reorder", Some(percent), _)
                if percent <= 100.0 =>
            {
                format!("{name}={percent}%")
            }
            ("burst_loss", Some(percent), _) if percent <= 100.0 => {
                format!("burst-loss={percent}%")
            }
            ("burst_length", Some(packets), _) if packets >= 1.0 => {
                format!("burst-length={packets}")
            }
            ("rate", Some(kilobits), _) => format!("rate={kilobits}kbit"),
            ("held", _, Value::Boolean(true)) => "held".to_owned(),
            ("held", _, Value::Boolean(false)) => continue,
            _ => return Err(format!("{name}: {THERE_ARE}")),
        };
        words.push(format!("{way}{word}"));
    }
    Ok(())
}

const THERE_ARE: &str = "faults are delay and jitter in seconds, loss, burst, burst_loss, corrupt, dup and \
                         reorder in percent, burst_length in packets, rate in kilobits a second, and held = true; of a link that runs by itself up = {...} and \
                         down = {...} as well";
