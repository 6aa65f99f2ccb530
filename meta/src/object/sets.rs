//! The sets of fields that managers own (`fieldsV1` of managed fields), each kept once: thousands of objects have the same,
//! and they can be half of an object.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use super::outline::{Elements, Members};

/// Smaller sets are not worth a place of their own.
const LEAST: usize = 64;
/// Larger ones are hardly those of another object.
const MOST: usize = 16 * 1024;
/// So many bytes of new sets are kept, at least, before it is looked for those that no object has any more.
const ROOM: usize = 1 << 20;

/// The sets in `bytes` that are kept once, by their places. `managed` is where the list of managed fields stands.
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

/// `set`, in the room of an equal one.
pub(super) fn shared(set: &[u8]) -> Arc<[u8]> {
    static KNOWN: OnceLock<Mutex<Known>> = OnceLock::new();
    let known = KNOWN.get_or_init(Mutex::default);
    // A panic in between leaves every set as it is.
    let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
    known.shared(set)
}

#[derive(Default)]
struct Known {
    sets: HashSet<Arc<[u8]>>,
    bytes: usize,
    /// At how many bytes it is looked for what nobody has any more.
    full: usize,
}

impl Known {
    fn shared(&mut self, set: &[u8]) -> Arc<[u8]> {
        if let Some(known) = self.sets.get(set) {
            return Arc::clone(known);
        }
        if self.bytes + set.len() > self.full {
            self.sweep();
        }
        let new: Arc<[u8]> = set.into();
        self.bytes += new.len();
        self.sets.insert(Arc::clone(&new));
        new
    }

    /// Lets go what no object has. What is left may double before the next time, so a set costs no more than a constant.
    fn sweep(&mut self) {
        self.sets.retain(|set| Arc::strong_count(set) > 1);
        self.bytes = self.sets.iter().map(|set| set.len()).sum();
        self.full = ROOM.max(2 * self.bytes);
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
        let mut known = Known::default();
        let first = known.shared(b"one");
        assert!(Arc::ptr_eq(&first, &known.shared(b"one")));
        drop(known.shared(b"two"));
        assert_eq!((known.sets.len(), known.bytes), (2, 6));
        known.sweep();
        assert_eq!((known.sets.len(), known.bytes, known.full), (1, 3, ROOM));
        let large = vec![b'x'; ROOM];
        drop(known.shared(&large));
        drop(known.shared(b"three"));
        assert!(known.bytes < ROOM, "what nobody has went when there was no room");
        assert!(Arc::ptr_eq(&first, &known.shared(b"one")));
    }
}
