//! The fields of a Seed (docs/systems/gardener.md, "Seed").

use std::collections::BTreeMap;

use berth_dialect_contract::rules::Rules;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize};

use crate::kind::common::{AccessRestriction, Condition, Gardener, LastOperation};
use crate::names::{DISABLE_DNS_TAINT, INVISIBLE_TAINT};

/// The fields of a Seed beside its metadata.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct Seed {
    /// Settings of the seed.
    pub spec: SeedSpec,
    /// Observed status of the seed.
    #[serde(default)]
    pub status: SeedStatus,
}

/// Settings of a seed.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct SeedSpec {
    /// The infrastructure of the seed.
    pub provider: SeedProvider,
    /// The networks of the seed, which must be disjoint from those of its shoots; by the current rules, only
    /// IPv6 networks must.
    pub networks: SeedNetworks,
    /// Taints of the seed, which shoots must tolerate.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub taints: Vec<SeedTaint>,
    /// Switches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settings: Option<SeedSettings>,
    /// Destination of backups of the seed's shoots; a shoot's control plane can only move between seeds that
    /// have one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backup: Option<SeedBackup>,
    /// Access restrictions that the seed offers: it accepts shoots that require no others.
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
    /// The domain of the names of control planes. A shoot moves only between seeds with the same domain.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub internal: Option<SeedDomain>,
    /// Domains of shoots, whose own domain is <shoot>.<project>.<one of these>; the first is the default.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub defaults: Vec<SeedDomain>,
}

/// A domain of a seed.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = ["domain"], "x-kubernetes-preserve-unknown-fields" = true))]
pub struct SeedDomain {
    /// The domain.
    pub domain: String,
}

/// The infrastructure of a seed.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct SeedProvider {
    /// The provider type, such as aws or openstack.
    pub r#type: String,
    /// The region.
    pub region: String,
    /// The availability zones.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub zones: Vec<String>,
}

/// The networks of a seed, as CIDRs.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct SeedNetworks {
    /// The range of the nodes. Cannot be changed once set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nodes: Option<String>,
    /// The range of the pods. Cannot be changed.
    pub pods: String,
    /// The range of the services. Cannot be changed.
    pub services: String,
    /// The default ranges of shoots.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shoot_defaults: Option<ShootDefaults>,
    /// The families of addresses, IPv4 and IPv6. Cannot be changed once set.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ip_families: Vec<String>,
}

/// The default ranges of shoots.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct ShootDefaults {
    /// The range of the pods.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pods: Option<String>,
    /// The range of the services.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub services: Option<String>,
}

/// A taint, without effect and operator: a shoot must tolerate it.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct SeedTaint {
    /// The key.
    pub key: String,
    /// The value; a taint without a value is tolerated by any toleration of its key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
}

impl From<&SeedTaint> for berth_dialect_contract::Taint {
    /// Converts the taint. Gardener's taints have no effect.
    fn from(taint: &SeedTaint) -> Self {
        Self {
            key: taint.key.clone(),
            value: taint.value.clone().unwrap_or_default(),
            effect: String::new(),
        }
    }
}

/// Switches of a seed.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct SeedSettings {
    /// Settings of the scheduler for the seed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scheduling: Option<SchedulingSetting>,
    /// Whether shoots on the seed get DNS records, by the rules of Gardener v1.8. When absent, the taint
    /// seed.gardener.cloud/disable-dns decides.
    #[serde(rename = "shootDNS", skip_serializing_if = "Option::is_none")]
    pub shoot_dns: Option<ShootDnsSetting>,
    /// Whether the seed is chosen by the zones of a shoot's workers. Only for seeds with zones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub zone_selection: Option<ZoneSelection>,
}

/// Whether a seed is chosen by the zones of a shoot's workers.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(default)]
#[schemars(extend("required" = ["mode"], "x-kubernetes-preserve-unknown-fields" = true))]
pub struct ZoneSelection {
    /// Enforce: the seed refuses shoots whose workers name zones, none of which it has. Prefer: it refuses
    /// them while another seed, which no earlier step refuses, has one of these zones, or has another mode.
    /// Shoots that must survive the loss of a zone, or that name zones of their control plane, are accepted
    /// regardless of the mode.
    #[schemars(extend("enum" = ["Prefer", "Enforce"]))]
    pub mode: String,
}

/// Settings of the scheduler for a seed.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct SchedulingSetting {
    /// Whether the scheduler considers the seed. Shoots can be manually bound to a seed that is not visible.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub visible: Option<bool>,
}

/// Whether shoots on a seed get DNS records.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct ShootDnsSetting {
    /// Whether shoots get DNS records.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
}

/// Destination of backups.
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
    /// Conditions: GardenletReady, Bootstrapped, BackupBucketsReady, ExtensionsReady,
    /// SeedSystemComponentsHealthy.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
    /// The current or last operation of the agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_operation: Option<LastOperation>,
    /// Allocatable resources; only shoots is counted. A resource without an entry has no limit.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub allocatable: BTreeMap<String, Amount>,
    /// All resources of the seed.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub capacity: BTreeMap<String, Amount>,
    /// The Gardener that last reconciled the seed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gardener: Option<Gardener>,
    /// The Kubernetes version of the seed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kubernetes_version: Option<String>,
}

/// A quantity as written, a text or a number.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Amount(pub String);

impl<'de> Deserialize<'de> for Amount {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged, expecting = "a quantity: a text such as \"200\" or a whole number")]
        enum Either {
            Text(String),
            Number(i64),
        }
        Either::deserialize(deserializer).map(|either| match either {
            Either::Text(text) => Self(text),
            Either::Number(number) => Self(number.to_string()),
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
    /// Whether the seed is visible to the scheduler. By the current rules, no taint hides a seed.
    #[must_use]
    pub fn visible(&self, rules: Rules) -> bool {
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

    /// Whether shoots get DNS records: by the setting if there is one, else by the taint.
    #[must_use]
    pub fn dns_enabled(&self) -> bool {
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

    /// The default domains of shoots. The first is for shoots without a domain.
    pub fn default_domains(&self) -> impl Iterator<Item = &str> {
        let dns = self.dns.iter().flat_map(|dns| &dns.defaults);
        dns.map(|default| default.domain.as_str())
    }

    /// The domain of control planes' names; empty if there is none.
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
