//! What is noted of a request for its audit event.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Audit annotations, by key (`authorization.k8s.io/decision`). The first value of a key stays, as in kube-apiserver.
#[derive(Clone, Debug, Default)]
pub struct Annotations(Arc<Mutex<Noted>>);

#[derive(Debug, Default)]
struct Noted {
    annotations: BTreeMap<String, String>,
    /// Whether the event has the request's body, which only a handler may be able to read.
    wants_object: bool,
    object: Option<Vec<u8>>,
}

impl Annotations {
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

    /// Notes what a body that is no JSON says, if the event has it.
    pub(crate) fn object(&self, read: impl FnOnce() -> Vec<u8>) {
        let mut noted = self.noted();
        if noted.wants_object {
            noted.object = Some(read());
        }
    }

    /// Takes what was noted.
    pub(crate) fn take_object(&self) -> Option<Vec<u8>> {
        self.noted().object.take()
    }

    fn noted(&self) -> MutexGuard<'_, Noted> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
