//! How long is waited, and how often looked meanwhile.

use std::time::Duration;

/// Between two looks at whether something has happened.
pub(crate) const LOOK: Duration = Duration::from_millis(10);

/// So long a node has to end by itself.
pub(crate) const GRACE: Duration = Duration::from_secs(5);
