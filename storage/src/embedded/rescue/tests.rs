//! Intact records are rescued, whatever the damage elsewhere.

use berth_apimachinery::Key;
use tempfile::TempDir;

use super::*;
use crate::conformance::{create, thing};
use crate::embedded::EmbeddedStore;
use crate::history::Limits;
use crate::source::{Source, Writer};

fn open(file: &Path) -> Result<EmbeddedStore, StoreError> {
    EmbeddedStore::open(file, Limits::default())
}

fn rescue(file: &Path) -> Result<Rescue, StoreError> {
    Rescue::open(file, &Encryption::default())
}

async fn filled(file: &Path, count: i64) -> Vec<Key> {
    let store = open(file).unwrap();
    let keys: Vec<Key> = (0..count)
        .map(|index| thing("a", &format!("x{index:04}")))
        .collect();
    for (index, key) in (700_000..).zip(&keys) {
        store.apply(vec![create(key, index)]).await.unwrap();
    }
    keys
}

fn left(file: &Path) -> BTreeSet<String> {
    let store = open(file).unwrap();
    let objects = store.export().objects;
    objects.iter().map(|(key, _)| key.to_string()).collect()
}

/// Flips a bit in the stored value of the object with this number.
fn damage(file: &Path, number: i64) {
    let mut bytes = fs::read(file).unwrap();
    let text = number.to_string();
    let places: Vec<usize> = (0..bytes.len() - text.len())
        .filter(|&at| bytes[at..].starts_with(text.as_bytes()))
        .collect();
    assert!(!places.is_empty());
    for place in places {
        bytes[place] ^= 1;
    }
    fs::write(file, bytes).unwrap();
}

#[tokio::test]
async fn a_damaged_record_is_taken_out_by_name_and_every_other_is_kept() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("berth.redb");
    let keys = filled(&file, 200).await;
    let revision = open(&file).unwrap().revision();
    damage(&file, 700_042);
    assert!(open(&file).is_err());
    let found = rescue(&file).unwrap();
    let name = keys[42].to_string();
    assert_eq!(found.damaged().len(), 1);
    assert_eq!(found.damaged()[0].record, name);
    assert_eq!(found.objects(), 199);
    let unknown = BTreeSet::from(["things.none/a/b".to_owned()]);
    assert_eq!(found.unknown(&unknown), ["things.none/a/b"]);
    let before = found.write(&BTreeSet::new()).unwrap();
    drop(found);
    assert!(before.exists());
    let mut expected: BTreeSet<String> = keys.iter().map(Key::to_string).collect();
    expected.remove(&name);
    assert_eq!(left(&file), expected);
    assert!(open(&file).unwrap().revision() > revision);
    let again = rescue(&file).unwrap();
    assert_eq!((again.objects(), again.damaged().len()), (199, 0));
    let second = again.write(&BTreeSet::from([keys[0].to_string()])).unwrap();
    assert_ne!(second, before);
    drop(again);
    expected.remove(&keys[0].to_string());
    assert_eq!(left(&file), expected);
}

#[tokio::test]
async fn the_file_of_a_server_that_was_killed_is_mended_as_well() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("berth.redb");
    let killed = folder.path().join("killed.redb");
    let keys = filled(&file, 100).await;
    let store = open(&file).unwrap();
    let key = thing("a", "last");
    store.apply(vec![create(&key, 1)]).await.unwrap();
    // The file on disk before it is closed.
    fs::copy(&file, &killed).unwrap();
    drop(store);
    damage(&killed, 700_007);
    let found = rescue(&killed).unwrap();
    assert_eq!(found.objects(), 100);
    assert_eq!(found.damaged()[0].record, keys[7].to_string());
    assert!(found.is_complete());
    found.write(&BTreeSet::new()).unwrap();
    drop(found);
    let left = left(&killed);
    assert!(left.len() == 100 && left.contains(&key.to_string()) && !left.contains(&keys[7].to_string()));
}

#[tokio::test]
async fn pages_that_cannot_be_read_cost_what_is_on_them_only() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("berth.redb");
    let keys = filled(&file, 400).await;
    let original = fs::read(&file).unwrap();
    let pages = original.len() / 4096;
    let mut rescued = 0;
    for page in (1..pages).step_by(3) {
        let mut bytes = original.clone();
        bytes[page * 4096..(page + 1) * 4096].fill(0xa5);
        fs::write(&file, bytes).unwrap();
        if open(&file).is_ok() {
            continue;
        }
        // The page of the roots: without it nothing can be found, and the result says so.
        let Ok(found) = rescue(&file) else { continue };
        assert!(
            !found.problems().is_empty() || !found.damaged().is_empty(),
            "page {page}"
        );
        found.write(&BTreeSet::new()).unwrap();
        let whole = found.objects();
        drop(found);
        assert_eq!(left(&file).len(), whole);
        if whole > keys.len() * 3 / 4 && whole < keys.len() {
            rescued += 1;
        }
    }
    assert!(rescued > 3, "{rescued}");
}

#[tokio::test]
async fn a_file_that_is_open_elsewhere_is_left_alone() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("berth.redb");
    let keys = filled(&file, 3).await;
    let store = open(&file).unwrap();
    let refused = rescue(&file).err().unwrap().to_string();
    assert!(refused.contains("in use: stop the server first"), "{refused}");
    drop(store);
    let held = rescue(&file).unwrap();
    let refused = open(&file).err().unwrap().to_string();
    assert!(refused.contains("in use"), "{refused}");
    drop(held);
    assert_eq!(left(&file).len(), keys.len());
    assert!(rescue(&folder.path().join("none.redb")).is_err());
}
