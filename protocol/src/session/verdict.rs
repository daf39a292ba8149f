//! What a proxy did to a packet, in words.

use netreel_reel::FaultVerdict;

use super::{ProxyFault, ProxyId, Session};

impl Session {
    /// `proxy: delayed 50.0 ms`; where there are several proxies, with the name of this one. `time`
    /// writes a length of time in nanoseconds.
    pub fn verdict(&self, fault: ProxyFault, time: impl Fn(i64) -> String) -> String {
        let several = self.proxies.len() > 1;
        let name = self.proxies.get(usize::from(fault.proxy.0));
        let name = match fault.proxy {
            ProxyId::NETWORK => "network",
            _ => name.filter(|_| several).map_or("proxy", String::as_str),
        };
        let time = |nanos: u64| time(i64::try_from(nanos).unwrap_or(i64::MAX));
        let did = match fault.verdict {
            FaultVerdict::Lost => "dropped".to_owned(),
            FaultVerdict::Refused => "client not served".to_owned(),
            FaultVerdict::Corrupted { bit } => format!("corrupted, bit {bit} turned"),
            FaultVerdict::Delayed { nanos } => format!("delayed {}", time(nanos)),
            FaultVerdict::Reordered { nanos } => format!("overtaken, {}", time(nanos)),
            FaultVerdict::Duplicated { nanos } => format!("sent again after {}", time(nanos)),
            FaultVerdict::Queued { nanos } => format!("queued {}", time(nanos)),
            FaultVerdict::QueueFull { nanos } => format!("dropped, its queue was {}", time(nanos)),
        };
        format!("{name}: {did}")
    }
}
