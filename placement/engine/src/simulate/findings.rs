//! Findings about an input: objects that were set aside, and objects that were not read.

use std::collections::BTreeMap;
use std::fmt;

use crate::fault::Problem;

/// Findings about the input of a simulation. The simulation continues in spite of them.
#[derive(Clone, Debug, Default)]
pub struct Findings {
    /// Reasons why objects were set aside, and problems of other objects.
    pub problems: Vec<Problem>,
    /// Unknown and duplicate fields. The key is the kind, and a text of the problem and the path without
    /// indices.
    pub surplus: BTreeMap<(String, String), SurplusField>,
    /// The objects that no dialect reads, by kind.
    pub unread: BTreeMap<String, UnreadKind>,
    /// Sentences about configurations that have no effect because of other configurations.
    pub unused: Vec<String>,
    /// Warnings about valid settings of configurations that are surely not intended, and about kinds whose
    /// API group is from another release of their system.
    pub warnings: Vec<String>,
}

/// An unknown or duplicate field of a kind, in any number of objects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SurplusField {
    /// Position of the first object with the field.
    pub at: String,
    /// Position of the last object with the field so far.
    pub(super) last: String,
    /// Sentence about the field in the first object: the kind, the path, and whether the field is
    /// unknown or a duplicate.
    pub sentence: String,
    /// Number of objects with the field.
    pub count: usize,
}

impl fmt::Display for SurplusField {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.at, self.sentence)?;
        match self.count.saturating_sub(1) {
            0 => Ok(()),
            1 => write!(f, ", and in another object"),
            more => write!(f, ", and in {more} more objects"),
        }
    }
}

/// The objects of a kind that no dialect reads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UnreadKind {
    /// Number of objects.
    pub count: usize,
    /// Whether the group is a system's, with other kinds in the catalog.
    pub in_known_group: bool,
    /// Hint at a similar kind, or at other versions of the kind.
    pub hint: Option<String>,
    /// Clause about the kind that decisions read instead, if this kind of a system has no effect.
    pub counterpart: Option<&'static str>,
}

impl Findings {
    /// Whether `--strict` fails because of a finding: a problem, a surplus field, or an unread kind of a
    /// known group or with a hint.
    #[must_use]
    pub fn fail_strict(&self) -> bool {
        !self.problems.is_empty()
            || !self.surplus.is_empty()
            || self
                .unread
                .values()
                .any(|unread| unread.in_known_group || unread.hint.is_some())
    }

    /// Counts an object of the unread kind `kind`, and returns the entry of the kind.
    pub(super) fn count_unread(&mut self, kind: String) -> &mut UnreadKind {
        let unread = self.unread.entry(kind).or_default();
        unread.count += 1;
        unread
    }

    /// Records that an object of `kind` at the position `at` has a surplus field at `path`; `word` is
    /// `unknown` or `duplicate`. Of many objects with the field, the first one is reported.
    pub(super) fn add_surplus_field(&mut self, kind: &str, path: &str, at: &str, word: &str) {
        let key = (kind.to_owned(), format!("{word} {}", without_indices(path)));
        let sentence = || format!("{kind}: {word} field \"{path}\"");
        let surplus = self.surplus.entry(key).or_insert_with(|| SurplusField {
            at: at.to_owned(),
            last: String::new(),
            sentence: sentence(),
            count: 0,
        });
        // Several items of one object may have the field.
        if surplus.last != at {
            at.clone_into(&mut surplus.last);
            surplus.count += 1;
        }
    }
}

/// A path without the indices of items.
fn without_indices(path: &str) -> String {
    let mut text = String::with_capacity(path.len());
    let mut in_brackets = false;
    for character in path.chars() {
        match character {
            '[' => in_brackets = true,
            ']' => in_brackets = false,
            _ if in_brackets && character.is_ascii_digit() => continue,
            _ => {}
        }
        text.push(character);
    }
    text
}
