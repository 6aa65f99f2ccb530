//! Sets of fields that managers own (`fieldsV1` of managed fields). Equal sets are stored once: thousands of
//! objects have equal sets, which can be half of an object.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::ops::{Deref, Range};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

use super::outline::{Elements, Members};

/// Size in bytes below which a set is not worth sharing.
const MIN_SHARED: usize = 64;
/// Size in bytes above which sets of two objects are unlikely to be equal.
const MAX_SHARED: usize = 16 * 1024;
/// Number of shards of the pool, each with its own lock, so that lookups rarely wait for each other.
const SHARDS: usize = 16;
/// Lowest capacity to which a shard shrinks when most of its sets are removed.
const MIN_CAPACITY: usize = 64;

/// Finds the shared sets in `bytes`, as ranges. `managed` is the range of the list of managed fields.
pub(super) fn find(bytes: &[u8], managed: Range<usize>) -> Vec<Range<usize>> {
    let list = &bytes[managed.clone()];
    let mut found = Vec::new();
    for element in Elements::of(list) {
        let entry = &list[element.clone()];
        for (name, value) in Members::of(entry) {
            if entry[name] == *b"fieldsV1"
                && entry[value.start] == b'{'
                && (MIN_SHARED..=MAX_SHARED).contains(&value.len())
            {
                let start = managed.start + element.start;
                found.push(start + value.start..start + value.end);
            }
        }
    }
    found
}

/// A set that several objects share. It is removed from the pool when the last object is dropped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Set(Arc<[u8]>);

/// Returns the pool's copy of `set`, which is added if it is missing.
pub(super) fn share(set: &[u8]) -> Set {
    let hash = POOL.hasher.hash_one(set);
    Set(POOL.shard(hash).share(hash, set))
}

impl Deref for Set {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl Drop for Set {
    fn drop(&mut self) {
        // Two remaining references are usually this one and the reference of the pool. If two copies are
        // dropped at the same time, each may see the reference of the other copy. Then the set stays until
        // the shard is full.
        if Arc::strong_count(&self.0) == 2 {
            let hash = POOL.hasher.hash_one(&*self.0);
            POOL.shard(hash).remove(hash, &self.0);
        }
    }
}

/// Pool of the shared sets of all objects.
struct SetPool {
    hasher: RandomState,
    shards: [Mutex<Shard>; SHARDS],
}

static POOL: LazyLock<SetPool> = LazyLock::new(|| SetPool {
    hasher: RandomState::new(),
    shards: Default::default(),
});

impl SetPool {
    fn shard(&self, hash: u64) -> MutexGuard<'_, Shard> {
        let shard = &self.shards[hash as usize % SHARDS];
        // A panic while the shard was locked has left every set unchanged.
        shard.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A part of the pool: sets by their hash. If two sets have the same hash, the second one is not shared.
#[derive(Default)]
struct Shard(HashMap<u64, Arc<[u8]>>);

impl Shard {
    fn share(&mut self, hash: u64, set: &[u8]) -> Arc<[u8]> {
        if let Some(known) = self.0.get(&hash) {
            return match **known == *set {
                true => Arc::clone(known),
                false => set.into(),
            };
        }
        // Before a full shard grows, the sets that no object has are removed.
        if self.0.len() == self.0.capacity() {
            self.0.retain(|_, known| Arc::strong_count(known) > 1);
        }
        let new: Arc<[u8]> = set.into();
        self.0.insert(hash, Arc::clone(&new));
        new
    }

    /// Removes `set`, if only the caller and the pool refer to it.
    fn remove(&mut self, hash: u64, set: &Arc<[u8]>) {
        let is_known = self.0.get(&hash).is_some_and(|known| Arc::ptr_eq(known, set));
        // No other reference can appear now: new references come from the pool, which is locked, or from
        // another reference.
        if is_known && Arc::strong_count(set) == 2 {
            self.0.remove(&hash);
            if self.0.len() < self.0.capacity() / 8 {
                self.0.shrink_to((2 * self.0.len()).max(MIN_CAPACITY));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_sets_are_found_in_every_entry() {
        let set = format!(r#"{{"f:a\"]}}":{{}},"f:{}":{{}}}}"#, "b".repeat(MIN_SHARED));
        let list = format!(
            r#"[{{"fieldsType":"FieldsV1","fieldsV1":{set},"time":"t"}},{{"fieldsV1":{{"f:c":{{}}}}}},{{"manager":"m"}},{{"fieldsV1":{set}}}]"#
        );
        let bytes = format!("before{list}after");
        let found = find(bytes.as_bytes(), 6..6 + list.len());
        assert_eq!(found.len(), 2);
        for place in found {
            assert_eq!(bytes[place], set);
        }
        assert!(find(b"{}", 1..1).is_empty() && find(b"[]", 0..2).is_empty());
    }

    #[test]
    fn equal_sets_are_shared_until_the_last_one_is_dropped() {
        let text = b"a set that no other test has";
        let hash = POOL.hasher.hash_one(&text[..]);
        let is_known = || POOL.shard(hash).0.contains_key(&hash);
        let first = share(text);
        let second = share(text);
        assert!(Arc::ptr_eq(&first.0, &second.0) && *first == *text);
        drop(first);
        assert!(is_known());
        drop(second.clone());
        assert!(is_known());
        drop(second);
        assert!(!is_known());
    }

    #[test]
    fn sets_with_equal_hashes_are_not_confused() {
        let mut shard = Shard::default();
        let first = shard.share(7, b"one");
        let other = shard.share(7, b"two");
        assert_eq!((&*first, &*other), (&b"one"[..], &b"two"[..]));
        shard.remove(7, &other);
        assert!(Arc::ptr_eq(&first, &shard.share(7, b"one")));
        shard.remove(7, &first);
        assert!(shard.0.is_empty());
    }

    #[test]
    fn a_full_shard_is_searched_only_before_it_grows() {
        let mut shard = Shard::default();
        let known = shard.share(0, b"known");
        for hash in 1.. {
            if shard.0.len() == shard.0.capacity() {
                break;
            }
            drop(shard.share(hash, b"of no object"));
        }
        let full = shard.0.len();
        assert!(full > 1);
        assert!(Arc::ptr_eq(&known, &shard.share(0, b"known")));
        assert_eq!(shard.0.len(), full);
        let _new = shard.share(u64::MAX, b"new");
        assert_eq!(shard.0.len(), 2);
    }

    #[test]
    fn a_shard_shrinks_when_its_sets_are_removed() {
        let mut shard = Shard::default();
        let sets: Vec<_> = (0..10_000_u32)
            .map(|number| {
                (
                    u64::from(number),
                    shard.share(number.into(), &number.to_le_bytes()),
                )
            })
            .collect();
        for (hash, set) in &sets {
            shard.remove(*hash, set);
        }
        assert!(shard.0.is_empty() && shard.0.capacity() < 10 * MIN_CAPACITY);
    }
}
