//! The configuration of kcp's dialect, `spec.kcp` of a SchedulerConfiguration. kcp itself has flags instead
//! of a configuration file, so the schema is Berth's own:
//!
//! ```yaml
//! locationCluster: root:compute      # first segment of location strings
//! namespaceSelector: {}              # labels of the namespaces that are placed; empty: all
//! heartbeatThreshold: 1m             # the largest age of a syncer's last heartbeat
//! syncedResources: [configmaps, …]   # the resources that follow their namespace
//! coordinatedResources: []           # synced resources that a coordination controller sees first
//! ```
//!
//! The schema parses the configuration, and defaults apply on read.

use std::collections::BTreeSet;
use std::sync::{Arc, LazyLock};

use berth_apimachinery::field::below;
use berth_apimachinery::selector::{LabelSelector, Selector};
use berth_apimachinery::{FieldError, GroupResource, ReadValue, Schema, name};
use jiff::SignedDuration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::location_string::check_location_cluster;
use crate::names::{DEFAULT_LOCATION_CLUSTER, SYNCED_BY_DEFAULT};

/// The configuration of the dialect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// `locationCluster`: the cluster of the Locations, the first segment of location strings.
    pub location_cluster: Arc<str>,
    /// `namespaceSelector`: the labels of the namespaces that are placed; namespaces that stop matching are
    /// drained.
    pub namespace_selector: Selector,
    /// `heartbeatThreshold`: the largest age of a syncer's last heartbeat.
    pub heartbeat_threshold: SignedDuration,
    /// `syncedResources`: the resources that follow their namespace to the workload cluster. When a
    /// resource is removed from the list, its objects lose the keys of syncing, and are no longer
    /// guarded; their copies on workload clusters stay.
    pub synced_resources: Vec<GroupResource>,
    /// `coordinatedResources`: the synced resources that first get the state `""`, so that a coordination
    /// controller can change them before syncing starts. `None` means all synced resources if a user with the
    /// role of a coordination controller is configured, else no resources.
    pub coordinated_resources: Option<Vec<GroupResource>>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            location_cluster: DEFAULT_LOCATION_CLUSTER.into(),
            namespace_selector: Selector::default(),
            heartbeat_threshold: SignedDuration::from_mins(1),
            synced_resources: SYNCED_BY_DEFAULT.to_vec(),
            coordinated_resources: None,
        }
    }
}

/// The default interval of syncers' heartbeats (docs/systems/kcp.md, "Heartbeats").
const HEARTBEAT_INTERVAL: SignedDuration = SignedDuration::from_secs(20);

/// Settings for kcp. kcp itself has flags instead of a configuration file, so the schema is Berth's own.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
struct Form {
    /// Cluster of the Locations, the first segment of location strings: root, or a path below it. The
    /// default is --kcp-location-cluster, or root:compute without this flag.
    location_cluster: Option<String>,
    /// The namespaces that are placed; a namespace that no longer matches is drained. The default is
    /// --kcp-namespace-selector; without this flag, all namespaces, or behind a kube-apiserver those with
    /// scheduling.berth.dev/kcp=enabled.
    namespace_selector: Option<LabelSelector>,
    /// Largest allowed age of a syncer's last heartbeat: a positive duration such as 1m. By default, syncers
    /// send a heartbeat every 20s.
    heartbeat_threshold: String,
    /// The resources that follow their namespace to the workload cluster: plural names, with the group after
    /// a dot, such as configmaps or deployments.apps. There is no wildcard. Objects of a resource that is
    /// removed from the list lose the keys of syncing, and are no longer guarded. Behind a kube-apiserver,
    /// only resources in --kcp-synced-resources are allowed, since permissions and webhooks are only created
    /// for these. The default is --kcp-synced-resources, or configmaps, secrets, serviceaccounts, services
    /// and deployments.apps without this flag.
    #[schemars(extend("x-kubernetes-list-type" = "set"))]
    synced_resources: Option<Vec<String>>,
    /// The resources among syncedResources that a coordination controller may change before they are synced:
    /// their objects first get the state "". The default is all syncedResources with a
    /// --kcp-coordination-user, else no resources.
    #[schemars(extend("x-kubernetes-list-type" = "set"))]
    coordinated_resources: Option<Vec<String>>,
}

impl Default for Form {
    fn default() -> Self {
        Self {
            location_cluster: None,
            namespace_selector: None,
            heartbeat_threshold: "1m".to_owned(),
            synced_resources: None,
            coordinated_resources: None,
        }
    }
}

/// The schema of `spec.kcp`.
pub(crate) static SCHEMA: LazyLock<Schema> = LazyLock::new(Schema::part::<Form>);

impl Config {
    /// Reads `spec`, which is at `path`, such as `spec.kcp`. If `spec` is absent or null, all defaults apply.
    ///
    /// # Errors
    /// All errors in `spec`.
    pub fn read(spec: Option<&Value>, path: &str) -> Result<Self, Vec<FieldError>> {
        let mut form = SCHEMA.read::<Form>(spec.unwrap_or(&Value::Null), path);
        let settings = form.value.clone();
        let mut config = Self {
            heartbeat_threshold: form.positive_duration("heartbeatThreshold", &settings.heartbeat_threshold),
            ..Self::default()
        };
        if let Some(text) = settings.location_cluster {
            if let Err(problem) = check_location_cluster(&text) {
                form.refuse(FieldError::invalid(
                    "locationCluster",
                    text.as_str(),
                    problem.to_string(),
                ));
            }
            config.location_cluster = text.into();
        }
        if let Some(selector) = settings.namespace_selector {
            match Selector::compile(&selector, "namespaceSelector") {
                Ok(selector) => config.namespace_selector = selector,
                Err(errors) => errors.into_iter().for_each(|error| form.refuse(error)),
            }
        }
        let synced = settings.synced_resources;
        let synced = synced.map(|list| resources(&mut form, "syncedResources", &list));
        if let Some(list) = settings.coordinated_resources {
            let list = resources(&mut form, "coordinatedResources", &list);
            if let Some(synced) = &synced {
                check_all_synced(&mut form, &list, synced, path);
            }
            config.coordinated_resources = Some(list);
        }
        if let Some(synced) = synced {
            config.synced_resources = synced;
        }
        form.finish(|_| config)
    }

    /// Reads a configuration that may only sync the resources in `syncable`, or any resource if it is `None`.
    /// On a hub, the program can only read, write and guard the resources of its flags (docs/systems/kcp.md,
    /// "Configuration").
    ///
    /// # Errors
    /// All errors in `spec`, or else one error for each resource that is not in `syncable`.
    pub fn read_within(
        spec: Option<&Value>,
        path: &str,
        syncable: Option<&[GroupResource]>,
    ) -> Result<Self, Vec<FieldError>> {
        let config = Self::read(spec, path)?;
        // Without the field, the resources of the program's flag are synced.
        let is_set = spec.is_some_and(|spec| !spec["syncedResources"].is_null());
        let Some(syncable) = syncable.filter(|_| is_set) else {
            return Ok(config);
        };
        let names: Vec<String> = syncable.iter().map(ToString::to_string).collect();
        let detail = format!(
            "behind a kube-apiserver, only the resources in --kcp-synced-resources can be synced, since permissions and \
             webhooks are only created for these: {}",
            names.join(", ")
        );
        let numbered = config.synced_resources.iter().enumerate();
        let beyond = numbered.filter(|(_, resource)| !syncable.contains(resource));
        let errors: Vec<FieldError> = beyond
            .map(|(index, resource)| {
                let field_path = below(path, &format!("syncedResources[{index}]"));
                FieldError::invalid(field_path, resource.to_string(), detail.clone())
            })
            .collect();
        if errors.is_empty() {
            Ok(config)
        } else {
            Err(errors)
        }
    }

    /// Warnings about values that are valid but hardly intended. Each begins with the path of its field,
    /// which is below `path`.
    #[must_use]
    pub fn warnings(&self, path: &str) -> Vec<String> {
        let mut warnings = Vec::new();
        if self.heartbeat_threshold <= HEARTBEAT_INTERVAL {
            warnings.push(format!(
                "{}: syncers send a heartbeat every 20s by default, so clusters will often count as not ready; set a longer \
                 threshold",
                below(path, "heartbeatThreshold")
            ));
        }
        if self.synced_resources.is_empty() {
            warnings.push(format!(
                "{}: the list is empty, so nothing in placed namespaces will be synced",
                below(path, "syncedResources")
            ));
        }
        warnings
    }

    /// The warning about coordinated resources that are not in `synced`, the resources that are synced without
    /// `syncedResources`.
    #[must_use]
    pub fn unsynced_warning(&self, synced: &[GroupResource], path: &str) -> Option<String> {
        let coordinated = self.coordinated_resources.iter().flatten();
        let unsynced: Vec<String> = coordinated
            .filter(|resource| !synced.contains(resource))
            .map(ToString::to_string)
            .collect();
        let field = below(path, "coordinatedResources");
        (!unsynced.is_empty()).then(|| {
            format!(
                "{field}: {} are not synced, so that this has no effect on them; name them in {}, too",
                unsynced.join(", "),
                below(path, "syncedResources")
            )
        })
    }

    /// Whether the configuration selects a namespace with this metadata.
    pub(crate) fn selects(&self, namespace: &berth_apimachinery::Meta) -> bool {
        self.namespace_selector.matches(namespace.labels())
    }
}

/// The error about a text that is not the name of a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "must be a plural name, with the group after a dot, such as configmaps or deployments.apps; there is no wildcard"
)]
pub struct ResourceNameError;

/// Parses the name of a resource, such as `configmaps` or `deployments.apps`.
///
/// # Errors
/// When `text` is not such a name.
pub fn synced_resource(text: &str) -> Result<GroupResource, ResourceNameError> {
    let (plural, group) = text.split_once('.').unwrap_or((text, ""));
    let has_valid_group = group.is_empty() && !text.ends_with('.') || name::dns_subdomain(group).is_ok();
    if name::dns_label(plural).is_ok() && has_valid_group {
        return Ok(GroupResource::intern(group, plural));
    }
    Err(ResourceNameError)
}

/// The resources in the list `field`. An entry that is not the name of a resource is refused and skipped.
fn resources(form: &mut ReadValue<Form>, field: &str, list: &[String]) -> Vec<GroupResource> {
    let mut resources = Vec::with_capacity(list.len());
    for (index, text) in list.iter().enumerate() {
        match synced_resource(text) {
            Ok(resource) => resources.push(resource),
            Err(problem) => form.refuse(FieldError::invalid(
                format!("{field}[{index}]"),
                text.as_str(),
                problem.to_string(),
            )),
        }
    }
    resources
}

fn check_all_synced(
    form: &mut ReadValue<Form>,
    coordinated: &[GroupResource],
    synced: &[GroupResource],
    path: &str,
) {
    let synced: BTreeSet<&GroupResource> = synced.iter().collect();
    for resource in coordinated.iter().filter(|resource| !synced.contains(resource)) {
        let problem = format!(
            "must be one of {}, since nothing else is synced",
            below(path, "syncedResources")
        );
        form.refuse(FieldError::invalid(
            "coordinatedResources",
            resource.to_string(),
            problem,
        ));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn defaults_apply_field_by_field() {
        assert_eq!(Config::read(None, "spec.kcp"), Ok(Config::default()));
        assert_eq!(
            Config::read(Some(&json!({"locationCluster": null})), "spec.kcp"),
            Ok(Config::default())
        );
        let spec = json!({
            "locationCluster": "root:org:team-1", "heartbeatThreshold": "1m30s",
            "namespaceSelector": {"matchLabels": {"scheduling.berth.dev/kcp": "enabled"}},
            "syncedResources": ["configmaps", "ingresses.networking.k8s.io"],
            "coordinatedResources": ["ingresses.networking.k8s.io"],
        });
        let config = Config::read(Some(&spec), "spec.kcp").unwrap();
        assert_eq!(&*config.location_cluster, "root:org:team-1");
        assert_eq!(config.heartbeat_threshold, SignedDuration::from_secs(90));
        assert_eq!(
            config.namespace_selector.to_string(),
            "scheduling.berth.dev/kcp=enabled"
        );
        let names: Vec<String> = config.synced_resources.iter().map(ToString::to_string).collect();
        assert_eq!(names, ["configmaps", "ingresses.networking.k8s.io"]);
        let first = config.coordinated_resources.unwrap_or_default();
        assert_eq!(first, config.synced_resources[1..]);
    }

    #[test]
    fn values_that_are_hardly_intended_have_warnings() {
        let warnings = |spec| {
            Config::read(Some(&spec), "spec.kcp")
                .unwrap()
                .warnings("spec.kcp")
        };
        assert!(warnings(json!({})).is_empty());
        let odd = warnings(json!({"heartbeatThreshold": "20s", "syncedResources": []}));
        assert_eq!(odd.len(), 2);
        assert!(odd[0].starts_with("spec.kcp.heartbeatThreshold: "), "{odd:?}");
        assert!(odd[1].starts_with("spec.kcp.syncedResources: "), "{odd:?}");
    }

    #[test]
    fn each_resource_that_cannot_be_synced_has_an_error() {
        let spec = json!({"syncedResources": ["configmaps", "ingresses.networking.k8s.io", "secrets"]});
        let configmaps = [GroupResource::new("", "configmaps")];
        let within = |spec: &Value| Config::read_within(Some(spec), "spec.kcp", Some(&configmaps));
        let errors = within(&spec).unwrap_err();
        let texts: Vec<String> = errors.iter().map(ToString::to_string).collect();
        assert_eq!(texts.len(), 2, "{texts:?}");
        assert!(
            texts[0].starts_with(
                "spec.kcp.syncedResources[1]: Invalid value: \"ingresses.networking.k8s.io\": behind a kube-apiserver, \
                 only the resources in --kcp-synced-resources can be synced"
            ) && texts[0].ends_with("created for these: configmaps"),
            "{texts:?}"
        );
        assert!(texts[1].starts_with("spec.kcp.syncedResources[2]: "), "{texts:?}");
        assert!(within(&json!({"syncedResources": ["configmaps"]})).is_ok());
        assert!(
            within(&json!({"heartbeatThreshold": "2m"})).is_ok(),
            "it does not say"
        );
        assert!(Config::read_within(Some(&spec), "spec.kcp", None).is_ok());
    }

    #[test]
    fn coordinated_resources_that_are_not_synced_are_warned_of() {
        let configmaps = [GroupResource::new("", "configmaps")];
        let warning = |list: Value| {
            let spec = json!({"coordinatedResources": list});
            let config = Config::read(Some(&spec), "spec.kcp").unwrap();
            config.unsynced_warning(&configmaps, "spec.kcp")
        };
        assert_eq!(warning(json!(["configmaps"])), None);
        assert_eq!(
            warning(json!(["configmaps", "secrets"])).as_deref(),
            Some(
                "spec.kcp.coordinatedResources: secrets are not synced, so that this has no effect on them; name them in \
                 spec.kcp.syncedResources, too"
            )
        );
    }

    #[test]
    fn every_error_has_its_path() {
        let spec = json!({
            "locationCluster": "compute", "namespaceSelector": {"matchLabels": {"a b": "c"}, "matchFields": []},
            "heartbeatThreshold": "0s", "syncedResources": ["*", "configmaps", "configmaps", 1, "a."], "coordinatedResources": ["secrets"],
            "workspace": "x",
        });
        let errors = Config::read(Some(&spec), "spec.kcp").unwrap_err();
        let starts = [
            "spec.kcp.syncedResources[3]: Invalid value: \"integer\": spec.kcp.syncedResources[3] in body must be of type \
             string",
            "spec.kcp.syncedResources[2]: Duplicate value: \"configmaps\"",
            "spec.kcp.namespaceSelector.matchFields: Forbidden: unknown field",
            "spec.kcp.workspace: Forbidden: unknown field",
            "spec.kcp.heartbeatThreshold: Invalid value: \"0s\": must be greater than 0",
            "spec.kcp.locationCluster: Invalid value: \"compute\": must be \"root\" or a path",
            "spec.kcp.namespaceSelector.matchLabels: Invalid value: \"a b\": name part must consist",
            "spec.kcp.syncedResources[0]: Invalid value: \"*\": must be a plural name",
            "spec.kcp.syncedResources[4]: Invalid value: \"a.\": must be a plural name",
            "spec.kcp.coordinatedResources: Invalid value: \"secrets\": must be one of spec.kcp.syncedResources",
        ];
        assert_eq!(errors.len(), starts.len(), "{errors:?}");
        for (error, start) in errors.iter().zip(starts) {
            assert!(error.to_string().starts_with(start), "{error}");
        }
        for (field, value) in [
            ("heartbeatThreshold", json!("soon")),
            ("locationCluster", json!(1)),
        ] {
            assert_eq!(
                Config::read(Some(&json!({field: value})), "spec.kcp")
                    .unwrap_err()
                    .len(),
                1
            );
        }
        assert_eq!(Config::read(Some(&json!([])), "spec.kcp").unwrap_err().len(), 1);
    }
}
