//! The word that somebody probably meant.

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

/// Optimal string alignment distance: insertions, deletions, replacements and swaps of neighbours.
/// Long words are far from everything, so that the table stays small.
fn distance(left: &str, right: &str) -> usize {
    let left: Vec<char> = left.chars().collect();
    let right: Vec<char> = right.chars().collect();
    if left.len().max(right.len()) > 64 {
        return usize::MAX;
    }
    let mut before: Vec<usize> = Vec::new();
    let mut above: Vec<usize> = (0..=right.len()).collect();
    for (row, a) in left.iter().enumerate() {
        let mut current = vec![row + 1];
        for (column, b) in right.iter().enumerate() {
            let replaced = above[column] + usize::from(a != b);
            let mut best = replaced.min(above[column + 1] + 1).min(current[column] + 1);
            let swapped = row > 0 && column > 0 && *a == right[column - 1] && left[row - 1] == *b;
            if swapped {
                best = best.min(before[column - 1] + 1);
            }
            current.push(best);
        }
        before = std::mem::replace(&mut above, current);
    }
    above[right.len()]
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
