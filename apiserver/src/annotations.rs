//! Notes about a request for its audit event.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Audit annotations, by key (`authorization.k8s.io/decision`). The first value of a key stays, as in
/// kube-apiserver.
#[derive(Clone, Debug, Default)]
pub struct Annotations {
    /// The domain of the annotations from the server itself; empty where it has none.
    domain: Arc<str>,
    noted: Arc<Mutex<AuditNotes>>,
}

#[derive(Debug, Default)]
struct AuditNotes {
    annotations: BTreeMap<String, String>,
    /// Whether the event has the request's body, which only a handler may be able to read.
    wants_object: bool,
    object: Option<Vec<u8>>,
    /// Whether the event has the answer, which only a handler may be able to write as JSON.
    wants_answer: bool,
    answer: Option<Vec<u8>>,
}

impl Annotations {
    /// An empty one. Those that the server makes itself have keys in `domain` (`audit.example.com/cause`).
    #[must_use]
    pub fn of(domain: impl Into<Arc<str>>) -> Self {
        Self {
            domain: domain.into(),
            noted: Arc::default(),
        }
    }

    /// None yet, in the same domain.
    pub(crate) fn another(&self) -> Self {
        Self::of(Arc::clone(&self.domain))
    }

    /// Adds one that the server itself makes, in the domain of its `part`, unless the key has a value.
    pub(crate) fn add_own(&self, part: &str, name: &str, value: impl Into<String>) {
        let dot = if self.domain.is_empty() { "" } else { "." };
        self.add(format!("{part}{dot}{}/{name}", self.domain), value);
    }

    /// Adds one, unless the key has a value.
    pub fn add(&self, key: impl Into<String>, value: impl Into<String>) {
        let mut noted = self.noted();
        noted
            .annotations
            .entry(key.into())
            .or_insert_with(|| value.into());
    }

    /// All of them so far.
    #[must_use]
    pub fn all(&self) -> BTreeMap<String, String> {
        self.noted().annotations.clone()
    }

    /// The event has the request's body.
    pub(crate) fn want_object(&self) {
        self.noted().wants_object = true;
    }

    /// Records the text of a body that is no JSON, if the event has bodies.
    pub(crate) fn object(&self, read: impl FnOnce() -> Vec<u8>) {
        let mut noted = self.noted();
        if noted.wants_object {
            noted.object = Some(read());
        }
    }

    /// Takes the recorded annotations.
    pub(crate) fn take_object(&self) -> Option<Vec<u8>> {
        self.noted().object.take()
    }

    /// The event has the answer.
    pub(crate) fn want_answer(&self) {
        self.noted().wants_answer = true;
    }

    /// Notes what an answer that is no JSON says, if the event has it.
    pub(crate) fn answer(&self, read: impl FnOnce() -> Vec<u8>) {
        let mut noted = self.noted();
        if noted.wants_answer {
            noted.answer = Some(read());
        }
    }

    /// Takes what was noted of the answer.
    pub(crate) fn take_answer(&self) -> Option<Vec<u8>> {
        self.noted().answer.take()
    }

    fn noted(&self) -> MutexGuard<'_, AuditNotes> {
        self.noted.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
