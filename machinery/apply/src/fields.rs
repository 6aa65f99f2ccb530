//! Sets of paths: the fields of an object that a manager owns.

mod encoding;

use std::collections::BTreeMap;

use crate::element::Element;
use crate::path_text;
pub use encoding::InvalidFields;

/// A set of paths as a tree. A path can be a member independently of the paths below it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Set {
    /// Whether the path of this node is a member.
    pub(crate) member: bool,
    /// Members below this node, by the next element of their paths.
    pub(crate) below: BTreeMap<Element, Self>,
}

impl Set {
    /// Whether the set has no members.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        !self.member && self.below.values().all(Self::is_empty)
    }

    /// Whether `path` is a member.
    #[must_use]
    pub fn contains(&self, path: &[Element]) -> bool {
        let end = path.iter().try_fold(self, |set, element| set.below.get(element));
        end.is_some_and(|end| end.member)
    }

    /// Adds `path`.
    pub fn insert(&mut self, path: impl IntoIterator<Item = Element>) {
        let end = path
            .into_iter()
            .fold(self, |set, element| set.below.entry(element).or_default());
        end.member = true;
    }

    /// Returns the members of either set.
    #[must_use]
    pub fn union(mut self, other: &Self) -> Self {
        self.add(other);
        self
    }

    /// Adds the members of `other`.
    pub(crate) fn add(&mut self, other: &Self) {
        self.member |= other.member;
        for (element, below) in &other.below {
            match self.below.get_mut(element) {
                Some(mine) => mine.add(below),
                None => {
                    self.below.insert(element.clone(), below.clone());
                }
            }
        }
    }

    /// Returns the members of both sets.
    #[must_use]
    pub fn intersection(&self, other: &Self) -> Self {
        let below = self.below.iter().filter_map(|(element, mine)| {
            let common = mine.intersection(other.below.get(element)?);
            (!common.is_empty()).then(|| (element.clone(), common))
        });
        Self {
            member: self.member && other.member,
            below: below.collect(),
        }
    }

    /// Returns the members that `other` does not have. Members below a member of `other` stay.
    #[must_use]
    pub fn difference(&self, other: &Self) -> Self {
        self.minus(other, false)
    }

    /// Returns the members that are neither in `other` nor below a member of `other`.
    #[must_use]
    pub fn recursive_difference(&self, other: &Self) -> Self {
        if other.member {
            return Self::default();
        }
        self.minus(other, true)
    }

    /// Returns the members that are in `other` or below a member of `other`.
    pub(crate) fn covered_by(&self, other: &Self) -> Self {
        if other.member {
            return self.clone();
        }
        let below = self.below.iter().filter_map(|(element, mine)| {
            let common = mine.covered_by(other.below.get(element)?);
            (!common.is_empty()).then(|| (element.clone(), common))
        });
        Self {
            member: false,
            below: below.collect(),
        }
    }

    /// Removes the members of `other`, like [`Set::difference`].
    pub(crate) fn remove(&mut self, other: &Self) {
        self.member &= !other.member;
        if other.below.is_empty() {
            return;
        }
        self.below.retain(|element, mine| {
            let Some(removed) = other.below.get(element) else {
                return true;
            };
            mine.remove(removed);
            !mine.is_empty()
        });
    }

    /// Removes the members of `other` and everything below a member of `other`, like
    /// [`Set::recursive_difference`].
    pub(crate) fn remove_recursively(&mut self, other: &Self) {
        if other.member {
            *self = Self::default();
            return;
        }
        if other.below.is_empty() {
            return;
        }
        self.below.retain(|element, mine| {
            let Some(removed) = other.below.get(element) else {
                return true;
            };
            mine.remove_recursively(removed);
            !mine.is_empty()
        });
    }

    /// Creates a set whose only member is the path of its root.
    pub(crate) fn leaf() -> Self {
        Self {
            member: true,
            below: BTreeMap::new(),
        }
    }

    fn minus(&self, other: &Self, recursive: bool) -> Self {
        let below = self.below.iter().filter_map(|(element, mine)| {
            let left = match other.below.get(element) {
                Some(removed) if recursive => mine.recursive_difference(removed),
                Some(removed) => mine.minus(removed, false),
                None => mine.clone(),
            };
            (!left.is_empty()).then(|| (element.clone(), left))
        });
        Self {
            member: self.member && !other.member,
            below: below.collect(),
        }
    }

    /// Returns every member in the form of messages (`.spec.ports[port=80,protocol="TCP"].name`): at each
    /// level the members of that level first, then deeper ones. Parts of more than 350 bytes are truncated,
    /// and so are paths of more than 1,024.
    #[must_use]
    pub fn paths(&self) -> Vec<String> {
        self.first_paths(usize::MAX)
    }

    /// Returns the first `max` members, like [`Set::paths`].
    pub(crate) fn first_paths(&self, max: usize) -> Vec<String> {
        let mut found = Vec::new();
        self.collect("", max, &mut found);
        found
    }

    /// Returns the number of [`Set::paths`].
    pub(crate) fn count(&self) -> usize {
        let counts = self.below.values();
        counts
            .map(|below| usize::from(below.member) + below.count())
            .sum()
    }

    fn collect(&self, path: &str, max: usize, found: &mut Vec<String>) {
        let joined = |element: &Element| {
            let mut joined = path.to_owned();
            path_text::append(&mut joined, element);
            joined
        };
        let members = self.below.iter().filter(|(_, below)| below.member);
        let left = max.saturating_sub(found.len());
        found.extend(members.take(left).map(|(element, _)| joined(element)));
        for (element, below) in self.below.iter().filter(|(_, below)| !below.below.is_empty()) {
            if found.len() >= max {
                return;
            }
            below.collect(&joined(element), max, found);
        }
    }
}
