//! Source of answers: a server, or this process, which decides from the objects of a hub or of files, and
//! answers the same requests.

use std::any::Any;

use berth_client::Client;

/// Source of answers, and the namespace of the question.
pub struct Source {
    /// The client for questions, to a server or to this process.
    pub client: Client,
    /// The namespace of objects that do not name a namespace.
    pub namespace: String,
    /// Value that answers as long as it exists, if this process answers; `None` if a server answers.
    answers: Option<Box<dyn Any + Send + Sync>>,
}

impl Source {
    /// Creates a source that asks a server.
    #[must_use]
    pub fn server(client: Client, namespace: impl Into<String>) -> Self {
        Self {
            client,
            namespace: namespace.into(),
            answers: None,
        }
    }

    /// Creates a source in this process: `client` gets answers as long as `answers` exists.
    #[must_use]
    pub fn within(client: Client, namespace: impl Into<String>, answers: impl Any + Send + Sync) -> Self {
        Self {
            client,
            namespace: namespace.into(),
            answers: Some(Box::new(answers)),
        }
    }

    /// Whether this process answers.
    #[must_use]
    pub fn is_within(&self) -> bool {
        self.answers.is_some()
    }
}
