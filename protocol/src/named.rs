//! Enums whose variants have words, which files, filters and tables know them by.

/// Makes an enum of its variants, each behind its word.
macro_rules! named {
    ($(#[$of:meta])* $public:vis enum $name:ident {
        $($(#[$says:meta])* $word:literal $variant:ident,)*
    }) => {
        $(#[$of])*
        $public enum $name { $($(#[$says])* $variant,)* }

        impl $name {
            /// All of them.
            $public const ALL: [$name; [$($word),*].len()] = [$($name::$variant),*];

            /// The word for it.
            $public fn name(self) -> &'static str {
                match self { $($name::$variant => $word,)* }
            }
        }
    };
}
