//! What of a session does not fit its wire: the same said of the same field is one line.

use netreel_protocol::session::{PacketId, Session};
use netreel_wire::Misfits;

/// How many packets that do not fit are decoded again to say why; the reasons of the first ones stand
/// for the others.
const PACKETS_MAX: usize = 1000;
/// The same where the wire keeps state: the packets before each are decoded as well.
const PACKETS_WITH_STATE_MAX: usize = 200;

/// Says it on the error output, where something does not fit. What the wire says of packets has been
/// asked for already.
pub fn say(session: &Session) {
    let mut misfits = Misfits::default();
    let mut unfit = session.unfit_packets();
    let most = if session.wire.as_ref().is_some_and(|wire| wire.has_state()) {
        PACKETS_WITH_STATE_MAX
    } else {
        PACKETS_MAX
    };
    for PacketId(number) in unfit.by_ref().take(most) {
        if let Some(decoded) = session.decode(PacketId(number)) {
            misfits.take(number as usize, &decoded.diagnostics);
        }
    }
    if misfits.packets() == 0 {
        return;
    }
    let which = match unfit.count() {
        0 => String::new(),
        _ => format!(", in the first {most} of these packets"),
    };
    anstream::eprintln!("netreel: what does not fit{which}:");
    for line in misfits.group_lines() {
        anstream::eprintln!("netreel: {line}");
    }
}
