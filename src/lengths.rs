//! Lengths of time, as options take them.

/// A number of seconds from a tenth to a day.
pub fn seconds(text: &str) -> Result<f64, String> {
    let number: f64 = text.parse().map_err(|_| "it is not a number".to_owned())?;
    if (0.1..=86_400.0).contains(&number) {
        Ok(number)
    } else {
        Err("from 0.1 seconds to a day, 86400".to_owned())
    }
}
