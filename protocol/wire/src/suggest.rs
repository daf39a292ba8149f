//! The word that somebody probably meant.

/// "; did you mean `x`?", to stand behind a sentence; nothing where no word is near enough.
pub(crate) fn hint<'w>(wrong: &str, words: impl IntoIterator<Item = &'w str>) -> String {
    did_you_mean(wrong, words).map_or(String::new(), |meant| format!("; {meant}"))
}

/// "did you mean `x`?", where one of the words is near enough to the wrong one.
pub(crate) fn did_you_mean<'w>(
    wrong: &str,
    words: impl IntoIterator<Item = &'w str>,
) -> Option<String> {
    nearest(wrong, words).map(|word| format!("did you mean `{word}`?"))
}

/// The word that is nearest to the wrong one, where it is near enough.
pub(crate) fn nearest<'w>(
    wrong: &str,
    words: impl IntoIterator<Item = &'w str>,
) -> Option<&'w str> {
    let length = wrong.chars().count();
    let allowed = if length < 3 { 0 } else { (length / 3).max(1) };
    let distances = words.into_iter().map(|word| (distance(wrong, word), word));
    let near = distances.filter(|&(distance, _)| distance <= allowed);
    near.min().map(|(_, word)| word)
}

/// Long words are far from everything: they are not compared.
fn distance(left: &str, right: &str) -> usize {
    if left.chars().count().max(right.chars().count()) > 64 {
        return usize::MAX;
    }
    strsim::osa_distance(left, right)
}

#[cfg(test)]
mod tests {
    use super::did_you_mean;

    fn check(wrong: &str, expected: Option<&str>) {
        let words = ["sequence", "ack", "ack_bits", "object"];
        let expected = expected.map(|word| format!("did you mean `{word}`?"));
        assert_eq!(did_you_mean(wrong, words), expected);
    }

    #[test]
    fn a_slip_of_the_finger_finds_the_word() {
        check("sequense", Some("sequence"));
        check("sequnece", Some("sequence"));
        check("akc", Some("ack"));
        check("objekt", Some("object"));
    }

    #[test]
    fn a_different_word_finds_nothing() {
        check("colour", None);
        check("", None);
        check("a", None);
    }
}
