//! How numbers and times look in print.

use netreel_protocol::session::{NodeId, Packet, Session, SessionTime};

/// Seconds on the session's clock, to the microsecond.
pub fn time(time: SessionTime) -> String {
    let micros = time.0.div_euclid(1_000);
    let sign = if micros < 0 { "-" } else { "" };
    format!(
        "{sign}{}.{:06}",
        micros.abs() / 1_000_000,
        micros.abs() % 1_000_000
    )
}

/// A length of time in the unit that people would say it in.
pub fn duration(nanos: i64) -> String {
    let magnitude = nanos.unsigned_abs();
    let (value, unit) = match magnitude {
        0..1_000 => return format!("{nanos} ns"),
        1_000..1_000_000 => (nanos as f64 / 1e3, "µs"),
        1_000_000..1_000_000_000 => (nanos as f64 / 1e6, "ms"),
        _ => (nanos as f64 / 1e9, "s"),
    };
    format!("{value:.1} {unit}")
}

/// Bytes in the unit that people would say them in.
pub fn bytes(bytes: u64) -> String {
    match bytes {
        0..10_000 => format!("{bytes} B"),
        10_000..10_000_000 => format!("{:.1} kB", bytes as f64 / 1e3),
        10_000_000..10_000_000_000 => format!("{:.1} MB", bytes as f64 / 1e6),
        _ => format!("{:.1} GB", bytes as f64 / 1e9),
    }
}

/// A style where the standard output shows colours; none where it goes to a file or another program.
pub fn style(style: anstyle::Style) -> anstyle::Style {
    match anstream::AutoStream::choice(&std::io::stdout()) {
        anstream::ColorChoice::Never => anstyle::Style::new(),
        _ => style,
    }
}

/// `1 packet`, `2 packets`.
pub fn count(number: u64, one: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {one}{plural}")
}

/// A node's name.
pub fn node(session: &Session, node: NodeId) -> &str {
    session
        .nodes
        .get(usize::from(node.0))
        .map_or("?", |node| node.name.as_str())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_before_the_start_has_its_sign() {
        assert_eq!(time(SessionTime(-1_500_000)), "-0.001500");
    }

    #[test]
    fn time_is_cut_to_the_microsecond() {
        assert_eq!(time(SessionTime(12_345_678_999)), "12.345678");
    }

    #[test]
    fn a_duration_takes_the_unit_that_fits() {
        assert_eq!(
            [950, 1_500, 2_500_000, 3_000_000_000].map(duration),
            ["950 ns", "1.5 µs", "2.5 ms", "3.0 s"]
        );
    }

    #[test]
    fn one_is_not_a_plural() {
        assert_eq!(
            (count(1, "packet"), count(0, "packet")),
            ("1 packet".into(), "0 packets".into())
        );
    }
}
