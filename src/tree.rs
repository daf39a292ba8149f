//! A decoded packet in print.

use std::io::Write;

use netreel_wire::{Decoded, Name, Tree, TreeNode};

use crate::outcome::Result;

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
        let digits = line
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect::<Vec<_>>()
            .join(" ");
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
