//! Detection of similar names.

/// Longest name in Kubernetes; longer texts are not compared.
const MAX_LENGTH: usize = 253;
/// Highest number of letters in which similar names differ; one for names shorter than [`LONG_NAME`].
const MAX_DISTANCE: usize = 2;
/// Length from which a name may differ in [`MAX_DISTANCE`] letters.
const LONG_NAME: usize = 6;

/// Whether `one` and `other` differ only in case, or in so few letters that one is probably a misspelling of
/// the other.
#[must_use]
pub fn near(one: &str, other: &str) -> bool {
    if one.eq_ignore_ascii_case(other) {
        return true;
    }
    let shorter = one.len().min(other.len());
    let most = if shorter < LONG_NAME { 1 } else { MAX_DISTANCE };
    one.len().max(other.len()) <= MAX_LENGTH && shorter > MAX_DISTANCE && distance(one, other) <= most
}

/// Number of insertions, deletions and substitutions of letters between `one` and `other`.
fn distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (place, letter) in (1..).zip(one.chars()) {
        let mut diagonal = std::mem::replace(&mut row[0], place);
        for (index, against) in other.iter().enumerate() {
            let changed = diagonal + usize::from(letter != *against);
            diagonal = row[index + 1];
            row[index + 1] = changed.min(diagonal + 1).min(row[index] + 1);
        }
    }
    row[other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_were_mistyped_are_near() {
        for (one, other) in [
            ("workload.kcp.dev", "workloads.kcp.dev"),
            ("Placemnt", "Placement"),
            ("placement", "Placement"),
            ("Shot", "Shoot"),
            ("ManagedCluserSet", "ManagedClusterSet"),
        ] {
            assert!(near(one, other) && near(other, one), "{one} {other}");
        }
        for (one, other) in [
            ("Seed", "Shoot"),
            ("Project", "Placement"),
            ("apps", "core"),
            ("", "Seed"),
        ] {
            assert!(!near(one, other), "{one} {other}");
        }
        assert_eq!(distance("kitten", "sitting"), 3);
    }
}
