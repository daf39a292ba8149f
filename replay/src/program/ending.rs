//! How a program ended that was started again, beside how it ended when it was recorded.

use netreel_reel::ProcessEnd;

use super::tape::Tape;

/// What came of comparing both ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EndCompared {
    /// It ended as it did.
    Equal,
    /// Somebody ended it when it was recorded, and nothing of it is missing up to there.
    FromOutside,
    /// The reel does not tell how it ended.
    NotKnown,
    /// Other threads may have ended the replay first.
    ByThreads,
    /// It ended otherwise: what was to come, and what came.
    Otherwise {
        /// In words.
        expected: String,
        /// In words.
        came: String,
    },
}

/// Compares the ends of a program that was as recorded up to its last event. `ran_on`: it asked for
/// more than the recording has, and was ended for that.
pub(super) fn compared(tape: &Tape, came: Option<ProcessEnd>, ran_on: bool) -> EndCompared {
    let (Some(recorded), Some(came)) = (tape.ended, came) else {
        return EndCompared::NotKnown;
    };
    // A thread that asks for more behind the last event ends the replay, whatever the others do.
    let by_threads = (tape.threads > 1 || tape.has_free) && (ran_on || came == ProcessEnd::Code(0));
    let expected = if recorded.is_from_outside() {
        format!("it goes on until {recorded} ends it")
    } else {
        format!("it ends, with {recorded}")
    };
    match (recorded.is_from_outside(), ran_on) {
        (false, _) if came == recorded && !ran_on => EndCompared::Equal,
        (true, true) => EndCompared::FromOutside,
        (true, false) if came == recorded => EndCompared::Equal,
        // Its last event is its own end: the signal came behind that.
        (true, false) if tape.ends_by_itself => EndCompared::FromOutside,
        _ if by_threads => EndCompared::ByThreads,
        (false, true) => EndCompared::Otherwise {
            expected,
            came: "it goes on".to_owned(),
        },
        _ => EndCompared::Otherwise {
            expected,
            came: format!("it ends, with {came}"),
        },
    }
}

#[cfg(test)]
mod tests {
    use netreel_reel::ProcessEnd::{Code, Signal};

    use super::*;

    /// What is said where a recorded program of this many threads ended one way, and its replay another.
    fn said(
        threads: usize,
        (recorded, by_itself): (ProcessEnd, bool),
        came: ProcessEnd,
        on: bool,
    ) -> EndCompared {
        let mut tape = Tape::of_entries(&[]);
        (tape.ended, tape.ends_by_itself, tape.threads) = (Some(recorded), by_itself, threads);
        compared(&tape, Some(came), on)
    }

    fn differs(compared: &EndCompared) -> bool {
        matches!(compared, EndCompared::Otherwise { .. })
    }

    #[test]
    fn the_same_end_is_equal() {
        for end in [Code(0), Code(7), Signal(11)] {
            assert_eq!(said(1, (end, true), end, false), EndCompared::Equal);
            assert_eq!(said(3, (end, false), end, false), EndCompared::Equal);
        }
    }

    #[test]
    fn another_exit_code_or_signal_is_a_divergence() {
        assert!(differs(&said(1, (Code(7), true), Code(0), false)));
        assert!(differs(&said(1, (Code(7), true), Signal(11), false)));
        assert!(differs(&said(4, (Code(7), true), Code(8), false)));
        assert!(differs(&said(1, (Signal(6), false), Code(0), false)));
        assert!(differs(&said(1, (Signal(15), false), Signal(11), false)));
    }

    #[test]
    fn a_program_that_goes_on_behind_its_own_end_is_a_divergence() {
        let EndCompared::Otherwise { expected, came } = said(1, (Code(3), false), Code(0), true)
        else {
            panic!("it went on");
        };
        assert_eq!(expected, "it ends, with exit code 3");
        assert_eq!(came, "it goes on");
    }

    #[test]
    fn one_that_was_killed_may_go_on() {
        for signal in [9, 15] {
            let compared = said(1, (Signal(signal), false), Code(0), true);
            assert_eq!(compared, EndCompared::FromOutside);
        }
    }

    #[test]
    fn where_other_threads_may_end_it_first_nothing_is_claimed() {
        let compared = said(2, (Code(3), true), Code(0), false);
        assert_eq!(compared, EndCompared::ByThreads);
        assert_eq!(
            said(2, (Code(3), false), Code(0), true),
            EndCompared::ByThreads
        );
    }

    #[test]
    fn an_old_reel_says_nothing() {
        let tape = Tape::of_entries(&[]);
        assert_eq!(compared(&tape, Some(Code(1)), false), EndCompared::NotKnown);
    }
}
