//! Sets of fields that managers own (`fieldsV1` of managed fields), each stored once: thousands of objects
//! have equal sets, which can be half of an object.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::ops::{Deref, Range};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

use super::outline::{Elements, Members};

/// Size in bytes below which a set is not worth sharing.
const LEAST: usize = 64;
/// Size in bytes above which sets of two objects are unlikely to be equal.
const MOST: usize = 16 * 1024;
/// Number of parts of the pool, so that lookups rarely wait for each other.
const PARTS: usize = 16;
/// Least capacity that a part of the pool keeps when most of its sets are removed.
const ROOM: usize = 64;

/// Finds the shared sets in `bytes`, as ranges. `managed` is the range of the list of managed fields.
pub(super) fn find(bytes: &[u8], managed: Range<usize>) -> Vec<Range<usize>> {
    let list = &bytes[managed.clone()];
    let mut found = Vec::new();
    for element in Elements::of(list) {
        let entry = &list[element.clone()];
        for (name, value) in Members::of(entry) {
            if entry[name] == *b"fieldsV1"
                && entry[value.start] == b'{'
                && (LEAST..=MOST).contains(&value.len())
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
    Set(POOL.part(hash).share(hash, set))
}

impl Deref for Set {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl Drop for Set {
    fn drop(&mut self) {
        // If two references remain, they are mostly this one and the reference of the pool. If two copies are
        // dropped at the same time, each may see the reference of the other. The set is then removed when the
        // pool needs room.
        if Arc::strong_count(&self.0) == 2 {
            let hash = POOL.hasher.hash_one(&*self.0);
            POOL.part(hash).forget(hash, &self.0);
        }
    }
}

/// Pool of the shared sets of all objects.
struct SetPool {
    hasher: RandomState,
    parts: [Mutex<Part>; PARTS],
}

static POOL: LazyLock<SetPool> = LazyLock::new(|| SetPool {
    hasher: RandomState::new(),
    parts: Default::default(),
});

impl SetPool {
    fn part(&self, hash: u64) -> MutexGuard<'_, Part> {
        let part = &self.parts[hash as usize % PARTS];
        // A panic while the part was locked has left every set unchanged.
        part.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Sets by their hash: if two sets have the same hash, the second is not shared.
#[derive(Default)]
struct Part(HashMap<u64, Arc<[u8]>>);

impl Part {
    fn share(&mut self, hash: u64, set: &[u8]) -> Arc<[u8]> {
        if self.0.len() == self.0.capacity() {
            self.0.retain(|_, known| Arc::strong_count(known) > 1);
        }
        let known = self.0.entry(hash).or_insert_with(|| set.into());
        match **known == *set {
            true => Arc::clone(known),
            false => set.into(),
        }
    }

    /// Removes `set`, if only the caller and the pool refer to it.
    fn forget(&mut self, hash: u64, set: &Arc<[u8]>) {
        let is_known = self.0.get(&hash).is_some_and(|known| Arc::ptr_eq(known, set));
        // No other reference can appear now: new references come from the pool, which is locked, or from
        // another reference.
        if is_known && Arc::strong_count(set) == 2 {
            self.0.remove(&hash);
            if self.0.len() < self.0.capacity() / 8 {
                self.0.shrink_to((2 * self.0.len()).max(ROOM));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_are_found_in_every_entry_where_they_are_worth_it() {
        let set = format!(r#"{{"f:a\"]}}":{{}},"f:{}":{{}}}}"#, "b".repeat(LEAST));
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
    fn equal_sets_share_their_room_until_nobody_has_them() {
        let text = b"a set that no other test has";
        let hash = POOL.hasher.hash_one(&text[..]);
        let is_known = || POOL.part(hash).0.contains_key(&hash);
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
    fn of_two_sets_with_one_hash_each_stays_what_it_is() {
        let mut part = Part::default();
        let first = part.share(7, b"one");
        let other = part.share(7, b"two");
        assert_eq!((&*first, &*other), (&b"one"[..], &b"two"[..]));
        part.forget(7, &other);
        assert!(Arc::ptr_eq(&first, &part.share(7, b"one")));
        part.forget(7, &first);
        assert!(part.0.is_empty());
    }

    #[test]
    fn room_for_many_sets_goes_with_them() {
        let mut part = Part::default();
        let sets: Vec<_> = (0..10_000_u32)
            .map(|number| {
                (
                    u64::from(number),
                    part.share(number.into(), &number.to_le_bytes()),
                )
            })
            .collect();
        for (hash, set) in &sets {
            part.forget(*hash, set);
        }
        assert!(part.0.is_empty() && part.0.capacity() < 10 * ROOM);
    }
}
