//! Names of Gardener's API (docs/systems/gardener.md, "API objects"), and of the dialect.

use berth_apimachinery::GroupResource;

/// The API group.
pub const GROUP: &str = "core.gardener.cloud";
/// The only version of the API group.
pub const VERSION: &str = "v1beta1";
/// The dialect's name, and the name of its configuration object.
pub const DIALECT: &str = "gardener";
/// `shoots.core.gardener.cloud`: the demands.
pub const SHOOTS: GroupResource = GroupResource::new(GROUP, "shoots");
/// `seeds.core.gardener.cloud`: the targets.
pub const SEEDS: GroupResource = GroupResource::new(GROUP, "seeds");
/// `cloudprofiles.core.gardener.cloud`: the allowed settings and seeds of shoots.
pub const CLOUD_PROFILES: GroupResource = GroupResource::new(GROUP, "cloudprofiles");
/// `namespacedcloudprofiles.core.gardener.cloud`: a cloud profile of one project, derived from a
/// CloudProfile.
pub const NAMESPACED_CLOUD_PROFILES: GroupResource = GroupResource::new(GROUP, "namespacedcloudprofiles");
/// `projects.core.gardener.cloud`: the owner of a namespace, and the tolerations that its shoots may
/// have.
pub const PROJECTS: GroupResource = GroupResource::new(GROUP, "projects");

/// `configmaps`: only ConfigMaps with distances between regions are read.
pub const CONFIG_MAPS: GroupResource = GroupResource::new("", "configmaps");
/// The label selector of ConfigMaps with distances between regions.
pub const DISTANCES_SELECTOR: &str = "scheduling.gardener.cloud/purpose=region-config";
/// Key and value of the label of ConfigMaps with distances.
pub const DISTANCES_LABEL: (&str, &str) = ("scheduling.gardener.cloud/purpose", "region-config");
/// The annotation of ConfigMaps with distances that names the profiles to which they apply.
pub const DISTANCES_PROFILES: &str = "scheduling.gardener.cloud/cloudprofiles";
/// The annotation of ConfigMaps with distances that sets the longest distance of a live migration.
pub const DISTANCES_LIMIT: &str = "migration.gardener.cloud/inter-region-distance-threshold";
/// The annotation of a shoot that requests a live migration.
pub const LIVE_MIGRATE: &str = "migration.gardener.cloud/live-migrate";
/// The annotation of a shoot that allows a live migration to any region.
pub const ALLOW_DISTANT_REGIONS: &str = "migration.gardener.cloud/allow-distant-regions";

/// `exposureclasses.core.gardener.cloud`: the requirements of a class of shoots on seeds.
pub const EXPOSURE_CLASSES: GroupResource = GroupResource::new(GROUP, "exposureclasses");

/// `managedseeds.seedmanagement.gardener.cloud`: the seeds that are shoots themselves.
pub const MANAGED_SEEDS: GroupResource = GroupResource::new("seedmanagement.gardener.cloud", "managedseeds");

/// The namespace of Gardener's own shoots.
pub const GARDEN_NAMESPACE: &str = "garden";
/// Prefix of the namespaces of projects.
pub const PROJECT_PREFIX: &str = "garden-";
/// The verb on projects for changing the allowed tolerations of their shoots.
pub const WHITELIST_VERB: &str = "modify-spec-tolerations-whitelist";
/// The user that writes bindings (docs/concepts.md, "Actors").
pub const ACTOR: &str = "berth:scheduler";
/// The scheduler of a shoot without a `schedulerName`.
pub const DEFAULT_SCHEDULER: &str = "default-scheduler";
/// Prefix of the labels `name.seed.gardener.cloud/<seed>=true`, which shoots have for the seeds of spec and
/// status.
pub const SEED_NAME_LABEL: &str = "name.seed.gardener.cloud/";
/// The label of seeds with their provider type.
pub const PROVIDER_LABEL: &str = "seed.gardener.cloud/provider";
/// The label of seeds with their region.
pub const REGION_LABEL: &str = "seed.gardener.cloud/region";

/// The annotation of a seed that does not reconcile its shoots; its value is `true`.
pub const EMERGENCY_STOP: &str = "shoot.gardener.cloud/emergency-stop-reconciliations";

/// The taint of seeds that only Gardener's own shoots tolerate by default.
pub const PROTECTED_TAINT: &str = "seed.gardener.cloud/protected";
/// The taint that turns a seed's DNS off by the documented rules. By the current rules, it is an ordinary
/// taint (docs/systems/gardener.md, "DNS").
pub const DISABLE_DNS_TAINT: &str = "seed.gardener.cloud/disable-dns";
/// The taint that hides a seed from the scheduler by the documented rules. By the current rules, it is an
/// ordinary taint.
pub const INVISIBLE_TAINT: &str = "seed.gardener.cloud/invisible";
/// A taint that the scheduler ignores by the documented rules. By the current rules, it is an ordinary taint.
pub const DISABLE_CAPACITY_TAINT: &str = "seed.gardener.cloud/disable-capacity-reservation";

/// Whether taints with this key require no toleration by the documented rules.
#[must_use]
pub fn is_special_taint(key: &str) -> bool {
    [DISABLE_DNS_TAINT, INVISIBLE_TAINT, DISABLE_CAPACITY_TAINT].contains(&key)
}
