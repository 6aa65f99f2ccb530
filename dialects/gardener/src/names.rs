//! Names of Gardener's API (docs/systems/gardener.md, "API objects"), and of the dialect.

use berth_apimachinery::GroupResource;

/// The API group of shoots, seeds, profiles and projects.
pub const GROUP: &str = "core.gardener.cloud";
/// The version of all kinds of the API group that Berth reads or writes.
pub const VERSION: &str = "v1beta1";
/// The name of the dialect, and of its configuration object.
pub const DIALECT: &str = "gardener";
/// `shoots.core.gardener.cloud`: the demands.
pub const SHOOTS: GroupResource = GroupResource::new(GROUP, "shoots");
/// `seeds.core.gardener.cloud`: the targets.
pub const SEEDS: GroupResource = GroupResource::new(GROUP, "seeds");
/// `cloudprofiles.core.gardener.cloud`: the allowed settings and seeds of shoots.
pub const CLOUD_PROFILES: GroupResource = GroupResource::new(GROUP, "cloudprofiles");
/// `namespacedcloudprofiles.core.gardener.cloud`: the cloud profiles of single projects, which extend a
/// CloudProfile.
pub const NAMESPACED_CLOUD_PROFILES: GroupResource = GroupResource::new(GROUP, "namespacedcloudprofiles");
/// `projects.core.gardener.cloud`: the owners of namespaces, and the tolerations of shoots in the namespaces.
pub const PROJECTS: GroupResource = GroupResource::new(GROUP, "projects");

/// `configmaps` of the core group: the distances between regions.
pub const CONFIG_MAPS: GroupResource = GroupResource::new("", "configmaps");
/// The label selector of ConfigMaps with distances between regions.
pub const DISTANCES_SELECTOR: &str = "scheduling.gardener.cloud/purpose=region-config";
/// The key and the value of the label of ConfigMaps with distances between regions.
pub const DISTANCES_LABEL: (&str, &str) = ("scheduling.gardener.cloud/purpose", "region-config");
/// The annotation of a ConfigMap with distances that lists the cloud profiles to which the distances apply.
pub const DISTANCES_PROFILES: &str = "scheduling.gardener.cloud/cloudprofiles";
/// The annotation of a ConfigMap with distances that sets the largest distance of a live migration.
pub const DISTANCES_LIMIT: &str = "migration.gardener.cloud/inter-region-distance-threshold";
/// The annotation of a shoot that requests a live migration.
pub const LIVE_MIGRATE: &str = "migration.gardener.cloud/live-migrate";
/// The annotation of a shoot that allows a live migration to any region.
pub const ALLOW_DISTANT_REGIONS: &str = "migration.gardener.cloud/allow-distant-regions";

/// `exposureclasses.core.gardener.cloud`: ways to expose the API servers of shoots, each with the seeds that
/// support it.
pub const EXPOSURE_CLASSES: GroupResource = GroupResource::new(GROUP, "exposureclasses");

/// `managedseeds.seedmanagement.gardener.cloud`: the seeds that are shoots themselves.
pub const MANAGED_SEEDS: GroupResource = GroupResource::new("seedmanagement.gardener.cloud", "managedseeds");

/// The namespace of Gardener's own shoots.
pub const GARDEN_NAMESPACE: &str = "garden";
/// Prefix of the namespaces of projects.
pub const PROJECT_PREFIX: &str = "garden-";
/// The verb on projects that a user needs to change the allowed tolerations of a project.
pub const WHITELIST_VERB: &str = "modify-spec-tolerations-whitelist";
/// The user that writes bindings (docs/concepts.md, "Actors").
pub const ACTOR: &str = "berth:scheduler";
/// The scheduler of a shoot without a `schedulerName`.
pub const DEFAULT_SCHEDULER: &str = "default-scheduler";
/// Prefix of the labels `name.seed.gardener.cloud/<seed>=true`, which shoots have for the seeds in their spec
/// and status.
pub const SEED_NAME_LABEL: &str = "name.seed.gardener.cloud/";
/// The label of seeds with their provider type.
pub const PROVIDER_LABEL: &str = "seed.gardener.cloud/provider";
/// The label of seeds with their region.
pub const REGION_LABEL: &str = "seed.gardener.cloud/region";

/// The annotation that stops the reconciliation of shoots on a seed if the value is `true`.
pub const EMERGENCY_STOP: &str = "shoot.gardener.cloud/emergency-stop-reconciliations";

/// The taint of seeds that only Gardener's own shoots tolerate by default.
pub const PROTECTED_TAINT: &str = "seed.gardener.cloud/protected";
/// The taint that disables the DNS of a seed by the documented rules. By the current rules, the taint is an
/// ordinary taint (docs/systems/gardener.md, "DNS").
pub const DISABLE_DNS_TAINT: &str = "seed.gardener.cloud/disable-dns";
/// The taint that hides a seed from the scheduler by the documented rules. By the current rules, the taint is
/// an ordinary taint.
pub const INVISIBLE_TAINT: &str = "seed.gardener.cloud/invisible";
/// A taint that the scheduler ignores by the documented rules. By the current rules, the taint is an ordinary
/// taint.
pub const DISABLE_CAPACITY_TAINT: &str = "seed.gardener.cloud/disable-capacity-reservation";

/// Whether shoots need no toleration of taints with this key by the documented rules.
#[must_use]
pub fn needs_no_toleration(key: &str) -> bool {
    [DISABLE_DNS_TAINT, INVISIBLE_TAINT, DISABLE_CAPACITY_TAINT].contains(&key)
}
