//! Properties of replicated objects.

use crate::spelled::spelled;

/// A property, by its place in [`Wire::properties`](crate::Wire::properties).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PropertyId(pub u16);

/// A property of objects: what all fields of this name with `@property` tell.
#[derive(Clone, Debug, PartialEq)]
pub struct Property {
    /// The name of the fields.
    pub name: String,
    /// What its values are.
    pub kind: PropertyKind,
    /// As the wire spells it; empty where it gives none.
    pub unit: String,
    /// Values that are no farther apart are the same, in the unit; of a position the distance counts,
    /// of an angle the shorter way around.
    pub tolerance: f64,
}

spelled! {
    /// What the values of a property are.
    #[derive(PartialOrd, Ord, Hash)]
    PropertyKind {
        /// Any number, or several that each stand for themselves.
        Number = "number",
        /// A place, or another vector, whose difference is a distance.
        Position = "position",
        /// Full turns do not count: in degrees, or in radians where the unit is `rad`.
        Angle = "angle",
        /// How many there are of something.
        Count = "count",
        /// Yes or no; or several such.
        Flag = "flag",
        /// A name, an id, a member of an enum: the same or not.
        Name = "name",
    }
}

/// What a field has to do with properties.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct OfProperty {
    /// The property that it tells.
    pub property: Option<u16>,
    /// Its struct has fields that are marked with `@value`: these alone count.
    pub is_marked: bool,
    /// It is marked so.
    pub is_value: bool,
    /// It can be a value: a field that is declared, and no struct.
    pub is_plain: bool,
}

impl PropertyKind {
    /// Whether values can differ by an amount.
    pub fn is_measured(self) -> bool {
        !matches!(self, PropertyKind::Flag | PropertyKind::Name)
    }
}
