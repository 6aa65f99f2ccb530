//! The configuration of this dialect, `spec.kcp` of a SchedulerConfiguration. kcp itself has flags for these things and
//! no configuration file, so the form is Berth's own:
//!
//! ```yaml
//! locationCluster: root:compute      # first segment of location strings
//! namespaceSelector: {}              # labels of the namespaces that are placed; empty: all
//! heartbeatThreshold: 1m             # how old a heartbeat may be
//! syncedResources: [configmaps, …]   # the resources that follow their namespace
//! coordinatedResources: []           # those of them that a coordination controller sees before they are synced
//! ```
//!
//! Read by hand, not by serde, so that every mistake is found with its path. Defaults apply on read.

use std::sync::Arc;

use jiff::SignedDuration;
use meta::selector::{LabelSelector, Selector};
use meta::{FieldError, GroupResource, name};
use serde::Deserialize;
use serde_json::Value;

use crate::location_string::check_location_cluster;
use crate::names::{DEFAULT_LOCATION_CLUSTER, SYNCED_BY_DEFAULT};

/// What the dialect goes by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// `locationCluster`: where the Locations live, the first segment of location strings.
    pub location_cluster: Arc<str>,
    /// `namespaceSelector`: the namespaces that are placed; those that stop matching are drained.
    pub namespace_selector: Selector,
    /// `heartbeatThreshold`: how old the last heartbeat of a syncer may be.
    pub heartbeat_threshold: SignedDuration,
    /// `syncedResources`: the resources that follow their namespace to the workload cluster. Objects of a resource that is
    /// taken out lose what syncing put on them, and are no longer guarded; what is at workload clusters by then stays.
    pub synced_resources: Vec<GroupResource>,
    /// `coordinatedResources`: those of them that get the state `""` first, so that a coordination controller may change
    /// them before syncing starts. `None`: all of them where the program knows of a coordination controller, else none.
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

/// How often syncers send a heartbeat (docs/systems/kcp.md, "Heartbeats").
const BEAT: SignedDuration = SignedDuration::from_secs(20);

const FIELDS: [&str; 5] = [
    "locationCluster",
    "namespaceSelector",
    "heartbeatThreshold",
    "syncedResources",
    "coordinatedResources",
];

impl Config {
    /// Reads `spec` (what stands at `path`, such as `spec.kcp`); an absent or null one is all defaults.
    ///
    /// # Errors
    /// Everything that is wrong.
    pub fn read(spec: Option<&Value>, path: &str) -> Result<Self, Vec<FieldError>> {
        let Some(spec) = spec.filter(|spec| !spec.is_null()) else {
            return Ok(Self::default());
        };
        let Some(fields) = spec.as_object() else {
            return Err(vec![FieldError::type_invalid(
                path,
                spec.clone(),
                "must be an object",
            )]);
        };
        let mut reader = Reader {
            path,
            errors: Vec::new(),
        };
        let mut config = Self::default();
        let given = |name: &str| fields.get(name).filter(|value| !value.is_null());
        if let Some(value) = given("locationCluster") {
            reader.location_cluster(value, &mut config);
        }
        if let Some(value) = given("namespaceSelector") {
            reader.namespace_selector(value, &mut config);
        }
        if let Some(value) = given("heartbeatThreshold") {
            reader.heartbeat_threshold(value, &mut config);
        }
        if let Some(value) = given("syncedResources") {
            config.synced_resources = reader.resources("syncedResources", value);
        }
        if let Some(value) = given("coordinatedResources") {
            let resources = reader.resources("coordinatedResources", value);
            if given("syncedResources").is_some() {
                reader.all_synced(&resources, &config.synced_resources);
            }
            config.coordinated_resources = Some(resources);
        }
        for (name, value) in fields {
            if !FIELDS.contains(&name.as_str()) {
                let at = reader.at(name);
                reader
                    .errors
                    .push(FieldError::invalid(at, value.clone(), "unknown field"));
            }
        }
        if reader.errors.is_empty() {
            Ok(config)
        } else {
            Err(reader.errors)
        }
    }

    /// The same where nothing but `syncable` can be synced (`None`: anything can). Behind a hub the program can read,
    /// write and guard what it was started with, and nothing else (docs/systems/kcp.md, "Configuration").
    ///
    /// # Errors
    /// Everything that is wrong, each resource that cannot be synced by itself.
    pub fn read_within(
        spec: Option<&Value>,
        path: &str,
        syncable: Option<&[GroupResource]>,
    ) -> Result<Self, Vec<FieldError>> {
        let config = Self::read(spec, path)?;
        // Where it is silent, what the program was started with is synced.
        let says = spec.is_some_and(|spec| !spec["syncedResources"].is_null());
        let Some(syncable) = syncable.filter(|_| says) else {
            return Ok(config);
        };
        let known: Vec<String> = syncable.iter().map(ToString::to_string).collect();
        let detail = format!(
            "behind a kube-apiserver only what --kcp-synced-resources names can be synced, since rights and webhooks are \
             made for that: {}",
            known.join(", ")
        );
        let numbered = config.synced_resources.iter().enumerate();
        let beyond = numbered.filter(|(_, resource)| !syncable.contains(resource));
        let errors: Vec<FieldError> = beyond
            .map(|(index, resource)| {
                let at = format!("{path}.syncedResources[{index}]");
                FieldError::invalid(at, resource.to_string(), detail.clone())
            })
            .collect();
        if errors.is_empty() {
            Ok(config)
        } else {
            Err(errors)
        }
    }

    /// What is legal but surely not meant, as sentences that name the field below `path`.
    #[must_use]
    pub fn warnings(&self, path: &str) -> Vec<String> {
        let mut warnings = Vec::new();
        if self.heartbeat_threshold <= BEAT {
            warnings.push(format!(
                "{path}.heartbeatThreshold: syncers send a heartbeat every 20s, so that clusters will seem not to be \
                 ready again and again"
            ));
        }
        if self.synced_resources.is_empty() {
            warnings.push(format!(
                "{path}.syncedResources: nothing in placed namespaces will be synced"
            ));
        }
        warnings
    }

    /// Whether namespaces with these labels are placed.
    pub(crate) fn selects(&self, namespace: &meta::Meta) -> bool {
        self.namespace_selector.matches(&namespace.labels)
    }
}

/// The resource that `text` names: `configmaps`, `deployments.apps`.
///
/// # Errors
/// Why it names none.
pub fn synced_resource(text: &str) -> Result<GroupResource, String> {
    let (plural, group) = text.split_once('.').unwrap_or((text, ""));
    let grouped = group.is_empty() && !text.ends_with('.') || name::dns_subdomain(group).is_ok();
    if name::dns_label(plural).is_ok() && grouped {
        return Ok(GroupResource::intern(group, plural));
    }
    Err(
        "must be a plural name, with its group behind a dot, such as configmaps or deployments.apps; there is no \
         wildcard"
            .to_owned(),
    )
}

struct Reader<'a> {
    path: &'a str,
    errors: Vec<FieldError>,
}

impl Reader<'_> {
    fn at(&self, name: &str) -> String {
        format!("{}.{name}", self.path)
    }

    fn text<'v>(&mut self, name: &str, value: &'v Value) -> Option<&'v str> {
        let text = value.as_str();
        if text.is_none() {
            let at = self.at(name);
            self.errors
                .push(FieldError::type_invalid(at, value.clone(), "must be a string"));
        }
        text
    }

    fn wrong(&mut self, name: &str, value: &Value, problem: String) {
        let at = self.at(name);
        self.errors.push(FieldError::invalid(at, value.clone(), problem));
    }

    fn location_cluster(&mut self, value: &Value, config: &mut Config) {
        let Some(text) = self.text("locationCluster", value) else {
            return;
        };
        match check_location_cluster(text) {
            Ok(()) => config.location_cluster = text.into(),
            Err(problem) => self.wrong("locationCluster", value, problem),
        }
    }

    fn namespace_selector(&mut self, value: &Value, config: &mut Config) {
        let path = self.at("namespaceSelector");
        let known = ["matchLabels", "matchExpressions"];
        for (name, extra) in value.as_object().into_iter().flatten() {
            if !known.contains(&name.as_str()) {
                let at = format!("{path}.{name}");
                self.errors
                    .push(FieldError::invalid(at, extra.clone(), "unknown field"));
            }
        }
        match LabelSelector::deserialize(value) {
            Ok(selector) => match Selector::compile(&selector, &path) {
                Ok(selector) => config.namespace_selector = selector,
                Err(errors) => self.errors.extend(errors),
            },
            Err(error) => self.wrong(
                "namespaceSelector",
                value,
                format!("must be a label selector: {error}"),
            ),
        }
    }

    fn heartbeat_threshold(&mut self, value: &Value, config: &mut Config) {
        let Some(text) = self.text("heartbeatThreshold", value) else {
            return;
        };
        match meta::duration::parse(text) {
            Ok(threshold) if threshold > SignedDuration::ZERO => config.heartbeat_threshold = threshold,
            Ok(_) => self.wrong("heartbeatThreshold", value, "must be greater than 0".to_owned()),
            Err(error) => {
                self.wrong("heartbeatThreshold", value, error.to_string());
            }
        }
    }

    fn all_synced(&mut self, resources: &[GroupResource], synced: &[GroupResource]) {
        for resource in resources.iter().filter(|resource| !synced.contains(resource)) {
            let problem = format!(
                "must be one of {}, since nothing else is synced",
                self.at("syncedResources")
            );
            self.wrong("coordinatedResources", &resource.to_string().into(), problem);
        }
    }

    fn resources(&mut self, field: &str, value: &Value) -> Vec<GroupResource> {
        let Some(list) = value.as_array() else {
            let at = self.at(field);
            let detail = "must be a list of resources such as configmaps or deployments.apps";
            self.errors
                .push(FieldError::type_invalid(at, value.clone(), detail));
            return Vec::new();
        };
        let mut resources: Vec<GroupResource> = Vec::with_capacity(list.len());
        for (index, entry) in list.iter().enumerate() {
            let name = format!("{field}[{index}]");
            let Some(text) = self.text(&name, entry) else {
                continue;
            };
            match synced_resource(text) {
                Err(problem) => self.wrong(&name, entry, problem),
                Ok(resource) if resources.contains(&resource) => {
                    let at = self.at(&name);
                    self.errors.push(FieldError::duplicate(at, entry.clone()));
                }
                Ok(resource) => resources.push(resource),
            }
        }
        resources
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
    fn what_is_surely_not_meant_is_warned_of() {
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
    fn what_cannot_be_synced_is_told_one_by_one() {
        let spec = json!({"syncedResources": ["configmaps", "ingresses.networking.k8s.io", "secrets"]});
        let configmaps = [GroupResource::new("", "configmaps")];
        let within = |spec: &Value| Config::read_within(Some(spec), "spec.kcp", Some(&configmaps));
        let errors = within(&spec).unwrap_err();
        let texts: Vec<String> = errors.iter().map(ToString::to_string).collect();
        assert_eq!(texts.len(), 2, "{texts:?}");
        assert!(
            texts[0].starts_with(
                "spec.kcp.syncedResources[1]: Invalid value: \"ingresses.networking.k8s.io\": behind a kube-apiserver \
                 only what --kcp-synced-resources names can be synced"
            ) && texts[0].ends_with("made for that: configmaps"),
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
    fn every_mistake_is_told_with_its_path() {
        let spec = json!({
            "locationCluster": "compute", "namespaceSelector": {"matchLabels": {"a b": "c"}, "matchFields": []},
            "heartbeatThreshold": "0s", "syncedResources": ["*", "configmaps", "configmaps", 1, "a."], "coordinatedResources": ["secrets"],
            "workspace": "x",
        });
        let errors = Config::read(Some(&spec), "spec.kcp").unwrap_err();
        let starts = [
            "spec.kcp.locationCluster: Invalid value: \"compute\": must be \"root\" or a path",
            "spec.kcp.namespaceSelector.matchFields: Invalid value: []: unknown field",
            "spec.kcp.namespaceSelector.matchLabels: Invalid value: \"a b\": name part must consist",
            "spec.kcp.heartbeatThreshold: Invalid value: \"0s\": must be greater than 0",
            "spec.kcp.syncedResources[0]: Invalid value: \"*\": must be a plural name",
            "spec.kcp.syncedResources[2]: Duplicate value: \"configmaps\"",
            "spec.kcp.syncedResources[3]: Invalid value: 1: must be a string",
            "spec.kcp.syncedResources[4]: Invalid value: \"a.\": must be a plural name",
            "spec.kcp.coordinatedResources: Invalid value: \"secrets\": must be one of spec.kcp.syncedResources",
            "spec.kcp.workspace: Invalid value: \"x\": unknown field",
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
