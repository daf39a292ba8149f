//! `NAME=ADDR[:PORT]`: which packets are a node's.

use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;

use netreel_reel::Endpoint;

/// A node of a capture, by its address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedNode {
    /// What people call it.
    pub name: String,
    /// Where it is; a node may have several addresses.
    pub addresses: Vec<(IpAddr, Option<u16>)>,
}

/// A node that is not named as it should be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NodeNameError {
    /// It has not the form.
    #[error("`{0}` is not NAME=ADDRESS or NAME=ADDRESS:PORT, such as HOST=10.0.0.1:7000")]
    Form(String),
    /// The address is none.
    #[error("`{0}` is neither an IP address nor an address with a port, such as [::1]:7000")]
    Address(String),
    /// The name cannot be that of a file.
    #[error("`{0}` cannot be the name of a reel: choose one without `/`, that is not empty")]
    Name(String),
    /// Two nodes with one address.
    #[error("{first} and {second} are both at {address}: give each node addresses of its own")]
    Shared {
        /// One node.
        first: String,
        /// The other.
        second: String,
        /// The address.
        address: String,
    },
}

impl NamedNode {
    /// Whether an endpoint is the node's.
    pub fn owns(&self, endpoint: Endpoint) -> bool {
        self.addresses.iter().any(|&(ip, port)| {
            let any_port = port.is_none_or(|port| port == endpoint.port());
            ip == endpoint.ip().to_canonical() && any_port
        })
    }

    /// Joins names that were given several times, in the order of their first mention.
    ///
    /// # Errors
    /// Two nodes have an address in common.
    pub fn gather(given: Vec<NamedNode>) -> Result<Vec<NamedNode>, NodeNameError> {
        let mut nodes: Vec<NamedNode> = Vec::new();
        for node in given {
            for known in nodes.iter().filter(|known| known.name != node.name) {
                let both = |a: Option<u16>, b: Option<u16>| a.is_none() || b.is_none() || a == b;
                let shared = node.addresses.iter().find(|(ip, port)| {
                    let mut theirs = known.addresses.iter();
                    theirs.any(|(their_ip, their_port)| ip == their_ip && both(*port, *their_port))
                });
                if let Some((ip, _)) = shared {
                    return Err(NodeNameError::Shared {
                        first: known.name.clone(),
                        second: node.name,
                        address: ip.to_string(),
                    });
                }
            }
            match nodes.iter_mut().find(|known| known.name == node.name) {
                Some(known) => known.addresses.extend(node.addresses),
                None => nodes.push(node),
            }
        }
        Ok(nodes)
    }
}

impl FromStr for NamedNode {
    type Err = NodeNameError;

    fn from_str(text: &str) -> Result<NamedNode, NodeNameError> {
        let form = || NodeNameError::Form(text.to_owned());
        let (name, address) = text.split_once('=').ok_or_else(form)?;
        if name.is_empty() || name.starts_with('.') || name.contains(['/', '\0']) {
            return Err(NodeNameError::Name(name.to_owned()));
        }
        let bare = address
            .strip_prefix('[')
            .and_then(|rest| rest.strip_suffix(']'));
        let (ip, port) = match address.parse::<SocketAddr>() {
            Ok(endpoint) => (endpoint.ip(), Some(endpoint.port())),
            Err(_) => match bare.unwrap_or(address).parse::<IpAddr>() {
                Ok(ip) => (ip, None),
                Err(_) => return Err(NodeNameError::Address(address.to_owned())),
            },
        };
        Ok(NamedNode {
            name: name.to_owned(),
            addresses: vec![(ip.to_canonical(), port)],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(text: &str) -> NamedNode {
        text.parse().unwrap_or_else(|error| panic!("{error}"))
    }

    #[track_caller]
    fn check(text: &str, endpoint: &str, owns: bool) {
        let endpoint = endpoint.parse().expect("an endpoint");
        assert_eq!(node(text).owns(endpoint), owns, "{text} {endpoint}");
    }

    #[test]
    fn without_a_port_every_port_of_the_address_is_the_nodes() {
        check("A=10.0.0.1", "10.0.0.1:5", true);
        check("A=10.0.0.1:5", "10.0.0.1:5", true);
        check("A=10.0.0.1:5", "10.0.0.1:6", false);
        check("A=10.0.0.1", "10.0.0.2:5", false);
    }

    #[test]
    fn an_ipv6_address_may_stand_in_brackets() {
        check("A=::1", "[::1]:5", true);
        check("A=[::1]", "[::1]:5", true);
        check("A=[::1]:5", "[::1]:6", false);
    }

    #[test]
    fn a_name_that_is_given_twice_is_one_node_with_two_addresses() {
        let given = vec![node("A=10.0.0.1"), node("B=10.0.0.3"), node("A=10.0.0.2")];
        let nodes = NamedNode::gather(given).expect("no address is shared");
        let names: Vec<&str> = nodes.iter().map(|node| node.name.as_str()).collect();
        assert_eq!((names, nodes[0].addresses.len()), (vec!["A", "B"], 2));
    }

    #[test]
    fn what_cannot_be_a_node_says_why() {
        let error = |text: &str| text.parse::<NamedNode>().err().map(|it| it.to_string());
        assert!(error("10.0.0.1").is_some_and(|it| it.contains("NAME=ADDRESS")));
        assert!(error("A=host").is_some_and(|it| it.contains("neither an IP address")));
        assert!(error("../A=::1").is_some_and(|it| it.contains("name of a reel")));
        let shared = NamedNode::gather(vec![node("A=10.0.0.1"), node("B=10.0.0.1:7")]);
        assert!(shared.is_err_and(|it| it.to_string().contains("both at 10.0.0.1")));
    }
}
