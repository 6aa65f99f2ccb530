//! Requests with placeholders for what each server makes up itself: uids, resource versions, continue tokens.

use http::Method;

/// The object's name and its namespace: another one for every run of a sequence, the same on both servers.
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

/// The ordinary media type.
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

    /// With a body.
    pub(crate) fn with(mut self, content: &'static str, body: impl Into<String>) -> Self {
        self.content = content;
        self.body = body.into();
        self
    }

    /// Asks for the same in another version of its kind.
    pub(crate) fn in_version(mut self, version: &str, other: &str) -> Self {
        self.path = self.path.replace(&format!("/{version}/"), &format!("/{other}/"));
        self.body = self
            .body
            .replace(&format!("/{version}\""), &format!("/{other}\""));
        self
    }

    /// Asks for another form of the answer.
    pub(crate) const fn accepting(mut self, accept: &'static str) -> Self {
        self.accept = accept;
        self
    }

    /// A line for a shell, with `$SERVER` for the server; the placeholders are variables of the shell, too.
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

/// Answers of one server so far in a sequence.
#[derive(Clone, Debug, Default)]
pub(crate) struct Memory {
    pub(crate) uid: String,
    /// The resource version of the object, as last seen.
    pub(crate) revision: String,
    /// The resource version of the first answer.
    pub(crate) first: String,
    pub(crate) more: String,
}

impl Memory {
    /// `text` with its placeholders filled in.
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
