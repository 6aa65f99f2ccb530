//! Reach of decisions: the objects that a reader of a part of a hub needs, and the consequence of their
//! absence.

/// Reach of the decisions about one namespace among the objects of a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reach {
    /// Whether objects in other namespaces count, too. Objects of a cluster-scoped resource all count.
    pub elsewhere: bool,
    /// Consequence for decisions, as a clause after "without them": `nothing goes anywhere`.
    pub without: &'static str,
    /// The labels of the objects that count, as a selector; empty for all.
    pub labels: &'static str,
}

impl Reach {
    /// Objects of every namespace count.
    #[must_use]
    pub const fn everywhere(without: &'static str) -> Self {
        Self {
            elsewhere: true,
            without,
            labels: "",
        }
    }

    /// Objects of the namespace alone count.
    #[must_use]
    pub const fn within(without: &'static str) -> Self {
        Self {
            elsewhere: false,
            without,
            labels: "",
        }
    }

    /// Only those with these labels count.
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
