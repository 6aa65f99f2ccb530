//! Plans on the live world: SchedulingReviews with `spec.changes` (docs/concepts.md, "Planning").

use std::collections::BTreeSet;

use berth_apimachinery::{FieldError, Key, Status, Timestamp, budget};
use berth_apiserver::{Attributes, Call, Reply};
use berth_dialect_contract::config;
use berth_engine::plan::{self, Step, Terms};
use berth_engine::simulate::Problem;
use berth_engine::{Catalog, Plan, World};
use berth_scheduling_api::{GROUP, VERSION};
use serde_json::{Value, json};

use super::decision_query::DecisionQuery;
use super::hidden;
use super::reviews::Reviews;

/// Maximal number of checks of the right to read a single object, each of which may be a SubjectAccessReview.
/// Further objects need the right to read all objects of the resource or the namespace.
const CHECK_LIMIT: usize = 1000;

/// Reason why there is no plan.
enum NoPlan {
    /// Errors of the changes, or demands of the query that do not exist.
    Problems(Vec<FieldError>),
    /// A dialect broke its contract, or the caller no longer waits for the plan.
    Fault(String),
}

impl Reviews {
    /// Answers a review that has `spec.changes`.
    pub(super) async fn plan(&self, call: &Call, mut body: Value, now: Timestamp) -> Result<Reply, Status> {
        let name = body["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        let invalid = |errors: Vec<FieldError>| Status::invalid(GROUP, self.kind, &name, &errors);
        let spec = &body["spec"];
        let entries = spec["changes"].as_array().map(Vec::as_slice).unwrap_or_default();
        let steps = Step::read_all(entries, "", "spec.changes").map_err(invalid)?;
        let query = DecisionQuery::read(spec).map_err(invalid)?;
        self.check_plan_rights(call).await?;
        let mut worlds = Vec::new();
        for dialect in self.engine.dialects() {
            worlds.push(self.world(dialect, "Live").await?);
        }
        self.check_read_rights(call, &worlds, &steps, now).await?;
        let result = answer(&self.catalog, worlds, &steps, query, now);
        budget::check_needed()?;
        let plan = match result {
            Ok(plan) => plan,
            Err(NoPlan::Problems(errors)) => return Err(invalid(errors)),
            Err(NoPlan::Fault(fault)) => return Err(Status::internal(fault)),
        };
        body["status"] = json!({"plan": plan});
        Ok(Reply::Value(body))
    }

    /// Checks that the caller may read all decisions and targets, since a plan shows them.
    async fn check_plan_rights(&self, call: &Call) -> Result<(), Status> {
        for resource in ["targets", "decisions", "clusterdecisions"] {
            let right = Attributes {
                verb: "list".to_owned(),
                is_resource: true,
                group: GROUP.to_owned(),
                version: VERSION.to_owned(),
                resource: resource.to_owned(),
                ..Attributes::default()
            };
            call.require(right).await?;
        }
        Ok(())
    }

    /// Checks that the caller may read the changed objects, on which a plan depends.
    async fn check_read_rights(
        &self,
        call: &Call,
        worlds: &[World],
        steps: &[Step],
        now: Timestamp,
    ) -> Result<(), Status> {
        let mut readable = BTreeSet::new();
        let mut checks = 0;
        for step in steps {
            // Errors of a change are reported later, together with all others.
            let keys = plan::changed(worlds, &self.catalog, step, now).unwrap_or_default();
            for key in keys {
                let everywhere = Key::new(key.resource, "", "");
                let in_namespace = Key::new(key.resource, &key.namespace, "");
                if readable.contains(&everywhere) || readable.contains(&in_namespace) {
                    continue;
                }
                let version = self.catalog.version_of(key.resource).unwrap_or(config::VERSION);
                // A user who may read all objects of the resource, everywhere or in the namespace,
                // needs no check for each object. Beyond the limit, only these two checks are made, since
                // a drain may change thousands of objects.
                let mut keys_to_check = vec![everywhere];
                if !key.namespace.is_empty() {
                    keys_to_check.push(in_namespace);
                }
                if checks < CHECK_LIMIT {
                    keys_to_check.push(key);
                }
                checks += 1;
                let mut answer = Ok(());
                for key in keys_to_check {
                    answer = call.require(hidden::right_to_read(&key, version)).await;
                    if answer.is_ok() {
                        readable.insert(key);
                        break;
                    }
                }
                answer?;
            }
        }
        Ok(())
    }
}

fn answer(
    catalog: &Catalog,
    mut worlds: Vec<World>,
    steps: &[Step],
    mut query: DecisionQuery,
    now: Timestamp,
) -> Result<Plan, NoPlan> {
    let before: Vec<_> = worlds.iter_mut().map(World::begin).collect();
    let problems = |problems: Vec<Problem>| {
        NoPlan::Problems(problems.into_iter().map(|problem| problem.error).collect())
    };
    plan::apply(&mut worlds, catalog, steps, now).map_err(problems)?;
    let terms = Terms { now, seed: None };
    let mut whole = Plan::default();
    for (before, world) in before.iter().zip(&mut worlds) {
        let mut wanted = query.find(before, world.snapshot());
        wanted.extend(plan::on_drained(before, steps, now));
        if world.changes() == 0 && wanted.is_empty() {
            continue;
        }
        let part = Plan::of(before, world, &terms, |demand| wanted.contains(demand));
        whole.add(part.map_err(|fault| NoPlan::Fault(fault.to_string()))?);
    }
    let missing = query.missing();
    if missing.is_empty() {
        Ok(whole)
    } else {
        Err(NoPlan::Problems(missing))
    }
}
