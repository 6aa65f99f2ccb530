//! Single flipped bits anywhere in a database file: detected, or without any effect. Never silently different
//! objects.

#![expect(clippy::unwrap_used, reason = "in a test, an unwrap is an assertion")]

use std::collections::BTreeMap;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use berth_storage::conformance::{THINGS, create, delete, thing, update, value};
use berth_storage::embedded::EmbeddedStore;
use berth_storage::{Expect, Limits, Source, StoreError, Writer};
use tempfile::TempDir;

const PAGE: usize = 4096;
const HEADER: usize = 320;

/// Content of a store: name to revision and value, and the store's revision.
type Shown = (BTreeMap<String, (u64, i64)>, u64);

fn shown(store: &EmbeddedStore) -> Shown {
    let listed = store.cached(THINGS);
    let objects = listed.iter(None, None).map(|(name, object)| {
        (
            format!("{}/{}", name.namespace, name.name),
            (object.revision().0, value(object)),
        )
    });
    (objects.collect(), listed.revision.0)
}

fn open(file: &Path) -> Result<EmbeddedStore, StoreError> {
    EmbeddedStore::open(file, Limits::default())
}

async fn write_some(store: &EmbeddedStore, from: i64, count: i64) {
    for index in from..from + count {
        let key = thing(if index % 2 == 0 { "a" } else { "b" }, &format!("x{index}"));
        store.apply(vec![create(&key, index)]).await.unwrap();
        if index % 3 == 0 {
            store
                .apply(vec![update(&key, index + 1000, Expect::Present)])
                .await
                .unwrap();
        }
        if index % 5 == 0 {
            store.apply(vec![delete(&key, Expect::Present)]).await.unwrap();
        }
    }
}

/// One bit in every byte of the header and in three bytes of every page in use; every bit of the flags.
fn bits(bytes: &[u8]) -> Vec<usize> {
    let mut bits: Vec<usize> = (0..HEADER).map(|byte| byte * 8 + byte % 8).collect();
    bits.extend(9 * 8..10 * 8);
    for (index, page) in bytes.chunks(PAGE).enumerate().skip(1) {
        let used: Vec<usize> = (0..page.len()).filter(|&byte| page[byte] != 0).collect();
        let picked = (0..3).filter_map(|part| used.get(part * used.len() / 3));
        bits.extend(picked.map(|byte| (index * PAGE + byte) * 8 + byte % 8));
    }
    bits.sort_unstable();
    bits.dedup();
    bits
}

/// Opens `file`; its content must be `expected`, also after more writes and another open.
async fn same_or_refused(file: &Path, expected: &Shown) -> Result<(), StoreError> {
    let store = open(file)?;
    assert_eq!(&shown(&store), expected, "silently different");
    write_some(&store, 100_000, 6).await;
    let after = shown(&store);
    drop(store);
    let again = open(file).expect("what was accepted once stays readable");
    assert_eq!(shown(&again), after, "a later write destroyed something");
    Ok(())
}

/// Number of bits that caused a refusal, and number of bits without effect.
fn try_bits(original: &[u8], expected: &Shown, bits: &[usize]) -> [usize; 2] {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("flipped.redb");
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let [mut refused, mut harmless] = [0; 2];
    for &bit in bits {
        let mut bytes = original.to_vec();
        bytes[bit / 8] ^= 1 << (bit % 8);
        fs::write(&file, &bytes).unwrap();
        let result = catch_unwind(AssertUnwindSafe(|| {
            runtime.block_on(same_or_refused(&file, expected))
        }));
        match result {
            Ok(Ok(())) => harmless += 1,
            Ok(Err(error @ (StoreError::Corrupt { .. } | StoreError::Unavailable(_)))) => {
                assert!(
                    error.to_string().contains("flipped.redb"),
                    "the file is named: {error}"
                );
                refused += 1;
            }
            Ok(Err(error)) => panic!("byte {}, bit {}: {error}", bit / 8, bit % 8),
            Err(_) => panic!("byte {}, bit {}: see above", bit / 8, bit % 8),
        }
    }
    [refused, harmless]
}

#[test]
fn a_flipped_bit_is_noticed_or_harmless() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("berth.redb");
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let store = open(&file).unwrap();
    runtime.block_on(write_some(&store, 0, 60));
    let expected = shown(&store);
    drop(store);
    let original = fs::read(&file).unwrap();
    let bits = bits(&original);
    let (left, right) = bits.split_at(bits.len() / 2);
    let counts = std::thread::scope(|scope| {
        let other = scope.spawn(|| try_bits(&original, &expected, right));
        let ours = try_bits(&original, &expected, left);
        let theirs = other.join().expect("no bit got through");
        [0, 1].map(|index| ours[index] + theirs[index])
    });
    assert!(
        counts[0] > 100,
        "the bits were meant to hit something: {counts:?}"
    );
}

#[test]
fn a_flipped_bit_in_a_record_is_refused_by_the_name_of_the_record() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("berth.redb");
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let store = open(&file).unwrap();
    runtime.block_on(write_some(&store, 0, 20));
    runtime
        .block_on(store.apply(vec![create(&thing("a", "marked"), 987_654_321)]))
        .unwrap();
    drop(store);
    let mut bytes = fs::read(&file).unwrap();
    let mark = b"987654321";
    // Freed pages may still have copies of the record: all are damaged, so the live one is too.
    let copies: Vec<usize> = (0..bytes.len() - mark.len())
        .filter(|at| bytes[*at..].starts_with(mark))
        .collect();
    assert!(!copies.is_empty());
    for at in copies {
        bytes[at] ^= 1;
    }
    fs::write(&file, &bytes).unwrap();
    match open(&file).err() {
        Some(StoreError::Corrupt { file, key, .. }) => {
            assert!(file.ends_with("berth.redb"), "{file}");
            assert_eq!(key, "record things.conformance.example/a/marked");
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_file_that_is_no_database_is_refused_by_name() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("berth.redb");
    fs::write(&file, "apiVersion: v1\n".repeat(1000)).unwrap();
    let error = open(&file).err().unwrap();
    assert!(matches!(error, StoreError::Corrupt { .. }), "{error}");
    assert!(
        error.to_string().contains("berth.redb") && error.to_string().contains("backup"),
        "{error}"
    );
}

#[test]
fn a_shortened_file_is_refused() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("berth.redb");
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let store = open(&file).unwrap();
    runtime.block_on(write_some(&store, 0, 10));
    drop(store);
    let bytes = fs::read(&file).unwrap();
    for length in [100, PAGE, bytes.len() / 2, bytes.len() - 1] {
        fs::write(&file, &bytes[..length]).unwrap();
        let error = open(&file).err().unwrap();
        assert!(matches!(error, StoreError::Corrupt { .. }), "{length}: {error}");
    }
}
