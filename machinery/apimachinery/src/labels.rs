//! Labels of an object, in a compact form.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// `metadata.labels`: keys with their values, in the order of the keys.
///
/// Every stored object has its labels in parsed form. A map of strings takes half a kilobyte for the first
/// label; this form is one string with the ends of its parts.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Labels {
    /// Keys and values, in alternation.
    text: Box<str>,
    /// Ends of the keys and values.
    ends: Box<[u32]>,
}

/// Label domains of deployment tools. The tools find objects to prune by these labels.
const TOOL_DOMAINS: [&str; 5] = [
    "argocd.argoproj.io",
    "helm.sh",
    "helm.toolkit.fluxcd.io",
    "kapp.k14s.io",
    "kustomize.toolkit.fluxcd.io",
];

/// Labels that several deployment tools use in the same way.
const TOOL_LABELS: [&str; 2] = ["app.kubernetes.io/instance", "app.kubernetes.io/managed-by"];

/// Whether a deployment tool recognises its own objects by the label `key`.
fn is_of_tool(key: &str) -> bool {
    let domain = key.split_once('/').map(|(domain, _)| domain);
    domain.is_some_and(|domain| TOOL_DOMAINS.contains(&domain) || TOOL_LABELS.contains(&key))
}

/// Labels that a selector can match.
pub trait LabelSet {
    /// Returns the value of the label `key`.
    fn value(&self, key: &str) -> Option<&str>;
}

impl LabelSet for Labels {
    fn value(&self, key: &str) -> Option<&str> {
        self.get(key)
    }
}

impl LabelSet for BTreeMap<String, String> {
    fn value(&self, key: &str) -> Option<&str> {
        self.get(key).map(String::as_str)
    }
}

impl Labels {
    /// Number of labels.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ends.len() / 2
    }

    /// Whether there are no labels.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Returns the value of the label `key`.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&str> {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = low.midpoint(high);
            match self.part(2 * middle).cmp(key) {
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Equal => return Some(self.part(2 * middle + 1)),
                std::cmp::Ordering::Greater => high = middle,
            }
        }
        None
    }

    /// Whether there is a label `key`.
    #[must_use]
    pub fn contains_key(&self, key: &str) -> bool {
        self.get(key).is_some()
    }

    /// Returns keys and values, in the order of the keys.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (&str, &str)> + ExactSizeIterator {
        (0..self.len()).map(|index| (self.part(2 * index), self.part(2 * index + 1)))
    }

    /// Returns the keys, in order.
    pub fn keys(&self) -> impl DoubleEndedIterator<Item = &str> + ExactSizeIterator {
        (0..self.len()).map(|index| self.part(2 * index))
    }

    /// Labels for derived objects: all except those by which a deployment tool recognises its own objects,
    /// since the tool would prune the derived ones.
    pub fn inherited(&self) -> impl Iterator<Item = (&str, &str)> {
        self.iter().filter(|(key, _)| !is_of_tool(key))
    }

    /// Returns the labels as a map that can be changed.
    #[must_use]
    pub fn to_map(&self) -> BTreeMap<String, String> {
        let pairs = self.iter();
        pairs
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .collect()
    }

    fn part(&self, index: usize) -> &str {
        let start = index
            .checked_sub(1)
            .map_or(0, |before| self.ends[before] as usize);
        &self.text[start..self.ends[index] as usize]
    }

    /// Creates labels from `pairs`, which must be sorted by key and have no duplicate keys.
    fn in_order<'a>(pairs: impl Iterator<Item = (&'a str, &'a str)> + Clone) -> Self {
        let length = pairs.clone().map(|(key, value)| key.len() + value.len()).sum();
        let mut text = String::with_capacity(length);
        let mut ends = Vec::with_capacity(2 * pairs.size_hint().0);
        for part in pairs.flat_map(|(key, value)| [key, value]) {
            text.push_str(part);
            ends.push(u32::try_from(text.len()).expect("an object is no larger than its request"));
        }
        Self {
            text: text.into_boxed_str(),
            ends: ends.into_boxed_slice(),
        }
    }
}

impl From<&BTreeMap<String, String>> for Labels {
    fn from(map: &BTreeMap<String, String>) -> Self {
        Self::in_order(map.iter().map(|(key, value)| (key.as_str(), value.as_str())))
    }
}

impl From<BTreeMap<String, String>> for Labels {
    fn from(map: BTreeMap<String, String>) -> Self {
        Self::from(&map)
    }
}

/// Creates labels; of duplicate keys the last one is kept.
impl<K: AsRef<str>, V: AsRef<str>> FromIterator<(K, V)> for Labels {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(pairs: I) -> Self {
        let pairs: Vec<(K, V)> = pairs.into_iter().collect();
        if pairs.is_sorted_by(|one, other| one.0.as_ref() < other.0.as_ref()) {
            return Self::in_order(pairs.iter().map(texts));
        }
        let map: BTreeMap<&str, &str> = pairs.iter().map(texts).collect();
        Self::in_order(map.iter().map(|(key, value)| (*key, *value)))
    }
}

fn texts<K: AsRef<str>, V: AsRef<str>>((key, value): &(K, V)) -> (&str, &str) {
    (key.as_ref(), value.as_ref())
}

impl fmt::Debug for Labels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

impl Serialize for Labels {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}

impl<'de> Deserialize<'de> for Labels {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Pairs;

        /// A text that is borrowed if it has no escapes.
        #[derive(Deserialize)]
        struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

        impl AsRef<str> for Text<'_> {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }

        impl<'de> Visitor<'de> for Pairs {
            type Value = Labels;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a map")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Labels, A::Error> {
                let mut pairs: Vec<(Text<'de>, Text<'de>)> = Vec::new();
                while let Some(pair) = map.next_entry()? {
                    pairs.push(pair);
                }
                Ok(pairs.into_iter().collect())
            }
        }

        deserializer.deserialize_map(Pairs)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn labels_of_deployment_tools_are_not_inherited() {
        let labels: Labels = [
            ("app.kubernetes.io/instance", "x"),
            ("app.kubernetes.io/managed-by", "Helm"),
            ("app.kubernetes.io/name", "web"),
            ("argocd.argoproj.io/instance", "x"),
            ("helm.sh/chart", "x-1"),
            ("helm.toolkit.fluxcd.io/name", "x"),
            ("instance", "x"),
            ("kapp.k14s.io/app", "1"),
            ("kustomize.toolkit.fluxcd.io/name", "x"),
        ]
        .into_iter()
        .collect();
        let inherited: Vec<_> = labels.inherited().map(|(key, _)| key).collect();
        assert_eq!(inherited, ["app.kubernetes.io/name", "instance"]);
    }

    proptest! {
        #[test]
        fn labels_behave_like_a_map(
            pairs in proptest::collection::vec(("[a-c\"é]{0,3}", "[a-z\\\\]{0,3}"), 0..8),
            key in "[a-c]{0,3}",
        ) {
            let map: BTreeMap<String, String> = pairs.iter().cloned().collect();
            let labels: Labels = pairs.iter().map(|(key, value)| (key, value)).collect();
            prop_assert_eq!(&labels, &Labels::from(&map));
            prop_assert_eq!(labels.to_map(), map.clone());
            prop_assert_eq!(labels.get(&key), map.get(&key).map(String::as_str));
            prop_assert_eq!((labels.len(), labels.is_empty()), (map.len(), map.is_empty()));
            prop_assert!(labels.keys().eq(map.keys()));
            prop_assert_eq!(format!("{labels:?}"), format!("{map:?}"));
            let json = serde_json::to_string(&map).unwrap();
            prop_assert_eq!(serde_json::to_string(&labels).unwrap(), json.clone());
            prop_assert_eq!(&serde_json::from_str::<Labels>(&json).unwrap(), &labels);
            let value = serde_json::to_value(&map).unwrap();
            prop_assert_eq!(&serde_json::from_value::<Labels>(value.clone()).unwrap(), &labels);
            prop_assert_eq!(&Labels::deserialize(&value).unwrap(), &labels);
        }
    }

    #[test]
    fn only_a_map_of_texts_is_accepted() {
        for json in ["[]", "null", "{\"a\":1}", "{\"a\":null}", "\"a\""] {
            let map = serde_json::from_str::<BTreeMap<String, String>>(json).unwrap_err();
            let labels = serde_json::from_str::<Labels>(json).unwrap_err();
            assert_eq!(labels.to_string(), map.to_string(), "{json}");
        }
    }
}
