//! What a recording ends amid: until when a verdict judged, and when that is too little.

use super::*;

/// A tells B of object 5 at a time of the ten seconds that the reels are long.
fn told_at(time: u64) -> (Tape, Tape) {
    let told = says(1, 0, (CREATE, 0));
    (
        Tape::of("A", 1).sent(time, 2, &told),
        Tape::of("B", 2)
            .received(time + 10, 1, &told)
            .sent(time + 20, 1, &ack(2, 0)),
    )
}

#[test]
fn what_was_said_just_before_the_end_is_not_judged_and_the_rest_is_clean() {
    let (a, b) = told_at(9 * SECOND + 950_000_000);
    let judged = judge(vec![a.closed(), b.closed()]);
    assert_eq!(judged.verdict, Verdict::Clean);
    assert_eq!(
        judged.line(),
        "clean until 9.950000 s: no errors; what was said in the last 50.0 ms is not judged"
    );
    let at = judged.judged_until.map(|until| until.0);
    assert_eq!(at, Some(9_950_000_000));
}

#[test]
fn what_was_said_early_enough_has_come_to_rest() {
    let (a, b) = told_at(9 * SECOND + 800_000_000);
    let judged = judge(vec![a.closed(), b.closed()]);
    assert_eq!(
        (judged.verdict, judged.judged_until),
        (Verdict::Clean, None)
    );
}

/// A tells B of another object, and the word does not come through.
fn lost_at(time: u64) -> (Tape, Tape) {
    let (a, b) = told_at(1);
    let more = [0xA7, HOST, 1, 1, 1, CREATE, 1, 1, 6, 1];
    // B is there to the end.
    let b = b.sent(9 * SECOND, 1, &ack(2, 1));
    (a.sent(time, 2, &more), b)
}

#[test]
fn a_message_that_does_not_get_through_leaves_open_what_came_after_it() {
    let (a, b) = lost_at(8 * SECOND);
    let judged = judge(vec![a.closed(), b.closed()]);
    assert_eq!(judged.verdict, Verdict::Clean);
    assert_eq!(judged.judged_until.map(|it| it.0), Some(8_000_000_000));
}

#[test]
fn what_did_not_rest_for_a_large_part_of_the_recording_leaves_all_open() {
    let (a, b) = lost_at(6 * SECOND);
    check(
        vec![a.closed(), b.closed()],
        &[(
            "unsettled",
            "what was said in the last 4.0 s of 10.0 s did not come to rest: a message about \
             object 6 to B did not get through",
        )],
    );
}

/// A recording of a twentieth of a second of which all was said at its end.
#[test]
fn a_recording_that_ends_before_anything_can_rest_judges_nothing() {
    let told = says(1, 0, (CREATE, 0));
    let reel = |tape: Tape| {
        let end = Event::PollEmpty { socket: SOCKET };
        let tape = tape.event(SECOND / 20, end);
        let name = format!("{}.reel", tape.header.node);
        input(name, tape.writer.finish().unwrap())
    };
    let a = Tape::of("A", 1).sent(10, 2, &told);
    let b = Tape::of("B", 2).received(20, 1, &told);
    let judged = judge(vec![reel(a), reel(b)]);
    let reasons: Vec<&str> = judged.reasons.iter().map(|reason| reason.id).collect();
    assert_eq!(
        (judged.verdict, reasons),
        (Verdict::Unknown, vec!["unsettled"])
    );
}

#[test]
fn of_a_recording_that_goes_on_nobody_says_until_when() {
    let (a, b) = lost_at(6 * SECOND);
    let judged = judge(vec![a.closed(), b.closed()]).under_way();
    assert_eq!(judged.line(), "clean: no errors, and all could be judged");
}
