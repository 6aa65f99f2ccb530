//! Names that become known at run time: names of kinds that a file defines, and of resources in a store.
//!
//! Names of kinds are part of every key of every object, and every request compares them. So they are static
//! references, which are copied without reference counting. A name from outside the program is stored here
//! once, until the process ends: defining a kind again needs no more memory. Only names from operators
//! (definitions, flags, configurations, the store) may be stored here, not names that any client can choose,
//! since a client could fill the memory with them.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

static TEXTS: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
static LISTS: Mutex<BTreeSet<&'static [&'static str]>> = Mutex::new(BTreeSet::new());

/// Returns the static reference to `text`: equal texts have the same reference.
#[must_use]
pub fn intern(text: &str) -> &'static str {
    find_or_insert(&TEXTS, text, || Box::leak(text.to_owned().into_boxed_str()))
}

/// Returns the static reference to the list of `texts`: equal lists have the same reference.
#[must_use]
pub fn intern_list<T: AsRef<str>>(texts: &[T]) -> &'static [&'static str] {
    let texts: Vec<&'static str> = texts.iter().map(|text| intern(text.as_ref())).collect();
    find_or_insert(&LISTS, &texts[..], || Box::leak(texts.clone().into_boxed_slice()))
}

/// Returns the reference in `interned` to a value equal to `value`; `create` returns a new one if it is
/// missing.
fn find_or_insert<T: Ord + ?Sized>(
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
    fn equal_names_have_the_same_reference() {
        let read = String::from("gizmos");
        let (first, second) = (intern("gizmos"), intern(&read));
        assert!(ptr::eq(first, second));
        let (first, second) = (
            intern_list(&["v1", "v2"]),
            intern_list(&["v1".to_owned(), "v2".to_owned()]),
        );
        assert!(ptr::eq(first, second));
        assert_ne!(intern_list(&["v1"]), first);
    }
}
