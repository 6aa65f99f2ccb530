//! Catalog of the kinds that the commands read from files and hubs.

use std::sync::Arc;

use berth_dialect_contract::Dialect;
use berth_engine::Catalog;
use berth_kubernetes::core;

/// Creates the catalog of Kubernetes' own kinds, the kinds of `dialects`, and SchedulerConfiguration.
#[must_use]
pub fn catalog(dialects: &[Arc<dyn Dialect>]) -> Catalog {
    let kinds = dialects.iter().flat_map(|dialect| dialect.stored_kinds());
    let configuration = Arc::new(berth_configuration::SchedulerConfiguration::new(
        dialects.to_vec(),
    ));
    Catalog::new(core::kinds().into_iter().chain(kinds).chain([configuration as _]))
}

#[cfg(test)]
mod tests {
    use berth_apimachinery::Timestamp;
    use serde_json::json;

    use super::*;

    fn refused(api_version: &str, kind: &str) -> String {
        let dialects = berth_dialect_registry::all();
        let object = json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": "a"}});
        let problems = catalog(&dialects).read(object, "", Timestamp::MIN).err().unwrap();
        problems
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
            .join("; ")
    }

    #[test]
    fn a_kind_that_is_nearly_one_is_told_with_the_one_that_is_meant() {
        let message = refused("cluster.open-cluster-management.io/v1beta1", "Placemnt");
        assert!(
            message.ends_with("did you mean Placement of cluster.open-cluster-management.io?"),
            "{message}"
        );
        let message = refused("example.com/v1", "Thing");
        assert!(message.contains("core.gardener.cloud/v1beta1 Shoot"), "{message}");
        for own in ["ConfigMap", "AdmissionPolicy", "Deployment", "Job"] {
            assert!(!message.contains(own), "{message}");
        }
    }

    #[test]
    fn groups_of_kubernetes_are_no_groups_of_a_system() {
        let catalog = catalog(&berth_dialect_registry::all());
        for group in ["", "apps", "batch", "events.k8s.io"] {
            assert!(!catalog.knows_group(group), "{group}");
        }
        for group in [
            "cluster.open-cluster-management.io",
            "core.gardener.cloud",
            "apps.karmada.io",
        ] {
            assert!(catalog.knows_group(group), "{group}");
        }
        assert!(!catalog.knows_group("example.com"));
    }
}
