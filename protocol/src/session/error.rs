//! Why several reels are not one session.

/// Reels that cannot be read as one session.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SessionError {
    /// No reel was given.
    #[error("no reel was given: name a reel, or a folder that holds some")]
    NoReels,
    /// The reels say that they belong to different sessions.
    #[error(
        "{first} and {second} are from different sessions ({first_id} and {second_id}): \
         open each session on its own"
    )]
    DifferentSessions {
        /// The name of one reel.
        first: String,
        /// Its session.
        first_id: String,
        /// The name of another.
        second: String,
        /// Its session.
        second_id: String,
    },
    /// Nothing ties a reel to the others: no session id, no packet in common, and no common
    /// endpoint that both talked to from one machine.
    #[error(
        "{reel} has no packet in common with {others}, and no session id that ties them: \
         these nodes never met; open each on its own"
    )]
    NeverMet {
        /// The name of the reel.
        reel: String,
        /// The names of the others.
        others: String,
    },
    /// Two proxies stood on different ways to one end, or there at different times.
    #[error(
        "{other} and {reel} are of proxies that had other packets of {end}, and neither has them \
         all: open each on its own"
    )]
    ProxiesApart {
        /// The name of one reel.
        reel: String,
        /// The name of the other.
        other: String,
        /// Whom both tell of.
        end: String,
    },
    /// Nobody wants it any more.
    #[error("it was given up")]
    GivenUp,
    /// More reels or packets than ids can number.
    #[error("{what}: open fewer reels at once")]
    TooLarge {
        /// What there is too much of, with the count and the limit.
        what: String,
    },
}
