//! The fields of a Shoot (docs/systems/gardener.md, "Shoot").

use std::collections::BTreeMap;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::kind::common::{
    AccessRestriction, Condition, GardenerVersion, LastOperation, SeedSelector, minor_version,
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
    /// The name of the CloudProfile, in the older field, which cannot be set for Kubernetes 1.34 and newer.
    /// If both fields are set, cloudProfile counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cloud_profile_name: Option<String>,
    /// The cloud profile, by kind and name. Can only be changed between a CloudProfile and the
    /// NamespacedCloudProfiles that extend this CloudProfile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cloud_profile: Option<CloudProfileReference>,
    /// The region of the cluster, which scheduling compares with the regions of seeds. Cannot be changed.
    pub region: String,
    /// The infrastructure of the cluster and its worker pools.
    pub provider: ShootProvider,
    /// The purpose of the cluster; evaluation by default. A cluster of purpose testing may be scheduled to
    /// any region of its provider. The purpose infrastructure is only allowed in the namespace garden.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("enum" = ["evaluation", "testing", "development", "production", "infrastructure"]))]
    pub purpose: Option<String>,
    /// The networks of the cluster. IPv6 networks must not overlap with the networks of its seed. IPv4
    /// networks may overlap by the current rules, but not by the rules of v1.8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub networking: Option<Networking>,
    /// DNS settings of the cluster. A cluster without DNS settings may be scheduled to a seed whose DNS is
    /// disabled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dns: Option<Dns>,
    /// The seed that runs the control plane. After creation, it can only be changed through the subresource
    /// binding.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed_name: Option<String>,
    /// The seeds that may run the control plane, by labels and provider types.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed_selector: Option<SeedSelector>,
    /// The taints of seeds that the cluster tolerates.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tolerations: Vec<Toleration>,
    /// The name of the scheduler that picks a seed; default-scheduler by default. Berth ignores clusters with
    /// other schedulers. Cannot be changed once set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scheduler_name: Option<String>,
    /// Failure tolerance and zones of the control plane.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub control_plane: Option<ControlPlane>,
    /// The access restrictions of the cluster, all of which its seed must offer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub access_restrictions: Vec<AccessRestriction>,
    /// Hibernation of the cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hibernation: Option<Hibernation>,
    /// Kubernetes settings of the cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kubernetes: Option<Kubernetes>,
}

/// Reference to a cloud profile by kind and name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CloudProfileReference {
    /// The kind of the profile: CloudProfile (the default) or NamespacedCloudProfile.
    #[serde(default)]
    pub kind: String,
    /// The name of the profile.
    pub name: String,
}

/// The infrastructure of a cluster and its worker pools.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct ShootProvider {
    /// The provider type, such as aws or openstack. Cannot be changed.
    pub r#type: String,
    /// The worker pools. A cluster without worker pools has no nodes and no pods, and needs no ranges for
    /// nodes and pods.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub workers: Vec<Worker>,
}

/// A worker pool: machines with equal settings.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct Worker {
    /// The name of the pool.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// The availability zones of the machines in the pool.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub zones: Vec<String>,
    /// Settings for running the control plane on the machines of the pool. If set, the cluster is self-hosted
    /// and gets no seed.
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
    /// The range of the pods. The default is the default range of the seed, if it is of one of the
    /// ipFamilies. Cannot be changed once set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pods: Option<String>,
    /// The range of the services. The default is the default range of the seed, if it is of one of the
    /// ipFamilies. Cannot be changed once set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub services: Option<String>,
    /// The IP families of the cluster: IPv4, IPv6 or both; IPv4 by default. A cluster without IPv4 needs no
    /// ranges.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ip_families: Vec<String>,
}

/// Failure tolerance and zones of a control plane.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct ControlPlane {
    /// Failures that the control plane tolerates.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub high_availability: Option<HighAvailability>,
    /// The zones of the control plane on the seed: one zone, or three zones if the control plane tolerates
    /// the failure of a zone.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub zones: Vec<String>,
}

/// Failures that a control plane tolerates.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct HighAvailability {
    /// The kind of failure that the control plane tolerates.
    pub failure_tolerance: FailureTolerance,
}

/// The kind of failure that a control plane tolerates.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(default)]
#[schemars(extend("required" = ["type"], "x-kubernetes-preserve-unknown-fields" = true))]
pub struct FailureTolerance {
    /// The failure that the control plane tolerates: node or zone.
    #[schemars(extend("enum" = ["node", "zone"]))]
    pub r#type: String,
}

/// DNS settings of a cluster.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct Dns {
    /// The domain of the cluster. Cannot be changed once set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub domain: Option<String>,
    /// The providers that manage the DNS records of the cluster. At most one is primary. If the first
    /// provider has the type unmanaged, Gardener does not manage the records.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub providers: Vec<DnsProvider>,
}

/// A provider that manages DNS records.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct DnsProvider {
    /// The type of the provider: unmanaged, or a service such as aws-route53.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub r#type: Option<String>,
    /// Whether the provider manages the domain of the cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub primary: Option<bool>,
    /// The name of the secret with the credentials of the provider.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret_name: Option<String>,
    /// Reference to the credentials of the provider, in newer versions of Gardener.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-kubernetes-map-type" = "atomic"))]
    pub credentials_ref: Option<BTreeMap<String, Value>>,
}

/// A toleration of taints of seeds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct Toleration {
    /// The key of the tolerated taints.
    pub key: String,
    /// The value of the tolerated taints.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
}

/// Hibernation of a cluster.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct Hibernation {
    /// Whether the cluster should hibernate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
}

/// Kubernetes settings of a cluster.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct Kubernetes {
    /// The Kubernetes version of the cluster.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub version: String,
}

/// Status of a cluster.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct ShootStatus {
    /// The seed that runs the control plane now, as the gardenlet of the seed reports.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed_name: Option<String>,
    /// The current or last operation on the cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_operation: Option<LastOperation>,
    /// The conditions of the cluster: APIServerAvailable, ControlPlaneHealthy,
    /// ObservabilityComponentsHealthy, EveryNodeReady and SystemComponentsHealthy.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
    /// Whether the cluster hibernates now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hibernated: Option<bool>,
    /// The version of Gardener that last reconciled the cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gardener: Option<GardenerVersion>,
    /// The current networks of the cluster. IPv6 networks must not overlap with the networks of its seed.
    /// IPv4 networks may overlap by the current rules, but not by the rules of v1.8.
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
    /// The ranges of nodes, of pods and of services.
    #[must_use]
    pub fn lists(&self) -> [&[String]; 3] {
        [&self.nodes, &self.pods, &self.services]
    }
}

/// The failure tolerance of control planes that survive the loss of a zone.
pub const ZONE: &str = "zone";
/// The purpose of clusters that may be scheduled to any region of their provider.
pub const TESTING: &str = "testing";
/// The purpose of Gardener's own clusters.
pub const INFRASTRUCTURE: &str = "infrastructure";

/// The kind of cloud profiles for all namespaces.
pub const CLOUD_PROFILE: &str = "CloudProfile";
/// The kind of cloud profiles in a namespace.
pub const NAMESPACED_CLOUD_PROFILE: &str = "NamespacedCloudProfile";

impl Toleration {
    /// Whether this toleration in a whitelist allows shoots to have `requested`: the keys are equal, and the
    /// one in the whitelist has no value, or the value of `requested`.
    #[must_use]
    pub fn allows(&self, requested: &Self) -> bool {
        self.key == requested.key && (self.value.is_none() || self.value == requested.value)
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
    /// The kind and the name of the cloud profile; `None` if neither field is set. If both fields are set,
    /// `cloudProfile` counts.
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

    /// The path of the field that names the cloud profile.
    #[must_use]
    pub fn profile_path(&self) -> &'static str {
        match self.cloud_profile {
            Some(_) => "spec.cloudProfile.name",
            None => "spec.cloudProfileName",
        }
    }

    /// Whether only `cloudProfile` may name the profile: the Kubernetes version is 1.34 or newer.
    #[must_use]
    pub fn has_only_profile_reference(&self) -> bool {
        let version = self
            .kubernetes
            .as_ref()
            .map(|kubernetes| kubernetes.version.as_str());
        version.and_then(minor_version) >= Some((1, 34))
    }

    /// The kind of failure that the control plane tolerates: `node` or `zone`. `None` if it is not set.
    #[must_use]
    pub fn failure_tolerance(&self) -> Option<&str> {
        let plane = self.control_plane.as_ref()?;
        Some(&plane.high_availability.as_ref()?.failure_tolerance.r#type)
    }

    /// Whether the control plane survives the loss of a zone.
    #[must_use]
    pub fn survives_zone_loss(&self) -> bool {
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

    /// The name of the scheduler that picks a seed for the shoot.
    #[must_use]
    pub fn scheduler(&self) -> &str {
        self.scheduler_name.as_deref().unwrap_or(DEFAULT_SCHEDULER)
    }
}
