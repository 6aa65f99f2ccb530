//! Label selectors over interned labels.

use meta::selector::{Operator, Requirement, Selector};

use super::intern::Interner;

/// One requirement in numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Term {
    In(u32, Vec<u32>),
    NotIn(u32, Vec<u32>),
    Exists(u32),
    Absent(u32),
    /// Asks for a key or value that no Cluster has.
    Never,
}

/// A label selector, ready to be tried on every Cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct LabelTest(Vec<Term>);

impl LabelTest {
    /// Translates `selector`. Terms that hold for every Cluster fall away.
    pub(crate) fn new(selector: &Selector, labels: &Interner) -> Self {
        let requirements = selector.requirements.iter();
        Self(
            requirements
                .filter_map(|requirement| term(requirement, labels))
                .collect(),
        )
    }

    /// Whether `labels` (key and value, interned) satisfy every requirement.
    pub(crate) fn matches(&self, labels: &[(u32, u32)]) -> bool {
        let value = |key: u32| {
            labels
                .iter()
                .find(|(have, _)| *have == key)
                .map(|(_, value)| *value)
        };
        self.0.iter().all(|term| match term {
            Term::In(key, values) => value(*key).is_some_and(|value| values.contains(&value)),
            Term::NotIn(key, values) => value(*key).is_none_or(|value| !values.contains(&value)),
            Term::Exists(key) => value(*key).is_some(),
            Term::Absent(key) => value(*key).is_none(),
            Term::Never => false,
        })
    }
}

fn term(requirement: &Requirement, labels: &Interner) -> Option<Term> {
    let values = || {
        let values = requirement.values.iter();
        values.filter_map(|value| labels.find(value)).collect()
    };
    match (requirement.operator, labels.find(&requirement.key)) {
        (Operator::In, Some(key)) => Some(Term::In(key, values())),
        (Operator::NotIn, Some(key)) => Some(Term::NotIn(key, values())),
        (Operator::Exists, Some(key)) => Some(Term::Exists(key)),
        (Operator::DoesNotExist, Some(key)) => Some(Term::Absent(key)),
        (Operator::NotIn | Operator::DoesNotExist, None) => None,
        // The comparing operators exist in the string form only and cannot stand in an object.
        (Operator::In | Operator::Exists, None) | (Operator::GreaterThan | Operator::LessThan, _) => {
            Some(Term::Never)
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn numbers_decide_as_texts_do() {
        let mut names = Interner::default();
        let texts = BTreeMap::from([("env", "live"), ("size", "big")]);
        let labels: Vec<(u32, u32)> = texts
            .iter()
            .map(|(key, value)| (names.number(key), names.number(value)))
            .collect();
        let texts = texts
            .iter()
            .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
            .collect();
        for selector in [
            "",
            "env=live",
            "env=big",
            "env in (canary,live)",
            "zone=live",
            "env!=live",
            "zone notin (a)",
            "size,!zone",
            "zone",
            "!env",
        ] {
            let parsed = Selector::parse(selector).unwrap();
            assert_eq!(
                LabelTest::new(&parsed, &names).matches(&labels),
                parsed.matches(&texts),
                "{selector}"
            );
        }
    }
}
