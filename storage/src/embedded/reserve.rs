//! Reserved disk space, so that deletions succeed when the disk is full.
//!
//! A second file reserves the space. When the operating system has no room for a write, that file is removed
//! and the write repeated, so the current commit succeeds. From then on, only writes that need no additional
//! space are accepted, until there is room for the reserve again. redb cannot continue after a failed write,
//! so this module handles the full disk below redb.

use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind, Write as _};
use std::ops::Bound;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use redb::{BackendError, StorageBackend};

/// Size of the reserve: several times the largest batch of a commit, including its pages and redb's own
/// overhead.
pub(crate) const BYTES: u64 = 16 << 20;

/// Advice about a full disk.
const REMEDY: &str = "free space on the volume, make it larger, or delete objects: once the reserve fits on the disk again, all writes \
                      are accepted, without a restart";

/// State of the reserve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// No space is reserved: the store has not started, the file is an incomplete copy, or its file system
    /// has no support.
    None,
    /// The space is reserved.
    Held,
    /// The disk is full; the space, if there was any, is used.
    Spent,
}

/// The reserve of one database file.
#[derive(Debug)]
pub(crate) struct Reserve {
    path: PathBuf,
    bytes: u64,
    state: Mutex<State>,
}

impl Reserve {
    /// Opens the reserve of `bytes` for `file`, as an earlier process left it; empty if there was none.
    pub(crate) fn beside(file: &Path, bytes: u64) -> Arc<Self> {
        let mut name = file.as_os_str().to_owned();
        name.push(".reserve");
        let path = PathBuf::from(name);
        let is_whole = fs::metadata(&path).is_ok_and(|metadata| metadata.len() >= bytes);
        let state = if is_whole { State::Held } else { State::None };
        Arc::new(Self {
            path,
            bytes,
            state: Mutex::new(state),
        })
    }

    /// Reserves the space, unless it is already reserved. A full disk is recorded. A file system without
    /// support is logged, and the store continues without a reserve.
    pub(crate) fn hold(&self) {
        let mut state = self.state.lock();
        if *state == State::Held {
            return;
        }
        match self.allocate() {
            Ok(()) => {
                if *state == State::Spent {
                    tracing::info!("disk space is available again; accepting all writes");
                }
                *state = State::Held;
            }
            Err(error) => {
                self.remove();
                if is_full(&error) {
                    if *state != State::Spent {
                        tracing::error!(
                            file = %self.path.display(), %error,
                            "disk full: until space is freed, only deletions and updates that take no more space are accepted; {REMEDY}"
                        );
                    }
                    *state = State::Spent;
                } else {
                    tracing::warn!(
                        file = %self.path.display(), %error,
                        "cannot reserve disk space: if the disk fills up, even deletions will be rejected"
                    );
                }
            }
        }
    }

    /// Number of reserved bytes.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Whether the disk was full at the last check.
    pub(crate) fn is_spent(&self) -> bool {
        *self.state.lock() == State::Spent
    }

    /// Checks that there is room for writes other than deletions.
    ///
    /// # Errors
    /// A message about the missing space, with its remedy.
    pub(crate) fn room(&self) -> Result<(), String> {
        if !self.is_spent() {
            return Ok(());
        }
        Err(format!(
            "the disk is full: the {} MiB reserved in {} are used up, and only deletions, and updates that take no more space, are \
             accepted (others get 503); {REMEDY}",
            self.bytes >> 20,
            self.path.display()
        ))
    }

    /// Frees the space; `false` when there was none.
    fn spend(&self) -> bool {
        let mut state = self.state.lock();
        if *state != State::Held {
            return false;
        }
        self.remove();
        *state = State::Spent;
        drop(state);
        tracing::error!(
            file = %self.path.display(),
            "disk full: using the reserved space; until space is freed, only deletions and updates that take no more space are accepted; {REMEDY}"
        );
        true
    }

    fn allocate(&self) -> io::Result<()> {
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut file = options.open(&self.path)?;
        match rustix::fs::fallocate(&file, rustix::fs::FallocateFlags::empty(), 0, self.bytes) {
            Ok(()) => return Ok(()),
            Err(rustix::io::Errno::OPNOTSUPP | rustix::io::Errno::NOSYS) => {}
            Err(error) => return Err(error.into()),
        }
        let block = vec![0; 1 << 16];
        let mut left = self.bytes;
        while left > 0 {
            let part = usize::try_from(left).map_or(block.len(), |left| left.min(block.len()));
            file.write_all(&block[..part])?;
            left -= part as u64;
        }
        file.sync_all()
    }

    fn remove(&self) {
        match fs::remove_file(&self.path) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                tracing::warn!(file = %self.path.display(), %error, "cannot release the reserved disk space; delete the file to have its space");
            }
            _ => {}
        }
    }
}

fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded)
}

/// A file that uses the reserve when the disk is full.
#[derive(Debug)]
pub(crate) struct ReserveFile<B> {
    file: B,
    reserve: Arc<Reserve>,
}

impl<B> ReserveFile<B> {
    /// Creates `file` with `reserve` for a full disk.
    pub(crate) fn new(file: B, reserve: Arc<Reserve>) -> Self {
        Self { file, reserve }
    }

    /// Runs `work`, and repeats it with the space of the reserve when there was no room.
    fn with_room(&self, work: impl Fn() -> io::Result<()>) -> io::Result<()> {
        match work() {
            Err(error) if is_full(&error) && self.reserve.spend() => work(),
            result => result,
        }
    }
}

impl<B: StorageBackend> StorageBackend for ReserveFile<B> {
    fn len(&self) -> io::Result<u64> {
        self.file.len()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.file.read(offset, out)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.with_room(|| self.file.set_len(len))
    }

    /// A failed sync is not repeated: data that it did not write may be missing from the next one.
    fn sync_data(&self) -> io::Result<()> {
        self.file.sync_data()
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.with_room(|| self.file.write(offset, data))
    }

    fn close(&self) -> io::Result<()> {
        self.file.close()
    }

    fn try_lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        self.file.try_lock_range(start, end)
    }

    fn try_lock_shared_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        self.file.try_lock_shared_range(start, end)
    }

    fn lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.file.lock_range(start, end)
    }

    fn lock_shared_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.file.lock_shared_range(start, end)
    }

    fn unlock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.file.unlock_range(start, end)
    }

    fn query_lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        self.file.query_lock_range(start, end)
    }
}
