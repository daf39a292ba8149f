//! What the words of the language mean, annotations included: for editors.

use std::borrow::Cow;

use crate::check::{Place, vocabulary};
use crate::words::{Help, HelpKind, words};

/// All words that have a meaning in some place.
pub fn help() -> impl Iterator<Item = Help> {
    words().chain(vocabulary().map(|known| Help {
        word: known.spelled(),
        kind: match known.place() {
            Place::Field => HelpKind::OnField,
            Place::Struct => HelpKind::OnStruct,
            Place::Member => HelpKind::OnMember,
        },
        shape: known.shape,
        text: known.text,
    }))
}

/// What a word means as one of these sorts: how it is written, and a sentence.
pub fn help_of(word: &str, kinds: &[HelpKind]) -> Option<(Cow<'static, str>, Cow<'static, str>)> {
    let found = help().find(|help| help.word == word && kinds.contains(&help.kind));
    if let Some(found) = found {
        return Some((found.shape.into(), found.text.into()));
    }
    if !kinds.contains(&HelpKind::Type) {
        return None;
    }
    let plain = word.strip_suffix("le").or_else(|| word.strip_suffix("be"));
    let plain_word = plain.unwrap_or(word);
    let digits = plain_word.strip_prefix(['u', 'i'])?;
    let is_right = |bits: &u8| (1..=64).contains(bits) || plain_word == "u128";
    let bits: u8 = digits.parse().ok().filter(is_right)?;
    let sort = if word.starts_with('u') {
        "An unsigned integer"
    } else {
        "A signed integer, in two's complement,"
    };
    let order = match (plain, word.ends_with("le")) {
        (None, _) => "",
        (_, true) => ", the lowest byte first, whatever the stream's order",
        (_, false) => ", the highest byte first, whatever the stream's order",
    };
    let text = format!("{sort} of {bits} bits{order}.");
    Some((word.to_owned().into(), text.into()))
}

#[cfg(test)]
mod words {
    use std::collections::BTreeSet;

    use super::{HelpKind, help, help_of};
    use crate::syntax::{ITEMS, RESERVED};
    use crate::words::words_of;

    #[test]
    fn every_word_of_the_language_has_help() {
        let known: BTreeSet<&str> = help().map(|help| help.word).collect();
        let all = [
            words_of(HelpKind::Type).collect(),
            words_of(HelpKind::OfWire).collect(),
            words_of(HelpKind::OfRules).collect(),
            words_of(HelpKind::OfTest).collect(),
            words_of(HelpKind::Function).collect(),
            words_of(HelpKind::Transform).collect(),
            ITEMS.to_vec(),
            RESERVED.to_vec(),
        ];
        for word in all.concat() {
            assert!(known.contains(word), "`{word}` has no help");
        }
    }

    #[test]
    fn integers_of_all_widths_have_help() {
        let text = |word| help_of(word, &[HelpKind::Type]).map(|(_, text)| text.into_owned());
        assert_eq!(
            text("u12").as_deref(),
            Some("An unsigned integer of 12 bits.")
        );
        assert!(text("i32be").is_some_and(|text| text.contains("highest byte")));
        assert_eq!(text("u65"), None);
    }
}
