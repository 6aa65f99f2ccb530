//! Limits of requests.

use std::time::Duration;

/// Limits of requests. The defaults are those of kube-apiserver, which has no `small_answer_timeout`.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Limits {
    /// Highest number of reads in flight; 0 means unlimited.
    pub reads: usize,
    /// Highest number of writes in flight; 0 means unlimited.
    pub writes: usize,
    /// Size of the largest request body, in bytes.
    pub body: usize,
    /// Time limit of a request that is not long-running.
    pub request_timeout: Duration,
    /// Longest time on HTTP/2 for which a client may read nothing of an answer of at most 64 KiB.
    pub small_answer_timeout: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            reads: 400,
            writes: 200,
            body: 3 * 1024 * 1024,
            request_timeout: Duration::from_mins(1),
            small_answer_timeout: Duration::from_secs(10),
        }
    }
}
