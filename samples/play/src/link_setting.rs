//! What a hand makes of a link.

use std::time::Duration;

/// What one directed link is like, as a hand has set it. Applied where packets arrive.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LinkSetting {
    /// How long every packet takes beyond what it really takes.
    pub delay: Duration,
    /// Up to how much longer it takes by chance.
    pub jitter: Duration,
    /// The chance that a packet is lost, from 0 to 1.
    pub loss: f64,
    /// The chance that a burst of loss begins at a packet, from 0 to 1.
    pub burst: f64,
    /// The chance that a packet arrives with one bit turned, from 0 to 1.
    pub corrupt: f64,
    /// Whether everything waits until this is false again.
    pub held: bool,
}

impl LinkSetting {
    /// As sentences and rows have it; empty for a link that nobody has touched.
    pub fn text(&self) -> String {
        let mut parts = Vec::new();
        if self.held {
            parts.push("held".to_owned());
        }
        if self.delay != Duration::ZERO {
            parts.push(format!("delay {} ms", self.delay.as_millis()));
        }
        if self.jitter != Duration::ZERO {
            parts.push(format!("jitter {} ms", self.jitter.as_millis()));
        }
        let chances = [
            ("loss", self.loss),
            ("burst", self.burst),
            ("corrupt", self.corrupt),
        ];
        for (name, chance) in chances.iter().filter(|it| it.1 > 0.0) {
            parts.push(format!("{name} {} %", (chance * 1000.0).round() / 10.0));
        }
        parts.join(", ")
    }
}
