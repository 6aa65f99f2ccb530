//! Audit annotations of a request, and the bodies that a handler records for the audit event.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Audit annotations by key, such as `authorization.k8s.io/decision`. The first value of a key stays, as in
/// kube-apiserver. All clones share the entries, and the bodies for the audit event.
#[derive(Clone, Debug, Default)]
pub struct Annotations {
    /// Domain in the keys of the annotations that the server itself adds; may be empty.
    domain: Arc<str>,
    data: Arc<Mutex<AuditData>>,
}

/// Annotations and bodies for an audit event.
#[derive(Debug, Default)]
struct AuditData {
    annotations: BTreeMap<String, String>,
    /// Whether the event needs the request's body as JSON; for some encodings, only the handler can provide
    /// it.
    needs_request_body: bool,
    request_body: Option<Vec<u8>>,
    /// Whether the event needs the response as JSON; for some encodings, only the handler can provide it.
    needs_response_body: bool,
    response_body: Option<Vec<u8>>,
}

impl Annotations {
    /// Creates annotations without entries. `domain` is part of the keys of annotations that the server
    /// itself adds: `audit.example.com/cause` for the domain `example.com`.
    #[must_use]
    pub fn of(domain: impl Into<Arc<str>>) -> Self {
        Self {
            domain: domain.into(),
            data: Arc::default(),
        }
    }

    /// Creates annotations without entries, in the domain of `self`.
    pub(crate) fn empty_in_same_domain(&self) -> Self {
        Self::of(Arc::clone(&self.domain))
    }

    /// Adds an annotation of the server itself with the key `<part>.<domain>/<name>`, unless the key has a
    /// value.
    pub(crate) fn add_own(&self, part: &str, name: &str, value: impl Into<String>) {
        let dot = if self.domain.is_empty() { "" } else { "." };
        self.add(format!("{part}{dot}{}/{name}", self.domain), value);
    }

    /// Adds an annotation, unless the key has a value.
    pub fn add(&self, key: impl Into<String>, value: impl Into<String>) {
        let mut data = self.data();
        data.annotations.entry(key.into()).or_insert_with(|| value.into());
    }

    /// Returns all annotations so far.
    #[must_use]
    pub fn all(&self) -> BTreeMap<String, String> {
        self.data().annotations.clone()
    }

    /// Makes the handler record the body of the request.
    pub(crate) fn require_request_body(&self) {
        self.data().needs_request_body = true;
    }

    /// Records the JSON form of a request body that was sent in another encoding, if the event needs the
    /// body.
    pub(crate) fn record_request_body(&self, encode: impl FnOnce() -> Vec<u8>) {
        let mut data = self.data();
        if data.needs_request_body {
            data.request_body = Some(encode());
        }
    }

    /// Takes the recorded body of the request.
    pub(crate) fn take_request_body(&self) -> Option<Vec<u8>> {
        self.data().request_body.take()
    }

    /// Makes the handler record the response.
    pub(crate) fn require_response_body(&self) {
        self.data().needs_response_body = true;
    }

    /// Records the JSON form of a response that is sent in another encoding, if the event needs the response.
    pub(crate) fn record_response_body(&self, encode: impl FnOnce() -> Vec<u8>) {
        let mut data = self.data();
        if data.needs_response_body {
            data.response_body = Some(encode());
        }
    }

    /// Takes the recorded response.
    pub(crate) fn take_response_body(&self) -> Option<Vec<u8>> {
        self.data().response_body.take()
    }

    fn data(&self) -> MutexGuard<'_, AuditData> {
        self.data.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
