//! The reach of decisions: the objects on which decisions about one namespace depend, and the consequence if
//! a user may not read these objects.

/// The objects of one resource on which decisions about one namespace depend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reach {
    /// Whether decisions also depend on objects in other namespaces. For a cluster-scoped resource, they
    /// depend on all objects.
    pub elsewhere: bool,
    /// The consequence for decisions if the objects are missing, as a clause after "without them": `nothing
    /// goes anywhere`.
    pub without: &'static str,
    /// A selector of the objects on which decisions depend; empty for all objects.
    pub labels: &'static str,
}

impl Reach {
    /// The reach of decisions that depend on objects in every namespace.
    #[must_use]
    pub const fn everywhere(without: &'static str) -> Self {
        Self {
            elsewhere: true,
            without,
            labels: "",
        }
    }

    /// The reach of decisions that depend only on objects in the namespace itself.
    #[must_use]
    pub const fn within(without: &'static str) -> Self {
        Self {
            elsewhere: false,
            without,
            labels: "",
        }
    }

    /// Restricts the reach to the objects that the selector `labels` selects.
    #[must_use]
    pub const fn labelled(self, labels: &'static str) -> Self {
        Self { labels, ..self }
    }
}

impl Default for Reach {
    fn default() -> Self {
        Self::everywhere("decisions may differ")
    }
}
