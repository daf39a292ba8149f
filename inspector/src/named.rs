//! Values that people call by names.

/// Declares values with their names, in the order in which they are listed; `$what` is what they are called
/// where there is none of a name.
macro_rules! named {
    (
        $what:literal
        $(#[$of_all:meta])*
        pub enum $type:ident { $($(#[$of_one:meta])* $value:ident = $name:literal,)* }
    ) => {
        $(#[$of_all])*
        pub enum $type { $($(#[$of_one])* $value,)* }

        impl $type {
            /// All of them and their names.
            pub const ALL: [(&'static str, $type); [$($name),*].len()] =
                [$(($name, $type::$value)),*];

            /// Its name.
            pub fn name(self) -> &'static str {
                match self { $($type::$value => $name,)* }
            }

            /// One by its name.
            ///
            /// # Errors
            /// A sentence with the names that there are.
            pub fn named(name: &str) -> Result<$type, String> {
                let found = $type::ALL.iter().find(|(known, _)| *known == name);
                found.map(|(_, value)| *value).ok_or_else(|| {
                    let names = $type::ALL.map(|(name, _)| name).join(", ");
                    format!("there is no {} {name:?}; there are {names}", $what)
                })
            }
        }
    };
}

pub(crate) use named;
