//! Fields that a write cannot change, such as the `status` in writes to the object itself, and fields that no
//! manager owns (`metadata.name` and others).

use std::sync::LazyLock;

use crate::element::Element;
use crate::fields::Set;

/// Fields that a write cannot change. The writer never owns these fields or fields below them, and never has
/// conflicts about them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Reset {
    /// No field: the write can change every field.
    #[default]
    Nothing,
    /// The fields in this set.
    Fields(Set),
    /// All fields except the fields in this set.
    AllBut(Set),
}

impl Reset {
    /// Fields that a write to the object itself cannot change, if its kind has a status subresource: the
    /// `status`.
    #[must_use]
    pub fn status() -> Self {
        Self::Fields(status())
    }

    /// Fields that a write to `/status` cannot change: all except `status`.
    #[must_use]
    pub fn all_but_status() -> Self {
        Self::AllBut(status())
    }

    /// Fields that a write to `/status` cannot change if it also changes metadata: the `spec`, and the labels
    /// with `with_labels`.
    #[must_use]
    pub fn spec(with_labels: bool) -> Self {
        let mut set = Set::default();
        set.insert([field("spec")]);
        if with_labels {
            set.insert([field("metadata"), field("labels")]);
        }
        Self::Fields(set)
    }

    /// Returns `set` without the fields that the write cannot change.
    pub(super) fn without(&self, mut set: Set) -> Set {
        match self {
            Self::Nothing => set,
            Self::Fields(fields) => {
                set.remove_recursively(fields);
                set
            }
            Self::AllBut(fields) => set.covered_by(fields),
        }
    }
}

fn status() -> Set {
    let mut set = Set::default();
    set.insert([field("status")]);
    set
}

fn field(name: &str) -> Element {
    Element::Field(name.to_owned())
}

/// Fields that no manager owns: the object's identity, `metadata` itself, and fields that only the server
/// sets.
pub(super) static STRIPPED: LazyLock<Set> = LazyLock::new(|| {
    let mut set = Set::default();
    for name in ["apiVersion", "kind", "metadata"] {
        set.insert([field(name)]);
    }
    for name in [
        "name",
        "namespace",
        "creationTimestamp",
        "selfLink",
        "uid",
        "clusterName",
        "generation",
        "managedFields",
        "resourceVersion",
    ] {
        set.insert([field("metadata"), field(name)]);
    }
    set
});
