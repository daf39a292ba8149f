//! Groups, and sockets that several processes hold.

use super::*;

#[test]
fn what_is_sent_to_a_group_is_a_packet_for_each_node_that_heard_it() {
    for group in ["239.1.2.3:7", "127.255.255.255:7", "[ff02::1]:7"] {
        let group: Endpoint = group.parse().unwrap();
        let sent = |n| Happened::Sent(group, vec![1, n, 9]);
        let a = Tape::new("A", "boot").event(10, sent(0));
        let a = a.event(20, sent(1)).event(30, sent(2));
        let b = Tape::new("B", "boot").received(12, 1, &[1, 0, 9]);
        let b = b
            .received(22, 1, &[1, 1, 9])
            .received(SECOND, 1, &[1, 9, 9]);
        let c = Tape::new("C", "boot").received(23, 1, &[1, 1, 9]);
        let c = c.event(SECOND, Happened::Poll);
        let any: Endpoint = "0.0.0.0:7".parse().unwrap();
        let session = session(vec![a.on(1), b.reel(any), c.reel(any)]);
        let group = group.to_string();
        let told: Vec<(u64, String, Fate)> = session
            .packets()
            .zip(0..)
            .map(|(packet, number)| {
                let sent = sequence(&session, number).unwrap_or(0);
                (sent, session.name(packet.to), packet.fate)
            })
            .collect();
        let expected = [
            (0, "B".to_owned(), Fate::Received),
            (1, "B".to_owned(), Fate::Received),
            (1, "C".to_owned(), Fate::Received),
            (2, group.clone(), Fate::Unknown),
            (9, "B".to_owned(), Fate::Received),
        ];
        assert_eq!(told, expected);
        assert!(node(&session, &group).group);
        assert!(session.warnings().is_empty(), "{:?}", session.warnings());
    }
}

#[test]
fn a_socket_of_both_families_sees_the_same_endpoints_as_one_of_ipv4() {
    let mapped: Endpoint = "[::ffff:127.0.0.1]:1".parse().unwrap();
    let a = Tape::new("A", "boot").sent(10, 1, &[1, 0, 9]);
    let a = a.event(20, Happened::Received(mapped, vec![1, 0, 9]));
    let session = session(vec![a.on(1)]);
    assert_eq!((session.nodes.len(), session.packet_count()), (1, 1));
    assert_eq!(packet(&session, 0).fate, Fate::Received);
}

/// A client at port 1, and what it sends to and receives from port 2, which processes of one machine
/// hold together: `parent` says nothing there, and two workers answer every other packet each.
fn workers(local: &str) -> Session {
    let mut client = Tape::new("client", "boot");
    let parent = Tape::new("parent", "boot").event(SECOND, Happened::Poll);
    let mut workers = ["w1", "w2"].map(|name| Tape::new(name, "boot").event(1, Happened::Poll));
    for n in 0..20 {
        let (asked, answered) = ([1, n, 9], [2, n, 9]);
        let at = 10_000 * u64::from(n);
        client = client.sent(at + 10, 2, &asked);
        client = client.received(at + 40, 2, &answered);
        workers[usize::from(n) % 2].events.extend([
            (at + 20, Happened::Received(self::at(1), asked.to_vec())),
            (at + 30, Happened::Sent(self::at(1), answered.to_vec())),
        ]);
    }
    let [w1, w2] = workers.map(|worker| worker.event(SECOND, Happened::Poll));
    let local: Endpoint = local.parse().unwrap();
    let held = [parent, w1, w2].map(|tape| tape.reel(local));
    session([held.into(), vec![client.on(1)]].concat())
}

#[test]
fn where_processes_hold_one_socket_a_packet_is_of_the_one_that_received_or_sent_it() {
    for local in ["127.0.0.1:2", "0.0.0.0:2", "[::]:2"] {
        let session = workers(local);
        assert!(session.warnings().is_empty(), "{:?}", session.warnings());
        assert_eq!(session.nodes.len(), 4);
        assert_eq!(session.packet_count(), 40);
        for (place, packet) in session.packets().enumerate() {
            let worker = ["w1", "w2"][place / 2 % 2];
            let ends = [worker, "client"].map(str::to_owned);
            let [from, to] = [packet.from, packet.to].map(|node| session.name(node));
            let told = if place % 2 == 0 {
                [to, from]
            } else {
                [from, to]
            };
            assert_eq!((told, packet.fate), (ends, Fate::Received));
        }
    }
}

#[test]
fn equal_payloads_to_a_socket_that_processes_hold_are_received_in_order() {
    let payload = [1, 0, 9];
    let mut client = Tape::new("client", "boot");
    let mut workers = ["w1", "w2"].map(|name| Tape::new(name, "boot").event(1, Happened::Poll));
    for n in 0..6 {
        let at = 10_000 * n;
        client = client.sent(at + 10, 2, &payload);
        let received = Happened::Received(self::at(1), payload.to_vec());
        workers[n as usize / 3].events.push((at + 20, received));
    }
    let [w1, w2] = workers.map(|worker| worker.event(SECOND, Happened::Poll).on(2));
    let session = session(vec![w1, w2, client.on(1)]);
    let told = session.packets();
    let told: Vec<(String, Fate)> = told.map(|it| (session.name(it.to), it.fate)).collect();
    let of = |name: &str| vec![(name.to_owned(), Fate::Received); 3];
    assert_eq!(told, [of("w1"), of("w2")].concat());
}

#[test]
fn a_process_that_lets_go_of_a_socket_which_another_has_as_well_leaves_it_to_that_one() {
    let parent = Tape::new("parent", "boot").event(5, Happened::Poll);
    let a = Tape::new("A", "boot").sent(10, 2, &[1, 0, 9]);
    let b = Tape::new("B", "boot").event(4, Happened::Poll);
    let b = b.received(30, 1, &[1, 0, 9]);
    let session = session(vec![parent.on(2), a.on(1), b.on(2)]);
    let told = session.packets();
    let told: Vec<(String, Fate)> = told.map(|it| (session.name(it.to), it.fate)).collect();
    assert_eq!(told, [("B".to_owned(), Fate::Received)]);
}

#[test]
fn recordings_of_processes_that_hold_one_socket_open_with_that_of_their_client() {
    let (mut a, mut b) = pair();
    a = a.received(60, 2, &[2, 0, 9]);
    let mut parent = Tape::new("parent", "boot")
        .event(1, Happened::Poll)
        .event(SECOND, Happened::Poll);
    for (end, id) in [(&mut a, 1), (&mut b, 2), (&mut parent, 2)] {
        end.header.session = [id; 16];
        end.header.engine = Header::UNMODIFIED.to_owned();
        end.header.clock.boot_id = if id == 1 { "here" } else { "there" }.to_owned();
    }
    let session = session(vec![parent.on(2), b.on(2), a.on(1)]);
    let mut packets = session.packets();
    assert!(packets.all(|packet| packet.fate == Fate::Received));
}

#[test]
fn what_nobody_received_at_a_socket_that_processes_hold_is_lost_once() {
    let a = Tape::new("A", "boot").sent(10, 2, &[1, 0, 9]);
    let held = ["B", "C"].map(|name| {
        let tape = Tape::new(name, "boot").event(5, Happened::Poll);
        tape.event(6 * SECOND, Happened::Poll).on(2)
    });
    let session = session([held.into(), vec![a.on(1)]].concat());
    let fates = session.packets().map(|packet| packet.fate);
    assert_eq!(fates.collect::<Vec<_>>(), [Fate::Lost]);
}

#[test]
fn what_is_sent_to_the_unspecified_address_reaches_its_own_machine() {
    for (to, from, local) in [
        ("0.0.0.0:2", "127.0.0.1:1", "0.0.0.0:2"),
        ("0.0.0.0:2", "127.0.0.1:1", "127.0.0.1:2"),
        ("[::]:2", "[::1]:1", "[::1]:2"),
        ("[::ffff:0.0.0.0]:2", "127.0.0.1:1", "127.0.0.1:2"),
    ] {
        let [to, from, local]: [Endpoint; 3] = [to, from, local].map(|each| each.parse().unwrap());
        let sent = Happened::Sent(to, vec![1, 0, 9]);
        let a = Tape::new("A", "boot").event(10, sent);
        let received = Happened::Received(from, vec![1, 0, 9]);
        let b = Tape::new("B", "boot").event(20, received);
        let session = session(vec![a.reel(from), b.reel(local)]);
        assert_eq!((session.nodes.len(), session.packet_count()), (2, 1));
        assert_eq!(packet(&session, 0).fate, Fate::Received);
        assert!(session.warnings().is_empty(), "{:?}", session.warnings());
    }
}
