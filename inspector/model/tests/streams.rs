//! Streams inside a packet: whose bytes are shown, and which bits light.

mod fixture;

use fixture::ways;
use netreel_inspector_model::{Command, FieldRow, Hover, Model};
use netreel_protocol::session::PacketId;
use netreel_wire::StreamId;

const PACKET: StreamId = StreamId(0);
const BODY: StreamId = StreamId(1);

fn open() -> Model {
    let mut model = ways::model(ways::layered());
    model.apply(Command::SelectPacket(PacketId(0)));
    model
}

fn row(model: &Model, path: &str) -> FieldRow {
    let detail = model.detail();
    let mut rows = detail.rows().into_iter();
    rows.find(|row| detail.path(row.id) == path)
        .unwrap_or_else(|| panic!("no field {path}"))
}

fn lit(model: &Model) -> Vec<u8> {
    let (detail, stream) = (model.detail(), model.selection().stream);
    let bytes = detail.stream_bytes(stream).map_or(0, <[u8]>::len) as u32;
    let bits = model.lit_bits();
    let mask = |byte| {
        bits.as_ref()
            .map_or(0, |bits| detail.mask(bits, byte, stream))
    };
    (0..bytes).map(mask).collect()
}

#[test]
fn a_packet_has_a_tab_for_each_stream() {
    let model = open();
    let streams = model.detail().streams();
    let said: Vec<_> = streams
        .iter()
        .map(|it| (it.stream, it.name.as_str(), it.length))
        .collect();
    assert_eq!(said, [(PACKET, "packet", 6), (BODY, "body", 5)]);
    assert_eq!(streams[1].path, "body");
    let clear = model.detail().hex_row(0, BODY).expect("a line");
    assert_eq!(clear.bytes, [2, 0x10, 0x02, 0x31, 0x04]);
}

#[test]
fn a_field_of_a_stream_lights_what_it_was_unpacked_from_and_its_own_bits() {
    let mut model = open();
    let value = row(&model, "body.messages[0].value");
    assert_eq!((value.stream, value.bits.clone()), (BODY, 12..24));
    model.apply(Command::Hover(Some(Hover::Field(value.id))));
    // In the packet: all that the stream was unpacked from.
    assert_eq!(lit(&model), [0, 0xff, 0xff, 0xff, 0xff, 0xff]);
    // A click shows the stream, whose bits begin at the lowest.
    model.apply(Command::PinField(Some(value.id)));
    assert_eq!(model.selection().stream, BODY);
    assert_eq!(lit(&model), [0, 0xf0, 0xff, 0, 0]);
    assert!(
        model
            .detail()
            .sentence(value.id)
            .contains("bits 12..24 of stream body")
    );
    // What is no part of the stream lights nothing in it.
    let key = row(&model, "key");
    model.apply(Command::Hover(Some(Hover::Field(key.id))));
    assert_eq!(lit(&model), [0, 0, 0, 0, 0]);
}

#[test]
fn a_byte_of_a_stream_lights_its_fields() {
    let mut model = open();
    model.apply(Command::ShowStream(BODY));
    model.apply(Command::Hover(Some(Hover::Byte(1))));
    let paths = |model: &Model| {
        let lit = model.lit_fields();
        let paths = lit.iter().map(|field| model.detail().path(*field));
        paths.collect::<Vec<String>>()
    };
    assert_eq!(
        paths(&model),
        ["body.messages[0].kind", "body.messages[0].value"]
    );
    model.apply(Command::ShowStream(PACKET));
    assert_eq!(paths(&model), ["body"]);
    // There is no such stream.
    model.apply(Command::ShowStream(StreamId(2)));
    assert_eq!(model.selection().stream, PACKET);
}

#[test]
fn a_message_of_a_stream_lights_in_both() {
    let mut model = open();
    let (message, facts) = model.messages_of(PacketId(0)).nth(1).expect("a message");
    assert_eq!((facts.stream, facts.bits), (BODY, 24..40));
    model.apply(Command::SelectMessage(message));
    assert_eq!(lit(&model), [0, 0xff, 0xff, 0xff, 0xff, 0xff]);
    model.apply(Command::ShowStream(BODY));
    assert_eq!(lit(&model), [0, 0, 0, 0xff, 0xff]);
}

#[test]
fn whoever_goes_on_sees_the_same_stream_and_whoever_goes_back_the_one_before() {
    let mut model = open();
    model.apply(Command::ShowStream(BODY));
    model.apply(Command::SelectPacket(PacketId(1)));
    assert_eq!(model.selection().stream, BODY);
    model.apply(Command::ShowStream(PACKET));
    model.apply(Command::Back);
    assert_eq!(model.selection().stream, BODY);
    model.apply(Command::LetGo);
    assert_eq!(model.selection().stream, PACKET);
}
