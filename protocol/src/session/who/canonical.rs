//! The one spelling by which an endpoint is looked up.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use netreel_reel::Endpoint;

use crate::session::read::scan::Scan;

/// An endpoint as it is looked up: with its IPv4 address where it has one in IPv6.
pub(super) fn canonical(endpoint: Endpoint) -> Endpoint {
    // What is sent to the unspecified address goes to the machine itself.
    let here = endpoint.port() != 0 && endpoint.ip().to_canonical().is_unspecified();
    match endpoint.ip().to_canonical() {
        IpAddr::V4(_) if here => SocketAddr::new(Ipv4Addr::LOCALHOST.into(), endpoint.port()),
        IpAddr::V6(_) if here => SocketAddr::new(Ipv6Addr::LOCALHOST.into(), endpoint.port()),
        ip @ IpAddr::V4(_) => SocketAddr::new(ip, endpoint.port()),
        IpAddr::V6(_) => endpoint,
    }
}

/// With whom a reel's sockets talk.
pub(super) fn peers(scan: &Scan) -> impl Iterator<Item = Endpoint> {
    scan.connections.iter().map(|each| canonical(each.peer))
}
