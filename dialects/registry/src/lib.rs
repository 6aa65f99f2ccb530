//! The only list of all dialects. A further system needs one folder, and one line in this list; other
//! programs add further systems with [`register`].
//!
//! ```
//! let names: Vec<&str> = berth_dialect_registry::all().iter().map(|dialect| dialect.name()).collect();
//! assert_eq!(names, ["fleet", "gardener", "karmada", "kcp", "ocm", "openmcp"]);
//! ```

mod flags;
mod settings;

use std::sync::Arc;

use berth_dialect_contract::Dialect;
use parking_lot::RwLock;

pub use flags::{ActorArgs, LEAVE_OUT_SECRETS, SyncedResourcesError};
pub use settings::Settings;

/// Every dialect, in the order of names.
#[must_use]
pub fn all() -> Vec<Arc<dyn Dialect>> {
    with(&Settings::default())
}

/// Every dialect with `settings`, in the order of names.
#[must_use]
pub fn with(settings: &Settings) -> Vec<Arc<dyn Dialect>> {
    let mut all = built_in(settings);
    all.extend(REGISTERED.read().iter().cloned());
    all.sort_by_key(|dialect| dialect.name());
    all
}

/// The dialects of this repository with `settings`, in the order of names.
fn built_in(settings: &Settings) -> Vec<Arc<dyn Dialect>> {
    vec![
        settings.fleet(),
        berth_dialect_gardener::dialect(),
        berth_dialect_karmada::dialect(),
        settings.kcp(),
        berth_dialect_ocm::dialect(),
        berth_dialect_openmcp::dialect(),
    ]
}

/// Dialects that a program has registered.
static REGISTERED: RwLock<Vec<Arc<dyn Dialect>>> = RwLock::new(Vec::new());

/// The error of a registration under the name of an existing system.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is a system called {0:?} already: register the dialect under another name")]
pub struct DuplicateNameError(pub &'static str);

/// Adds a system to the list. Earlier copies of the list do not include the system, so a program should
/// register its systems first.
///
/// # Errors
/// When there is a system with that name.
pub fn register(dialect: Arc<dyn Dialect>) -> Result<(), DuplicateNameError> {
    let name = dialect.name();
    let built_in = built_in(&Settings::default());
    // Held from the check to the addition, so that of two registrations at once only one succeeds.
    let mut registered = REGISTERED.write();
    let mut known = built_in.iter().chain(registered.iter());
    if known.any(|known| known.name() == name) {
        return Err(DuplicateNameError(name));
    }
    registered.push(dialect);
    Ok(())
}

/// The dialect named `name`.
#[must_use]
pub fn by_name(name: &str) -> Option<Arc<dyn Dialect>> {
    all().into_iter().find(|dialect| dialect.name() == name)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn dialects_stand_in_the_order_of_their_names() {
        let names: Vec<&str> = all().iter().map(|dialect| dialect.name()).collect();
        assert_eq!(names, ["fleet", "gardener", "karmada", "kcp", "ocm", "openmcp"]);
        assert!(
            names
                .iter()
                .all(|name| by_name(name).is_some_and(|dialect| dialect.name() == *name))
        );
        assert!(by_name("nomad").is_none());
        assert_eq!(
            register(berth_dialect_ocm::dialect()),
            Err(DuplicateNameError("ocm"))
        );
    }

    #[test]
    fn every_dialect_reads_what_it_places_and_where() {
        for dialect in all() {
            let reads = dialect.reads();
            assert!(reads.contains(&dialect.target()), "{}", dialect.name());
            assert!(
                dialect
                    .demands()
                    .iter()
                    .all(|demand| reads.contains(&demand.resource)),
                "{}",
                dialect.name()
            );
        }
    }

    #[test]
    fn no_two_kinds_share_a_resource() {
        let mut seen = BTreeSet::new();
        for kind in all().iter().flat_map(|dialect| dialect.stored_kinds()) {
            assert!(
                seen.insert(kind.info().resource()),
                "{:?}",
                kind.info().resource()
            );
        }
    }
}
