//! Configuration of Kueue: the dispatcher, and the limit on nominated clusters.

use serde_json::Value;

/// The name of this dispatcher in Kueue's configuration.
pub const DISPATCHER: &str = "scheduling.berth.dev/dispatcher";
/// The key of the ConfigMap with Kueue's configuration.
const KEY: &str = "controller_manager_config.yaml";
/// Highest number of nominated clusters if the CustomResourceDefinition of Workloads has no limit: the limit
/// of Kueue v0.13 to v0.15.
pub(super) const DEFAULT_LIMIT: usize = 10;

/// The dispatcher that the configuration in the ConfigMap `map` names; `None` if Kueue itself dispatches.
///
/// # Errors
/// When the ConfigMap has no configuration, or the configuration is not YAML.
pub(super) fn dispatcher(map: &Value) -> Result<Option<String>, String> {
    let text = map["data"][KEY]
        .as_str()
        .ok_or_else(|| format!("it has no key {KEY}"))?;
    let configuration = berth_yaml::value(text).map_err(|error| format!("{KEY}: {error}"))?;
    let dispatcher = configuration["multiKueue"]["dispatcherName"].as_str();
    Ok(dispatcher.filter(|name| !name.is_empty()).map(str::to_owned))
}

/// Highest number of nominated clusters that the CustomResourceDefinition of Workloads allows in `version`;
/// `None` if it has no such version or no limit.
pub(super) fn limit(definition: &Value, version: &str) -> Option<usize> {
    let mut versions = definition["spec"]["versions"].as_array()?.iter();
    let version = versions.find(|served| served["name"] == version)?;
    let path = "/schema/openAPIV3Schema/properties/status/properties/nominatedClusterNames/maxItems";
    usize::try_from(version.pointer(path)?.as_u64()?).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_dispatcher_is_read_from_the_configuration() {
        let map = |text: &str| json!({"data": {KEY: text}});
        let kueues_own = "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\nhealth: {}\n";
        assert_eq!(dispatcher(&map(kueues_own)), Ok(None));
        let ours = format!("{kueues_own}multiKueue:\n  gcInterval: 1m\n  dispatcherName: {DISPATCHER}\n");
        assert_eq!(dispatcher(&map(&ours)), Ok(Some(DISPATCHER.to_owned())));
        assert!(dispatcher(&map("multiKueue: [")).unwrap_err().contains(KEY));
        assert!(dispatcher(&json!({"data": {}})).unwrap_err().contains(KEY));
    }

    #[test]
    fn kueue_accepts_the_name_of_the_dispatcher() {
        // Kueue's limit for the name of a dispatcher: a path with a domain before it, of at most 63
        // characters.
        assert!(DISPATCHER.len() <= 63);
        let (domain, path) = DISPATCHER.split_once('/').expect("it has a domain");
        assert!(berth_apimachinery::name::dns_subdomain(domain).is_ok());
        assert!(!path.is_empty());
    }

    #[test]
    fn the_limit_is_read_from_the_definition() {
        let version = |name: &str, most: Value| {
            let names = json!({"nominatedClusterNames": {"type": "array", "maxItems": most}});
            let status = json!({"properties": {"status": {"properties": names}}});
            json!({"name": name, "schema": {"openAPIV3Schema": status}})
        };
        let definition =
            json!({"spec": {"versions": [version("v1beta1", json!(10)), version("v1beta2", json!(20))]}});
        assert_eq!(limit(&definition, "v1beta1"), Some(10));
        assert_eq!(limit(&definition, "v1beta2"), Some(20));
        assert_eq!(limit(&definition, "v1"), None);
        assert_eq!(limit(&json!({}), "v1beta2"), None);
    }
}
