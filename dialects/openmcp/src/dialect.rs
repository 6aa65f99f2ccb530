//! openMCP as one of the dialects.

use std::sync::Arc;

use berth_admission::Plugin;
use berth_apimachinery::field::below;
use berth_apimachinery::{FieldError, GroupResource, Kind, Schema};
use berth_dialect_contract::rules::RulesChoice;
use berth_dialect_contract::{
    Configuration, Controllers, DemandKind, Dialect, ExtraViews, Finalizer, Inventory, OnHub, OwnScheduler,
    Reach, ResourceFinalizer, config,
};
use serde_json::{Value, json};

use crate::admission::GrantGuard;
use crate::admission::hub_rules;
use crate::config::{Config, SCHEMA};
use crate::facts::facts;
use crate::fleet::Fleet;
use crate::kind;
use crate::names::{ACTOR, CLUSTERS, DIALECT, REQUEST_FINALIZER, REQUESTS, USE_FINALIZER, VERSION};

/// The dialect of openMCP, which grants Clusters to requests.
#[derive(Clone, Copy, Debug, Default)]
pub struct OpenMcp;

const DEMANDS: &[DemandKind] = &[DemandKind {
    resource: REQUESTS,
    kind: "ClusterRequest",
    version: VERSION,
    namespaced: true,
    own_place: None,
}];

/// User names of the operator, and of the providers that it installs in its own namespace (`POD_NAMESPACE`).
const USERS: &[&str] = &["system:serviceaccount:openmcp-system:*"];

const SCHEDULER: OwnScheduler = OwnScheduler {
    name: "openmcp-operator's cluster scheduler",
    // The configured name of the Lease has slashes, which are invalid, so that the scheduler runs without a
    // Lease.
    leases: &[],
    stop: &[
        "run openmcp-operator with --controllers=deploymentcontroller,accessrequest, without scheduler: its other controllers continue",
    ],
    start: &["run openmcp-operator without --controllers, or with scheduler among them"],
    exclusion: Some(
        "scheduler.selectors.requests in openmcp-operator's configuration names the requests that it decides, which must not be \
         those of spec.requests",
    ),
    stop_consequence: None,
};

impl Dialect for OpenMcp {
    fn name(&self) -> &'static str {
        DIALECT
    }

    fn kinds(&self) -> Vec<Arc<dyn Kind>> {
        kind::all()
    }

    fn further_kinds(&self) -> Vec<Arc<dyn Kind>> {
        kind::further()
    }

    fn reads(&self) -> Vec<GroupResource> {
        vec![CLUSTERS, REQUESTS, config::RESOURCE]
    }

    fn reach(&self, resource: GroupResource) -> Reach {
        match resource {
            CLUSTERS => Reach::everywhere("each request would get a new Cluster"),
            // A Cluster's own finalizers record its usage, so that requests in other namespaces do not
            // matter.
            REQUESTS => Reach::within("there is nothing to place"),
            _ => Reach::default(),
        }
    }

    fn demands(&self) -> &'static [DemandKind] {
        DEMANDS
    }

    fn target(&self) -> GroupResource {
        CLUSTERS
    }

    fn actor(&self) -> &'static str {
        ACTOR
    }

    fn inventory(&self) -> Arc<dyn Inventory> {
        Arc::new(Fleet::default())
    }

    fn admission(&self) -> Vec<Arc<dyn Plugin>> {
        vec![Arc::new(GrantGuard)]
    }

    fn configuration(&self) -> &dyn Configuration {
        self
    }

    fn controllers(&self) -> &dyn Controllers {
        self
    }

    fn shown(&self) -> ExtraViews {
        ExtraViews {
            facts,
            ..ExtraViews::default()
        }
    }

    fn on_hub(&self) -> OnHub {
        let finalizer = |resource, finalizer| ResourceFinalizer {
            resource,
            version: VERSION,
            finalizer,
        };
        OnHub {
            rules: hub_rules::all(),
            finalizers: vec![
                finalizer(REQUESTS, Finalizer::Name(REQUEST_FINALIZER)),
                finalizer(CLUSTERS, Finalizer::Prefix(USE_FINALIZER)),
            ],
            records: &[CLUSTERS],
            users: USERS,
            scheduler: Some(SCHEDULER),
            concern: None,
        }
    }
}

impl Controllers for OpenMcp {
    /// The name of the controller in openmcp-operator.
    fn alias(&self) -> Option<&'static str> {
        Some("scheduler")
    }
}

impl Configuration for OpenMcp {
    /// Converts the configuration file of openmcp-operator. The file also configures other controllers; only
    /// the scheduler's part is read.
    fn own_file(&self, file: &Value) -> Option<Value> {
        let fields = file.as_object()?;
        let scheduler = fields
            .get("scheduler")
            .filter(|scheduler| scheduler.is_object())?;
        (!fields.contains_key("apiVersion")).then(|| json!({ "scheduler": scheduler }))
    }

    fn schema(&self) -> &'static Schema {
        &SCHEMA
    }

    fn validate(&self, spec: &Value, path: &str) -> Vec<FieldError> {
        Config::read(spec, path).err().unwrap_or_default()
    }

    fn warnings(&self, spec: &Value, path: &str, rules: RulesChoice) -> Vec<String> {
        let list = crate::config::warnings(spec, rules).into_iter();
        list.map(|warning| below(path, &warning)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_operators_file_is_recognized_by_its_scheduler() {
        let own = |file: Value| OpenMcp.own_file(&file);
        assert_eq!(
            own(json!({"scheduler": {"scope": "Cluster"}, "accessRequest": {}})),
            Some(json!({"scheduler": {"scope": "Cluster"}}))
        );
        assert_eq!(own(json!({"scheduler": "on"})), None);
        assert_eq!(own(json!({"apiVersion": "v1", "scheduler": {}})), None);
        assert_eq!(own(json!([])), None);
    }
}
