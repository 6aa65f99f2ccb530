//! Limits of requests.

use std::time::Duration;

/// Limits of requests. The defaults, except the default of `unread`, are the same as in kube-apiserver.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Limits {
    /// Reads in flight; 0 means unlimited.
    pub reads: usize,
    /// Writes in flight; 0 means unlimited.
    pub writes: usize,
    /// Bytes of a request body.
    pub body: usize,
    /// Time limit of a request that is not long-running.
    pub request_timeout: Duration,
    /// Time limit for reading an answer of at most 64 KiB, on HTTP/2.
    pub unread: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            reads: 400,
            writes: 200,
            body: 3 * 1024 * 1024,
            request_timeout: Duration::from_mins(1),
            unread: Duration::from_secs(10),
        }
    }
}
