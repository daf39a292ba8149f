//! What the facts of a packet cost in memory: nothing, once there is room for its messages.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use netreel_wire::{Context, PacketFacts, Wire};

thread_local! {
    static COUNT: Cell<u64> = const { Cell::new(0) };
    /// Bytes that are in use, with 16 for each block.
    static USED: Cell<isize> = const { Cell::new(0) };
}

fn uses(bytes: isize) {
    let block = 16 * bytes.signum();
    USED.with(|used| used.set(used.get() + bytes + block));
}

/// Counts what this thread asks for.
struct Counting;

// SAFETY: every call goes to the system's allocator as it came; counting touches a thread's own cell
// that needs no memory and no destructor.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        COUNT.with(|count| count.set(count.get() + 1));
        uses(layout.size() as isize);
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        uses(-(layout.size() as isize));
        // SAFETY: the caller keeps the contract of `dealloc`, and the memory is the system's.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// How often the facts of a packet ask for memory, the second time that they are read.
fn allocations(wire: &Wire, packet: &[u8]) -> u64 {
    let mut facts = PacketFacts::default();
    wire.facts(packet, &mut facts);
    let before = COUNT.with(Cell::get);
    wire.facts(packet, &mut facts);
    COUNT.with(Cell::get) - before
}

const BOXES: &str = include_str!("../../../samples/wires/boxes.wire");

#[test]
fn the_facts_of_a_packet_of_many_messages_take_no_memory() {
    let wire = Wire::compile("boxes.wire", BOXES).unwrap_or_else(|error| panic!("{error}"));
    // Destroys objects 0 and 0, leaves, calls "\0" and is cut in the fifth message.
    let packet = [0xb0, 0x20, 1, 0, 5, 4, 6, 0x10, 0, 0x80, 2, 0, 8, 1, 0];
    assert!(wire.decode(&packet).facts.messages.len() > 1);
    assert_eq!(allocations(&wire, &packet), 0);
}

#[test]
fn diagnostics_are_counted_without_memory() {
    let wire = Wire::compile("boxes.wire", BOXES).unwrap_or_else(|error| panic!("{error}"));
    let packet = [0xff; 200];
    assert!(wire.decode(&packet).facts.diagnostics > 0);
    assert_eq!(allocations(&wire, &packet), 0);
}

#[test]
fn a_full_decode_asks_for_memory() {
    let wire = Wire::compile("boxes.wire", BOXES).unwrap_or_else(|error| panic!("{error}"));
    let before = COUNT.with(Cell::get);
    let _ = wire.decode(&[0xb0; 40]);
    assert!(COUNT.with(Cell::get) > before, "the counter counts");
}

#[test]
fn a_connection_keeps_what_it_has_room_for_without_memory() {
    let text = "wire w { byte_order = little; bit_order = lsb; root = P; state = S; }
         state S { each last: u32 = 0; names: string[2]; sizes: u8[4]; key: bytes; }
         struct P {
             step: delta(u8, state.last) @sequence; set state.last = step;
             key: u8; set state.sizes[key] = key;
             bit: u1; name: string(u7, utf8); set state.names[key] = name;
             set state.key = name;
         }";
    let wire = Wire::compile("w.wire", text).unwrap_or_else(|error| panic!("{error}"));
    let mut state = wire.new_state();
    let mut facts = PacketFacts::default();
    let mut run = |key: u8| {
        let packet = [3, key, 4, b'a', b'b'];
        wire.facts_in(&Context::default(), &mut state, &packet, &mut facts);
    };
    (0..8).for_each(&mut run);
    let before = COUNT.with(Cell::get);
    (8..100).for_each(&mut run);
    assert_eq!(COUNT.with(Cell::get), before);
    assert_eq!(facts.sequence.map(|sequence| sequence.value), Some(300));
}

/// What is kept under many keys takes no more memory than it counts, by which a hostile wire is bounded.
#[test]
fn tables_in_tables_take_no_more_memory_than_they_count() {
    for (kept, set) in [
        ("u8[4096][1][1]", "set state.t[a][b][c] = a;"),
        ("u8[16][16][16]", "set state.t[a % 16][b % 16][c % 16] = a;"),
        ("string[4096][1][1]", "set state.t[a][b][c] = \"x\";"),
        ("Two[4096][2][1]", "set state.t[a][b][c].x = a;"),
    ] {
        let text = format!(
            "wire w {{ byte_order = little; bit_order = lsb; root = P; state = S; }}
             state S {{ t: {kept}; }}
             struct P {{ a: u16; b: u8; c: u8; {set} }}
             struct Two {{ x: u16; y: f32; }}"
        );
        let wire = Wire::compile("w.wire", &text).unwrap_or_else(|error| panic!("{error}"));
        let mut facts = PacketFacts::default();
        let before = USED.with(Cell::get);
        let mut state = wire.new_state();
        for number in 0u16..4096 {
            let [low, high] = number.to_le_bytes();
            let packet = [low, high, low / 16, high];
            let context = Context::default();
            wire.facts_in(&context, &mut state, &packet, &mut facts);
        }
        let used = USED.with(Cell::get) - before;
        let counted = state.memory() as isize;
        // What the facts took is little.
        assert!(
            used <= counted + 4096,
            "{kept}: {used} bytes, {counted} counted"
        );
        assert!(
            counted < 4 * used,
            "{kept}: {used} bytes, {counted} counted"
        );
    }
}
