//! How long the writing thread may pause.

use std::time::Instant;

/// How long the writing thread may pause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pause {
    /// There is more to do.
    No,
    /// Until then, or until a ring fills.
    Doze(Instant),
    /// Until somebody pushes, or until then.
    Deep(Option<Instant>),
}

impl Pause {
    /// The shorter and lighter of both.
    pub fn and(self, other: Pause) -> Pause {
        let sooner = |a: Option<Instant>, b: Option<Instant>| match (a, b) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        match (self, other) {
            (Pause::No, _) | (_, Pause::No) => Pause::No,
            (Pause::Deep(a), Pause::Deep(b)) => Pause::Deep(sooner(a, b)),
            (Pause::Doze(a), Pause::Doze(b)) => Pause::Doze(a.min(b)),
            (Pause::Doze(a), Pause::Deep(b)) | (Pause::Deep(b), Pause::Doze(a)) => {
                Pause::Doze(b.map_or(a, |b| a.min(b)))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn the_shortest_and_lightest_pause_counts() {
        let now = Instant::now();
        let later = now + Duration::from_secs(1);
        let deep = Pause::Deep;
        assert_eq!(deep(None).and(deep(None)), deep(None));
        assert_eq!(deep(Some(later)).and(deep(Some(now))), deep(Some(now)));
        assert_eq!(deep(Some(now)).and(Pause::Doze(later)), Pause::Doze(now));
        assert_eq!(Pause::Doze(later).and(deep(None)), Pause::Doze(later));
        assert_eq!(Pause::Doze(now).and(Pause::No), Pause::No);
    }
}
