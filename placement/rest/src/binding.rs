//! `decisions/binding`, `bindings` and related resources: the binding of an object, to read and to create.

use std::collections::HashSet;
use std::sync::Arc;

use async_trait::async_trait;
use berth_apimachinery::{FieldError, Key, Status};
use berth_apiserver::{Attributes, Call, Computed, Reply, RequestInfo, SubresourceHandler};
use berth_dialect_contract::Decision;
use berth_dialect_contract::report::{self, Pick, ReasonCount};
use berth_engine::{Bind, BindError, BindOutcome, Committer, Engine, Snapshot, UnplacedTreatment};
use berth_scheduling_api::binding::{self, BindingSpec, BindingStatus};
use berth_scheduling_api::decision::ClusterBinding;
use berth_scheduling_api::shared::Manifest;
use berth_scheduling_api::{GROUP, VERSION};
use serde::Deserialize;
use serde_json::Value;

use super::resolve::{DemandResolver, ResolvedDemand, behind, decisions_of};
use super::{names, own_places, render};

/// Binds objects on request.
#[derive(Clone)]
pub(super) struct Binder {
    /// The engine.
    pub(super) engine: Arc<Engine>,
    /// Committer of the writes of a binding.
    pub(super) committer: Arc<dyn Committer>,
}

/// Handler of the subresource `binding`.
pub(super) struct BindingSubresource {
    /// Binds on create.
    pub(super) binder: Binder,
    /// Finds the demand of the object that has the subresource.
    pub(super) resolver: DemandResolver,
}

/// Handler of the resource `bindings`, whose create does the same as a create of the subresource `binding`.
pub(super) struct Bindings(pub(super) Binder);

#[async_trait]
impl SubresourceHandler for BindingSubresource {
    /// No effort is counted here, since the engine itself limits concurrent bindings.
    fn effort(&self, _: &RequestInfo) -> usize {
        0
    }

    async fn get(&self, call: &Call) -> Result<Reply, Status> {
        let ResolvedDemand { snapshot, demand } = self
            .resolver
            .find(&self.binder.engine, &call.namespace, &call.name)
            .await?;
        let view = snapshot.inventory.demand(&demand, call.now);
        let view = view.ok_or_else(|| Status::not_found(demand.resource, &demand.name))?;
        let targets: Vec<String> = view
            .placed
            .iter()
            .filter(|placed| !placed.leaving)
            .filter_map(|placed| snapshot.inventory.candidate(&placed.cluster_name))
            .map(|candidate| {
                names::join(
                    &snapshot.inventory.target_name(candidate),
                    snapshot.dialect.name(),
                )
            })
            .collect();
        let status = BindingStatus {
            phase: Some(view.phase.as_str().into()),
            decisions: Some(render::cluster_bindings(&view.placed)),
            ..BindingStatus::default()
        };
        Ok(Reply::Value(object(&snapshot, &demand, targets, status)))
    }

    async fn create(&self, call: &Call, body: Value) -> Result<Reply, Status> {
        check_name(&body, call)?;
        self.binder.bind(self.resolver, call, &call.name, &body).await
    }
}

#[async_trait]
impl Computed for Bindings {
    /// No effort is counted here, since the engine itself limits concurrent bindings.
    fn effort(&self, _: &RequestInfo) -> usize {
        0
    }

    async fn create(&self, call: &Call, body: Value) -> Result<Reply, Status> {
        let name = body["metadata"]["name"].as_str().unwrap_or_default();
        let decisions = decisions_of(&call.namespace);
        call.require(Attributes {
            verb: "create".to_owned(),
            is_resource: true,
            group: GROUP.to_owned(),
            version: VERSION.to_owned(),
            resource: decisions.resource.to_owned(),
            subresource: "binding".to_owned(),
            namespace: call.namespace.clone(),
            name: name.to_owned(),
            ..Attributes::default()
        })
        .await?;
        self.0.bind(DemandResolver::Decision, call, name, &body).await
    }
}

impl Binder {
    async fn bind(
        &self,
        resolver: DemandResolver,
        call: &Call,
        name: &str,
        body: &Value,
    ) -> Result<Reply, Status> {
        let ResolvedDemand { snapshot, demand } = resolver.find(&self.engine, &call.namespace, name).await?;
        if let Some(right) = own_places::right_to_bind(&self.engine, demand.resource) {
            let (namespace, name) = (demand.namespace.to_string(), demand.name.to_string());
            call.require(Attributes {
                namespace,
                name,
                ..right
            })
            .await?;
        }
        if let Some(refusal) = refusal_if_observed(&self.engine, &snapshot, &demand, name, &call.namespace) {
            return Err(refusal);
        }
        let targets = targets(body)?;
        let chosen = chosen(&snapshot, body, &targets)?;
        let bind = Bind {
            dialect: snapshot.dialect.name(),
            demand: &demand,
            chosen: chosen.as_deref(),
            dry_run: call.dry_run,
            unplaced: UnplacedTreatment::Refuse,
            by: Some(&call.user.name),
        };
        match self.engine.bind(&*self.committer, bind).await {
            Ok(bound) => Ok(Reply::Value(answer(&bound, targets))),
            Err(error) => Err(refusal(error, name, &call.namespace)),
        }
    }
}

/// Checks that the name and namespace in `body` are those in the path, or empty.
pub(super) fn check_name(body: &Value, call: &Call) -> Result<(), Status> {
    let metadata = &body["metadata"];
    for (field, path) in [("name", &call.name), ("namespace", &call.namespace)] {
        if let Some(text) = metadata[field]
            .as_str()
            .filter(|text| !text.is_empty() && *text != path.as_str())
        {
            return Err(Status::bad_request(format!(
                "the {field} of the object ({text}) does not match the {field} on the URL ({path})"
            )));
        }
    }
    Ok(())
}

/// The clusters of `targets` by the system's names; `None` where `targets` is empty. An unknown name is
/// returned unchanged, so that the dialect refuses it together with infeasible clusters.
fn chosen(snapshot: &Snapshot, body: &Value, targets: &[String]) -> Result<Option<Vec<String>>, Status> {
    if targets.is_empty() {
        return Ok(None);
    }
    let cluster = |name: &String| {
        names::target(&*snapshot.inventory, snapshot.dialect.name(), name).map_or_else(
            || name.to_owned(),
            |candidate| snapshot.inventory.cluster_name(candidate).to_string(),
        )
    };
    let clusters: Vec<String> = targets.iter().map(cluster).collect();
    let mut seen = HashSet::new();
    let mut errors = Vec::new();
    for (index, (name, cluster)) in targets.iter().zip(&clusters).enumerate() {
        if !seen.insert(cluster) {
            errors.push(FieldError::duplicate(
                format!("spec.targets[{index}]"),
                name.as_str(),
            ));
        }
    }
    if errors.is_empty() {
        return Ok(Some(clusters));
    }
    let name = body["metadata"]["name"].as_str().unwrap_or_default();
    Err(Status::invalid(GROUP, "Binding", name, &errors))
}

/// `spec.targets` of a Binding.
fn targets(body: &Value) -> Result<Vec<String>, Status> {
    let spec = Option::<BindingSpec>::deserialize(&body["spec"]);
    let spec = spec.map_err(|error| Status::bad_request(format!("spec of the Binding: {error}")))?;
    Ok(spec.and_then(|spec| spec.targets).unwrap_or_default())
}

/// The Binding of `demand`.
fn object(snapshot: &Snapshot, demand: &Key, targets: Vec<String>, status: BindingStatus) -> Value {
    let (namespace, name) = names::place(&*snapshot.dialect, demand);
    let kind = if namespace.is_empty() {
        "ClusterBinding"
    } else {
        "Binding"
    };
    let source = snapshot.inventory.object(demand);
    let metadata = source
        .map(|source| render::metadata(source.meta(), kind, &namespace, &name))
        .unwrap_or_default();
    let body = binding::Binding {
        spec: Some(BindingSpec {
            targets: Some(targets),
        }),
        status: Some(status),
    };
    render::tree(&Manifest::new(kind, metadata, body))
}

/// The Binding with the outcome, as the response to a request to bind.
fn answer(bound: &BindOutcome, targets: Vec<String>) -> Value {
    let BindOutcome {
        snapshot, decision, ..
    } = bound;
    let report = snapshot.report(decision);
    let picked = report.picked.into_iter();
    let status = BindingStatus {
        phase: None,
        outcome: Some(report.outcome),
        reason: Some(report.reason),
        message: Some(report.message),
        decisions: Some(picked.map(bound_cluster).collect()),
        changes: Some(report.changes),
    };
    object(snapshot, &decision.demand, targets, status)
}

fn bound_cluster(pick: Pick) -> ClusterBinding {
    ClusterBinding {
        cluster_name: pick.cluster_name,
        reason: pick.reason,
        score: pick.score,
        amount: pick.amount,
        state: None,
        leaving: None,
    }
}

/// The error response to a request to bind.
fn refusal(error: BindError, name: &str, namespace: &str) -> Status {
    match error {
        BindError::NotFound(_) => Status::not_found(decisions_of(namespace), name),
        BindError::Refused(refused) => Status::invalid(GROUP, "Binding", name, &refused.errors),
        BindError::Unplaced(bound) => unplaced(&bound.snapshot, &bound.decision, name),
        BindError::Conflict(last) => {
            let text = format!(
                "the objects it was decided on kept changing; please try again ({})",
                last.message
            );
            Status::conflict(decisions_of(namespace), name, &text)
        }
        BindError::Observed(_) => Status::forbidden(decisions_of(namespace), name, &error.to_string()),
        BindError::Contested(contest) => Status::conflict(decisions_of(namespace), name, &contest.text),
        BindError::Rejected(status) | BindError::Overruled(status) => *status,
        BindError::NotReady(error) => behind(&error),
    }
}

/// Response 403 where another scheduler decides `demand`, or the whole system: two schedulers that write
/// would undo each other's work. `None` where Berth decides.
fn refusal_if_observed(
    engine: &Engine,
    snapshot: &Snapshot,
    demand: &Key,
    name: &str,
    namespace: &str,
) -> Option<Status> {
    if engine.is_entrusted(snapshot, demand) {
        return None;
    }
    let dialect = snapshot.dialect.name();
    let text = if engine.decides(dialect) {
        format!(
            "Berth observes it and does not decide it: spec.requests of the SchedulerConfiguration named {dialect} leaves it out; \
             read its subresource scheduling or create a SchedulingReview to see what Berth would decide. To let Berth decide, \
             give it (or its namespace) the labels that are selected there, or change spec.requests"
        )
    } else {
        format!(
            "Berth observes {dialect} here and decides nothing of it; read its subresource scheduling or create a \
             SchedulingReview to see what Berth would decide. To let Berth decide, stop the other scheduler and set spec.mode: \
             Decide in the SchedulerConfiguration named {dialect}, on a server that is not started with --mode=observe (the \
             condition Deciding there says what it waits for): berth takeover {dialect}"
        )
    };
    Some(Status::forbidden(decisions_of(namespace), name, &text))
}

/// Response 422 with the message of `decision`, and one cause for each reason that refuses targets.
fn unplaced(snapshot: &Snapshot, decision: &Decision, name: &str) -> Status {
    let message = snapshot.inventory.message(decision);
    let detail = format!("nothing was bound ({}): {message}", decision.reason);
    let status = Status::invalid(
        GROUP,
        "Binding",
        name,
        &[FieldError::forbidden("spec.targets", detail)],
    );
    let counts = report::reason_counts(&*snapshot.inventory, decision).into_iter();
    counts.fold(status, |status, count| {
        let targets = if count.targets == 1 {
            "1 target".to_owned()
        } else {
            format!("{} targets", count.targets)
        };
        let ReasonCount { plugin, reason, .. } = count;
        status.with_cause(
            &reason,
            format!("{plugin} refuses {targets}: {reason}"),
            "spec.targets",
        )
    })
}
