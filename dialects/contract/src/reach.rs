//! Reach of decisions: the objects on which decisions about one namespace depend, and the consequence for a
//! reader who may not read them.

/// The objects of one resource on which decisions about one namespace depend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reach {
    /// Whether objects in other namespaces count, too. All objects of a cluster-scoped resource count.
    pub elsewhere: bool,
    /// The consequence for decisions, as a clause after "without them": `nothing goes anywhere`.
    pub without: &'static str,
    /// The labels of the objects that count, as a selector; empty for all.
    pub labels: &'static str,
}

impl Reach {
    /// The reach of decisions for which the objects in every namespace count.
    #[must_use]
    pub const fn everywhere(without: &'static str) -> Self {
        Self {
            elsewhere: true,
            without,
            labels: "",
        }
    }

    /// The reach of decisions for which only the objects in the namespace itself count.
    #[must_use]
    pub const fn within(without: &'static str) -> Self {
        Self {
            elsewhere: false,
            without,
            labels: "",
        }
    }

    /// Restricts the reach to objects with these labels.
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
