//! What becomes of packets on a link, as a script says it: `{delay=0.3, jitter=0.1, loss=5}`.

use mlua::Table;

/// The words that a node is told: `delay 300ms jitter 100ms loss 5% held`; empty for a link as it is.
pub(crate) fn words(faults: &Table) -> Result<String, String> {
    let mut words = Vec::new();
    for pair in faults.pairs::<String, mlua::Value>() {
        let (name, value) = pair.map_err(|error| error.to_string())?;
        let number = value.as_number().or(value.as_integer().map(|it| it as f64));
        let number = number.filter(|it| it.is_finite() && *it >= 0.0);
        let is_so = value.as_boolean();
        let word = match (name.as_str(), number, is_so) {
            ("delay" | "jitter", Some(seconds), _) => format!("{name} {:.0}ms", seconds * 1000.0),
            ("loss" | "duplicate" | "reorder" | "corrupt", Some(percent), _)
                if percent <= 100.0 =>
            {
                format!("{name} {percent}%")
            }
            ("held", _, Some(true)) => "held".to_owned(),
            ("held", _, Some(false)) => continue,
            _ => {
                return Err(format!(
                    "{name}: faults are delay and jitter in seconds, loss, duplicate, reorder and corrupt in \
                     percent, and held = true"
                ));
            }
        };
        words.push(word);
    }
    // The order in which Lua keeps them is another one in each run.
    words.sort();
    Ok(words.join(" "))
}
