//! The fields of a Seed (docs/systems/gardener.md, "Seed").

use std::collections::BTreeMap;

use berth_dialect_contract::rules::Rules;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize};

use crate::kind::common::{AccessRestriction, Condition, GardenerVersion, LastOperation};
use crate::names::{DISABLE_DNS_TAINT, INVISIBLE_TAINT};

/// The fields of a Seed beside its metadata.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct Seed {
    /// Specification of the seed.
    pub spec: SeedSpec,
    /// Observed status of the seed.
    #[serde(default)]
    pub status: SeedStatus,
}

/// Specification of a seed.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct SeedSpec {
    /// The infrastructure of the seed.
    pub provider: SeedProvider,
    /// The networks of the seed. IPv6 networks of its shoots must not overlap with them. IPv4 networks may
    /// overlap by the current rules, but not by the rules of v1.8.
    pub networks: SeedNetworks,
    /// Taints of the seed, which shoots must tolerate.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub taints: Vec<SeedTaint>,
    /// Settings that switch features of the seed on or off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settings: Option<SeedSettings>,
    /// The destination of the backups of shoots on the seed. Control planes can only move between seeds with
    /// backup.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backup: Option<SeedBackup>,
    /// The access restrictions that the seed offers. A shoot on the seed can only require access restrictions
    /// from this list.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub access_restrictions: Vec<AccessRestriction>,
    /// The domains of the seed and of its shoots.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dns: Option<SeedDns>,
}

/// The domains of a seed and of its shoots.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct SeedDns {
    /// The domain of the DNS names of control planes. Shoots can only move between seeds with equal internal
    /// domains.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub internal: Option<SeedDomain>,
    /// The domains below which shoots get their domain, in the form <shoot>.<project>.<domain>. The first is
    /// the default.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub defaults: Vec<SeedDomain>,
}

/// A domain of a seed.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = ["domain"], "x-kubernetes-preserve-unknown-fields" = true))]
pub struct SeedDomain {
    /// The name of the domain.
    pub domain: String,
}

/// The infrastructure of a seed.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct SeedProvider {
    /// The provider type, such as aws or openstack.
    pub r#type: String,
    /// The region of the seed.
    pub region: String,
    /// The availability zones of the seed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub zones: Vec<String>,
}

/// The networks of a seed, as CIDRs.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct SeedNetworks {
    /// The range of the seed's nodes. Cannot be changed once set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nodes: Option<String>,
    /// The range of the seed's pods. Cannot be changed.
    pub pods: String,
    /// The range of the seed's services. Cannot be changed.
    pub services: String,
    /// The default ranges of shoots on the seed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shoot_defaults: Option<ShootDefaults>,
    /// The IP families of the seed: IPv4, IPv6 or both. Cannot be changed once set.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ip_families: Vec<String>,
}

/// The default ranges of shoots on a seed.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct ShootDefaults {
    /// The default range of a shoot's pods.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pods: Option<String>,
    /// The default range of a shoot's services.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub services: Option<String>,
}

/// A taint of a seed, which shoots must tolerate. Unlike taints of nodes, it has no effect such as
/// NoSchedule.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct SeedTaint {
    /// The key of the taint.
    pub key: String,
    /// The value of the taint. Any toleration with the key tolerates a taint without a value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
}

impl From<&SeedTaint> for berth_dialect_contract::Taint {
    /// Converts the taint. The effect is empty, since Gardener's taints have no effect such as NoSchedule.
    fn from(taint: &SeedTaint) -> Self {
        Self {
            key: taint.key.clone(),
            value: taint.value.clone().unwrap_or_default(),
            effect: String::new(),
        }
    }
}

/// Settings that switch features of a seed on or off.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct SeedSettings {
    /// Settings of the scheduler for the seed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scheduling: Option<SchedulingSetting>,
    /// Whether shoots on the seed get DNS records; only by the rules of Gardener v1.8. If absent, shoots get
    /// DNS records unless the seed has the taint seed.gardener.cloud/disable-dns.
    #[serde(rename = "shootDNS", skip_serializing_if = "Option::is_none")]
    pub shoot_dns: Option<ShootDnsSetting>,
    /// Selection of the seed by the zones of a shoot's workers. Can only be set if the seed has zones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub zone_selection: Option<ZoneSelection>,
}

/// Selection of a seed by the zones of a shoot's workers.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(default)]
#[schemars(extend("required" = ["mode"], "x-kubernetes-preserve-unknown-fields" = true))]
pub struct ZoneSelection {
    /// Treatment of a shoot whose workers name zones, none of which the seed has. Enforce: the seed refuses
    /// the shoot. Prefer: the seed refuses the shoot if another seed that passes the earlier filters has one
    /// of these zones, or does not have the mode Prefer. The mode has no effect on shoots that must survive
    /// the loss of a zone, or that set spec.controlPlane.zones.
    #[schemars(extend("enum" = ["Prefer", "Enforce"]))]
    pub mode: String,
}

/// Settings of the scheduler for a seed.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct SchedulingSetting {
    /// Whether the scheduler considers the seed; false if absent. A shoot can be bound manually to a seed
    /// that is not visible.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub visible: Option<bool>,
}

/// Whether shoots on a seed get DNS records.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct ShootDnsSetting {
    /// Whether shoots on the seed get DNS records.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
}

/// The destination of the backups of shoots on a seed.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct SeedBackup {
    /// The provider type of the backup bucket. Cannot be changed.
    pub provider: String,
    /// The region of the backup bucket. Cannot be changed once set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub region: Option<String>,
}

/// Observed status of a seed.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct SeedStatus {
    /// The conditions of the seed: GardenletReady, Bootstrapped, BackupBucketsReady, ExtensionsReady and
    /// SeedSystemComponentsHealthy.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
    /// The current or last operation of the gardenlet on the seed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_operation: Option<LastOperation>,
    /// The allocatable resources of the seed. The scheduler only reads shoots, the maximum number of shoots.
    /// If shoots is absent, the number is not limited.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub allocatable: BTreeMap<String, Amount>,
    /// The resources of the seed, including resources that are not allocatable.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub capacity: BTreeMap<String, Amount>,
    /// The version of Gardener that last reconciled the seed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gardener: Option<GardenerVersion>,
    /// The Kubernetes version of the seed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kubernetes_version: Option<String>,
}

/// A quantity as it is written: a text, or a whole number.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Amount(pub String);

impl<'de> Deserialize<'de> for Amount {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged, expecting = "a quantity: a text such as \"200\" or a whole number")]
        enum TextOrNumber {
            Text(String),
            Number(i64),
        }
        TextOrNumber::deserialize(deserializer).map(|quantity| match quantity {
            TextOrNumber::Text(text) => Self(text),
            TextOrNumber::Number(number) => Self(number.to_string()),
        })
    }
}

impl JsonSchema for Amount {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Quantity".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A quantity: a text such as \"200\" or a whole number.",
            "x-kubernetes-int-or-string": true,
        })
    }
}

impl SeedSpec {
    /// Whether the seed is visible to the scheduler. By the documented rules, the taint [`INVISIBLE_TAINT`]
    /// also hides a seed that has no scheduling settings.
    #[must_use]
    pub fn is_visible(&self, rules: Rules) -> bool {
        match self
            .settings
            .as_ref()
            .and_then(|settings| settings.scheduling.as_ref())
        {
            // The default applies to the whole block: a block without the field means false.
            Some(scheduling) => scheduling.visible.unwrap_or(false),
            None => rules == Rules::Current || !self.has_taint(INVISIBLE_TAINT),
        }
    }

    /// Whether shoots on the seed get DNS records. The taint [`DISABLE_DNS_TAINT`] only counts if there is no
    /// setting.
    #[must_use]
    pub fn is_dns_enabled(&self) -> bool {
        let setting = self
            .settings
            .as_ref()
            .and_then(|settings| settings.shoot_dns.as_ref());
        match setting {
            // As for scheduling, a block without the field means false.
            Some(setting) => setting.enabled.unwrap_or(false),
            None => !self.has_taint(DISABLE_DNS_TAINT),
        }
    }

    /// The domains below which shoots get their domain. The first is the default.
    pub fn default_domains(&self) -> impl Iterator<Item = &str> {
        let dns = self.dns.iter().flat_map(|dns| &dns.defaults);
        dns.map(|default| default.domain.as_str())
    }

    /// The domain of the DNS names of control planes; empty if there is none.
    #[must_use]
    pub fn internal_domain(&self) -> &str {
        let internal = self.dns.as_ref().and_then(|dns| dns.internal.as_ref());
        internal.map_or("", |internal| &internal.domain)
    }

    /// The mode of the zone selection as stored; empty if there is no zone selection.
    #[must_use]
    pub fn zone_selection(&self) -> &str {
        let settings = self.settings.as_ref();
        let selection = settings.and_then(|settings| settings.zone_selection.as_ref());
        selection.map_or("", |selection| &selection.mode)
    }

    fn has_taint(&self, key: &str) -> bool {
        self.taints.iter().any(|taint| taint.key == key)
    }
}
