//! Whose words a condition has. Another controller that says the same thing says it in other words, and two that mend each
//! other's words would go on for ever: type, status and reason are what a condition says.

/// How many words tell a sentence of Berth's from another's.
const BEGINNING: usize = 3;

/// Whether `known`, the message of a condition that is right in all else, is left as it is where `ours` would be said: it is
/// the same, or somebody else's words. A sentence that begins as ours does is ours, and is kept right.
#[must_use]
pub fn is_left(known: &str, ours: &str) -> bool {
    known == ours || beginning(known).ne(beginning(ours))
}

/// The first words, without the numbers in them.
fn beginning(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split_whitespace().take(BEGINNING);
    words.map(|word| word.trim_matches(|letter: char| letter.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::is_left;

    #[test]
    fn others_words_are_left_and_our_own_are_kept_right() {
        let ours = "every cluster decision is scheduled";
        assert!(is_left("all decisions are scheduled", ours) && is_left("", ours) && is_left(ours, ours));
        assert!(!is_left(
            "2 cluster decisions unscheduled",
            "13 cluster decisions unscheduled"
        ));
        assert!(!is_left(
            "found 2 clusters, every one that fits",
            "found 3 clusters, and more would fit"
        ));
        assert!(is_left(
            "found all clusters needed, found 2 clusters",
            "found 2 clusters, every one that fits"
        ));
    }
}
