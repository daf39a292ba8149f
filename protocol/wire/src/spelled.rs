//! Enums whose members have words in a wire.

/// Declares enums: of each member its name, and how a wire spells it.
macro_rules! spelled {
    ($(
        $(#[$doc:meta])*
        $name:ident { $($(#[$of:meta])* $member:ident = $word:literal,)+ }
    )+) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[allow(missing_docs)]
        pub enum $name {
            $($(#[$of])* $member,)+
        }

        impl $name {
            /// All of them, each behind its word.
            pub const ALL: &[(&'static str, $name)] = &[$(($word, $name::$member),)+];

            /// As the wire spells it.
            pub fn name(self) -> &'static str {
                match self {
                    $($name::$member => $word,)+
                }
            }
        }
    )+};
}

pub(crate) use spelled;
