//! Tests of a store whose disk fails: no acknowledged write is lost, and no refused one is visible.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use redb::{StorageBackend, backends::FileBackend};
use tempfile::TempDir;

use super::reserve::{Reserve, ReserveFile};
use super::*;
use crate::conformance::{THINGS, create, delete, thing, update, value};
use crate::source::Scope;
use crate::step::Expect;

/// Size of the reserve in these tests.
const RESERVE: u64 = 4096;

/// A file that fails on request, for tests.
#[derive(Debug)]
struct FaultyFile {
    file: FileBackend,
    reserve: std::path::PathBuf,
    failure: Arc<AtomicU64>,
}

/// No failure.
const NONE: u64 = 0;
/// Failure of a full disk.
const FULL: u64 = 1;
/// Failure of every fsync.
const NO_SYNC: u64 = 2;
/// Failure of a disk that is full as long as the reserve exists.
const RESERVE_LEFT: u64 = 3;

impl FaultyFile {
    fn check(&self, failure: u64, error: io::ErrorKind) -> io::Result<()> {
        let now = self.failure.load(Ordering::SeqCst);
        let is_full = failure == FULL && now == RESERVE_LEFT && self.reserve.is_file();
        if now == failure || is_full {
            Err(error.into())
        } else {
            Ok(())
        }
    }
}

impl StorageBackend for FaultyFile {
    fn len(&self) -> io::Result<u64> {
        self.file.len()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.file.read(offset, out)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.check(FULL, io::ErrorKind::StorageFull)?;
        self.file.set_len(len)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.check(NO_SYNC, io::ErrorKind::Other)?;
        self.file.sync_data()
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.check(FULL, io::ErrorKind::StorageFull)?;
        self.file.write(offset, data)
    }

    fn close(&self) -> io::Result<()> {
        self.file.close()
    }
}

fn open(path: &Path) -> (EmbeddedStore, Arc<AtomicU64>) {
    let failure = Arc::new(AtomicU64::new(NONE));
    let file = std::fs::OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(path)
        .unwrap();
    let backend = FaultyFile {
        file: FileBackend::new(file).unwrap(),
        reserve: path.with_extension("redb.reserve"),
        failure: Arc::clone(&failure),
    };
    let reserve = Reserve::beside(path, RESERVE);
    let reserved = ReserveFile::new(backend, Arc::clone(&reserve));
    let create = |builder: &mut redb::Builder| builder.create_with_backend(reserved);
    let opened = disk::open_with("failing.redb", reserve, &Arc::default(), create).unwrap();
    (EmbeddedStore::start(opened, Limits::default()).unwrap(), failure)
}

/// Checks that a store with `injected_failure` refuses writes, and that a restart has every acknowledged
/// write.
async fn check_failure_and_restart(injected_failure: u64) {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("failing.redb");
    let (store, failure) = open(&path);
    let key = thing("a", "x");
    let first = store.apply(vec![create(&key, 1)]).await.unwrap()[0]
        .object
        .revision();
    let mut watch = store.watch(Scope::One(THINGS), first).unwrap();
    failure.store(injected_failure, Ordering::SeqCst);
    let result = store.apply(vec![update(&key, 2, Expect::Present)]).await;
    let Err(StoreError::Unavailable(why)) = result else {
        panic!("{result:?}")
    };
    assert!(why.contains("failing.redb") && why.contains("restart"), "{why}");
    assert_eq!(store.ready(), Err(NotReady::Failed(why)));
    assert_eq!(
        (
            store.revision(),
            value(store.cached(THINGS).get("a", "x").unwrap())
        ),
        (first, 1)
    );
    assert!(
        tokio::time::timeout(std::time::Duration::ZERO, watch.next(1))
            .await
            .is_err(),
        "nothing happened"
    );
    failure.store(NONE, Ordering::SeqCst);
    let later = store.apply(vec![create(&thing("a", "y"), 1)]).await;
    assert!(
        matches!(later, Err(StoreError::Unavailable(_))),
        "what the disk holds is uncertain: {later:?}"
    );
    drop(store);
    let (store, _) = open(&path);
    let object = Arc::clone(store.cached(THINGS).get("a", "x").unwrap());
    assert!(
        value(&object) == 1 || value(&object) == 2,
        "what was acknowledged, or what was in flight"
    );
    assert!(store.revision() >= first);
    let next = store.apply(vec![create(&thing("a", "z"), 3)]).await.unwrap()[0]
        .object
        .revision();
    assert!(next > first);
}

#[tokio::test]
async fn a_full_disk_takes_deletions_and_takes_all_again_when_there_is_room() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("failing.redb");
    let reserve = path.with_extension("redb.reserve");
    let (store, failure) = open(&path);
    assert_eq!(std::fs::metadata(&reserve).unwrap().len(), RESERVE);
    let key = |name: &str| thing("a", name);
    for name in ["x", "y", "z"] {
        store.apply(vec![create(&key(name), 1)]).await.unwrap();
    }
    failure.store(RESERVE_LEFT, Ordering::SeqCst);
    // The first write on the full disk uses the space of the reserve.
    store.apply(vec![create(&key("last"), 1)]).await.unwrap();
    assert!(!reserve.exists());
    // Another program has used the remaining space.
    std::fs::create_dir(&reserve).unwrap();
    let result = store.apply(vec![create(&key("more"), 1)]).await;
    let Err(StoreError::Unavailable(why)) = result else {
        panic!("{result:?}")
    };
    assert!(why.contains("failing.redb is full"), "{why}");
    assert_eq!(store.ready(), Ok(()), "a store that accepts deletions is ready");
    let problem = store.room().unwrap_err();
    assert!(
        problem.contains("failing.redb.reserve") && problem.contains("delete objects"),
        "{problem}"
    );
    store
        .apply(vec![delete(&key("x"), Expect::Present)])
        .await
        .unwrap();
    let other = vec![update(&key("y"), 2, Expect::Present)];
    store.apply(other).await.unwrap();
    std::fs::remove_dir(&reserve).unwrap();
    failure.store(NONE, Ordering::SeqCst);
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(30);
    while let Err(error) = store.apply(vec![create(&key("again"), 1)]).await {
        assert!(std::time::Instant::now() < deadline, "{error}");
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    assert_eq!(store.room(), Ok(()));
    drop(store);
    let (store, _) = open(&path);
    let things = store.cached(THINGS);
    let names: Vec<&str> = things.items.keys().map(|name| &*name.name).collect();
    assert_eq!(names, ["again", "last", "y", "z"]);
}

#[tokio::test]
async fn a_full_disk_refuses_writes_and_loses_nothing() {
    check_failure_and_restart(FULL).await;
}

#[tokio::test]
async fn a_failed_fsync_refuses_writes_and_loses_nothing() {
    check_failure_and_restart(NO_SYNC).await;
}
