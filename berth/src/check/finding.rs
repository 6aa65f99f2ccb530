//! Findings of a check.

use serde::Serialize;

/// Verdict of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(super) enum Verdict {
    /// All is in order.
    Ok,
    /// For information; nothing is broken.
    Note,
    /// The check was not possible.
    Unknown,
    /// Something does not work, or soon will not.
    Wrong,
}

impl Verdict {
    /// The printed word.
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

/// One line of the table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Finding {
    /// Area of the finding: `versions`, `rights`, …
    pub(super) area: &'static str,
    /// Name of the checked object in its area.
    pub(super) subject: String,
    /// The verdict.
    pub(super) verdict: Verdict,
    /// The message.
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

    /// Returns the finding with another verdict and a remedy.
    #[must_use]
    pub(super) fn but(mut self, verdict: Verdict, mend: impl Into<String>) -> Self {
        self.verdict = verdict;
        self.mend = mend.into();
        self
    }
}

/// Findings of a check.
#[derive(Clone, Debug)]
pub(super) struct Report {
    /// Whether Berth is installed on the server.
    pub(super) installed: bool,
    /// The findings, in the order of the output.
    pub(super) findings: Vec<Finding>,
    /// Numbers of requests, if the caller may read decisions.
    pub(super) requests: Option<Requests>,
}

impl Report {
    /// Number of findings with `verdict`.
    #[must_use]
    pub(super) fn count(&self, verdict: Verdict) -> usize {
        let all = self.findings.iter();
        all.filter(|finding| finding.verdict == verdict).count()
    }
}

/// Numbers of requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Requests {
    /// All requests, without requests of other schedulers.
    pub(super) total: usize,
    /// Requests that are not placed, or only in part.
    pub(super) without_place: usize,
}
