//! Calls to etcd: choice of the member, timeout, and retries.
//!
//! One member gets all calls until it fails; then the next member gets them. A read is retried until a time
//! limit. A write is retried only when etcd has certainly not executed it. Otherwise the error states that
//! the outcome is unknown.

use std::future::Future;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use berth_apimachinery::Revision;
use etcd_client::{Client, ConnectOptions, Error, KvClient, Txn, TxnResponse, WatchClient};
use tokio::sync::Mutex;
use tokio::time::{Instant, sleep, timeout};

use crate::error::StoreError;
use crate::etcd::config::EtcdConfig;

/// Timeout of one call. etcd itself ends a write after about seven seconds without a leader.
const CALL_TIMEOUT: Duration = Duration::from_secs(5);
/// Time after which a failed call is not retried any more.
const RETRY_TIMEOUT: Duration = Duration::from_secs(10);
/// Pause before the first retry, and its maximum: the pause doubles with each retry.
const PAUSE: (Duration, Duration) = (Duration::from_millis(50), Duration::from_millis(800));
/// Maximal number of bytes of a message, such as a page of large objects.
const MAX_MESSAGE: usize = 1 << 30;

// gRPC status codes.
const INVALID_ARGUMENT: i32 = 3;
const DEADLINE_EXCEEDED: i32 = 4;
const PERMISSION_DENIED: i32 = 7;
const RESOURCE_EXHAUSTED: i32 = 8;
const FAILED_PRECONDITION: i32 = 9;
const OUT_OF_RANGE: i32 = 11;
const UNAUTHENTICATED: i32 = 16;

/// Members of an etcd cluster, and the connections to the members.
pub(crate) struct Link {
    place: String,
    members: Vec<Member>,
    options: ConnectOptions,
    current: AtomicUsize,
}

struct Member {
    endpoint: String,
    client: Mutex<Option<Client>>,
}

/// Reason why a call failed.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The outcome of the call is unknown, for example because no answer came in time.
    Unknown(String),
    /// The call was certainly not executed, and may be retried.
    NotExecuted(String),
    /// The call was certainly not executed, since the token is no longer valid.
    LoggedOut(String),
    /// The requested revision is compacted.
    Compacted,
    /// The request is larger than etcd accepts.
    TooLarge,
    /// The transaction has more conditions or operations than etcd accepts.
    TooManyOperations,
    /// A retry would fail again: access denied, an invalid request, or a full database.
    Final(String),
}

impl Failure {
    /// Returns the message of the failure.
    pub(crate) fn text(&self) -> String {
        match self {
            Self::Unknown(text) | Self::NotExecuted(text) | Self::LoggedOut(text) | Self::Final(text) => {
                text.clone()
            }
            Self::Compacted => "the revision is compacted".to_owned(),
            Self::TooLarge => "the request is larger than etcd accepts".to_owned(),
            Self::TooManyOperations => {
                "the transaction has more conditions than etcd accepts (--max-txn-ops)".to_owned()
            }
        }
    }

    /// Whether the call was certainly not executed, so that even a write may be retried.
    fn was_not_executed(&self) -> bool {
        matches!(self, Self::NotExecuted(_) | Self::LoggedOut(_))
    }

    /// Converts the error of a call.
    pub(crate) fn of(error: &Error) -> Self {
        let Error::GRpcStatus(status) = error else {
            // All other errors occur before anything is sent: in URLs, certificates, connections,
            // credentials.
            return Self::NotExecuted(with_causes(&error.to_string(), error));
        };
        let message = status.message();
        match i32::from(status.code()) {
            OUT_OF_RANGE if message.contains("compacted") => Self::Compacted,
            INVALID_ARGUMENT if message.contains("request is too large") => Self::TooLarge,
            INVALID_ARGUMENT if message.contains("too many operations") => Self::TooManyOperations,
            RESOURCE_EXHAUSTED if message.contains("message larger than max") => Self::TooLarge,
            RESOURCE_EXHAUSTED if message.contains("too many requests") => {
                Self::NotExecuted(message.to_owned())
            }
            INVALID_ARGUMENT | UNAUTHENTICATED if logged_out(message) => Self::LoggedOut(message.to_owned()),
            INVALID_ARGUMENT | PERMISSION_DENIED | FAILED_PRECONDITION | UNAUTHENTICATED => {
                Self::Final(message.to_owned())
            }
            RESOURCE_EXHAUSTED if message.contains("space exceeded") => Self::Final(format!(
                "{message}: etcd's database is full; compact, defragment and disarm its alarm, or give it a larger quota"
            )),
            _ if message == "etcdserver: no leader" => Self::NotExecuted(message.to_owned()),
            _ if never_sent(status) => Self::NotExecuted(with_causes(message, status)),
            DEADLINE_EXCEEDED => Self::Unknown(message.to_owned()),
            _ => Self::Unknown(with_causes(message, status)),
        }
    }
}

/// Whether etcd does not know the token, or issued it before users or roles changed.
pub(crate) fn logged_out(message: &str) -> bool {
    message.contains("invalid auth token") || message.contains("revision of auth store is old")
}

/// Whether no connection was established, so that nothing was sent.
fn never_sent(error: &(dyn std::error::Error + 'static)) -> bool {
    causes(error).any(|cause| {
        cause.downcast_ref::<std::io::Error>().is_some_and(|error| {
            matches!(
                error.kind(),
                std::io::ErrorKind::ConnectionRefused
                    | std::io::ErrorKind::HostUnreachable
                    | std::io::ErrorKind::NetworkUnreachable
            )
        })
    })
}

fn causes<'a>(
    error: &'a (dyn std::error::Error + 'static),
) -> impl Iterator<Item = &'a (dyn std::error::Error + 'static)> {
    std::iter::successors(Some(error), |error| error.source())
}

/// Appends the message of the innermost cause, which is the real problem.
fn with_causes(outer: &str, error: &(dyn std::error::Error + 'static)) -> String {
    let last = causes(error).skip(1).last().map(ToString::to_string);
    match last {
        Some(last) if !outer.contains(&last) => format!("{outer}: {last}"),
        _ => outer.to_owned(),
    }
}

impl Link {
    /// Creates the link to the members in `config`, without connecting yet.
    ///
    /// # Errors
    /// `Unavailable`, with the problem of `config`.
    pub(crate) fn new(config: &EtcdConfig) -> Result<Self, StoreError> {
        let members = config.endpoints.iter().map(|endpoint| Member {
            endpoint: endpoint.clone(),
            client: Mutex::new(None),
        });
        Ok(Self {
            place: config.place(),
            members: members.collect(),
            options: config.options()?,
            current: AtomicUsize::new(0),
        })
    }

    /// Name of the etcd for messages.
    pub(crate) fn place(&self) -> &str {
        &self.place
    }

    /// Index of the member that gets all calls now.
    pub(crate) fn current(&self) -> usize {
        self.current.load(Ordering::Relaxed)
    }

    /// Switches from the member `failed` to the next one, unless another call has already switched.
    pub(crate) fn switch_from(&self, failed: usize) {
        let next = (failed + 1) % self.members.len();
        let switched = self
            .current
            .compare_exchange(failed, next, Ordering::Relaxed, Ordering::Relaxed);
        if switched.is_ok() && next != failed {
            tracing::warn!(
                from = self.members[failed].endpoint,
                to = self.members[next].endpoint,
                "etcd member does not answer; using another one"
            );
        }
    }

    /// Returns a client of the watch service of `member`.
    pub(crate) async fn watch_client(&self, member: usize) -> Result<WatchClient, Failure> {
        let client = self.client(member).await?;
        Ok(client.watch_client().max_decoding_message_size(MAX_MESSAGE))
    }

    /// Returns a client of all services of the current member.
    pub(crate) async fn current_client(&self) -> Result<Client, Failure> {
        self.client(self.current()).await
    }

    /// Drops the connection to `member`, so that the next call connects and authenticates again.
    pub(crate) async fn disconnect(&self, member: usize) {
        drop(self.members[member].client.lock().await.take());
    }

    async fn client(&self, member: usize) -> Result<Client, Failure> {
        let Member { endpoint, client } = &self.members[member];
        let connecting = async {
            let mut slot = client.lock().await;
            if let Some(client) = &*slot {
                return Ok(client.clone());
            }
            let client = Client::connect([endpoint], Some(self.options.clone())).await?;
            *slot = Some(client.clone());
            Ok(client)
        };
        // With credentials, connecting requests a token, which a stopped member never issues; other callers
        // wait for it in the meantime.
        timeout(CALL_TIMEOUT, connecting)
            .await
            .map_err(|_elapsed| Failure::NotExecuted(format!("{endpoint} does not answer")))?
            .map_err(|error| match Failure::of(&error) {
                Failure::Unknown(text) => Failure::NotExecuted(text),
                failure => failure,
            })
    }

    async fn call_once<T, F>(&self, call: impl FnOnce(KvClient) -> F) -> Result<T, Failure>
    where
        F: Future<Output = Result<T, Error>>,
    {
        let member = self.current();
        let result = match self.client(member).await {
            Ok(client) => {
                let kv = client
                    .kv_client()
                    .max_decoding_message_size(MAX_MESSAGE)
                    .max_encoding_message_size(MAX_MESSAGE);
                match timeout(CALL_TIMEOUT, call(kv)).await {
                    Ok(result) => result.map_err(|error| Failure::of(&error)),
                    Err(_elapsed) => Err(Failure::Unknown(format!(
                        "no answer within {} s",
                        CALL_TIMEOUT.as_secs()
                    ))),
                }
            }
            Err(failure) => Err(failure),
        };
        match &result {
            Err(Failure::LoggedOut(_)) => self.disconnect(member).await,
            Err(Failure::Unknown(_) | Failure::NotExecuted(_)) => self.switch_from(member),
            _ => {}
        }
        result
    }

    /// Makes a call that may be repeated, such as a read: it is retried, on the next member, until it is
    /// answered or [`RETRY_TIMEOUT`] has passed.
    pub(crate) async fn read<T, F>(&self, call: impl Fn(KvClient) -> F) -> Result<T, Failure>
    where
        F: Future<Output = Result<T, Error>>,
    {
        let is_retriable =
            |failure: &Failure| matches!(failure, Failure::Unknown(_)) || failure.was_not_executed();
        self.call_with_retries(call, is_retriable).await
    }

    /// Makes a transaction that writes. It is retried only when it was certainly not executed.
    pub(crate) async fn write(&self, txn: Txn) -> Result<TxnResponse, Failure> {
        let call = |mut kv: KvClient| {
            let txn = txn.clone();
            async move { kv.txn(txn).await }
        };
        self.call_with_retries(call, Failure::was_not_executed).await
    }

    async fn call_with_retries<T, F>(
        &self,
        call: impl Fn(KvClient) -> F,
        is_retriable: impl Fn(&Failure) -> bool,
    ) -> Result<T, Failure>
    where
        F: Future<Output = Result<T, Error>>,
    {
        let end = Instant::now() + RETRY_TIMEOUT;
        let mut pause = PAUSE.0;
        loop {
            match self.call_once(&call).await {
                Err(failure) if is_retriable(&failure) && Instant::now() + pause < end => {
                    tracing::debug!(problem = failure.text(), "retrying a call of etcd");
                    sleep(pause).await;
                    pause = (pause * 2).min(PAUSE.1);
                }
                result => return result,
            }
        }
    }

    /// Returns the error of a write; the text says when the outcome is unknown.
    pub(crate) fn write_error(&self, failure: &Failure) -> StoreError {
        let unknown = match failure {
            Failure::Unknown(_) => "; the write may or may not have been made",
            _ => "",
        };
        StoreError::Unavailable(format!("{}: {}{unknown}", self.place, failure.text()))
    }

    /// Returns the error of a read.
    pub(crate) fn read_error(&self, failure: &Failure) -> StoreError {
        StoreError::Unavailable(format!("{}: {}", self.place, failure.text()))
    }
}

/// Returns the revision in the header of an answer.
pub(crate) fn header_revision(header: Option<&etcd_client::ResponseHeader>) -> Revision {
    Revision(header.map_or(0, |header| u64::try_from(header.revision()).unwrap_or_default()))
}

/// Converts a revision to etcd's type.
pub(crate) fn number(revision: Revision) -> i64 {
    i64::try_from(revision.0).unwrap_or(i64::MAX)
}
