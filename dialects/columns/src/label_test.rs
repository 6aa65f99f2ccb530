//! Label selectors, compiled for labels whose keys and values are numbers ([`Interner`]).

use berth_apimachinery::selector::{Operator, Requirement, Selector};

use crate::Interner;

/// One requirement of a selector, with numbers instead of texts.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Term {
    In(u32, Vec<u32>),
    NotIn(u32, Vec<u32>),
    Exists(u32),
    Absent(u32),
    /// A requirement that no cluster meets: no cluster has the key, or the operator does not exist in
    /// objects.
    Never,
}

/// A compiled label selector, which is matched with the labels of every cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LabelTest(Vec<Term>);

impl LabelTest {
    /// Compiles `selector`. Requirements that every cluster meets because none has the key are dropped.
    pub fn new(selector: &Selector, labels: &Interner) -> Self {
        Self(
            selector
                .requirements
                .iter()
                .filter_map(|requirement| term(requirement, labels))
                .collect(),
        )
    }

    /// Whether `labels`, pairs of the numbers of key and value, meet every requirement.
    pub fn matches(&self, labels: &[(u32, u32)]) -> bool {
        self.0.iter().all(|term| match term {
            Term::In(key, values) => value(labels, *key).is_some_and(|value| values.contains(&value)),
            Term::NotIn(key, values) => value(labels, *key).is_none_or(|value| !values.contains(&value)),
            Term::Exists(key) => value(labels, *key).is_some(),
            Term::Absent(key) => value(labels, *key).is_none(),
            Term::Never => false,
        })
    }
}

fn value(labels: &[(u32, u32)], key: u32) -> Option<u32> {
    labels
        .iter()
        .find(|(known, _)| *known == key)
        .map(|(_, value)| *value)
}

fn term(requirement: &Requirement, labels: &Interner) -> Option<Term> {
    let key = labels.find(&requirement.key);
    let values = || -> Vec<u32> {
        requirement
            .values
            .iter()
            .filter_map(|value| labels.find(value))
            .collect()
    };
    match (requirement.operator, key) {
        (Operator::In, Some(key)) => Some(Term::In(key, values())),
        (Operator::NotIn, Some(key)) => Some(Term::NotIn(key, values())),
        (Operator::Exists, Some(key)) => Some(Term::Exists(key)),
        (Operator::DoesNotExist, Some(key)) => Some(Term::Absent(key)),
        (Operator::NotIn | Operator::DoesNotExist, None) => None,
        // The operators `>` and `<` only exist in the string form of selectors, not in objects.
        (Operator::In | Operator::Exists, None) | (Operator::GreaterThan | Operator::LessThan, _) => {
            Some(Term::Never)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_match_like_texts() {
        let mut names = Interner::default();
        let labels = [
            (names.number("env"), names.number("live")),
            (names.number("size"), names.number("big")),
        ];
        let matches = |operator, key: &str, values: &[&str]| {
            let values = values.iter().map(|&value| value.to_owned()).collect();
            let requirements = vec![Requirement {
                key: key.to_owned(),
                operator,
                values,
            }];
            LabelTest::new(&Selector { requirements }, &names).matches(&labels)
        };
        assert!(matches(Operator::In, "env", &["canary", "live"]));
        assert!(!matches(Operator::In, "env", &["canary", "big"]));
        assert!(!matches(Operator::In, "zone", &["live"]));
        assert!(!matches(Operator::NotIn, "env", &["live"]));
        assert!(
            matches(Operator::NotIn, "zone", &["live"]),
            "true when the key is absent"
        );
        assert!(matches(Operator::Exists, "size", &[]) && !matches(Operator::Exists, "zone", &[]));
        assert!(matches(Operator::DoesNotExist, "zone", &[]) && !matches(Operator::DoesNotExist, "env", &[]));
        assert!(
            LabelTest::default().matches(&labels),
            "an empty selector matches all"
        );
    }
}
