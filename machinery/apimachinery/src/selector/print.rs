//! Short hash print of an object's labels. With it, most objects that do not match a selector are skipped
//! without comparing a label.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use super::{Operator, Requirement, Selector};
use crate::labels::Labels;

/// A set of 64 bits. Each label sets two bits: one by its key, and one by its key and value. Prints are valid
/// only within one process, and are never stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LabelPrint(u64);

impl LabelPrint {
    /// Computes the print of `labels`.
    #[must_use]
    pub fn of(labels: &Labels) -> Self {
        let prints = labels.iter().map(|(key, value)| Self::pair(key, value));
        prints.fold(Self::default(), Self::union)
    }

    /// Whether labels with this print may satisfy a selector that [needs](Selector::needs) `needed`. If not,
    /// they do not match.
    #[must_use]
    pub fn covers(self, needed: Self) -> bool {
        self.0 & needed.0 == needed.0
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
    /// Bits that are set in the print of any labels that satisfy the requirement.
    fn needs(&self) -> LabelPrint {
        match (self.operator, self.values.as_slice()) {
            (Operator::In, [value]) => LabelPrint::pair(&self.key, value),
            (Operator::In | Operator::Exists | Operator::GreaterThan | Operator::LessThan, _) => {
                LabelPrint::key(&self.key)
            }
            (Operator::NotIn | Operator::DoesNotExist, _) => LabelPrint::default(),
        }
    }
}

impl Selector {
    /// Bits that are set in the print of any labels that match the selector.
    #[must_use]
    pub fn needs(&self) -> LabelPrint {
        let needs = self.requirements.iter().map(Requirement::needs);
        needs.fold(LabelPrint::default(), LabelPrint::union)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(pairs: &[(&str, &str)]) -> Labels {
        pairs.iter().copied().collect()
    }

    #[test]
    fn whatever_is_selected_is_covered() {
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
                    assert!(LabelPrint::of(set).covers(selector.needs()), "{text} {set:?}");
                }
            }
        }
        assert!(selected > texts.len(), "{selected}");
    }

    #[test]
    fn most_of_what_is_not_selected_is_not_covered() {
        let selector = Selector::parse("zone=a7").unwrap();
        let covered = |value: u32| {
            let set = labels(&[("zone", &format!("a{value}")), ("team", "x")]);
            LabelPrint::of(&set).covers(selector.needs())
        };
        let count = (0..1000).filter(|value| covered(*value)).count();
        assert!(covered(7) && count < 100, "{count} of 1000");
        assert!(!LabelPrint::default().covers(selector.needs()));
    }
}
