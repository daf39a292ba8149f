//! How numbers, times and names look in print.

pub use netreel_protocol::figures::{bytes, counted, duration, percent, seconds};
use netreel_protocol::session::{NodeId, Packet, Session};

/// Words one behind the other, with what stands between them.
pub fn joined(words: impl IntoIterator<Item = impl AsRef<str>>, between: &str) -> String {
    let words: Vec<_> = words.into_iter().collect();
    let words: Vec<&str> = words.iter().map(AsRef::as_ref).collect();
    words.join(between)
}

/// A style where the standard output shows colours; none where it goes to a file or another program.
pub fn style(style: anstyle::Style) -> anstyle::Style {
    match anstream::AutoStream::choice(&std::io::stdout()) {
        anstream::ColorChoice::Never => anstyle::Style::new(),
        _ => style,
    }
}

/// A node's name.
pub fn node(session: &Session, node: NodeId) -> &str {
    session.node(node).map_or("?", |node| node.name.as_str())
}

/// How wide the longest link between two nodes may be, at least `least` characters.
pub fn link_width(session: &Session, least: usize) -> usize {
    let width = |id| node(session, id).chars().count();
    let links = session.links().iter();
    let widths = links.map(|&(from, to)| width(from) + 4 + width(to));
    widths.fold(least, usize::max)
}

/// `A -> X`
pub fn link(session: &Session, packet: &Packet) -> String {
    format!(
        "{} -> {}",
        node(session, packet.from),
        node(session, packet.to)
    )
}
