//! The kind of a policy's parameters.

use serde_json::Value;

/// The `paramKind` of a policy.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ParamKind {
    /// API version of the kind: `v1`, or group and version such as `example.com/v1`.
    pub api_version: String,
    /// Name of the kind.
    pub kind: String,
}

/// Reason why objects of a `paramKind` cannot be read, in kube-apiserver's words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ParamError {
    /// No served kind matches.
    #[error("failed to find resource referenced by paramKind: '{0}'")]
    Unknown(String),
    /// Objects of the kind are not listed yet.
    #[error("paramKind kind `{0}` not yet synced to use for admission")]
    NotSynced(String),
}

impl ParamKind {
    /// Reads the field `paramKind`; `None` where the field is absent or incomplete.
    #[must_use]
    pub fn of(value: &Value) -> Option<Self> {
        let text = |field: &str| value[field].as_str().map(str::to_owned);
        Some(Self {
            api_version: text("apiVersion")?,
            kind: text("kind")?,
        })
    }

    /// API group (the empty string for the core group) and version of the kind.
    #[must_use]
    pub fn group_version(&self) -> (&str, &str) {
        self.api_version
            .split_once('/')
            .unwrap_or(("", &self.api_version))
    }

    /// Returns the error for a kind that is not served.
    #[must_use]
    pub fn unknown_error(&self) -> ParamError {
        let (group, version) = self.group_version();
        ParamError::Unknown(format!("{group}/{version}, Kind={}", self.kind))
    }

    /// The kind as Go prints it, for kube-apiserver's messages.
    #[must_use]
    pub fn to_go_string(&self) -> String {
        format!(
            "&ParamKind{{APIVersion:{},Kind:{},}}",
            self.api_version, self.kind
        )
    }
}
