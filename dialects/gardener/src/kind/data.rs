//! Kinds of a garden whose objects are stored unchanged, so that all manifests of a garden can be applied
//! (docs/systems/gardener.md, "API objects"). Of these kinds, decisions read only ManagedSeed.

use std::sync::{Arc, LazyLock};

use berth_apimachinery::{Kind, KindInfo, Schema, Scope};
use serde_json::json;

use crate::names::{GROUP, MANAGED_SEEDS, VERSION};

/// The version of the groups `security.gardener.cloud` and `seedmanagement.gardener.cloud`.
const ALPHA: &str = "v1alpha1";

/// A kind whose objects are stored unchanged.
struct DataKind(&'static KindInfo);

static KINDS: [KindInfo; 4] = [
    KindInfo {
        singular: "secretbinding",
        short_names: &["sb"],
        ..KindInfo::new(GROUP, &[VERSION], "SecretBinding", "secretbindings")
    },
    KindInfo {
        singular: "quota",
        short_names: &["squota"],
        ..KindInfo::new(GROUP, &[VERSION], "Quota", "quotas")
    },
    KindInfo {
        singular: "credentialsbinding",
        ..KindInfo::new(
            "security.gardener.cloud",
            &[ALPHA],
            "CredentialsBinding",
            "credentialsbindings",
        )
    },
    KindInfo {
        singular: "managedseed",
        short_names: &["ms"],
        scope: Scope::Namespaced,
        status_subresource: true,
        ..KindInfo::new(
            MANAGED_SEEDS.group,
            &[ALPHA],
            "ManagedSeed",
            MANAGED_SEEDS.resource,
        )
    },
];

/// All kinds whose objects are stored unchanged.
pub(super) fn all() -> impl Iterator<Item = Arc<dyn Kind>> {
    KINDS.iter().map(|info| Arc::new(DataKind(info)) as Arc<dyn Kind>)
}

impl Kind for DataKind {
    fn info(&self) -> &KindInfo {
        self.0
    }

    fn schema(&self, _version: &str) -> &Schema {
        static SCHEMA: LazyLock<Schema> = LazyLock::new(|| {
            Schema::from_value(json!({
                "type": "object",
                "description": "An object that is stored unchanged.",
                "properties": {},
                "x-kubernetes-preserve-unknown-fields": true,
            }))
        });
        &SCHEMA
    }
}
