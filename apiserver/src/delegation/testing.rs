//! Reviewer for tests, which returns given answers, records the reviews, and can fail.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use serde_json::Value;

use super::{ReviewError, Reviewer};

/// Stand-in for a hub, which answers reviews with given statuses, in order. The last status is repeated.
pub(crate) struct Hub {
    statuses: Mutex<VecDeque<Result<Value, ReviewError>>>,
    /// Received reviews.
    pub(crate) asked: Mutex<Vec<Value>>,
    /// Number of received reviews.
    pub(crate) count: AtomicUsize,
}

impl Hub {
    pub(crate) fn new(statuses: Vec<Result<Value, ReviewError>>) -> Arc<Self> {
        Arc::new(Self {
            statuses: Mutex::new(statuses.into()),
            asked: Mutex::default(),
            count: AtomicUsize::new(0),
        })
    }

    pub(crate) fn count(&self) -> usize {
        self.count.load(Ordering::SeqCst)
    }
}

/// Returns a failure, temporary or permanent, for [`Hub::new`].
pub(crate) fn failure(message: &str, temporary: bool) -> Result<Value, ReviewError> {
    Err(ReviewError {
        message: message.to_owned(),
        temporary,
    })
}

#[async_trait]
impl Reviewer for Hub {
    async fn review(&self, path: &str, review: &Value) -> Result<Value, ReviewError> {
        self.count.fetch_add(1, Ordering::SeqCst);
        assert!(path.contains("reviews"), "{path}");
        self.asked.lock().unwrap().push(review.clone());
        // Other callers can send their review meanwhile.
        tokio::task::yield_now().await;
        let status = {
            let mut statuses = self.statuses.lock().unwrap();
            if statuses.len() > 1 {
                statuses.pop_front().unwrap()
            } else {
                statuses[0].clone()
            }
        }?;
        let mut answer = review.clone();
        answer["status"] = status;
        Ok(answer)
    }
}
