//! Controller that checks the types in ValidatingAdmissionPolicies, like kube-controller-manager: the status
//! of a new or changed policy lists the expressions that do not fit the schemas of the matched kinds.

use std::sync::Arc;
use std::time::Duration;

use berth_admission::UserInfo;
use berth_apimachinery::{Key, Kind, Object, Status};
use berth_apiserver::{ApplyConfiguration, Author, Group, Registry};
use berth_policies::Kinds;
use berth_storage::informer::{self, Handler};
use berth_storage::{Scope, Source, StoreError};
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::core::admission_policies::VALIDATING;

/// Field manager of the status, as in Kubernetes.
const MANAGER: &str = "validatingadmissionpolicy-status";
/// User that writes the status.
const USER: &str = "system:serviceaccount:kube-system:validatingadmissionpolicy-status-controller";

/// Checks the policies in `source` against the kinds of `groups`, and writes the results through
/// `registry`, until `stop` is cancelled.
pub fn spawn(
    registry: &Arc<Registry>,
    source: &Arc<dyn Source>,
    groups: &[Group],
    stop: CancellationToken,
) -> JoinHandle<()> {
    let resources = groups.iter().flat_map(|group| &group.resources);
    let checker = TypeChecker {
        registry: Arc::clone(registry),
        source: Arc::clone(source),
        served: ServedKinds(resources.map(|resource| Arc::clone(&resource.kind)).collect()),
        user: UserInfo {
            name: USER.to_owned(),
            ..UserInfo::default()
        },
    };
    tokio::spawn(informer::run(
        Arc::clone(source),
        Scope::One(VALIDATING),
        checker,
        stop.cancelled_owned(),
    ))
}

/// The served kinds, with their schemas.
struct ServedKinds(Vec<Arc<dyn Kind>>);

impl ServedKinds {
    fn find(&self, group: &str, version: &str, matches: impl Fn(&dyn Kind) -> bool) -> Option<&dyn Kind> {
        let mut kinds = self.0.iter().map(AsRef::as_ref);
        kinds.find(|kind| {
            let info = kind.info();
            info.group == group && info.versions.contains(&version) && matches(*kind)
        })
    }
}

impl Kinds for ServedKinds {
    fn kind(&self, group: &str, version: &str, resource: &str) -> Option<String> {
        let found = self.find(group, version, |kind| kind.info().resource().resource == resource);
        found.map(|kind| kind.info().kind.to_owned())
    }

    fn schema(&self, group: &str, version: &str, kind: &str) -> Option<&Value> {
        let found = self.find(group, version, |served| served.info().kind == kind);
        found.map(|found| found.schema(version).openapi())
    }
}

/// Controller that checks policies and writes the results.
struct TypeChecker {
    registry: Arc<Registry>,
    source: Arc<dyn Source>,
    served: ServedKinds,
    user: UserInfo,
}

impl Handler for TypeChecker {
    /// Checks every new or changed policy. Returns whether no result has to be written again.
    async fn work(&mut self) -> bool {
        let mut is_complete = true;
        for (name, policy) in self.source.cached(VALIDATING).iter(None, None) {
            if policy.meta().generation()
                <= policy.value()["status"]["observedGeneration"]
                    .as_i64()
                    .unwrap_or_default()
            {
                continue;
            }
            match self.check(policy).await {
                Ok(()) => {}
                // The policy was changed or deleted concurrently, and the watch will report that.
                Err(status) if [404, 409].contains(&status.code) => {}
                Err(status) => {
                    tracing::warn!(
                        policy = %name.name,
                        problem = status.message,
                        "cannot write the type-check result of a ValidatingAdmissionPolicy; retrying"
                    );
                    is_complete = false;
                }
            }
        }
        is_complete
    }

    fn ended(&self, problem: &StoreError) -> Duration {
        if !matches!(problem, StoreError::Expired { .. }) {
            tracing::warn!(%problem, "the watch of ValidatingAdmissionPolicies ended; beginning again");
        }
        Self::RETRY_AFTER
    }
}

impl TypeChecker {
    /// Checks one policy, and writes the result to the status.
    async fn check(&self, policy: &Arc<Object>) -> Result<(), Status> {
        let value = policy.value();
        let warnings: Vec<Value> = berth_policies::check_types(value, &self.served)
            .into_iter()
            .map(|warning| json!({"fieldRef": warning.field, "warning": warning.text}))
            .collect();
        let mut type_checking = json!({});
        if !warnings.is_empty() {
            type_checking["expressionWarnings"] = warnings.into();
        }
        let config = json!({
            "apiVersion": value["apiVersion"], "kind": value["kind"],
            "metadata": {"name": policy.meta().name()},
            "status": {"observedGeneration": policy.meta().generation(), "typeChecking": type_checking},
        });
        let author = Author {
            user: &self.user,
            manager: MANAGER,
            cause: Some("the expressions of a new or changed policy were checked"),
        };
        let configuration = ApplyConfiguration {
            key: &Key::new(VALIDATING, "", policy.meta().name()),
            subresource: "status",
            config: &config,
            base: Some(policy.revision()),
        };
        let applied = self.registry.apply_as(author, configuration).await;
        applied.map(drop).map_err(|rejection| rejection.status)
    }
}
