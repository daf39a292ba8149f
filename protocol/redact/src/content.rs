//! What of an event, and of a header, may be another in a copy.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use netreel_reel::{Believed, CallId, Endpoint, Event, Header, Removed};

use crate::forms::Form;

/// What of an event may be another in a copy. All else stays.
pub(crate) struct Parts<'e, 'b> {
    /// At most two.
    endpoints: [Option<&'e mut Endpoint>; 2],
    pub content: Content<'e, 'b>,
}

/// What somebody else filled.
pub(crate) enum Content<'e, 'b> {
    Nothing,
    /// Payloads, inputs or snapshots.
    Bytes(Removed, &'e mut &'b [u8]),
    /// A note, or what is like one.
    Text(Form, &'e mut &'b [u8]),
    /// The details of a system call.
    Details(CallId, &'e mut &'b [u8]),
    Random(&'e mut u64),
}

impl<'e, 'b> Parts<'e, 'b> {
    pub fn of(event: &'e mut Event<'b>) -> Parts<'e, 'b> {
        let nowhere = [None, None];
        let (endpoints, content) = match event {
            Event::SocketOpened { local: at, .. } | Event::Relay { client: at, .. } => {
                ([Some(at), None], Content::Nothing)
            }
            Event::Sent {
                to: at, payload, ..
            }
            | Event::Received {
                from: at, payload, ..
            } => ([Some(at), None], Content::Bytes(Removed::Payloads, payload)),
            Event::Seen { from, to, payload } => (
                [Some(from), Some(to)],
                Content::Bytes(Removed::Payloads, payload),
            ),
            Event::Input { call } => (nowhere, Content::Bytes(Removed::Inputs, call)),
            Event::Snapshot { state } => (nowhere, Content::Bytes(Removed::Snapshots, state)),
            Event::Note { text } => (nowhere, Content::Text(Form::Note, text)),
            Event::Triggered { trigger, text } => {
                let form = if trigger.from_peer {
                    Form::PeerTrigger
                } else {
                    Form::Any
                };
                (nowhere, Content::Text(form, text))
            }
            // A value may be a player's name, or what it wrote.
            Event::Believed {
                believed: Believed::Value { said },
                ..
            } => (nowhere, Content::Bytes(Removed::Beliefs, said)),
            Event::Interface { name, .. } => (nowhere, Content::Text(Form::Any, name)),
            Event::Called { call, details, .. } => (nowhere, Content::Details(*call, details)),
            Event::Random { value } => (nowhere, Content::Random(value)),
            Event::SocketClosed { .. }
            | Event::SendResult { .. }
            | Event::PollEmpty { .. }
            | Event::ReceiveFailed { .. }
            | Event::Clock { .. }
            | Event::Tick { .. }
            | Event::Switched { .. }
            | Event::Dropped { .. }
            | Event::Stalled { .. }
            | Event::WriteFailed { .. }
            | Event::ClockRead { .. }
            | Event::CaptureDrops { .. }
            | Event::Cut { .. }
            | Event::Fault { .. }
            | Event::Believed { .. } => (nowhere, Content::Nothing),
        };
        Parts { endpoints, content }
    }

    pub fn endpoints(&mut self) -> impl Iterator<Item = &mut Endpoint> {
        self.endpoints.iter_mut().flatten().map(|at| &mut **at)
    }
}

/// An event without what may be another in a copy.
pub(crate) fn bare(mut event: Event<'_>) -> Event<'_> {
    let nowhere = SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0);
    let mut parts = Parts::of(&mut event);
    parts.endpoints().for_each(|at| *at = nowhere);
    match parts.content {
        Content::Nothing => {}
        Content::Bytes(_, bytes) | Content::Text(_, bytes) | Content::Details(_, bytes) => {
            *bytes = &[];
        }
        Content::Random(value) => *value = 0,
    }
    event
}

/// The texts of a header, what each counts as, and how it was written. The wires' own texts, the
/// build and the boot are none of them.
pub(crate) fn texts(header: &mut Header) -> Vec<(&mut String, Removed, Form)> {
    let args = header
        .args
        .iter_mut()
        .map(|text| (text, Removed::Args, Form::Argument));
    let seeds = header.seeds.iter_mut().map(|(name, _)| name);
    let hashes = header
        .hashes
        .iter_mut()
        .flat_map(|(name, hash)| [name, hash]);
    let wires = header.wires.iter_mut().map(|wire| &mut wire.name);
    let others = seeds
        .chain(hashes)
        .chain(wires)
        .chain([&mut header.engine])
        .map(|text| (text, Removed::Texts, Form::Any));
    let node = (&mut header.node, Removed::Nodes, Form::Any);
    std::iter::once(node).chain(args).chain(others).collect()
}
