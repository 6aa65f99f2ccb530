//! The kind of parameters.

use serde_json::Value;

/// `paramKind` of a policy.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ParamKind {
    /// `v1`, or group and version.
    pub api_version: String,
    /// The kind.
    pub kind: String,
}

/// Reason why objects of a `paramKind` cannot be found, in kube-apiserver's words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ParamError {
    /// No server has such a kind.
    #[error("failed to find resource referenced by paramKind: '{0}'")]
    Unknown(String),
    /// They are not listed yet.
    #[error("paramKind kind `{0}` not yet synced to use for admission")]
    NotSynced(String),
}

impl ParamKind {
    /// Reads it; `None` where it is absent.
    #[must_use]
    pub fn of(value: &Value) -> Option<Self> {
        let text = |field: &str| value[field].as_str().map(str::to_owned);
        Some(Self {
            api_version: text("apiVersion")?,
            kind: text("kind")?,
        })
    }

    /// Its group, the empty string for the core group, and its version.
    #[must_use]
    pub fn group_version(&self) -> (&str, &str) {
        self.api_version
            .split_once('/')
            .unwrap_or(("", &self.api_version))
    }

    /// The error where nothing is known of it.
    #[must_use]
    pub fn unknown(&self) -> ParamError {
        let (group, version) = self.group_version();
        ParamError::Unknown(format!("{group}/{version}, Kind={}", self.kind))
    }

    /// In kube-apiserver's form for messages.
    #[must_use]
    pub fn shown(&self) -> String {
        format!(
            "&ParamKind{{APIVersion:{},Kind:{},}}",
            self.api_version, self.kind
        )
    }
}
