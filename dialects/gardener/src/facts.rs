//! Facts about a Seed for the view of its Target.

use berth_dialect_contract::Facts;
use serde_json::Value;

/// The facts of `target`, a Seed: the version of Kubernetes and the zones. A Seed has no address of its API
/// server.
pub(crate) fn facts(target: &Value) -> Facts {
    let version = target["status"]["kubernetesVersion"].as_str();
    let zones = target["spec"]["provider"]["zones"].as_array();
    let zones: Vec<&str> = zones.into_iter().flatten().filter_map(Value::as_str).collect();
    let mut facts = Facts {
        version: version.unwrap_or_default().to_owned(),
        ..Facts::default()
    };
    if !zones.is_empty() {
        facts
            .properties
            .insert("zones.seed.gardener.cloud".to_owned(), zones.join(","));
    }
    facts
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn version_and_zones_are_facts() {
        let result = facts(&json!({
            "spec": {"provider": {"zones": ["a", "b"]}},
            "status": {"kubernetesVersion": "1.34.1"},
        }));
        assert_eq!(result.version, "1.34.1");
        assert_eq!(result.properties["zones.seed.gardener.cloud"], "a,b");
        assert_eq!(facts(&json!({})), Facts::default());
    }
}
