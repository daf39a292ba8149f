//! Clocks are placed where packets say.

use netreel_reel::EventNumber;

use super::pieces::Gathered;
use super::pieces::{Epoch, Moment};
use super::solve::Span;
use super::*;

const SECOND: u64 = 1_000_000_000;

fn anchor(boot: &str, monotonic: u64, utc_ns: i64) -> ClockAnchor {
    ClockAnchor {
        monotonic: Time(monotonic),
        utc_ns,
        boot_id: boot.to_owned(),
    }
}

/// From a reel at a time to another at a time.
type Packet = (usize, u64, usize, u64);

/// Places the clocks of reels; what each reel's epochs are shows in its packets.
fn aligned(anchors: &[ClockAnchor], packets: &[Packet]) -> Aligned {
    let anchors: Vec<&ClockAnchor> = anchors.iter().collect();
    let epochs = (0..anchors.len()).map(|reel| {
        let ends = packets.iter().flat_map(|&(from, sent, to, received)| {
            let ends = [(from, sent), (to, received)];
            ends.into_iter().filter(move |end| end.0 == reel)
        });
        let times = || ends.clone().map(|end| end.1);
        let span = Span {
            first: times().min().unwrap_or(0),
            last: times().max().unwrap_or(0),
        };
        vec![Epoch {
            number: EventNumber(0),
            begin: span.first,
            end: span.last,
            span,
        }]
    });
    let readings = readings(&anchors, epochs.collect(), |_| false);
    let gather = |pieces: &Pieces| {
        let mut gathered = Gathered::default();
        for &(from, sent, to, received) in packets {
            let moment = |reel, time| -> Moment { (reel, EventNumber(0), Time(time)) };
            gathered.add(pieces, moment(from, sent), moment(to, received));
        }
        gathered
    };
    let reels = Reels {
        readings: &readings,
        gather: &gather,
        scans: &[],
    };
    align(&reels)
}

/// What is added to a reel's time.
fn shift_ns(aligned: &Aligned, reel: usize, at: u64) -> i128 {
    let time = aligned.clocks[reel].map.time_alone(Time(at));
    i128::from(time.0) - i128::from(at)
}

/// For each reel what is added at a time, and how far that may be off at most.
#[track_caller]
fn check(anchors: &[ClockAnchor], packets: &[Packet], at: u64, expected: &[(i128, u64)]) {
    let aligned = aligned(anchors, packets);
    let found: Vec<(i128, u64)> = (0..anchors.len())
        .map(|reel| (shift_ns(&aligned, reel, at), aligned.clocks[reel].error_ns))
        .collect();
    assert_eq!(found, expected);
    assert!(!aligned.is_unexplained);
    assert!(aligned.clocks.iter().all(|clock| clock.steps.is_empty()));
}

#[test]
fn one_boot_is_one_clock_whatever_the_packets_say() {
    check(
        &[anchor("boot", 0, 0), anchor("boot", 50, 0)],
        &[(0, 100, 1, 90), (1, 100, 0, 300)],
        100,
        &[(0, 0), (0, 0)],
    );
}

#[test]
fn packets_both_ways_give_the_offset_and_half_the_shortest_round() {
    // The second clock is 1000 ahead; the shortest way there takes 10, the way back 30.
    check(
        &[anchor("a", 0, 0), anchor("b", 0, 0)],
        &[(0, 100, 1, 1110), (0, 200, 1, 1300), (1, 1200, 0, 230)],
        1200,
        &[(0, 0), (-990, 20)],
    );
}

#[test]
fn a_third_clock_is_reached_through_the_second_and_the_errors_add() {
    check(
        &[anchor("", 0, 0), anchor("", 0, 0), anchor("", 0, 0)],
        &[
            (0, 0, 1, 110),
            (1, 100, 0, 10),
            (1, 200, 2, 205),
            (2, 200, 1, 205),
        ],
        150,
        &[(0, 0), (-100, 10), (-100, 15)],
    );
}

#[test]
fn a_ring_ties_its_clocks_though_no_two_heard_each_other() {
    check(
        &[anchor("", 0, 0), anchor("", 0, 0), anchor("", 0, 0)],
        &[(0, 1000, 1, 1010), (1, 1000, 2, 1010), (2, 1000, 0, 1010)],
        1000,
        &[(0, 0), (5, 15), (-5, 15)],
    );
}

#[test]
fn packets_one_way_only_move_the_calendar_until_none_arrives_too_early() {
    // By the calendar both clocks agree, yet a packet would arrive 40 before it was sent.
    check(
        &[anchor("a", 0, 0), anchor("b", 0, 0)],
        &[(0, 100, 1, 60)],
        60,
        &[(0, 0), (40, u64::MAX)],
    );
}

#[test]
fn without_packets_the_calendar_is_all_there_is() {
    check(
        &[anchor("a", 100, 5100), anchor("b", 7, 6007)],
        &[],
        7,
        &[(0, 0), (1000, u64::MAX)],
    );
}

#[test]
fn what_drift_may_have_done_since_the_only_round_is_in_the_bound() {
    // One packet each way in the first microsecond, and nothing of the other for 100 s.
    let end = 100 * SECOND;
    let packets = [
        (0, 0, 1, 500),
        (1, 600, 0, 1_000),
        // Another reel of the first machine goes on.
        (2, end, 1, end + 40_000_000_000),
    ];
    let anchors = [anchor("a", 0, 0), anchor("b", 0, 0), anchor("a", 0, 0)];
    let aligned = aligned(&anchors, &packets);
    let error_ns = aligned.clocks[1].error_ns;
    // 500 parts of a million of 140 s either way, of which the last packet takes nothing.
    assert!((70_000_000..70_200_000).contains(&error_ns), "{error_ns}");
    let early = aligned.clocks[1].map.error_ns(EventNumber(0), Time(600));
    assert!((440..470).contains(&early), "{early}");
}

/// Packets both ways, 40 a second, that take from 1 to 6 ms; `other` is the second clock.
fn traffic(seconds: u64, other: impl Fn(u64) -> u64) -> Vec<Packet> {
    slow_traffic(seconds, 1_000_000, other)
}

/// The same, of packets that take this long at the least, in ns.
fn slow_traffic(seconds: u64, least: u64, other: impl Fn(u64) -> u64) -> Vec<Packet> {
    let mut random = 5u64;
    let mut some = |most: u64| {
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (random >> 33) % most
    };
    let packets = (0..seconds * 40).map(|at| {
        let sent = 10 * SECOND + at * SECOND / 40;
        let received = sent + least + some(5_000_000);
        match at % 2 {
            0 => (0, sent, 1, other(received)),
            _ => (1, other(sent), 0, received),
        }
    });
    packets.collect()
}

/// No packet arrives before it was sent, and no time is further off than is said.
#[track_caller]
fn check_truth(aligned: &Aligned, packets: &[Packet], truth: impl Fn(u64) -> u64) {
    let time = |reel: usize, at: u64| aligned.clocks[reel].map.time_alone(Time(at));
    for &(from, sent, to, received) in packets {
        assert!(time(from, sent) <= time(to, received), "{sent} {received}");
    }
    let first = packets.first().map_or(0, |it| it.1);
    let last = packets.last().map_or(0, |it| it.3);
    for at in (first..=last).step_by(7_654_321) {
        let said = time(1, truth(at));
        let off = said.0.abs_diff(at as i64);
        let bound = aligned.clocks[1]
            .map
            .error_ns(EventNumber(0), Time(truth(at)));
        assert!(off <= bound, "at {at} it is {off} off, and {bound} is said");
    }
}

#[test]
fn a_hundred_parts_of_a_million_over_ten_minutes() {
    let other = |at: u64| 7_000 * SECOND + at + at / 10_000;
    let packets = traffic(600, other);
    let aligned = aligned(&[anchor("a", 0, 0), anchor("b", 0, 0)], &packets);
    check_truth(&aligned, &packets, other);
    let error_ns = aligned.clocks[1].error_ns;
    assert!((900_000..1_400_000).contains(&error_ns), "{error_ns}");
    assert!(aligned.clocks[1].steps.is_empty());
}

#[test]
fn a_step_in_the_middle_is_found_between_two_packets() {
    let middle = 40 * SECOND;
    for by in [2 * SECOND, 40_000_000] {
        let other = |at: u64| SECOND + at + at / 20_000 + if at < middle { 0 } else { by };
        let packets = traffic(60, other);
        let aligned = aligned(&[anchor("a", 0, 0), anchor("b", 0, 0)], &packets);
        check_truth(&aligned, &packets, other);
        let [step] = aligned.clocks[1].steps[..] else {
            panic!("{:?}", aligned.clocks[1].steps);
        };
        assert!(step.last.0 < other(middle) && other(middle) <= step.first.0 + 1);
        assert!(step.first.0 - step.last.0 < by + SECOND / 4, "{step:?}");
        let miss = (step.by_ns - i128::from(by)).unsigned_abs();
        assert!(miss < 4_000_000, "{step:?}");
        assert!(aligned.clocks[1].error_ns < 2_000_000);
    }
}

// One line explains all packets: a round takes 82 ms at the least.
#[test]
fn a_step_that_latency_hides_is_found_where_both_ways_show_it() {
    let middle = 40 * SECOND;
    let anchors = [anchor("a", 0, 0), anchor("b", 0, 0)];
    for by in [0, 20_000_000] {
        let other = |at: u64| SECOND + at + at / 20_000 + if at < middle { 0 } else { by };
        let packets = slow_traffic(60, 41_000_000, other);
        let aligned = aligned(&anchors, &packets);
        check_truth(&aligned, &packets, other);
        let told: Vec<i128> = aligned.clocks[1].steps.iter().map(|it| it.by_ns).collect();
        match by {
            0 => assert_eq!(told, [0; 0]),
            _ => assert!(
                told.len() == 1 && told[0].abs_diff(20_000_000) < 4_000_000,
                "{told:?}"
            ),
        }
        assert!(aligned.clocks[1].error_ns < 44_000_000, "{by}");
    }
}

// What the one step does to packets the other takes back: to the packets around each it is one all the same.
#[test]
fn two_steps_that_undo_each_other_are_found_though_latency_hides_them() {
    let set = |at: u64| {
        if (30 * SECOND..45 * SECOND).contains(&at) {
            25_000_000
        } else {
            0
        }
    };
    let other = |at: u64| SECOND + at + at / 20_000 + set(at);
    let packets = slow_traffic(60, 41_000_000, other);
    let aligned = aligned(&[anchor("a", 0, 0), anchor("b", 0, 0)], &packets);
    check_truth(&aligned, &packets, other);
    let told: Vec<i128> = aligned.clocks[1].steps.iter().map(|it| it.by_ns).collect();
    assert_eq!(told.len(), 2, "{told:?}");
    // How large it was is known as well as packets allow that are 41 ms on their way.
    assert!(told[0].abs_diff(25_000_000) < 15_000_000, "{told:?}");
    assert!(told[1].abs_diff(-25_000_000) < 15_000_000, "{told:?}");
}

// The first two hear each other within a millisecond, so that one of them was set; the third hears them
// within a fifth of a second, and knows nothing of it alone.
#[test]
fn a_step_of_the_sessions_clock_that_one_of_two_others_shows_is_explained() {
    let middle = 40 * SECOND;
    let first = |at: u64| if at < middle { at } else { at + 70_000_000 };
    let second = |at: u64| 5 * SECOND + at + at / 30_000;
    let third = |at: u64| 9 * SECOND + at - at / 50_000;
    let clock = |reel: usize, at: u64| match reel {
        0 => first(at),
        1 => second(at),
        _ => third(at),
    };
    let links = [(0, 1, 300_000), (0, 2, 100_000_000), (1, 2, 300_000)];
    let mut packets = Vec::new();
    for (link, (one, other, least)) in links.into_iter().enumerate() {
        for at in 0..60 * 20 {
            let sent = 10 * SECOND + at * SECOND / 20 + 7_000_000 * link as u64;
            let received = sent + least + (at * 7_919 % 100) * least / 1_000;
            let (from, to) = if at % 2 == 0 {
                (one, other)
            } else {
                (other, one)
            };
            packets.push((from, clock(from, sent), to, clock(to, received)));
        }
    }
    let anchors = [anchor("a", 0, 0), anchor("b", 0, 0), anchor("c", 0, 0)];
    let aligned = aligned(&anchors, &packets);
    assert!(!aligned.is_unexplained);
    // On the first clock, as it was or without its step.
    let is_within = |is_set: bool| {
        let truth = |at: u64| if is_set { first(at) } else { at };
        let times = (11 * SECOND..39 * SECOND).chain(41 * SECOND..69 * SECOND);
        let mut times = times.step_by(12_345_678);
        times.all(|at| {
            (0..3).all(|reel| {
                let map = &aligned.clocks[reel].map;
                let own = Time(clock(reel, at));
                let off = map.time_alone(own).0.abs_diff(truth(at) as i64);
                off <= map.error_ns(EventNumber(0), own)
            })
        })
    };
    assert!(is_within(false) || is_within(true));
}

// Two packets 1000 ns apart that took equally long hold a corner, so that little is left of large
// numbers.
#[test]
fn packets_that_hardly_differ_allow_an_offset() {
    let span = |first, last| Span { first, last };
    let spans = [
        span(1_001_000, 667_687_680),
        span(15_001_004_000, 19_767_680_762),
    ];
    let packets = [
        (0, 601_013_012, 1, 15_634_358_346),
        (0, 667_686_680, 1, 15_701_025_014),
        (0, 667_687_680, 1, 15_701_026_014),
        (1, 15_584_360_345, 0, 617_673_679),
    ];
    let samples = packets.map(|(from, sent, to, received)| {
        let crossed = Crossed { sent, received };
        Sample::new(from, to, crossed)
    });
    let courses = solve::solve(&spans, 0, &samples, ALLOWED_NS).expect("clocks");
    let other = courses[1].as_ref().expect("packets both ways tie it");
    let width = |at: u64| on(&other.upper, at) - on(&other.lower, at);
    // The shortest round takes 66.6 ms.
    let at = 15_634_358_346;
    assert!(
        (66_600_000.0..66_800_000.0).contains(&width(at)),
        "{}",
        width(at)
    );
}

/// Packets of games that send in ticks of virtual time are equally long on their way.
#[test]
fn packets_of_ticks_allow_an_offset() {
    let mut random = 11u64;
    let mut some = |most: u64| {
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (random >> 33) % most
    };
    let tick = 16_666_667;
    for world in 0..3_000 {
        let clocks = 2 + some(4) as usize;
        let ticks = [120, 600, 6_000, 216_000][some(4) as usize];
        let zero: Vec<u64> = (0..clocks).map(|_| SECOND * (1 + some(50_000))).collect();
        let span = |first| Span {
            first,
            last: first + (ticks + 8) * tick,
        };
        let spans: Vec<Span> = zero.iter().copied().map(span).collect();
        let mut hulls: BTreeMap<(usize, usize), hull::Hull> = BTreeMap::new();
        for _ in 0..clocks as u64 * (3 + some(60)) {
            let (from, to) = (some(clocks as u64) as usize, some(clocks as u64) as usize);
            let sent = some(ticks) * tick + 1_000 * some(4);
            let late = if some(3) == 0 { 1_000 * some(8) } else { 0 };
            let crossed = Crossed {
                sent: zero[from] + sent,
                received: zero[to] + sent + tick * (1 + some(3)) + late,
            };
            hulls.entry((from, to)).or_default().push(crossed);
        }
        let samples = hulls.into_iter().flat_map(|((from, to), hull)| {
            let corners = hull.corners().into_iter();
            corners.map(move |crossed| Sample::new(from, to, crossed))
        });
        let samples: Vec<Sample> = samples.filter(|it| it.from != it.to).collect();
        let found = solve::solve(&spans, 0, &samples, ALLOWED_NS);
        assert!(found.is_ok(), "world {world}: {:?}", found.err());
    }
}
