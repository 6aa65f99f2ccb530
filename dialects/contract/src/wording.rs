//! Wordings of conditions. Another controller may word the same condition differently, and two controllers
//! that overwrite each other's messages would never stop. So only type, status and reason of a condition
//! count.

/// The beginnings of the sentences that a dialect writes in conditions; `#` matches a number, `*` a word.
#[derive(Clone, Copy, Debug)]
pub struct Sentences(pub &'static [&'static str]);

impl Sentences {
    /// Whether `known`, the message of an otherwise correct condition, is kept instead of `ours`: it is
    /// equal to `ours`, or another program's text. An earlier sentence of the dialect is replaced.
    #[must_use]
    pub fn leave(self, known: &str, ours: &str) -> bool {
        debug_assert!(
            ours.is_empty() || self.has(ours),
            "no beginning of the dialect's sentences is that of {ours:?}"
        );
        known == ours || !self.has(known)
    }

    /// Whether `text` begins like one of the sentences.
    #[must_use]
    pub fn has(self, text: &str) -> bool {
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
    fn whatever_is_not_ours_stays() {
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
                assert!(OURS.leave(theirs, ours), "{theirs}");
            }
            assert!(OURS.leave(ours, ours));
        }
    }

    #[test]
    fn whatever_sentence_of_ours_is_stored_the_newest_replaces_it() {
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
                assert_eq!(OURS.leave(stored, newest), stored == newest, "{stored}, {newest}");
            }
        }
    }
}
