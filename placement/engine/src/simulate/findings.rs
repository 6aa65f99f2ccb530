//! Findings about an input: objects that were set aside, and objects that were not read.

use std::collections::BTreeMap;
use std::fmt;

use crate::fault::Problem;

/// Findings about the input of a simulation. The simulation continues in spite of them.
#[derive(Clone, Debug, Default)]
pub struct Findings {
    /// Reasons why objects were set aside, and problems of other objects.
    pub problems: Vec<Problem>,
    /// Unknown and duplicate fields, by kind, and by problem and path.
    pub surplus: BTreeMap<(String, String), Surplus>,
    /// The objects that no dialect reads, by kind.
    pub unread: BTreeMap<String, Unread>,
    /// Configurations that have no effect because of others, in words.
    pub unused: Vec<String>,
    /// Warnings about valid settings in configurations that are surely not intended, and about kinds that are
    /// read with a group of other releases.
    pub doubtful: Vec<String>,
}

/// An unknown or duplicate field of a kind, in any number of objects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Surplus {
    /// Place of the first object with the field.
    pub at: String,
    /// Place of the last object with the field so far.
    pub(super) last: String,
    /// Sentence about the field in the first object: the kind, the path, and whether the field is
    /// unknown or a duplicate.
    pub what: String,
    /// Number of objects with the field.
    pub count: usize,
}

impl fmt::Display for Surplus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.at, self.what)?;
        match self.count - 1 {
            0 => Ok(()),
            1 => write!(f, ", and in another object"),
            more => write!(f, ", and in {more} more objects"),
        }
    }
}

/// The objects of a kind that no dialect reads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unread {
    /// Number of objects.
    pub count: usize,
    /// Whether the catalog has kinds of the group.
    pub near: bool,
    /// Hint at a similar kind or other versions.
    pub hint: Option<String>,
    /// Clause that names the kind that decisions read instead, where a kind of a system has no effect.
    pub counterpart: Option<&'static str>,
}

impl Findings {
    /// Whether there is a finding for which `--strict` fails: a problem, a surplus field, or an unread kind
    /// of a known group or with a hint.
    #[must_use]
    pub fn any(&self) -> bool {
        !self.problems.is_empty()
            || !self.surplus.is_empty()
            || self
                .unread
                .values()
                .any(|unread| unread.near || unread.hint.is_some())
    }

    pub(super) fn unread(&mut self, kind: String) -> &mut Unread {
        let unread = self.unread.entry(kind).or_default();
        unread.count += 1;
        unread
    }

    /// Records a surplus field of a `kind`. Of many objects with the field, the first one is reported.
    pub(super) fn surplus(&mut self, kind: &str, path: &str, at: &str, word: &str) {
        let key = (kind.to_owned(), format!("{word} {}", without_indices(path)));
        let what = || format!("{kind}: {word} field \"{path}\"");
        let surplus = self.surplus.entry(key).or_insert_with(|| Surplus {
            at: at.to_owned(),
            last: String::new(),
            what: what(),
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
