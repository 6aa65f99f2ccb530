//! Lists of computed resources: the names are known in order, and an object is computed only for its page.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use berth_apimachinery::{Object, Revision, Status};
use berth_storage::Name;
use moka::policy::EvictionPolicy;
use moka::sync::Cache;
use uuid::Uuid;

/// The objects of a computed list. One listing serves all pages of a list, so it does not change.
pub trait Listing: Send + Sync {
    /// Number of objects.
    fn len(&self) -> usize;

    /// Whether the listing is empty.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Revision of the list.
    fn revision(&self) -> Revision;

    /// Namespace and name of the object at `index`. The names are in ascending order.
    fn name(&self, index: usize) -> Name;

    /// The object at `index`.
    ///
    /// # Errors
    /// The `Status` that the client receives.
    fn object(&self, index: usize) -> Result<Arc<Object>, Status>;

    /// Appends the objects at `indices` to `out` as JSON, with commas between them; each has the same bytes
    /// as the result of [`Listing::object`]. Listings that cannot do this without computing each object
    /// return `false` and append nothing.
    ///
    /// # Errors
    /// The `Status` that the client receives.
    fn write(&self, _indices: Range<usize>, _out: &mut Vec<u8>) -> Result<bool, Status> {
        Ok(false)
    }

    /// Approximate number of bytes that the listing occupies in the cache.
    fn bytes(&self) -> usize;
}

/// Listing of objects that are sorted by namespace and name.
impl Listing for Vec<Arc<Object>> {
    fn len(&self) -> usize {
        self.len()
    }

    fn revision(&self) -> Revision {
        let newest = self.iter().map(|object| object.revision()).max();
        newest.unwrap_or(Revision(1))
    }

    fn name(&self, index: usize) -> Name {
        let meta = self[index].meta();
        Name::new(meta.namespace(), meta.name())
    }

    fn object(&self, index: usize) -> Result<Arc<Object>, Status> {
        Ok(Arc::clone(&self[index]))
    }

    fn bytes(&self) -> usize {
        self.iter().map(|object| object.len()).sum()
    }
}

/// Returns the index of the first object after `last`.
pub(crate) fn following(listing: &dyn Listing, last: &Name) -> usize {
    let (mut low, mut high) = (0, listing.len());
    while low < high {
        let middle = low + (high - low) / 2;
        if listing.name(middle) <= *last {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}

/// Longest time between two pages of a list. kube-apiserver serves further pages at least as long.
const IDLE_TIME: Duration = Duration::from_mins(5);

/// Highest total size of cached listings, in bytes. The least recently read listing is dropped first.
const CACHE_LIMIT: u32 = 8 * 1024 * 1024;

#[derive(Clone)]
struct CachedListing {
    /// Identity of the list and the reader. Other readers do not get the listing.
    identity: Arc<str>,
    listing: Arc<dyn Listing>,
}

/// Listings with further pages, by the number in their continue tokens.
pub(crate) struct Listings {
    cache: Cache<u64, CachedListing>,
}

impl Listings {
    pub(crate) fn new() -> Self {
        // A listing above the limit is also cached: it replaces all others.
        let weigh = |_: &u64, cached: &CachedListing| {
            u32::try_from(cached.listing.bytes()).map_or(CACHE_LIMIT, |bytes| bytes.min(CACHE_LIMIT))
        };
        Self {
            cache: Cache::builder()
                .time_to_idle(IDLE_TIME)
                .weigher(weigh)
                .max_capacity(CACHE_LIMIT.into())
                // The default policy drops the least frequently used entry, which a new entry is; but the new
                // entry is needed next.
                .eviction_policy(EvictionPolicy::lru())
                .build(),
        }
    }

    /// Frees expired and surplus listings. Without this call they would stay until the next listing is
    /// cached.
    pub(crate) fn tidy(&self) {
        self.cache.run_pending_tasks();
    }

    /// Caches `listing` for the next pages of the list and reader with `identity`. Returns the number of the
    /// listing, for continue tokens. Numbers are random, so that a continue token from another process, or
    /// from before a restart, finds no listing here.
    pub(crate) fn keep(&self, identity: &str, listing: Arc<dyn Listing>) -> u64 {
        let number = Uuid::new_v4().as_u64_pair().0;
        let cached = CachedListing {
            identity: identity.into(),
            listing,
        };
        self.cache.insert(number, cached);
        self.tidy();
        number
    }

    /// Returns the listing with `number`, if it is cached for `identity`.
    pub(crate) fn get(&self, number: u64, identity: &str) -> Option<Arc<dyn Listing>> {
        let cached = self.cache.get(&number)?;
        (*cached.identity == *identity).then_some(cached.listing)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn listing() -> Vec<Arc<Object>> {
        let object = |name: &str| {
            let value =
                json!({"apiVersion": "v1", "kind": "X", "metadata": {"name": name, "namespace": "n"}});
            Arc::new(Object::new(&value, Revision(7)).unwrap())
        };
        ["b", "d", "f"].map(object).to_vec()
    }

    #[test]
    fn a_page_begins_after_the_last_name_whether_it_is_still_there_or_not() {
        let listing = listing();
        for (last, index) in [("a", 0), ("b", 1), ("c", 1), ("e", 2), ("f", 3), ("g", 3)] {
            assert_eq!(following(&listing, &Name::new("n", last)), index, "{last}");
        }
        assert_eq!(following(&Vec::new(), &Name::new("n", "a")), 0);
    }

    struct Large;

    impl Listing for Large {
        fn len(&self) -> usize {
            0
        }

        fn revision(&self) -> Revision {
            Revision(1)
        }

        fn name(&self, _: usize) -> Name {
            unreachable!("it is empty")
        }

        fn object(&self, _: usize) -> Result<Arc<Object>, Status> {
            unreachable!("it is empty")
        }

        fn bytes(&self) -> usize {
            CACHE_LIMIT as usize / 4
        }
    }

    #[test]
    fn what_was_left_unread_for_longest_makes_room_for_what_is_new() {
        let listings = Listings::new();
        let numbers: Vec<u64> = (0..100)
            .map(|_| listings.keep("ann /x", Arc::new(Large)))
            .collect();
        let remaining = numbers
            .iter()
            .map(|&number| listings.get(number, "ann /x").is_some());
        assert_eq!(
            remaining.collect::<Vec<_>>(),
            [[false; 96].as_slice(), &[true; 4]].concat()
        );
    }

    #[test]
    fn a_listing_is_found_by_its_number_and_by_who_asked_alone() {
        let listings = Listings::new();
        let number = listings.keep("ann /x", Arc::new(listing()));
        assert_eq!(listings.get(number, "ann /x").unwrap().len(), 3);
        assert!(listings.get(number, "bob /x").is_none());
        assert!(listings.get(number ^ 1, "ann /x").is_none());
    }
}
