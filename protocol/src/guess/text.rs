//! The guess in words: a table for people, and a wire.

use std::fmt::Write;

use super::fields::{Field, Guess, Layout, Order, Role};
use super::packets::PACKETS_MAX;

const OUTSIDE_WIRE: &str = "
wire guessed_outside {
    version = 1;
    byte_order = big;
    bit_order = msb;
    root = Outside;
    magic = x\"ff ff ff ff\";
}
";
const OUTSIDE_STRUCT: &str = "struct Outside {
    marker: u32;
    data: bytes(rest);
}

";

impl Role {
    /// What a field of it is called.
    fn called(self) -> &'static str {
        match self {
            Role::AckBits => "ack_bits",
            Role::OfLink => "of_link",
            other => other.name(),
        }
    }

    fn annotation(self) -> &'static str {
        match self {
            Role::Sequence => " @sequence",
            Role::Ack => " @ack",
            Role::AckBits => " @ack_bits",
            _ => "",
        }
    }
}

impl Field {
    /// Its bytes, from the packet's start: `4`, or `4-7`.
    pub fn places(&self) -> String {
        match self.width {
            1 => self.place.to_string(),
            width => format!("{}-{}", self.place, self.place + width - 1),
        }
    }

    fn value(&self) -> u64 {
        self.values.iter().fold(0, |value, byte| value << 8 | byte)
    }

    fn line(&self, indent: &str, out: &mut String) {
        let order = if self.order == Order::Little {
            "le"
        } else {
            "be"
        };
        let name = match self.role {
            Role::Kind => "kind".to_owned(),
            role => format!("{}_{}", role.called(), self.place),
        };
        let kind = match (self.role, self.width) {
            (Role::Kind, _) => "Kind".to_owned(),
            (Role::Bytes, width) => format!("bytes({width})"),
            (_, 1) => "u8".to_owned(),
            (_, width) => format!("u{}{order}", 8 * width),
        };
        let value = match self.role {
            Role::Constant => format!(" = {:#0width$x}", self.value(), width = 2 + 2 * self.width),
            _ => String::new(),
        };
        let _ = writeln!(out, "{indent}// {}", self.comment());
        let _ = writeln!(
            out,
            "{indent}{name}: {kind}{}{value};",
            self.role.annotation()
        );
    }

    fn comment(&self) -> String {
        let mut text = format!(
            "byte {}: {}: {}",
            self.places(),
            self.role.name(),
            self.evidence
        );
        if self.role != Role::Bytes {
            let _ = write!(text, ", confidence {:.2}", self.confidence);
        }
        if self.role == Role::Enumeration {
            let values: Vec<String> = self
                .values
                .iter()
                .map(|value| format!("{value:#04x}"))
                .collect();
            let _ = write!(text, "; {}", values.join(" "));
        }
        text
    }
}

impl Layout {
    /// What can be said of the bytes after the fields.
    fn rest(&self) -> Option<String> {
        let (low, high) = self.rest_bits?;
        let noise = match self.noise_from {
            Some(from) => {
                format!("high entropy from byte {from} on: compressed, encrypted or bit-packed; ")
            }
            None => String::new(),
        };
        Some(format!(
            "{noise}nothing was recognised, entropy {low:.1} to {high:.1} bits a byte"
        ))
    }
}

impl Guess {
    /// The layouts in the order of the wire.
    pub fn layouts(&self) -> impl Iterator<Item = &Layout> {
        std::iter::once(&self.head).chain(&self.kinds)
    }

    /// What is to be known before the fields: how much was looked at, and what cannot be known.
    pub fn remarks(&self) -> Vec<String> {
        let (looked_at, given) = self.looked_at;
        let mut remarks = Vec::new();
        if looked_at < given {
            remarks.push(format!(
                "the first {PACKETS_MAX} of {given} packets were looked at"
            ));
        }
        if looked_at < 100 {
            remarks.push(format!("{looked_at} packets are few: hundreds show more"));
        }
        for layout in self.layouts() {
            let Some(from) = layout.noise_from else {
                continue;
            };
            let of = layout
                .kind
                .map_or(String::new(), |kind| format!("kind {kind:#04x}: "));
            remarks.push(format!(
                "{of}high entropy from byte {from} on: compressed, encrypted or bit-packed"
            ));
        }
        if self.outside > 0 {
            remarks.push(format!(
                "{} packets begin with ff ff ff ff: a protocol of their own",
                self.outside
            ));
        }
        let has_sequence = self
            .layouts()
            .flat_map(|layout| &layout.fields)
            .any(|field| field.role == Role::Sequence);
        if !has_sequence {
            remarks.push("no field numbers the packets of a link".to_owned());
        }
        remarks
    }

    /// The rows of a table: the kind, the bytes, what they are, the confidence, the evidence.
    pub fn rows(&self) -> Vec<[String; 5]> {
        let mut rows = Vec::new();
        for layout in self.layouts() {
            let kind = layout
                .kind
                .map_or("all".to_owned(), |kind| format!("{kind:#04x}"));
            for field in &layout.fields {
                let confidence = match field.role {
                    Role::Bytes => "-".to_owned(),
                    _ => format!("{:.2}", field.confidence),
                };
                let what = field.role.name().to_owned();
                rows.push([
                    kind.clone(),
                    field.places(),
                    what,
                    confidence,
                    field.evidence.clone(),
                ]);
            }
            if let Some(rest) = layout.rest() {
                rows.push([
                    kind,
                    format!("{}-", layout.end),
                    "rest".to_owned(),
                    "-".to_owned(),
                    rest,
                ]);
            }
        }
        rows
    }

    /// The wire. It reads any packet without a diagnostic but for constants that a later packet breaks.
    pub fn wire(&self) -> String {
        let mut out = String::new();
        let (looked_at, given) = self.looked_at;
        let _ = writeln!(
            out,
            "// Guessed from {looked_at} of {given} packets. Each field says on what evidence; a"
        );
        let _ = writeln!(
            out,
            "// confidence is the share of packets that agree, less where there are few."
        );
        for remark in self.remarks() {
            let _ = writeln!(out, "// {remark}");
        }
        let little = self
            .layouts()
            .flat_map(|layout| &layout.fields)
            .filter(|field| field.width > 1)
            .filter(|field| field.order == Order::Little)
            .count()
            > 0;
        let (bytes, bits) = if little {
            ("little", "lsb")
        } else {
            ("big", "msb")
        };
        let outside_at = out.len();
        let _ = writeln!(
            out,
            "\nwire guessed {{\n    version = 1;\n    byte_order = {bytes};\n    bit_order = {bits};\n    root = Packet;\n}}\n"
        );
        if self.outside > 0 {
            out.insert_str(outside_at, OUTSIDE_WIRE);
            out.push_str(OUTSIDE_STRUCT);
        }
        let has_kinds = !self.kinds.is_empty();
        if has_kinds {
            out.push_str("enum Kind : u8 {\n");
            for layout in &self.kinds {
                let kind = layout.kind.unwrap_or(0);
                let _ = writeln!(
                    out,
                    "    kind_{kind:02x} = {kind:#04x}, // {} packets",
                    layout.packets
                );
            }
            out.push_str("}\n\n");
        }
        self.structure("Packet", &self.head, 0, &mut out);
        for layout in &self.kinds {
            let name = format!("Kind{:02x}", layout.kind.unwrap_or(0));
            out.push('\n');
            self.structure(&name, layout, self.head.end, &mut out);
        }
        out
    }

    fn structure(&self, name: &str, layout: &Layout, begin: usize, out: &mut String) {
        let _ = writeln!(out, "struct {name} {{");
        let bits = 8 * (layout.end - begin);
        let indent = "        ";
        if bits > 0 {
            let _ = writeln!(out, "    if (left() >= {bits}) {{");
            for field in &layout.fields {
                field.line(indent, out);
            }
        }
        let indent = if bits > 0 { indent } else { "    " };
        if let Some(rest) = layout.rest() {
            let _ = writeln!(out, "{indent}// from byte {} on: {rest}", layout.end);
        }
        if layout.kind.is_none() && !self.kinds.is_empty() {
            let _ = writeln!(out, "{indent}switch (kind) {{");
            for kind in &self.kinds {
                let kind = kind.kind.unwrap_or(0);
                let _ = writeln!(
                    out,
                    "{indent}    Kind.kind_{kind:02x} => kind_{kind:02x}: Kind{kind:02x};"
                );
            }
            let _ = writeln!(out, "{indent}    default => rest: bytes(rest);\n{indent}}}");
        } else {
            let _ = writeln!(out, "{indent}rest: bytes(rest);");
        }
        if bits > 0 {
            out.push_str("    } else {\n        short: bytes(rest);\n    }\n");
        }
        out.push_str("}\n");
    }
}
