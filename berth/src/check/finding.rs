//! Findings of the checks of a server.

use serde::Serialize;

/// Verdict of a finding, in the order of severity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(super) enum Verdict {
    /// All is in order.
    Ok,
    /// Nothing is broken, but the user should know this.
    Note,
    /// The check was not possible.
    Unknown,
    /// Something does not work, or is not secure.
    Wrong,
}

impl Verdict {
    /// The word in the printed table.
    #[must_use]
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Note => "note",
            Self::Unknown => "unknown",
            Self::Wrong => "WRONG",
        }
    }
}

/// Result of one check: a row of the printed table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Finding {
    /// Area of the finding: `versions`, `rights`, …
    pub(super) area: &'static str,
    /// Name of the checked object.
    pub(super) subject: String,
    /// Whether there is a problem.
    pub(super) verdict: Verdict,
    /// The state or the problem of the checked object.
    pub(super) message: String,
    /// The command that fixes the problem, or shows more; may be empty.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) mend: String,
}

impl Finding {
    /// A finding that all is in order.
    #[must_use]
    pub(super) fn ok(area: &'static str, subject: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            area,
            subject: subject.into(),
            verdict: Verdict::Ok,
            message: message.into(),
            mend: String::new(),
        }
    }

    /// A finding that the check was not possible, for the reason `message`.
    #[must_use]
    pub(super) fn unknown(
        area: &'static str,
        subject: impl Into<String>,
        message: impl Into<String>,
    ) -> Self {
        Self::ok(area, subject, message).with_verdict(Verdict::Unknown, "")
    }

    /// Returns the finding with another verdict and a remedy.
    #[must_use]
    pub(super) fn with_verdict(mut self, verdict: Verdict, mend: impl Into<String>) -> Self {
        self.verdict = verdict;
        self.mend = mend.into();
        self
    }
}

/// Result of all checks of a server.
#[derive(Clone, Debug)]
pub(super) struct CheckResult {
    /// Whether Berth is installed on the server.
    pub(super) installed: bool,
    /// Findings, in the order of the output.
    pub(super) findings: Vec<Finding>,
    /// Numbers of requests, if the caller may read decisions.
    pub(super) requests: Option<RequestCounts>,
}

impl CheckResult {
    /// Number of findings with `verdict`.
    #[must_use]
    pub(super) fn count(&self, verdict: Verdict) -> usize {
        let all = self.findings.iter();
        all.filter(|finding| finding.verdict == verdict).count()
    }
}

/// Numbers of requests for a place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RequestCounts {
    /// Number of requests, except those for other schedulers.
    pub(super) total: usize,
    /// Number of requests that are not placed, or only in part.
    pub(super) without_place: usize,
}
