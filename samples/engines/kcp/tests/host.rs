//! Whom a host of KCP talks to.

use std::net::SocketAddr;
use std::time::Duration;

use kcp_recorded::KcpHost;
use netreel_record::Shared;
use netreel_transport::{SimNet, SimTransport, Transport};

const SERVER: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 1);
const CLIENT: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 2);

type Host = KcpHost<SimTransport>;

/// Two hosts of a network in which a packet takes a millisecond.
fn two() -> (SimNet, Host, Host) {
    let net = SimNet::new(1, Duration::from_millis(1));
    let host = |at| KcpHost::new(Shared::new(net.join(at)), 1200);
    let (server, client) = (host(SERVER), host(CLIENT));
    (net, server, client)
}

/// Lets a tenth of a second pass, and returns what the first host heard.
fn pass(net: &SimNet, server: &mut Host, client: &mut Host) -> Vec<Vec<u8>> {
    let mut heard = Vec::new();
    for _ in 0..10 {
        client.service().expect("the client");
        server.service().expect("the server");
        heard.extend(std::iter::from_fn(|| server.receive()).map(|(_, message)| message));
        net.advance(Duration::from_millis(10));
    }
    heard
}

#[test]
fn only_a_listening_host_accepts_a_conversation() {
    for is_listening in [false, true] {
        let (net, mut server, mut client) = two();
        if is_listening {
            server.listen();
        }
        client.connect(SERVER, 7).expect("a conversation");
        client.send(SERVER, b"hello").expect("a message");
        let heard = pass(&net, &mut server, &mut client);
        assert_eq!(heard.len(), usize::from(is_listening));
    }
}

#[test]
fn a_client_that_begins_anew_is_heard() {
    let (net, mut server, mut client) = two();
    server.listen();
    for (conversation, message) in [(7, b"first"), (8, b"again")] {
        client
            .connect(SERVER, conversation)
            .expect("a conversation");
        client.send(SERVER, message).expect("a message");
        let heard = pass(&net, &mut server, &mut client);
        assert_eq!(heard, [message]);
    }
}

#[test]
fn a_conversation_whose_other_end_is_gone_ends() {
    let net = SimNet::new(1, Duration::from_millis(1));
    let mut gone = net.join(SERVER);
    let mut client = KcpHost::new(Shared::new(net.join(CLIENT)), 1200);
    client.connect(SERVER, 7).expect("a conversation");
    client.send(SERVER, b"hello").expect("a message");
    let mut sent = 0;
    for _ in 0..100_000 {
        client.service().expect("the client");
        net.advance(Duration::from_millis(10));
        while let Ok(Some(_)) = gone.receive(&mut [0; 2048]) {
            sent += 1;
        }
    }
    assert_eq!(sent, 20);
}

#[test]
fn a_clock_that_has_run_for_long_is_no_matter() {
    let (net, mut server, mut client) = two();
    server.listen();
    // 2 to the 31st milliseconds, and 2 to the 32nd.
    for days in [24, 25, 49, 50] {
        let clock = Duration::from_secs(days * 86_400);
        net.advance(clock.saturating_sub(Duration::from_nanos(net.now().nanos())));
        client.connect(SERVER, days as u32).expect("a conversation");
        client.send(SERVER, b"hello").expect("a message");
        assert_eq!(pass(&net, &mut server, &mut client).len(), 1, "{days}");
    }
}
