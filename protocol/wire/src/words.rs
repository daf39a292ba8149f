//! The words of the language that only have a meaning in their place, and what they mean, in a sentence
//! each: for the checker, which knows no others, and for editors. The reference says more
//! (docs/wire-language.md).

/// What sort of word it is, and with that where it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HelpKind {
    /// Begins an item: `struct`.
    Item,
    /// Begins a statement of a struct, or goes on with one: `if`, `through`.
    Statement,
    /// A built-in type.
    Type,
    /// An annotation of a field, without `@`.
    OnField,
    /// An annotation of a struct.
    OnStruct,
    /// An annotation of a member of an enum.
    OnMember,
    /// A setting of a `wire` block.
    OfWire,
    /// A setting of a `rules` block.
    OfRules,
    /// A setting of a `layer`.
    OfLayer,
    /// A setting of a `test`.
    OfTest,
    /// A function in an expression.
    Function,
    /// What a `derived` field follows from.
    Derived,
    /// A transform of a layer.
    Transform,
}

/// A word and what it means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Help {
    /// The word.
    pub word: &'static str,
    /// Where it stands.
    pub kind: HelpKind,
    /// How it is written.
    pub shape: &'static str,
    /// What it means.
    pub text: &'static str,
}

/// All of them but annotations, in their order.
pub(crate) fn words() -> impl Iterator<Item = Help> {
    WORDS.iter().flat_map(|&(kind, rows)| {
        rows.iter().map(move |&[word, shape, text]| Help {
            word,
            kind,
            shape,
            text,
        })
    })
}

/// Those of a sort.
pub(crate) fn words_of(kind: HelpKind) -> impl Iterator<Item = &'static str> {
    let of_kind = words().filter(move |help| help.kind == kind);
    of_kind.map(|help| help.word)
}

use HelpKind::*;

type Row = [&'static str; 3];

#[rustfmt::skip]
const WORDS: &[(HelpKind, &[Row])] = &[
    (Item, &[
        ["import", "import \"PATH\";", "Uses what another file declares; the path goes down from this file's folder."],
        ["wire", "wire NAME { byte_order = little; bit_order = lsb; root = STRUCT; }", "A protocol: how its bits lie, and the struct that a packet is."],
        ["const", "const NAME = VALUE;", "A constant: a number, a truth value, a text or bytes."],
        ["enum", "enum NAME : TYPE { MEMBER = VALUE, ... }", "Names for the values of an integer."],
        ["flags", "flags NAME : TYPE { MEMBER = BIT, ... }", "Names for the single bits of an integer."],
        ["type", "type NAME = TYPE;", "A name for a type with its options."],
        ["struct", "struct NAME { FIELD: TYPE; ... }", "Fields, in the order in which they stand on the wire."],
        ["c_struct", "c_struct(natural) { typedef struct { uint8_t a; float x[3]; } NAME; }", "C declarations as they stand in a header: `natural` leaves the gaps that compilers leave, `packed` leaves none, and `pack(N)` aligns to at most N bytes."],
        ["layer", "layer NAME(PARAMETER: int) { transform = ...; }", "How bytes are compressed, encrypted or coded; a field goes `through` it."],
        ["huffman", "huffman NAME { codes = [\"0\", \"10\", ...]; eof = 256; }", "A table of codes, one for each symbol."],
        ["lua", "lua \"\"\" ... \"\"\"", "Functions in Lua 5.4, for what no declaration says."],
        ["state", "state NAME { FIELD: TYPE; ... }", "What a connection keeps from one packet to the next."],
        ["rules", "rules NAME { SETTING = VALUE; ... }", "What nodes believe of messages that they did not expect."],
        ["test", "test \"NAME\" { bytes = x\"...\"; value = { ... }; }", "A packet that has to decode to a value, and back."],
    ]),
    (Statement, &[
        ["if", "if (CONDITION) { ... } else { ... }", "Fields that are there where the condition holds."],
        ["else", "if (CONDITION) { ... } else { ... }", "Fields that are there where the condition does not hold."],
        ["switch", "switch (VALUE) { PATTERN => FIELD: TYPE; ... }", "Fields that depend on an integer or an enum."],
        ["default", "default => { ... }", "The arm of a `switch` for all other values."],
        ["let", "let NAME: TYPE = EXPRESSION;", "A value that is worked out and takes no bits."],
        ["label", "label NAME;", "Remembers where it stands: bits from the stream's start."],
        ["align", "align(BITS) = 0;", "Skips to the next multiple of so many bits."],
        ["at", "at (BIT) { ... }", "Reads what stands at that bit of the stream, then goes on where it was."],
        ["size", "size(BYTES)", "Confines a field, or a block, to so many bytes."],
        ["byte_order", "byte_order = if (CONDITION) little else big;", "The order of bytes from here to the end of the block."],
        ["index", "TYPE[COUNT]", "In the type of a repeated field: the number of the element, from 0."],
        ["set", "set state.NAME = VALUE;", "Sets what the connection keeps."],
        ["unset", "unset state.NAME[KEY];", "Forgets what the connection keeps there."],
        ["join", "join NAME: TYPE from state.PARTS[KEY] (INDEX, COUNT, DATA);", "Puts a split message together; the last part reads it."],
        ["follow", "follow NAME: TYPE[until end] from state.STREAM (POSITION, DATA);", "Reads records of a stream of bytes that runs over packets."],
        ["from", "from state.NAME", "Where `join` and `follow` keep bytes."],
        ["through", "through LAYER(ARGUMENT, ...)", "Unpacks the field's bytes with a layer."],
        ["derived", "derived size(FIELD)", "What the field's value follows from; encoders work it out."],
        ["until", "TYPE[until end] or TYPE[until CONDITION]", "Elements to the end of the window, or up to the first for which the condition holds; it reads the element as `item`."],
        ["end", "TYPE[until end]", "The end of the window: of the packet, or of the `size` around it."],
        ["item", "TYPE[until item.FIELD == 0]", "The element that was read last."],
        ["each", "each NAME: TYPE;", "Kept once for each direction of the connection."],
        ["other", "state.other.NAME", "What is kept for the opposite direction."],
        ["true", "true", "A truth value."],
        ["false", "false", "A truth value."],
    ]),
    (Type, &[
        ["bool", "bool", "One bit, true or false."],
        ["range", "LOW..=HIGH", "The value less the first number, in as few bits as the difference needs."],
        ["leb128", "leb128", "Unsigned, seven bits a byte, the lowest first; the top bit says that more follow."],
        ["sleb128", "sleb128", "Signed LEB128: the highest bit of the last group is the sign."],
        ["zigzag", "zigzag", "A `leb128` that stands for 0, -1, 1, -2, ..."],
        ["vlq", "vlq", "Like `leb128`, the highest group first."],
        ["prefix_varint", "prefix_varint", "The leading ones of the first byte say how many bytes follow, up to eight."],
        ["quic_varint", "quic_varint", "Two bits say whether 1, 2, 4 or 8 bytes are taken."],
        ["ubitvar", "ubitvar", "Source's: six bits, of which two say whether 0, 4, 8 or 28 more follow."],
        ["packed_int", "packed_int", "Teeworlds': a sign and six bits, then groups of seven."],
        ["compressed", "compressed(INTEGER)", "RakNet's: bytes that are all zeros at the upper end are one bit each."],
        ["quake_float", "quake_float", "Quake 3's: a bit 0 and 13 bits less 4096, or a bit 1 and an `f32`."],
        ["f16", "f16", "IEEE 754, 16 bits."],
        ["f32", "f32", "IEEE 754, 32 bits."],
        ["f64", "f64", "IEEE 754, 64 bits."],
        ["f16le", "f16le", "IEEE 754, 16 bits, the lowest byte first."],
        ["f16be", "f16be", "IEEE 754, 16 bits, the highest byte first."],
        ["f32le", "f32le", "IEEE 754, 32 bits, the lowest byte first."],
        ["f32be", "f32be", "IEEE 754, 32 bits, the highest byte first."],
        ["f64le", "f64le", "IEEE 754, 64 bits, the lowest byte first."],
        ["f64be", "f64be", "IEEE 754, 64 bits, the highest byte first."],
        ["quantized", "quantized(LOW, HIGH, BITS)", "An integer whose 0 is LOW and whose largest value is HIGH."],
        ["vec2", "vec2(TYPE)", "Two numbers of one type: x, y."],
        ["vec3", "vec3(TYPE)", "Three numbers of one type: x, y, z."],
        ["vec4", "vec4(TYPE)", "Four numbers of one type: x, y, z, w."],
        ["smallest_three", "smallest_three(BITS)", "A rotation: which of x, y, z, w is the largest, then the others."],
        ["string", "string(LENGTH, ENCODING)", "Text; LENGTH counts bytes: a type before it, an expression, `zero` or `rest`."],
        ["bytes", "bytes(LENGTH) or bytes(rest)", "So many bytes as they are."],
        ["delta", "delta(TYPE, BASE)", "An integer that is added to BASE."],
        ["uuid", "uuid", "16 bytes."],
        ["hash", "hash(BYTES)", "So many bytes, shown whole."],
    ]),
    (OfWire, &[
        ["version", "version = 1;", "A number for people; optional."],
        ["byte_order", "byte_order = little;", "`little` or `big`: which group of eight bits of a value comes first."],
        ["bit_order", "bit_order = lsb;", "`lsb` or `msb`: which bit of each group comes first."],
        ["root", "root = STRUCT;", "The struct that a packet is."],
        ["joined", "joined = STRUCT;", "The struct that the data of all fragments of a message is."],
        ["ports", "ports = 27960..=27969, 27900;", "The packet's source or destination port is one of these."],
        ["magic", "magic = x\"ff ff ff ff\";", "The packet begins with these bytes, or with this text."],
        ["when", "when = CONDITION;", "A condition at the packet's start."],
        ["state", "state = NAME;", "The `state` block that its connections keep."],
    ]),
    (OfRules, &[
        ["unknown_migrate", "unknown_migrate = drop;", "A MIGRATE for an unknown object: `drop`, `create` or `queue`."],
        ["unknown_update", "unknown_update = drop;", "An UPDATE for an unknown object: `drop`, `create` or `queue`."],
        ["unknown_destroy", "unknown_destroy = drop;", "A DESTROY for an unknown object: `drop`, `tombstone` or `queue`."],
        ["create", "create = always;", "When a CREATE is believed: `always` or `newer`."],
        ["stale", "stale = never;", "What makes a message old: `never` or `counter`."],
        ["update_from", "update_from = anyone;", "Whose UPDATEs count: `anyone` or `owner`."],
        ["older_update", "older_update = drop;", "An UPDATE that was sent before one that was taken: `take` or `drop`. Without it: `take` where `stale = never`, else `drop`."],
        ["late_input", "late_input = rollback;", "An input that comes after its tick: `wait`, `rollback` or `drop`; may be left out."],
        ["input_delay", "input_delay = 2;", "A node tells its own input so many ticks before it works the tick out; without it 0."],
    ]),
    (OfLayer, &[
        ["transform", "transform = zlib;", "What unpacks the bytes."],
        ["coding", "coding = huffman(TABLE);", "Leaves the bytes as they are and changes how they are read."],
        ["byte_order", "byte_order = little;", "That of the stream inside; without it that of the stream around."],
        ["bit_order", "bit_order = lsb;", "That of the stream inside; without it that of the stream around."],
        ["inflated_max", "inflated_max = 65536;", "How many bytes may come out."],
    ]),
    (OfTest, &[
        ["bytes", "bytes = x\"...\";", "The packet."],
        ["value", "value = { ... };", "All of the packet, checked both ways."],
        ["part", "part = { ... };", "Some of the packet; the bytes decode to this."],
        ["diagnostics", "diagnostics = 1;", "How many diagnostics there are; without it none."],
        ["wire", "wire = NAME;", "The protocol; without it the one that claims the packet."],
        ["ports", "ports = SOURCE, DESTINATION;", "The packet's ports."],
        ["root", "root = STRUCT;", "The struct that the bytes are, where they are no whole packet."],
        ["state", "state = { NAME: VALUE };", "What the connection keeps before the packet."],
    ]),
    (Function, &[
        ["left", "left()", "Bits that are left in the window."],
        ["position", "position()", "Bits from the stream's start."],
        ["peek", "peek(TYPE) or peek(TYPE, BITS_AHEAD)", "An unsigned integer that comes, without a step."],
        ["count", "count(FIELD)", "The elements of a repeat that was read."],
        ["size", "size(FIELD)", "The bytes that a field took."],
        ["bits", "bits(FIELD)", "The bits that a field took."],
        ["int", "int(A)", "The integer of an enum's value; 1 and 0 of a truth value."],
        ["min", "min(A, B)", "The lesser."],
        ["max", "max(A, B)", "The greater."],
        ["popcount", "popcount(A)", "How many bits are 1."],
        ["number", "number(TEXT)", "The whole number in digits at the start of a text; 0 where there is none."],
        ["quake_hash", "quake_hash(TEXT)", "Quake 3's hash of a command, a part of its keys."],
        ["source_port", "source_port()", "The packet's source port; 0 where it is not known."],
        ["destination_port", "destination_port()", "The packet's destination port; 0 where it is not known."],
        ["from_first", "from_first()", "Whether the packet goes the way of the first packet of its connection."],
        ["lua", "lua(\"FUNCTION\", A, ...)", "The integer that a function of a `lua` item gives."],
        ["known", "known(VALUE)", "Whether packets have said enough for the value."],
    ]),
    (Derived, &[
        ["present", "present(FIELD)", "1 where the field is there."],
        ["unpacked", "unpacked(FIELD)", "What comes out of the field's layer."],
        ["crc8", "crc8(PIECE, ...)", "CRC-8/SMBUS of fields as they are on the wire, and of numbers as bytes."],
        ["crc16_arc", "crc16_arc(PIECE, ...)", "CRC-16/ARC."],
        ["crc16_ccitt", "crc16_ccitt(PIECE, ...)", "CRC-16/CCITT-FALSE."],
        ["crc32", "crc32(PIECE, ...)", "CRC-32."],
        ["crc32c", "crc32c(PIECE, ...)", "CRC-32C."],
        ["adler32", "adler32(PIECE, ...)", "Adler-32."],
        ["sum8", "sum8(PIECE, ...)", "The sum of all bytes, 8 bits of it."],
        ["sum16", "sum16(PIECE, ...)", "The sum of all bytes, 16 bits of it."],
        ["sum32", "sum32(PIECE, ...)", "The sum of all bytes, 32 bits of it."],
        ["xor8", "xor8(PIECE, ...)", "All bytes together by XOR."],
    ]),
    (Transform, &[
        ["zlib", "zlib", "RFC 1950."],
        ["deflate", "deflate", "RFC 1951."],
        ["gzip", "gzip", "RFC 1952."],
        ["lz4", "lz4(SIZE)", "One LZ4 block, which does not say how many bytes it holds."],
        ["lz4_frame", "lz4_frame", "LZ4 frames."],
        ["zstd", "zstd", "RFC 8878."],
        ["xor", "xor(KEY)", "A key that repeats."],
        ["xor_text", "xor_text(KEY, TEXT, FROM)", "Quake 3's: a key that changes with every byte."],
        ["huffman", "huffman(TABLE)", "A code for each byte."],
        ["adaptive_huffman", "adaptive_huffman", "Quake 3's: a code that learns from each byte."],
        ["chacha20_poly1305", "chacha20_poly1305(KEY, NONCE, AAD)", "RFC 8439; the tag stands last."],
        ["aes128_gcm", "aes128_gcm(KEY, NONCE, AAD)", "NIST SP 800-38D; the tag stands last."],
        ["aes256_gcm", "aes256_gcm(KEY, NONCE, AAD)", "NIST SP 800-38D; the tag stands last."],
        ["lua", "lua(\"DECODE\", \"ENCODE\", ...)", "Functions of a `lua` item."],
        ["keylog", "keylog(\"LABEL\", ID)", "A key of the key log."],
    ]),
];
