//! One compiled policy for all placements with equal specs.

use std::collections::HashMap;
use std::collections::hash_map::DefaultHasher;
use std::fmt::{self, Write as _};
use std::hash::Hasher;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use super::Policy;
use crate::cel;
use crate::kind::PlacementSpec;

/// Number of entries at which unused policies are first removed.
const MIN_CLEANUP_SIZE: usize = 64;

/// The policies in use, by spec.
#[derive(Debug, Default)]
pub(crate) struct Policies(Mutex<Table>);

#[derive(Debug, Default)]
struct Table {
    /// The policies by the hash of their spec. Different specs may have the same hash.
    by_hash: HashMap<u64, Vec<Weak<Policy>>>,
    /// Number of hashes after the last removal of unused policies.
    used: usize,
}

impl Policies {
    /// The policy of `spec`. If no placement with an equal spec exists, it is compiled with expressions from
    /// `cache`.
    pub(crate) fn get_or_compile(&self, spec: PlacementSpec, cache: &cel::Cache) -> Arc<Policy> {
        let hash = hash(&spec);
        let mut table = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let alike = table.by_hash.get(&hash).into_iter().flatten();
        let known = alike.filter_map(Weak::upgrade).find(|policy| policy.spec == spec);
        if let Some(policy) = known {
            return policy;
        }
        table.remove_unused();
        let policy = Arc::new(Policy::compile(spec, cache));
        let alike = table.by_hash.entry(hash).or_default();
        // A weak reference keeps the memory of a dropped policy allocated.
        alike.retain(|policy| policy.strong_count() > 0);
        alike.push(Arc::downgrade(&policy));
        policy
    }
}

impl Table {
    /// Removes unused policies if the number of hashes has doubled since the last removal.
    fn remove_unused(&mut self) {
        if self.by_hash.len() < MIN_CLEANUP_SIZE.max(2 * self.used) {
            return;
        }
        self.by_hash.retain(|_, alike| {
            alike.retain(|policy| policy.strong_count() > 0);
            !alike.is_empty()
        });
        self.used = self.by_hash.len();
    }
}

/// The hash of `spec`, from its debug form, which has every field.
fn hash(spec: &PlacementSpec) -> u64 {
    let mut writer = HashWriter(DefaultHasher::new());
    // Hashing a text never fails.
    let _infallible = write!(writer, "{spec:?}");
    writer.0.finish()
}

/// Hashes the text that is written to it.
struct HashWriter(DefaultHasher);

impl fmt::Write for HashWriter {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.write(text.as_bytes());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(clusters: i32) -> PlacementSpec {
        PlacementSpec {
            number_of_clusters: Some(clusters),
            ..PlacementSpec::default()
        }
    }

    #[test]
    fn equal_specs_share_a_policy_while_one_is_in_use() {
        let (policies, cache) = (Policies::default(), cel::Cache::default());
        let one = policies.get_or_compile(spec(1), &cache);
        assert!(Arc::ptr_eq(&one, &policies.get_or_compile(spec(1), &cache)));
        assert!(!Arc::ptr_eq(&one, &policies.get_or_compile(spec(2), &cache)));
        for clusters in 0..10_000 {
            drop(policies.get_or_compile(spec(clusters), &cache));
        }
        for _ in 0..100 {
            drop(policies.get_or_compile(spec(5), &cache));
        }
        let table = policies.0.lock().unwrap();
        assert!(table.by_hash.len() <= MIN_CLEANUP_SIZE, "{}", table.by_hash.len());
        assert!(table.by_hash.values().all(|alike| alike.len() == 1));
        drop(table);
        assert!(Arc::ptr_eq(&one, &policies.get_or_compile(spec(1), &cache)));
    }
}
