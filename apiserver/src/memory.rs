//! Limit of the memory of all concurrent requests to the server: request bodies, the trees parsed from them,
//! and answers that are not read yet.
//!
//! Memory is charged to a *holder*: a user, all unauthenticated callers together, or a caller of the
//! admission webhooks. No holder gets more than a [`Share`], so that no holder can use up the memory of
//! others.

use std::collections::HashMap;
use std::sync::Arc;

use berth_apimachinery::Status;
use parking_lot::Mutex;

#[cfg(test)]
mod tests;

/// Minimal charge of every request, for its head, its task and its buffers.
pub const REQUEST: usize = 4 * 1024;

/// Charge of a long-running request, such as a watch: for the events of the next chunk, and for the buffers
/// of the connection.
pub const LONG_RUNNING: usize = 16 * 1024;

/// Charge of a watch for each byte of its selectors. It pays for the parsed selectors, and for comparing them
/// at each change.
pub const SELECTOR: usize = 64;

/// Size of bodies, in bytes, up to which the charge is at least that of one value for two bytes, in any
/// encoding.
const SMALL: usize = 2 * 1024;

/// Charge of each value of a parsed tree: the value itself, its key, and room for growth in lists and maps.
const NODE: usize = 72;

/// Charge of a field of a map, in values: JSON has two marks for it.
const FIELD: usize = 2;

/// Charge of a list with values, in values: a list has room for four values from its first value on.
const LIST: usize = 2;

/// Charge of a map with fields, in values. A map has room for eleven fields from its first field on, about
/// eight values; half of it is charged, so that a review of a write of 20,000 small maps fits a share.
const MAP: usize = 4;

/// Share of the whole memory that one holder may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Share {
    /// Unlimited share, for administrators, who must be able to end an overload. The memory is counted, but
    /// the requests are never refused.
    Exempt,
    /// The whole memory divided by this number.
    OneIn(usize),
}

impl Share {
    /// Share of one authenticated user.
    pub const USER: Self = Self::OneIn(8);
    /// Share of all unauthenticated callers together.
    pub const UNAUTHENTICATED: Self = Self::OneIn(16);

    fn of(self, limit: usize) -> usize {
        match self {
            Self::Exempt => usize::MAX,
            Self::OneIn(parts) => limit / parts.max(1),
        }
    }
}

/// Default memory of concurrent requests: 256 MiB.
pub const DEFAULT_BYTES: usize = 256 << 20;

/// Limit of the bytes of concurrent requests.
#[derive(Debug)]
pub struct ByteLimiter {
    limit: usize,
    usage: Mutex<Usage>,
}

#[derive(Debug, Default)]
struct Usage {
    all: usize,
    by_holder: HashMap<Arc<str>, usize>,
}

/// Bytes that are charged to a holder. Dropping the charge returns them.
#[derive(Debug)]
pub struct Charge {
    limiter: Arc<ByteLimiter>,
    holder: Arc<str>,
    share: Share,
    bytes: usize,
}

impl ByteLimiter {
    /// Creates a limit of `limit` bytes; 0 means no limit.
    #[must_use]
    pub fn new(limit: usize) -> Arc<Self> {
        Arc::new(Self {
            limit: if limit == 0 { usize::MAX } else { limit },
            usage: Mutex::default(),
        })
    }

    /// Charges `bytes` to `holder`.
    ///
    /// # Errors
    /// 413 when `bytes` exceed the share of the holder; 429 when other charges must be returned first.
    pub fn charge(self: &Arc<Self>, holder: &str, share: Share, bytes: usize) -> Result<Charge, Status> {
        let mut charge = self.empty_charge(holder, share);
        charge.grow(bytes)?;
        Ok(charge)
    }

    /// Creates a charge of no bytes, which can grow.
    #[must_use]
    pub fn empty_charge(self: &Arc<Self>, holder: &str, share: Share) -> Charge {
        Charge {
            limiter: Arc::clone(self),
            holder: holder.into(),
            share,
            bytes: 0,
        }
    }

    /// Number of bytes that are charged now.
    #[must_use]
    pub fn held(&self) -> usize {
        self.usage.lock().all
    }
}

impl Charge {
    /// Adds `bytes` to the charge.
    ///
    /// # Errors
    /// 413 when this charge alone would exceed the share of the holder; 429 when other charges must be
    /// returned first.
    pub fn grow(&mut self, bytes: usize) -> Result<(), Status> {
        let limit = self.limiter.limit;
        let share = self.share.of(limit);
        if self.share != Share::Exempt && self.bytes.saturating_add(bytes) > share {
            return Err(too_large(share));
        }
        let mut usage = self.limiter.usage.lock();
        let holder_bytes = usage.by_holder.get(&self.holder).copied().unwrap_or_default();
        let fits = holder_bytes.saturating_add(bytes) <= share && usage.all.saturating_add(bytes) <= limit;
        if !fits && self.share != Share::Exempt {
            drop(usage);
            return Err(full());
        }
        usage.add(&self.holder, bytes);
        self.bytes += bytes;
        Ok(())
    }

    /// Adds `bytes` that are already in memory and cannot be refused, such as the answer to a completed
    /// write. Later requests may be refused because of them.
    pub fn add(&mut self, bytes: usize) {
        self.limiter.usage.lock().add(&self.holder, bytes);
        self.bytes += bytes;
    }

    /// Reduces the charge to `bytes`, if it is larger.
    pub fn shrink_to(&mut self, bytes: usize) {
        let excess = self.bytes.saturating_sub(bytes);
        if excess > 0 {
            self.limiter.usage.lock().give_back(&self.holder, excess);
            self.bytes -= excess;
        }
    }

    /// Size of the charge, in bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Usage {
    fn add(&mut self, holder: &Arc<str>, bytes: usize) {
        if bytes > 0 {
            self.all += bytes;
            *self.by_holder.entry(Arc::clone(holder)).or_default() += bytes;
        }
    }

    fn give_back(&mut self, holder: &Arc<str>, bytes: usize) {
        self.all -= bytes;
        if let Some(own) = self.by_holder.get_mut(holder) {
            *own -= bytes;
            if *own == 0 {
                self.by_holder.remove(holder);
            }
        }
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        self.shrink_to(0);
    }
}

/// Returns the approximate size in bytes of the tree of values in `body`. In JSON and YAML, the number of
/// punctuation marks limits the number of values. A map without braces, in YAML, is charged only for its
/// fields, so a tree of many small maps may take about twice as much in JSON, and three times in YAML.
#[must_use]
pub fn tree_size(body: &[u8]) -> usize {
    let mut values = Values::default();
    values.add_text(body);
    values.size_in(body.len())
}

/// Values of the tree of a body, counted one by one for a body without punctuation marks. They are charged
/// like the JSON of the tree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Values(usize);

impl Values {
    /// Adds a field of a map, with its key.
    pub fn add_field(&mut self) {
        self.0 += FIELD;
    }

    /// Adds an item of a list.
    pub fn add_item(&mut self) {
        self.0 += 1;
    }

    /// Adds the room of a map with fields.
    pub fn add_map(&mut self) {
        self.0 += MAP;
    }

    /// Adds the room of a list with items.
    pub fn add_list(&mut self) {
        self.0 += LIST;
    }

    /// Adds the values in JSON or YAML.
    pub fn add_text(&mut self, text: &[u8]) {
        let following = text.iter().skip(1).chain(std::iter::once(&b'\n'));
        let marks = text.iter().zip(following);
        self.0 += marks.map(|(&mark, &next)| values_of(mark, next)).sum::<usize>();
    }

    /// Returns the approximate size in bytes of the tree with these values, of a body of `bytes` bytes.
    #[must_use]
    pub fn size_in(self, bytes: usize) -> usize {
        let size = bytes + self.0 * NODE;
        if bytes > SMALL {
            return size;
        }
        size.max(bytes * NODE / 2)
    }
}

/// Charge of the punctuation mark before `next`, in values; 0 for other bytes.
fn values_of(mark: u8, next: u8) -> usize {
    match (mark, next) {
        (b',' | b':' | b'\n', _) | (b'{', b'}') | (b'[', b']') => 1,
        (b'{', _) => MAP,
        // In YAML, a dash may begin a list.
        (b'[', _) | (b'-', b' ' | b'\t' | b'\r' | b'\n') => LIST,
        _ => 0,
    }
}

fn full() -> Status {
    Status::too_many_requests(
        "too many bytes are held by requests in flight (--max-bytes-inflight), please try again later",
        1,
    )
}

fn too_large(share: usize) -> Status {
    let mut status = Status::too_large(share);
    status.message = format!(
        "the request would hold more than {share} bytes of memory, which is the whole share of its \
         user (a part of --max-bytes-inflight); send less in one request"
    );
    status
}
