//! Where a packet comes from and where it goes: what the wire may ask that is not in its bytes.

/// What is known of a packet besides its bytes. The default knows nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Context {
    /// The sender's port; 0 where it is not known.
    pub source_port: u16,
    /// The receiver's port; 0 where it is not known.
    pub destination_port: u16,
    /// Whether the packet goes in the direction of the first packet of its connection.
    pub from_first: bool,
}
