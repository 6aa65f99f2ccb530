//! Comparison of condition messages. Another controller may word the same condition differently, and two
//! controllers that overwrite each other's messages would never stop. Therefore a message by another
//! controller is kept if type, status and reason of the condition are correct.

/// The sentences that a dialect writes in conditions, by their beginnings; `#` stands for a number, `*` for a
/// word.
#[derive(Clone, Copy, Debug)]
pub struct Sentences(pub &'static [&'static str]);

impl Sentences {
    /// Whether `known`, the message of an otherwise correct condition, is kept in place of `ours`: it is
    /// equal to `ours`, or not a sentence of the dialect. Other sentences of the dialect are replaced by
    /// `ours`.
    #[must_use]
    pub fn keeps(self, known: &str, ours: &str) -> bool {
        debug_assert!(
            ours.is_empty() || self.matches(ours),
            "the dialect's list of sentences has no beginning of {ours:?}"
        );
        known == ours || !self.matches(known)
    }

    /// Whether `text` begins like one of the sentences.
    #[must_use]
    pub fn matches(self, text: &str) -> bool {
        self.0.iter().any(|beginning| begins(text, beginning))
    }
}

/// Whether `text` begins with `beginning`, with a number for each `#` and a word for each `*`.
fn begins(text: &str, beginning: &str) -> bool {
    let mut rest = text;
    for part in beginning.split_inclusive(['#', '*']) {
        let literal = part.trim_end_matches(['#', '*']);
        let Some(after) = rest.strip_prefix(literal) else {
            return false;
        };
        rest = match &part[literal.len()..] {
            "#" => after.trim_start_matches(|letter: char| letter.is_ascii_digit()),
            "*" => after.trim_start_matches(|letter: char| !letter.is_whitespace()),
            _ => return true,
        };
        if rest.len() == after.len() {
            return false;
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::Sentences;

    const OURS: Sentences = Sentences(&[
        "every cluster decision is scheduled",
        "# cluster decisions unscheduled",
        "found # cluster",
        "found no cluster that fits",
        "cluster * is gone",
    ]);

    #[test]
    fn messages_of_other_programs_are_kept() {
        for ours in [
            "every cluster decision is scheduled",
            "found 2 clusters, every one that fits",
        ] {
            for theirs in [
                "",
                "all decisions are scheduled",
                "found all clusters needed, found 2 clusters",
                "cluster decisions unscheduled",
                "found  clusters",
                "cluster a/b is there",
                "cluster  is gone",
            ] {
                assert!(OURS.keeps(theirs, ours), "{theirs}");
            }
            assert!(OURS.keeps(ours, ours));
        }
    }

    #[test]
    fn the_newest_sentence_replaces_stored_sentences_of_the_dialect() {
        let ours = [
            "every cluster decision is scheduled",
            "2 cluster decisions unscheduled",
            "13 cluster decisions unscheduled",
            "found no cluster that fits",
            "found 1 cluster, every one that fits",
            "found 2 clusters, and more would fit",
            "cluster a/b is gone",
            "cluster c is gone; make it again",
        ];
        for stored in ours {
            for newest in ours {
                assert_eq!(OURS.keeps(stored, newest), stored == newest, "{stored}, {newest}");
            }
        }
    }
}
