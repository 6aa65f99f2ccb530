//! The filters, in the order of docs/systems/openmcp.md, "Filters". Each judges every Cluster, so that every refusal is
//! known.

use scheduling::{Filter, Ix, Reason, Verdict};

use crate::request::{Request, Sharing};

/// Why a filter refuses a Cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u16)]
pub(crate) enum Code {
    /// The request's purpose is not configured.
    NotUnderstood,
    PurposeMismatch,
    SelectorMismatch,
    OutOfScope,
    Full,
    /// The request wants a Cluster of its own.
    WantsOwn,
    /// The Cluster is for one request.
    Exclusive,
    Terminating,
}

impl Code {
    /// Every code, by its number.
    pub(crate) const ALL: [Self; 8] = [
        Self::NotUnderstood,
        Self::PurposeMismatch,
        Self::SelectorMismatch,
        Self::OutOfScope,
        Self::Full,
        Self::WantsOwn,
        Self::Exclusive,
        Self::Terminating,
    ];

    /// The token.
    pub(crate) const fn token(self) -> &'static str {
        match self {
            Self::NotUnderstood | Self::PurposeMismatch => "PurposeMismatch",
            Self::SelectorMismatch => "SelectorMismatch",
            Self::OutOfScope => "OutOfScope",
            Self::Full => "Full",
            Self::WantsOwn | Self::Exclusive => "Exclusive",
            Self::Terminating => "Terminating",
        }
    }

    fn refuse(self) -> Verdict {
        self.with(0)
    }

    fn with(self, detail: u32) -> Verdict {
        Verdict::Reject(Reason {
            code: self as u16,
            detail,
        })
    }
}

/// The filters' names, by place.
pub(crate) const NAMES: &[&str] = &["Purpose", "Selector", "Namespace", "Tenancy", "Lifecycle"];

/// The first place of a filter that does not say which Clusters are looked at, but whether they can be taken.
pub(crate) const TENANCY: u16 = 3;

/// The filters, by place.
pub(crate) fn all<'a>() -> [&'a dyn Filter<Request<'a>>; 5] {
    [&Purpose, &Selector, &Namespace, &Tenancy, &Lifecycle]
}

/// The Cluster is for the request's purpose.
struct Purpose;

impl Filter<Request<'_>> for Purpose {
    fn name(&self) -> &'static str {
        NAMES[0]
    }

    fn check(&self, request: &Request<'_>, candidate: Ix) -> Verdict {
        if !request.understood {
            return Code::NotUnderstood.refuse();
        }
        let list = request.row(candidate).facts.purposes;
        if request.purposes[list as usize] {
            Verdict::Pass
        } else {
            Code::PurposeMismatch.refuse()
        }
    }
}

/// The labels match the selectors of the configuration and of the purpose.
struct Selector;

impl Filter<Request<'_>> for Selector {
    fn name(&self) -> &'static str {
        NAMES[1]
    }

    fn check(&self, request: &Request<'_>, candidate: Ix) -> Verdict {
        if request.selector.matches(&request.row(candidate).facts.labels) {
            Verdict::Pass
        } else {
            Code::SelectorMismatch.refuse()
        }
    }
}

/// The Cluster is in the one namespace looked at, if it is one.
struct Namespace;

impl Filter<Request<'_>> for Namespace {
    fn name(&self) -> &'static str {
        NAMES[2]
    }

    fn check(&self, request: &Request<'_>, candidate: Ix) -> Verdict {
        match request.namespace {
            Some(only) if only != Some(request.row(candidate).facts.namespace) => Code::OutOfScope.refuse(),
            _ => Verdict::Pass,
        }
    }
}

/// There is room for one more request. A Cluster the request uses already has room for it.
struct Tenancy;

impl Filter<Request<'_>> for Tenancy {
    fn name(&self) -> &'static str {
        NAMES[3]
    }

    fn check(&self, request: &Request<'_>, candidate: Ix) -> Verdict {
        let alone = request.is_own(candidate) && request.others(candidate) == 0;
        match request.sharing {
            Sharing::Never if alone => Verdict::Pass,
            Sharing::Never => Code::WantsOwn.refuse(),
            Sharing::UpTo(_) if request.row(candidate).facts.exclusive && !alone => Code::Exclusive.refuse(),
            Sharing::UpTo(limit) if request.others(candidate) >= limit => Code::Full.with(limit),
            Sharing::UpTo(_) => Verdict::Pass,
        }
    }
}

/// The Cluster is not being deleted.
struct Lifecycle;

impl Filter<Request<'_>> for Lifecycle {
    fn name(&self) -> &'static str {
        NAMES[4]
    }

    fn check(&self, request: &Request<'_>, candidate: Ix) -> Verdict {
        if request.row(candidate).facts.deleting {
            Code::Terminating.refuse()
        } else {
            Verdict::Pass
        }
    }
}
