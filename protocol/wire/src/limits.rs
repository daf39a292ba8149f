//! Hard limits, so that no wire and no packet can take more than a bounded time and memory.

/// The longest wire text, in bytes.
pub(crate) const TEXT_BYTES_MAX: usize = 1 << 20;

/// How many files a wire may have, with those that it imports.
pub(crate) const FILES_MAX: usize = 64;

/// How many mistakes are collected before the rest of a text is left unread. Fewer are shown.
pub(crate) const MISTAKES_MAX: usize = 100;

/// How many fields a struct may declare.
pub(crate) const FIELDS_MAX: usize = 4096;

/// How deep structs may stand in each other, as the wire declares them.
pub(crate) const STRUCT_NESTING_MAX: usize = 64;

/// How many operations a wire may compile to, with every struct that is not recursive written out
/// wherever it is used.
pub(crate) const OPERATIONS_MAX: usize = 200_000;

/// How deep recursive structs may stand in each other in a packet.
pub(crate) const DEPTH_MAX: usize = 32;

/// How many elements one repeat may have in a packet.
pub(crate) const REPEAT_MAX: u32 = 65_536;

/// How many nodes a packet may have. An element counts ahead for as many as it can have.
pub(crate) const NODES_MAX: u32 = 131_072;

/// How many bytes that a packet reads elsewhere in its stream count as a node.
pub(crate) const BYTES_A_NODE: u32 = 16;

/// How many steps of a script each node counts that a packet has beyond one for each of its bits.
pub(crate) const NODE_STEPS: u64 = 10;

/// How many bytes one layer of a packet may give, where the wire does not say.
pub(crate) const INFLATED_DEFAULT: usize = 1 << 16;

/// How many bytes all layers of a packet may give together.
pub(crate) const INFLATED_MAX: usize = 4 << 20;

/// How many layers a packet may have.
pub(crate) const LAYERS_MAX: usize = 256;

/// How deep layers may stand in each other in a packet.
pub(crate) const LAYER_DEPTH_MAX: usize = 8;

/// How many bytes of a packet are looked at.
pub(crate) const PACKET_BYTES_MAX: usize = 16 << 20;

/// How many fields all `state` blocks of a wire may declare together.
pub(crate) const STATE_FIELDS_MAX: usize = 256;

/// How many entries a table of a connection's state may have, and how many split messages may be
/// under way.
pub(crate) const STATE_ENTRIES_MAX: u16 = 4096;

/// How many keys an entry of a connection's state may stand under.
pub(crate) const STATE_KEYS_MAX: usize = 3;

/// How many values a struct that a connection keeps may have.
pub(crate) const STATE_VALUES_MAX: usize = 1024;

/// How many bytes all structs in one field of a connection's state may take; what copies share
/// counts for each.
pub(crate) const STATE_ROWS_BYTES_MAX: usize = 32 << 20;

/// The longest text or bytes that a connection's state keeps.
pub(crate) const STATE_CONTENT_MAX: usize = 4096;

/// How many bytes the texts of one table of a connection's state may have together.
pub(crate) const TABLE_BYTES_MAX: usize = 1 << 20;

/// How many parts a split message may have.
pub(crate) const PARTS_MAX: u32 = 16_384;

/// How many bytes a message that is joined from parts may have.
pub(crate) const JOINED_BYTES_MAX: usize = 4 << 20;

/// How many bytes all parts that wait in one field of a connection's state may have.
pub(crate) const PARTS_BYTES_MAX: usize = 16 << 20;

/// How many bytes of a stream that runs over packets may wait.
pub(crate) const STREAM_BYTES_MAX: usize = 1 << 20;

/// How deep streams may stand in each other in a packet.
pub(crate) const STREAM_DEPTH_MAX: u8 = 8;

/// How many pieces of such a stream may wait for one before them.
pub(crate) const STREAM_PIECES_MAX: usize = 1024;

/// How many steps the scripts of a wire may take for all packets of a file, however few these are.
pub const FILE_STEPS_MAX: u64 = 5_000_000_000;

/// How many more they may take for each packet: a call, and a little work in it.
pub const PACKET_STEPS: u64 = 25_000;
