//! Cached answers. Concurrent callers with the same question wait for one answer.

use std::hash::Hash;
use std::sync::Arc;
use std::time::Duration;

use berth_apimachinery::Clock;
use moka::future::Cache;

use super::DelegationError;

/// Highest number of cached answers.
const CAPACITY: u64 = 8192;

/// Cache of answers by question.
pub(crate) struct AnswerCache<K, V> {
    cache: Cache<K, CachedAnswer<V>>,
    clock: Arc<dyn Clock>,
}

#[derive(Clone)]
struct CachedAnswer<V> {
    answer: Result<V, DelegationError>,
    /// Time at which the answer expires, in milliseconds since 1970.
    until: i64,
}

impl<K, V> AnswerCache<K, V>
where
    K: Hash + Eq + Send + Sync + 'static,
    V: Clone + Send + Sync + 'static,
{
    pub(crate) fn new(clock: Arc<dyn Clock>) -> Self {
        Self {
            cache: Cache::new(CAPACITY),
            clock,
        }
    }

    /// Returns the answer to `question`. If no answer is cached, `ask` requests the answer, which is
    /// then cached for the time that `lifetime` returns. A failure is returned to all waiting callers, and is
    /// not cached.
    pub(crate) async fn get(
        &self,
        question: K,
        lifetime: impl Fn(&V) -> Duration,
        ask: impl Future<Output = Result<V, DelegationError>>,
    ) -> Result<V, DelegationError> {
        let now = self.now();
        let request = async {
            let answer = ask.await;
            let until = match &answer {
                Ok(value) => self
                    .now()
                    .saturating_add(i64::try_from(lifetime(value).as_millis()).unwrap_or(i64::MAX)),
                Err(_) => i64::MIN,
            };
            CachedAnswer { answer, until }
        };
        let entry = self.cache.entry(question);
        let entry = entry
            .or_insert_with_if(request, |cached| cached.until <= now)
            .await;
        entry.into_value().answer
    }

    fn now(&self) -> i64 {
        self.clock.now().as_millisecond()
    }
}
