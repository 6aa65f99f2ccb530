//! Requests with placeholders for each server's own values: uids, resource versions, continue tokens.

use http::Method;

/// The name of the object and its namespace, which differs in every run of a sequence, and is equal on both
/// servers.
pub(crate) const ID: &str = "$ID";

/// One request.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) method: Method,
    /// The path with its query.
    pub(crate) path: String,
    /// The media type of the body.
    pub(crate) content: &'static str,
    pub(crate) accept: &'static str,
    /// The body as text, since not every body is JSON.
    pub(crate) body: String,
}

/// The usual media type.
pub(crate) const JSON: &str = "application/json";

impl Request {
    /// A request without a body.
    pub(crate) fn new(method: Method, path: impl Into<String>) -> Self {
        Self {
            method,
            path: path.into(),
            content: JSON,
            accept: JSON,
            body: String::new(),
        }
    }

    /// Sets the body.
    pub(crate) fn with(mut self, content: &'static str, body: impl Into<String>) -> Self {
        self.content = content;
        self.body = body.into();
        self
    }

    /// Changes the version of the kind.
    pub(crate) fn in_version(mut self, version: &str, other: &str) -> Self {
        self.path = self.path.replace(&format!("/{version}/"), &format!("/{other}/"));
        self.body = self
            .body
            .replace(&format!("/{version}\""), &format!("/{other}\""));
        self
    }

    /// Sets another media type of the answer.
    pub(crate) const fn accepting(mut self, accept: &'static str) -> Self {
        self.accept = accept;
        self
    }

    /// A shell command with `$SERVER` for the server; the placeholders are shell variables as well.
    pub(crate) fn curl(&self) -> String {
        let mut line = format!("curl -k -X {} \"$SERVER{}\"", self.method, self.path);
        if self.accept != JSON {
            line.push_str(&format!(" -H 'Accept: {}'", self.accept));
        }
        if !self.body.is_empty() {
            let body = self.body.replace('\'', "'\\''");
            line.push_str(&format!(" -H 'Content-Type: {}' -d '{body}'", self.content));
        }
        line
    }
}

/// Values of one server's answers so far in a sequence.
#[derive(Clone, Debug, Default)]
pub(crate) struct Memory {
    pub(crate) uid: String,
    /// The last resource version of the object.
    pub(crate) revision: String,
    /// The resource version of the first answer.
    pub(crate) first: String,
    pub(crate) more: String,
}

impl Memory {
    /// `text` with its placeholders replaced.
    pub(crate) fn fill(&self, text: &str, id: &str) -> String {
        let unless_empty =
            |value: &str, otherwise: &str| if value.is_empty() { otherwise } else { value }.to_owned();
        text.replace("$UID", &unless_empty(&self.uid, "none"))
            .replace("$RV", &unless_empty(&self.revision, "1"))
            .replace("$FIRST", &self.first)
            .replace("$CONTINUE", &self.more)
            .replace(ID, id)
    }
}
