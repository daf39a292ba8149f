//! A decoded packet in print, and what of a session does not fit its wire.

use std::io::Write;

use netreel_protocol::session::{PacketId, Session};
use netreel_wire::{Decoded, Misfits, Name, Tree, TreeNode};

use crate::outcome::Result;
use crate::text;

/// Prints what is wrong with a packet, a line each.
pub fn diagnostics(decoded: &Decoded, out: &mut dyn Write) -> Result {
    for diagnostic in &decoded.diagnostics {
        writeln!(
            out,
            "! {}: {} (bit {})",
            diagnostic.path, diagnostic.message, diagnostic.bit
        )?;
    }
    Ok(())
}

/// Prints a tree, a line a node.
pub fn tree(tree: &Tree, out: &mut dyn Write) -> Result {
    let mut depths = Vec::with_capacity(tree.len());
    for node in tree.iter() {
        let above = node
            .parent()
            .and_then(|parent| depths.get(parent.0 as usize));
        let depth = above.map_or(0, |depth: &usize| depth + 1);
        depths.push(depth);
        let label = format!("{:indent$}{}", "", name(node), indent = depth * 2);
        let annotation = node.annotation().map(|word| format!("  @{word}"));
        let line = format!(
            "{label:<36} {:>6}..{:<6} {:<14} {}{}",
            node.bits().start,
            node.bits().end,
            node.type_name(),
            node.value(),
            annotation.unwrap_or_default(),
        );
        writeln!(out, "{}", line.trim_end())?;
    }
    Ok(())
}

fn name(node: TreeNode<'_>) -> String {
    match node.name() {
        Name::Field(name) => name.to_string(),
        Name::Index(index) => format!("[{index}]"),
    }
}

/// Prints bytes, sixteen a line.
pub fn hex(bytes: &[u8], out: &mut dyn Write) -> Result {
    for (row, line) in bytes.chunks(16).enumerate() {
        let digits = text::joined(line.iter().map(|byte| format!("{byte:02x}")), " ");
        let text: String = line
            .iter()
            .map(|&byte| {
                if (0x20..0x7f).contains(&byte) {
                    char::from(byte)
                } else {
                    '.'
                }
            })
            .collect();
        writeln!(out, "{:04x}  {digits:<47}  {text}", row * 16)?;
    }
    Ok(())
}

/// How many packets that do not fit are decoded again to say why; the reasons of the first ones stand
/// for the others.
const PACKETS_MAX: usize = 1000;
/// The same where the wire keeps state: the packets before each are decoded as well.
const PACKETS_WITH_STATE_MAX: usize = 200;

/// Says it on the error output, where something does not fit. What the wire says of packets has been
/// asked for already.
pub fn say_misfits(session: &Session) {
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
    text::warn(misfits.group_lines());
}
