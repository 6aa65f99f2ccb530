//! Audit annotations of a request, and recorded bodies.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Audit annotations, by key (`authorization.k8s.io/decision`). The first value of a key stays, as in
/// kube-apiserver.
#[derive(Clone, Debug, Default)]
pub struct Annotations {
    /// Domain of the annotations that the server itself adds; may be empty.
    domain: Arc<str>,
    notes: Arc<Mutex<AuditNotes>>,
}

#[derive(Debug, Default)]
struct AuditNotes {
    annotations: BTreeMap<String, String>,
    /// Whether the event needs the request's body, which only a handler may be able to decode.
    wants_object: bool,
    object: Option<Vec<u8>>,
    /// Whether the event needs the response, which only a handler may be able to encode as JSON.
    wants_answer: bool,
    answer: Option<Vec<u8>>,
}

impl Annotations {
    /// Creates annotations without entries. Annotations that the server itself adds have keys in `domain`
    /// (`audit.example.com/cause`).
    #[must_use]
    pub fn of(domain: impl Into<Arc<str>>) -> Self {
        Self {
            domain: domain.into(),
            notes: Arc::default(),
        }
    }

    /// Creates annotations without entries in the same domain.
    pub(crate) fn another(&self) -> Self {
        Self::of(Arc::clone(&self.domain))
    }

    /// Adds an annotation of the server itself, in the domain of its `part`, unless the key has a value.
    pub(crate) fn add_own(&self, part: &str, name: &str, value: impl Into<String>) {
        let dot = if self.domain.is_empty() { "" } else { "." };
        self.add(format!("{part}{dot}{}/{name}", self.domain), value);
    }

    /// Adds an annotation, unless the key has a value.
    pub fn add(&self, key: impl Into<String>, value: impl Into<String>) {
        let mut notes = self.notes();
        notes
            .annotations
            .entry(key.into())
            .or_insert_with(|| value.into());
    }

    /// All annotations so far.
    #[must_use]
    pub fn all(&self) -> BTreeMap<String, String> {
        self.notes().annotations.clone()
    }

    /// Requests the body of the request for the event.
    pub(crate) fn want_object(&self) {
        self.notes().wants_object = true;
    }

    /// Records the JSON form of a request body in another encoding, if the event needs it.
    pub(crate) fn object(&self, encode: impl FnOnce() -> Vec<u8>) {
        let mut notes = self.notes();
        if notes.wants_object {
            notes.object = Some(encode());
        }
    }

    /// Takes the recorded body of the request.
    pub(crate) fn take_object(&self) -> Option<Vec<u8>> {
        self.notes().object.take()
    }

    /// Requests the response for the event.
    pub(crate) fn want_answer(&self) {
        self.notes().wants_answer = true;
    }

    /// Records the JSON form of a response in another encoding, if the event needs it.
    pub(crate) fn answer(&self, encode: impl FnOnce() -> Vec<u8>) {
        let mut notes = self.notes();
        if notes.wants_answer {
            notes.answer = Some(encode());
        }
    }

    /// Takes the recorded response.
    pub(crate) fn take_answer(&self) -> Option<Vec<u8>> {
        self.notes().answer.take()
    }

    fn notes(&self) -> MutexGuard<'_, AuditNotes> {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
