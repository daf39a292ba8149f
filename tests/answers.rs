//! What the command answers about sessions that stay the same, to the last byte.
//!
//! Many answers are kept in `tests/answers`, a folder for each session and a file for each command.
//! Where they change on purpose, `NETREEL_ANSWERS=write cargo test --test answers` writes them anew;
//! what changed is then in the diff. The others have to agree with each other and with these
//! (`tests/answered/agree.rs`).
//!
//! Captures that are too large for the repository, or not ours, are read from `../shared/captures`
//! or `NETREEL_CAPTURES`. Where they are not there, their answers are not asked for.

mod answered;
mod support;

/// Tests of a group of sessions.
macro_rules! tests {
    ($group:ident, $folder:literal, $sessions:ident) => {
        mod $group {
            use crate::answered::{agree, sessions::$sessions};
            use crate::support::answers::check;

            #[test]
            fn are_answered_as_ever() {
                if !$sessions.is_empty() {
                    check($folder, &$sessions);
                }
            }

            #[test]
            fn json_ends_as_the_text_does() {
                $sessions.iter().for_each(agree::json_ends_as_the_text);
            }

            #[test]
            fn text_and_json_tell_the_same_packets() {
                $sessions.iter().for_each(agree::text_and_json_of_packets);
            }

            #[test]
            fn csv_tells_the_same_packets() {
                $sessions.iter().for_each(agree::csv_and_json_of_packets);
            }

            #[test]
            fn a_session_counts_its_packets() {
                $sessions.iter().for_each(agree::info_and_packets);
            }

            #[test]
            fn text_and_json_tell_the_same_objects() {
                $sessions.iter().for_each(agree::text_and_json_of_objects);
            }

            #[test]
            fn text_and_json_tell_the_same_migrations() {
                $sessions
                    .iter()
                    .for_each(agree::text_and_json_of_migrations);
            }

            #[test]
            fn text_and_json_tell_the_same_findings() {
                $sessions.iter().for_each(agree::text_and_json_of_findings);
            }

            #[test]
            fn findings_name_packets_of_their_nodes() {
                $sessions.iter().for_each(agree::evidence_and_packets);
            }

            #[test]
            fn a_filter_chooses_the_packets_that_fit() {
                $sessions.iter().for_each(agree::filters_of_packets);
            }

            #[test]
            fn packets_are_shown_in_full_that_a_filter_chooses() {
                $sessions.iter().for_each(agree::packets_in_full);
            }

            #[test]
            fn a_filter_chooses_the_findings_that_fit() {
                $sessions.iter().for_each(agree::filter_of_findings);
            }

            #[test]
            fn what_a_filter_chooses_is_told_as_without_it() {
                $sessions.iter().for_each(agree::filtered_lines);
            }

            #[test]
            fn without_a_wire_the_same_packets_are_told() {
                agree::packets_without_a_wire(&$sessions);
            }

            #[test]
            fn without_a_wire_nothing_is_judged() {
                $sessions
                    .iter()
                    .for_each(agree::nothing_is_judged_without_a_wire);
            }
        }
    };
}

tests!(samples, "samples", SAMPLES);
tests!(recordings_of_engines, "recordings", RECORDED);
tests!(captures_beside_the_repository, "captures", CAPTURED);
tests!(simulated_worlds, "worlds", WORLDS);

#[test]
fn few_long_answers_are_kept() {
    support::answers::check_long();
}
