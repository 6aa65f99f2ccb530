//! The fields of a Shoot (docs/systems/gardener.md, "Shoot").

use std::collections::BTreeMap;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::kind::common::{
    AccessRestriction, Condition, Gardener, LastOperation, SeedSelector, minor_version,
};
use crate::names::DEFAULT_SCHEDULER;

/// The fields of a Shoot beside its metadata.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct Shoot {
    /// The requested cluster.
    pub spec: ShootSpec,
    /// Status of the shoot.
    #[serde(default)]
    pub status: ShootStatus,
}

/// The requested cluster.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct ShootSpec {
    /// The cloud profile in the older form, which Kubernetes 1.34 and newer no longer have. If both are set,
    /// cloudProfile wins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cloud_profile_name: Option<String>,
    /// The cloud profile, by kind and name. It can only change between a CloudProfile and the
    /// NamespacedCloudProfiles that extend it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cloud_profile: Option<CloudProfileReference>,
    /// The region of the cluster. Cannot be changed. Scheduling compares it with the regions of seeds.
    pub region: String,
    /// The infrastructure and the machines.
    pub provider: ShootProvider,
    /// Purpose of the cluster. A cluster of purpose testing may be scheduled to any region of its provider;
    /// infrastructure is only for the namespace garden. The default is evaluation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("enum" = ["evaluation", "testing", "development", "production", "infrastructure"]))]
    pub purpose: Option<String>,
    /// The networks of the cluster, which must be disjoint from those of its seed; by the current rules, only
    /// IPv6 networks must.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub networking: Option<Networking>,
    /// DNS settings. A cluster without them may be scheduled to a seed whose DNS is disabled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dns: Option<Dns>,
    /// The seed that runs the control plane. Once the object exists, only its binding subresource changes
    /// this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed_name: Option<String>,
    /// The seeds that may be picked, by labels and provider types.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed_selector: Option<SeedSelector>,
    /// The taints of seeds that the cluster tolerates.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tolerations: Vec<Toleration>,
    /// The scheduler that picks a seed; default-scheduler by default. Clusters of other schedulers are
    /// ignored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scheduler_name: Option<String>,
    /// Layout of the control plane.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub control_plane: Option<ControlPlane>,
    /// Access restrictions of the cluster, which its seed must offer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub access_restrictions: Vec<AccessRestriction>,
    /// Whether the cluster hibernates.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hibernation: Option<Hibernation>,
    /// Kubernetes settings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kubernetes: Option<Kubernetes>,
}

/// A cloud profile by kind and name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CloudProfileReference {
    /// CloudProfile (the default) or NamespacedCloudProfile.
    #[serde(default)]
    pub kind: String,
    /// The name.
    pub name: String,
}

/// The infrastructure of a cluster.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct ShootProvider {
    /// The provider type, such as aws or openstack. Cannot be changed.
    pub r#type: String,
    /// The pools of machines. A cluster without pools has no nodes and no pods, and needs no ranges for
    /// them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub workers: Vec<Worker>,
}

/// A pool of machines.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct Worker {
    /// The name.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// The availability zones of the machines.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub zones: Vec<String>,
    /// Settings of machines for the control plane. If set, the cluster is self-hosted and gets no seed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub control_plane: Option<BTreeMap<String, Value>>,
}

/// The networks of a cluster, as CIDRs.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct Networking {
    /// The range of the nodes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nodes: Option<String>,
    /// The range of the pods; by default that of the seed, if it is of one of ipFamilies. Cannot be changed
    /// once set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pods: Option<String>,
    /// The range of the services; by default that of the seed, if it is of one of ipFamilies. Cannot be
    /// changed once set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub services: Option<String>,
    /// The address families, IPv4 and IPv6; IPv4 by default. A cluster without IPv4 needs no ranges.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ip_families: Vec<String>,
}

/// Layout of a control plane.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct ControlPlane {
    /// Failures that the control plane tolerates.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub high_availability: Option<HighAvailability>,
    /// The zones of the control plane on the seed: one, or three if it tolerates the failure of a zone.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub zones: Vec<String>,
}

/// Failures that a control plane tolerates.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct HighAvailability {
    /// The kind of failure.
    pub failure_tolerance: FailureTolerance,
}

/// The kind of failure that a control plane tolerates.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(default)]
#[schemars(extend("required" = ["type"], "x-kubernetes-preserve-unknown-fields" = true))]
pub struct FailureTolerance {
    /// A node or a zone.
    #[schemars(extend("enum" = ["node", "zone"]))]
    pub r#type: String,
}

/// DNS settings of a cluster.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct Dns {
    /// The domain. Cannot be changed once set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub domain: Option<String>,
    /// Providers that manage the DNS records, of which at most one is primary. If the first is of type
    /// unmanaged, the records are not managed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub providers: Vec<DnsProvider>,
}

/// Provider that manages DNS records.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct DnsProvider {
    /// The type, such as aws-route53, or unmanaged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub r#type: Option<String>,
    /// Whether this provider manages the cluster's own domain.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub primary: Option<bool>,
    /// The secret with the credentials.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret_name: Option<String>,
    /// The credentials, in the newer form.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-kubernetes-map-type" = "atomic"))]
    pub credentials_ref: Option<BTreeMap<String, Value>>,
}

/// A taint that the cluster tolerates.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct Toleration {
    /// The key of the taint.
    pub key: String,
    /// The value of the taint.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
}

/// Whether a cluster hibernates.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct Hibernation {
    /// Whether the cluster should hibernate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
}

/// Kubernetes settings.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct Kubernetes {
    /// The version.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub version: String,
}

/// Status of a cluster.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct ShootStatus {
    /// The seed that runs the control plane now, written by its agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed_name: Option<String>,
    /// The current or last operation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_operation: Option<LastOperation>,
    /// Conditions: APIServerAvailable, ControlPlaneHealthy, ObservabilityComponentsHealthy, EveryNodeReady,
    /// SystemComponentsHealthy.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
    /// Whether the cluster hibernates now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hibernated: Option<bool>,
    /// The Gardener that last reconciled the cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gardener: Option<Gardener>,
    /// The current networks of the cluster, to which the rule for spec.networking applies, too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub networking: Option<NetworkingStatus>,
}

/// The current networks of a cluster, as CIDRs.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct NetworkingStatus {
    /// The ranges of the nodes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub nodes: Vec<String>,
    /// The ranges of the pods.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pods: Vec<String>,
    /// The ranges of the services.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub services: Vec<String>,
}

impl NetworkingStatus {
    /// The ranges of nodes, pods and services.
    #[must_use]
    pub fn lists(&self) -> [&[String]; 3] {
        [&self.nodes, &self.pods, &self.services]
    }
}

/// The failure tolerance of control planes that survive the loss of a zone.
pub const ZONE: &str = "zone";
/// The purpose of clusters that may go to any region of their provider.
pub const TESTING: &str = "testing";
/// The purpose of Gardener's own clusters.
pub const INFRASTRUCTURE: &str = "infrastructure";

/// The kind of profiles without a namespace.
pub const CLOUD_PROFILE: &str = "CloudProfile";
/// The kind of profiles in namespaces.
pub const NAMESPACED_CLOUD_PROFILE: &str = "NamespacedCloudProfile";

impl Toleration {
    /// Whether this allowed toleration allows `other`: the keys are equal, and this toleration has either the
    /// value of `other` or no value.
    #[must_use]
    pub fn allows(&self, other: &Self) -> bool {
        self.key == other.key && (self.value.is_none() || self.value == other.value)
    }
}

impl fmt::Display for Toleration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.value.as_deref() {
            None | Some("") => f.write_str(&self.key),
            Some(value) => write!(f, "{}={value}", self.key),
        }
    }
}

impl ShootSpec {
    /// The kind and name of the profile. If both fields are set, `cloudProfile` wins.
    #[must_use]
    pub fn profile(&self) -> Option<(&str, &str)> {
        match (&self.cloud_profile, &self.cloud_profile_name) {
            (Some(reference), _) => {
                let kind = if reference.kind.is_empty() {
                    CLOUD_PROFILE
                } else {
                    &reference.kind
                };
                Some((kind, &reference.name))
            }
            (None, Some(name)) => Some((CLOUD_PROFILE, name)),
            (None, None) => None,
        }
    }

    /// The field that names the profile.
    #[must_use]
    pub fn profile_path(&self) -> &'static str {
        match self.cloud_profile {
            Some(_) => "spec.cloudProfile.name",
            None => "spec.cloudProfileName",
        }
    }

    /// Whether `cloudProfile` is the only field for the profile: the version of Kubernetes is 1.34 or newer.
    #[must_use]
    pub fn has_one_profile_form(&self) -> bool {
        let version = self
            .kubernetes
            .as_ref()
            .map(|kubernetes| kubernetes.version.as_str());
        version.and_then(minor_version) >= Some((1, 34))
    }

    /// The kind of failure that the control plane tolerates: `node` or `zone`.
    #[must_use]
    pub fn failure_tolerance(&self) -> Option<&str> {
        let plane = self.control_plane.as_ref()?;
        Some(&plane.high_availability.as_ref()?.failure_tolerance.r#type)
    }

    /// Whether the control plane survives the loss of a zone.
    #[must_use]
    pub fn survives_a_zone(&self) -> bool {
        self.failure_tolerance() == Some(ZONE)
    }

    /// The zones of the control plane; empty if none are set.
    #[must_use]
    pub fn control_plane_zones(&self) -> &[String] {
        self.control_plane.as_ref().map_or(&[], |plane| &plane.zones)
    }

    /// Whether the shoot's own machines run its control plane, so that it needs no seed.
    #[must_use]
    pub fn is_self_hosted(&self) -> bool {
        self.provider
            .workers
            .iter()
            .any(|worker| worker.control_plane.is_some())
    }

    /// The shoot's scheduler.
    #[must_use]
    pub fn scheduler(&self) -> &str {
        self.scheduler_name.as_deref().unwrap_or(DEFAULT_SCHEDULER)
    }
}
