//! Names that become known at run time: names of kinds that a file defines, and of resources in a store.
//!
//! Names of kinds are part of every key of every object, and every request compares them. So they are static
//! references, which are copied without reference counting. A name from outside the program is stored here
//! once, until the process ends: defining a kind again needs no more memory. Definitions come from operators;
//! names from requests are never stored.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

static TEXTS: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
static LISTS: Mutex<BTreeSet<&'static [&'static str]>> = Mutex::new(BTreeSet::new());

/// Returns the only reference to `text`.
#[must_use]
pub fn of(text: &str) -> &'static str {
    intern(&TEXTS, text, || Box::leak(text.to_owned().into_boxed_str()))
}

/// Returns the only reference to a list of `texts`.
#[must_use]
pub fn list<T: AsRef<str>>(texts: &[T]) -> &'static [&'static str] {
    let texts: Vec<&'static str> = texts.iter().map(|text| of(text.as_ref())).collect();
    intern(&LISTS, &texts[..], || Box::leak(texts.clone().into_boxed_slice()))
}

/// Returns the reference in `interned` to a value equal to `value`; `create` returns a new one if it is
/// missing.
fn intern<T: Ord + ?Sized>(
    interned: &Mutex<BTreeSet<&'static T>>,
    value: &T,
    create: impl FnOnce() -> &'static T,
) -> &'static T {
    let mut interned = interned.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(found) = interned.get(value) {
        return found;
    }
    let new = create();
    interned.insert(new);
    new
}

#[cfg(test)]
mod tests {
    use std::ptr;

    use super::*;

    #[test]
    fn equal_names_are_one_and_the_same() {
        let read = String::from("gizmos");
        let (first, second) = (of("gizmos"), of(&read));
        assert!(ptr::eq(first, second));
        let (first, second) = (list(&["v1", "v2"]), list(&["v1".to_owned(), "v2".to_owned()]));
        assert!(ptr::eq(first, second));
        assert_ne!(list(&["v1"]), first);
    }
}
