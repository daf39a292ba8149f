//! `wire` blocks: the protocols of a wire, and what says that a packet is one of theirs.

use std::ops::RangeInclusive;

use super::Checker;
use super::declared::{Item, Scope};
use super::model::{Expression, Protocol, Selection, StructId};
use crate::layout::{BitOrder, ByteOrder, Order};
use crate::report::Span;
use crate::syntax::ast::{Block, Expr, ExprKind, Ident, Setting};
use crate::words::HelpKind;

pub(super) const BIT_ORDERS: [(&str, BitOrder); 2] =
    [("lsb", BitOrder::Lsb), ("msb", BitOrder::Msb)];
pub(super) const BYTE_ORDERS: [(&str, ByteOrder); 2] =
    [("little", ByteOrder::Little), ("big", ByteOrder::Big)];

/// How many protocols a wire may have.
const PROTOCOLS_MAX: usize = 64;

/// Bytes of a magic; more tell nothing that these do not.
const MAGIC_BYTES_MAX: usize = 64;

impl<'a> Checker<'a, '_> {
    /// The protocols, in the order of the text; those with a mistake may be missing.
    pub(super) fn check_wires(&mut self) -> Vec<Protocol> {
        let file = self.file;
        if file.wires.is_empty() {
            self.report(Span::default(), "the file has no `wire` block")
                .help(
                    "begin with `wire NAME { version = 1; byte_order = little; bit_order = lsb; \
                     root = STRUCT; }`",
                );
        }
        if let Some(block) = file.wires.get(PROTOCOLS_MAX) {
            self.report(block.name.span, "there are too many `wire` blocks")
                .label(format!("a wire may have {PROTOCOLS_MAX}"));
        }
        let mut taken = std::collections::BTreeMap::new();
        let mut protocols: Vec<Protocol> = Vec::new();
        let mut last_of = None;
        for block in &file.wires {
            self.claim(&mut taken, block.name);
            let of = self.file_of(block.name.span);
            if let Some((before, same)) = protocols.last().zip(last_of)
                && before.selection.is_empty()
                && same == of
            {
                let message = format!("no packet comes to the protocol `{}`", block.name.text);
                self.report(block.name.span, message)
                    .label(format!("`{}` before it takes every packet", before.name))
                    .help(format!(
                        "say with `ports`, `magic` or `when` which packets are of `{}`",
                        before.name
                    ));
            }
            protocols.extend(self.check_wire(block));
            last_of = Some(of);
        }
        protocols
    }

    fn check_wire(&mut self, block: &Block<'a>) -> Option<Protocol> {
        self.check_settings(block, HelpKind::OfWire, &["ports"]);
        let required = ["byte_order", "bit_order", "root"];
        self.require(block, required, "the `wire` block has no");
        let named = |name: &str| block.setting(name);
        let root = named("root").and_then(|setting| self.named_struct(setting, "the root"));
        let joined =
            named("joined").and_then(|setting| self.named_struct(setting, "a joined message"));
        let version = named("version").and_then(|setting| self.version(setting));
        let bytes = named("byte_order").and_then(|setting| self.choice(setting, &BYTE_ORDERS));
        let bits = named("bit_order").and_then(|setting| self.choice(setting, &BIT_ORDERS));
        let ports = named("ports").map(|setting| self.ports(setting));
        let magic = named("magic").and_then(|setting| self.magic(setting));
        let when = named("when").and_then(|setting| self.when(setting, root));
        let state = named("state").and_then(|setting| self.state_setting(setting));
        for read in root.into_iter().chain(joined) {
            self.keepers.push((read, block.name, state));
        }
        Some(Protocol {
            name: block.name.text.into(),
            file: self.file_of(block.name.span),
            version,
            order: Order {
                bits: bits.unwrap_or_default(),
                bytes: bytes.unwrap_or_default(),
            },
            root: root?,
            joined,
            selection: Selection {
                ports: ports.unwrap_or_default(),
                magic: magic.unwrap_or_default(),
                when,
            },
        })
    }

    fn version(&mut self, setting: &Setting<'a>) -> Option<u32> {
        let version = self.constant_integer(&setting.value, "the version")?;
        if let Ok(version) = u32::try_from(version) {
            return Some(version);
        }
        self.refuse(
            setting.value.span,
            "the version is out of range",
            "expected 0 to 4294967295",
        )
    }

    /// The struct that a setting names; `what` it is, for errors.
    fn named_struct(&mut self, setting: &Setting<'a>, what: &str) -> Option<StructId> {
        let Some(name) = setting.value.name() else {
            return self.refuse(
                setting.value.span,
                format!("{what} is a struct"),
                "expected a struct",
            );
        };
        if self.is_ambiguous(name) {
            return None;
        }
        if let Some(id) = self.struct_named(name) {
            let file = self.file;
            let declared = file.structs.get(id.0 as usize);
            let parameters = declared.map(|declared| declared.parameters.as_slice());
            if let Some(first) = parameters.and_then(<[_]>::first) {
                self.report(name.span, "the root has no parameters")
                    .label("nobody gives a packet what they are")
                    .related(first.name.span, "the first parameter");
                return None;
            }
            return Some(id);
        }
        self.report_no_struct(name);
        None
    }

    pub(super) fn report_no_struct(&mut self, name: Ident<'a>) {
        let names = self.items_seen(name.span, |item| matches!(item, Item::Struct(_)));
        let message = format!("there is no struct `{}`", name.text);
        self.report_choice(name.span, message, name.text, names);
    }

    fn ports(&mut self, setting: &Setting<'a>) -> Vec<RangeInclusive<u16>> {
        let ranges = setting.values().map(|value| self.port_range(value));
        ranges.flatten().collect()
    }

    fn port_range(&mut self, value: &Expr<'a>) -> Option<RangeInclusive<u16>> {
        let (low, high) = match &value.kind {
            ExprKind::Interval(low, high) => (self.port(low), self.port(high)),
            _ => {
                let port = self.port(value);
                (port, port)
            }
        };
        let (low, high) = (low?, high?);
        if low > high {
            self.report(value.span, "there is no port in this range")
                .label(format!("expected an end of {low} or more"));
        }
        Some(low..=high)
    }

    fn port(&mut self, value: &Expr<'a>) -> Option<u16> {
        let port = self.constant_integer(value, "a port")?;
        if let Ok(port) = u16::try_from(port) {
            return Some(port);
        }
        self.refuse(
            value.span,
            format!("{port} is not a port"),
            "expected 0 to 65535",
        )
    }

    fn magic(&mut self, setting: &Setting<'a>) -> Option<Vec<u8>> {
        let bytes = match self.constant(&setting.value)?.0 {
            Expression::Bytes(bytes) => bytes.to_vec(),
            Expression::Text(text) => text.as_bytes().to_vec(),
            _ => {
                return self.refuse(
                    setting.value.span,
                    "the magic is bytes or a text",
                    "expected bytes such as `x\"ff ff\"`",
                );
            }
        };
        if !(1..=MAGIC_BYTES_MAX).contains(&bytes.len()) {
            let message = format!("a magic cannot have {} bytes", bytes.len());
            self.report(setting.value.span, message)
                .label(format!("expected 1 to {MAGIC_BYTES_MAX}"));
        }
        Some(bytes)
    }

    /// A condition at the packet's start: no field was read yet.
    fn when(&mut self, setting: &Setting<'a>, root: Option<StructId>) -> Option<Expression> {
        self.within(Scope::of(root?), |checker| {
            checker.condition(&setting.value)
        })
    }
}
