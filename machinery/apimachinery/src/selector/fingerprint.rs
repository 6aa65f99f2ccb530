//! Fingerprint of an object's labels: 64 bits by which most objects that do not match a selector are skipped
//! without comparing a label.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use super::{Operator, Requirement, Selector};
use crate::labels::Labels;

/// Fingerprint of labels: a set of 64 bits, in which each label sets one bit by its key, and one by its key
/// and value. Fingerprints are valid only within one process, and are never stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LabelFingerprint(u64);

impl LabelFingerprint {
    /// Computes the fingerprint of `labels`.
    #[must_use]
    pub fn of(labels: &Labels) -> Self {
        let fingerprints = labels.iter().map(|(key, value)| Self::pair(key, value));
        fingerprints.fold(Self::default(), Self::union)
    }

    /// Whether labels with this fingerprint may match a selector with the fingerprint `selector`
    /// ([`Selector::fingerprint`]). If not, they do not match.
    #[must_use]
    pub fn covers(self, selector: Self) -> bool {
        self.0 & selector.0 == selector.0
    }

    fn key(key: &str) -> Self {
        Self::bit(&hasher(key))
    }

    fn pair(key: &str, value: &str) -> Self {
        let mut hasher = hasher(key);
        let key_bit = Self::bit(&hasher);
        value.hash(&mut hasher);
        key_bit.union(Self::bit(&hasher))
    }

    fn bit(hasher: &DefaultHasher) -> Self {
        Self(1 << (hasher.finish() % u64::from(u64::BITS)))
    }

    fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

fn hasher(key: &str) -> DefaultHasher {
    let mut hasher = DefaultHasher::new();
    key.hash(&mut hasher);
    hasher
}

impl Requirement {
    /// Bits that are set in the fingerprint of all labels that satisfy the requirement.
    fn fingerprint(&self) -> LabelFingerprint {
        match (self.operator, self.values.as_slice()) {
            (Operator::In, [value]) => LabelFingerprint::pair(&self.key, value),
            (Operator::In | Operator::Exists | Operator::GreaterThan | Operator::LessThan, _) => {
                LabelFingerprint::key(&self.key)
            }
            (Operator::NotIn | Operator::DoesNotExist, _) => LabelFingerprint::default(),
        }
    }
}

impl Selector {
    /// Bits that are set in the fingerprint of all labels that match the selector.
    #[must_use]
    pub fn fingerprint(&self) -> LabelFingerprint {
        let fingerprints = self.requirements.iter().map(Requirement::fingerprint);
        fingerprints.fold(LabelFingerprint::default(), LabelFingerprint::union)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(pairs: &[(&str, &str)]) -> Labels {
        pairs.iter().copied().collect()
    }

    #[test]
    fn fingerprints_of_selected_labels_are_covered() {
        let sets = [
            labels(&[]),
            labels(&[("a", "1")]),
            labels(&[("a", "2"), ("b", "")]),
            labels(&[("a", "12"), ("b", "1"), ("example.com/c", "x")]),
        ];
        let texts = [
            "",
            "a",
            "!a",
            "a=1",
            "a!=1",
            "a in (1,2)",
            "a notin (1,2)",
            "a>1",
            "a<5",
            "a=2,b=",
            "b,!c",
            "example.com/c=x,a",
        ];
        let mut selected = 0;
        for text in texts {
            let selector = Selector::parse(text).unwrap();
            for set in &sets {
                if selector.matches(set) {
                    selected += 1;
                    assert!(
                        LabelFingerprint::of(set).covers(selector.fingerprint()),
                        "{text} {set:?}"
                    );
                }
            }
        }
        assert!(selected > texts.len(), "{selected}");
    }

    #[test]
    fn fingerprints_of_most_other_labels_are_not_covered() {
        let selector = Selector::parse("zone=a7").unwrap();
        let covered = |value: u32| {
            let set = labels(&[("zone", &format!("a{value}")), ("team", "x")]);
            LabelFingerprint::of(&set).covers(selector.fingerprint())
        };
        let count = (0..1000).filter(|value| covered(*value)).count();
        assert!(covered(7) && count < 100, "{count} of 1000");
        assert!(!LabelFingerprint::default().covers(selector.fingerprint()));
    }
}
