//! Compression of large bodies with gzip. Requests for the same list in the same form at the same revision
//! share one compressed body, except for tables and computed lists.

use std::collections::VecDeque;
use std::io::Write;
use std::sync::Arc;

use berth_apimachinery::{Revision, Status};
use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;

use crate::list_body::CHUNK;
use crate::negotiation::MediaType;

/// Size up to which bodies are sent uncompressed (docs/reference.md, "Negotiation").
pub(crate) const THRESHOLD: u64 = 128 * 1024;

/// Highest total size of all cached bodies, in bytes.
const CACHE_LIMIT: u64 = 64 * 1024 * 1024;

/// Identity of a cached body: the path and query of the request, the form, and the revision of the list.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct BodyKey {
    pub(crate) path_and_query: String,
    pub(crate) accepted: MediaType,
    pub(crate) revision: Revision,
}

/// Compressed bodies of lists.
pub(crate) struct CompressedBodies {
    bodies: moka::future::Cache<BodyKey, Arc<VecDeque<Bytes>>>,
}

impl CompressedBodies {
    pub(crate) fn new() -> Self {
        let weigh = |key: &BodyKey, body: &Arc<VecDeque<Bytes>>| {
            let size = key.path_and_query.len() + body.iter().map(Bytes::len).sum::<usize>();
            u32::try_from(size).unwrap_or(u32::MAX)
        };
        let bodies = moka::future::Cache::builder()
            .weigher(weigh)
            .max_capacity(CACHE_LIMIT)
            .time_to_idle(std::time::Duration::from_secs(60))
            .build();
        Self { bodies }
    }

    /// Frees bodies that were not used recently. Without this call they would stay until the next body is
    /// cached.
    pub(crate) async fn tidy(&self) {
        self.bodies.run_pending_tasks().await;
    }

    /// Returns the compressed form of the chunks that `next` returns. With a `key`, the compressed form is
    /// cached.
    pub(crate) async fn body(
        &self,
        key: Option<BodyKey>,
        next: impl FnMut() -> Option<Bytes> + Send + 'static,
    ) -> Result<VecDeque<Bytes>, Status> {
        let compression = async move {
            // Compression runs on a thread for blocking work, so that other requests are not delayed.
            let result = tokio::task::spawn_blocking(move || gzip(next)).await;
            match result {
                Ok(Ok(body)) => Ok(Arc::new(body)),
                Ok(Err(problem)) => Err(problem.to_string()),
                Err(problem) => Err(problem.to_string()),
            }
        };
        let result = match key {
            Some(key) => self
                .bodies
                .try_get_with(key, compression)
                .await
                .map_err(|problem| (*problem).clone()),
            None => compression.await,
        };
        result.map(|body| (*body).clone()).map_err(Status::internal)
    }
}

fn gzip(mut next: impl FnMut() -> Option<Bytes>) -> std::io::Result<VecDeque<Bytes>> {
    let mut chunks = VecDeque::new();
    // At the fastest level lists of objects shrink to a tenth; slower levels cost more time than they save.
    let mut encoder = GzEncoder::new(Vec::with_capacity(CHUNK), Compression::fast());
    while let Some(chunk) = next() {
        encoder.write_all(&chunk)?;
        if encoder.get_ref().len() >= CHUNK {
            chunks.push_back(std::mem::take(encoder.get_mut()).into());
        }
    }
    let rest = encoder.finish()?;
    if !rest.is_empty() {
        chunks.push_back(rest.into());
    }
    Ok(chunks)
}
