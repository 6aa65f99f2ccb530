//! Numbers of targets that each reason refuses, in little memory, since they are kept for every decision.

use std::collections::BTreeMap;

/// Number of refused targets for each plugin and reason, sorted by both. A decision has only a few of them,
/// for which a map would take ten times the memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reasons(Box<[Count]>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Count {
    plugin: Box<str>,
    reason: Box<str>,
    targets: i64,
}

impl Count {
    fn key(&self) -> (&str, &str) {
        (&self.plugin, &self.reason)
    }
}

impl Reasons {
    /// Whether nothing is counted.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Number of targets that a reason refuses; `key` is the plugin and its reason.
    #[must_use]
    pub fn get(&self, key: (&str, &str)) -> Option<i64> {
        let at = self.0.binary_search_by(|count| count.key().cmp(&key)).ok()?;
        Some(self.0[at].targets)
    }

    /// The plugins with their reasons.
    pub fn keys(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(Count::key)
    }
}

/// Collects counts. Where a plugin and reason is repeated, the last count is kept.
impl<P: AsRef<str>, R: AsRef<str>> FromIterator<((P, R), i64)> for Reasons {
    fn from_iter<I: IntoIterator<Item = ((P, R), i64)>>(counts: I) -> Self {
        let sorted: BTreeMap<(Box<str>, Box<str>), i64> = counts
            .into_iter()
            .map(|((plugin, reason), targets)| ((plugin.as_ref().into(), reason.as_ref().into()), targets))
            .collect();
        let counts = sorted.into_iter().map(|((plugin, reason), targets)| Count {
            plugin,
            reason,
            targets,
        });
        Self(counts.collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_found_by_plugin_and_reason() {
        let counted = [(("Q", "a"), 1), (("P", "b"), 2), (("P", "a"), 3), (("P", "b"), 4)];
        let reasons: Reasons = counted.into_iter().collect();
        assert_eq!(
            reasons.keys().collect::<Vec<_>>(),
            [("P", "a"), ("P", "b"), ("Q", "a")]
        );
        assert_eq!(
            [("P", "b"), ("Q", "a"), ("Q", "b")].map(|key| reasons.get(key)),
            [Some(4), Some(1), None]
        );
        assert!(!reasons.is_empty() && Reasons::default().is_empty());
    }
}
