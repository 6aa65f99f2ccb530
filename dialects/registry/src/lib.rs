//! The one list of all dialects. A sixth system is one folder beside this one and one line here.

mod settings;

use std::sync::Arc;

use dialect_contract::Dialect;

pub use settings::{Settings, location_cluster, synced_resource};

/// Every dialect, in the order of names.
#[must_use]
pub fn all() -> Vec<Arc<dyn Dialect>> {
    with(&Settings::default())
}

/// Every dialect, in the order of names, with these settings.
#[must_use]
pub fn with(settings: &Settings) -> Vec<Arc<dyn Dialect>> {
    vec![
        settings.fleet(),
        dialect_gardener::dialect(),
        settings.kcp(),
        dialect_ocm::dialect(),
        dialect_openmcp::dialect(),
    ]
}

/// The dialect called `name`.
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
        assert_eq!(names, ["fleet", "gardener", "kcp", "ocm", "openmcp"]);
        assert!(
            names
                .iter()
                .all(|name| by_name(name).is_some_and(|dialect| dialect.name() == *name))
        );
        assert!(by_name("nomad").is_none());
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
        for kind in all().iter().flat_map(|dialect| dialect.kinds()) {
            assert!(
                seen.insert(kind.info().resource()),
                "{:?}",
                kind.info().resource()
            );
        }
    }
}
