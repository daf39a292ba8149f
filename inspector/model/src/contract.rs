use crate::detail::BitOrder;
use netreel_protocol::history::History;
use netreel_protocol::session::{PacketId, Session};
use netreel_wire::Decoded;

pub(crate) fn payload(_session: &Session, _packet: PacketId) -> Option<Vec<u8>> {
    None
}
pub(crate) fn decode(_session: &Session, _packet: PacketId) -> Option<Decoded> {
    None
}
pub(crate) fn bit_order(_session: &Session) -> BitOrder {
    BitOrder::Lsb
}
pub(crate) fn filtered(
    text: &str,
    session: &Session,
    _history: &History,
) -> Result<Vec<PacketId>, String> {
    if text.contains('(') {
        return Err("column 1: nothing".to_owned());
    }
    Ok((0..session.packets.len() as u32)
        .map(PacketId)
        .filter(|id| id.0 % 2 == 0)
        .collect())
}
