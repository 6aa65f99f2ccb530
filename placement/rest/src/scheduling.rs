//! The subresource `scheduling` of Decisions and of placeable objects: the scheduler's present decision.

use std::sync::Arc;

use async_trait::async_trait;
use berth_apimachinery::{Key, Status, Timestamp};
use berth_apiserver::{Call, Document, Query, Reply, RequestInfo, Rows, SubresourceHandler, heavy};
use berth_dialect_contract::report::{self, Entry, Places, StreamedCandidates, View};
use berth_dialect_contract::{Decision, Report};
use berth_engine::advice::{self, Terms};
use berth_engine::{Catalog, Engine, Snapshot, World};
use berth_scheduling_api::scheduling::{self as shape, CandidateFacts};
use berth_scheduling_api::shared::Manifest;
use serde::Serialize;
use serde_json::{Value, json};

use super::advice::advise;
use super::head::head;
use super::limit::limit;
use super::live::live_world;
use super::resolve::{DemandResolver, ResolvedDemand};
use super::{hidden, rights_to_change};

/// Handler of the subresource `scheduling`.
pub(super) struct Scheduling {
    /// The engine.
    pub(super) engine: Arc<Engine>,
    /// The kinds of written objects.
    pub(super) catalog: Arc<Catalog>,
    /// Resolver of the demand of a request.
    pub(super) resolver: DemandResolver,
}

#[async_trait]
impl SubresourceHandler for Scheduling {
    fn effort(&self, info: &RequestInfo) -> usize {
        match info.query.first("advice") {
            None | Some("" | "false") => self.resolver.effort(&self.engine, &info.namespace, &info.name),
            Some(_) => heavy::UNKNOWN,
        }
    }

    async fn get(&self, call: &Call) -> Result<Reply, Status> {
        let choice = Choice::parse(&call.query)?;
        let ResolvedDemand { snapshot, demand } = self
            .resolver
            .find(&self.engine, &call.namespace, &call.name)
            .await?;
        let (snapshot, advice) = match choice.advice {
            false => (snapshot, None),
            // The report and the advice are of one world, so that both have the same objects.
            true => {
                let world = live_world(&self.engine, &snapshot.dialect).await?;
                let short = self.advice(call, &world, &demand).await?;
                (world.snapshot().clone(), Some(short))
            }
        };
        let decision = decide(&snapshot, &demand, call.now)?;
        let mut writes = Vec::new();
        for write in report::writes(&*snapshot.inventory, &decision) {
            writes.push(json!(write));
        }
        let source = self.engine.source();
        let before = |key: &Key| {
            let stored = source.cached(key.resource);
            stored.get(&key.namespace, &key.name).cloned()
        };
        hidden::hide(call, &self.catalog, &before, &mut writes).await?;
        Ok(Reply::Document(Arc::new(ExplainedDecision {
            warning: warning(&self.engine, &snapshot, &demand),
            places: Places::of(&*snapshot.inventory, &decision),
            snapshot,
            decision,
            writes,
            advice,
            choice,
        })))
    }
}

/// Warning that another writer contests the decision on `demand`, or that the configuration leaves `demand`
/// to another scheduler although Berth decides other requests of the system.
fn warning(engine: &Engine, snapshot: &Snapshot, demand: &Key) -> Option<String> {
    let dialect = snapshot.dialect.name();
    if let Some(text) = engine.contest(dialect, demand) {
        return Some(text.to_string());
    }
    let is_left_out = engine.decides(dialect) && !engine.is_entrusted(snapshot, demand);
    is_left_out.then(|| {
        format!("Berth does not decide this request: spec.requests of the SchedulerConfiguration {dialect} leaves it to another scheduler")
    })
}

impl Scheduling {
    /// The advice for the user of `call`, in the form for a Scheduling.
    async fn advice(&self, call: &Call, world: &World, demand: &Key) -> Result<Value, Status> {
        let terms = Terms {
            now: call.now,
            seed: None,
            limit: advice::TARGETS,
            only: None,
            can_bind: self.engine.is_entrusted(world.snapshot(), demand),
        };
        let mut advice = advise(world, &self.catalog, demand, &terms)?;
        rights_to_change::judge(call, &self.engine, &self.catalog, demand, &mut advice.targets).await?;
        // The advice is a tree, with its fields in the order of a SchedulingAdvice.
        serde_json::to_value(advice.short()).map_err(|error| Status::internal(error.to_string()))
    }
}

/// Detail in which a report shows the reasons of refusals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reasons {
    None,
    Counts,
    All,
}

/// Choice of the parts of a decision: `?limit=` candidates, `?reasons=none|counts|all`, and `?advice=true`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Choice {
    limit: usize,
    reasons: Reasons,
    advice: bool,
}

impl Choice {
    /// # Errors
    /// 400 for an invalid limit, and for invalid values of a parameter.
    fn parse(query: &Query) -> Result<Self, Status> {
        let limit = limit(query, usize::MAX, "candidates to return")?;
        let reasons = match query.first("reasons").unwrap_or_default() {
            "none" => Reasons::None,
            "counts" => Reasons::Counts,
            "" | "all" => Reasons::All,
            other => {
                return Err(Status::bad_request(format!(
                    "unrecognized reasons value: {other:?}: it must be one of none, counts, all"
                )));
            }
        };
        let advice = match query.first("advice").unwrap_or_default() {
            "true" => true,
            "" | "false" => false,
            other => {
                return Err(Status::bad_request(format!(
                    "unrecognized advice value: {other:?}: it must be true or false"
                )));
            }
        };
        Ok(Self {
            limit,
            reasons,
            advice,
        })
    }
}

/// A decision with the chosen parts, as the answer to a request.
struct ExplainedDecision {
    snapshot: Snapshot,
    decision: Decision,
    places: Places,
    /// Writes of a binding, with the parts that the caller may see.
    writes: Vec<Value>,
    /// Warning about another scheduler or writer.
    warning: Option<String>,
    /// Advice, where it was requested.
    advice: Option<Value>,
    choice: Choice,
}

/// Placeholder for the candidates, which are many and are written separately.
#[derive(Serialize)]
struct Placeholder;

/// Text of the placeholder. The first occurrence is the right one: no earlier field is null, and quotes in
/// texts are escaped.
const PLACEHOLDER: &[u8] = br#""candidates":null"#;

impl ExplainedDecision {
    fn view(&self) -> View<'_> {
        View {
            dialect: self.snapshot.dialect.name(),
            inventory: &*self.snapshot.inventory,
            decision: &self.decision,
            places: &self.places,
        }
    }

    /// The shown candidates, and the number of the omitted ones.
    fn entries(&self) -> (Vec<Entry>, usize) {
        let mut entries = self.view().entries();
        let rest = entries.len().saturating_sub(self.choice.limit);
        entries.truncate(self.choice.limit);
        (entries, rest)
    }
}

impl Document for ExplainedDecision {
    fn metadata(&self) -> Value {
        head(&self.snapshot, &self.decision.demand, "Scheduling").0.into()
    }

    fn json(&self) -> Result<Vec<u8>, Status> {
        let view = self.view();
        let (entries, rest) = self.entries();
        let candidates = StreamedCandidates {
            view,
            entries: &entries,
            with_reasons: self.choice.reasons == Reasons::All,
        };
        let mut status: Report<_, _, &Value> =
            view.report(self.snapshot.revision.0, Placeholder, self.writes.as_slice());
        status.remaining_candidates = Some(rest).filter(|&rest| rest > 0);
        status.reason_counts = (self.choice.reasons == Reasons::Counts)
            .then(|| report::reason_counts(&*self.snapshot.inventory, &self.decision));
        status.warnings.extend(self.warning.clone());
        status.advice = self.advice.as_ref();
        let object = manifest(&self.snapshot, &self.decision, status);
        let frame = serde_json::to_vec(&object).map_err(|error| Status::internal(error.to_string()))?;
        let places = frame
            .windows(PLACEHOLDER.len())
            .position(|part| part == PLACEHOLDER);
        let end = places.ok_or_else(|| Status::internal("a report without candidates"))? + PLACEHOLDER.len();
        let mut out = Vec::with_capacity(frame.len());
        out.extend_from_slice(&frame[..end - "null".len()]);
        candidates.write(&mut out)?;
        out.extend_from_slice(&frame[end..]);
        Ok(out)
    }

    /// One row per candidate, or one with the reason for an empty list.
    fn rows(&self) -> Rows {
        let view = self.view();
        let (entries, _) = self.entries();
        let with_reasons = self.choice.reasons == Reasons::All;
        let candidates = entries.iter().map(|&entry| view.candidate(entry, with_reasons));
        let mut rows: Vec<_> = candidates
            .map(|candidate| CandidateFacts::of(&candidate).row())
            .collect();
        if rows.is_empty() {
            let message = self.snapshot.inventory.message(&self.decision);
            rows.push(shape::empty_row(self.decision.reason, &message));
        }
        Rows {
            columns: shape::columns(),
            rows,
        }
    }
}

/// The scheduler's own decision on a demand that is in the snapshot.
pub(crate) fn decide(snapshot: &Snapshot, demand: &Key, now: Timestamp) -> Result<Decision, Status> {
    match snapshot.decide(demand, None, now) {
        Some(Ok(decision)) => Ok(decision),
        // Only a target that the caller chose can be refused, and none was chosen: this is a bug of the
        // dialect.
        Some(Err(refused)) => Err(Status::internal(berth_apimachinery::field::aggregate(
            &refused.errors,
        ))),
        None => Err(Status::not_found(demand.resource, &demand.name)),
    }
}

/// The Scheduling of `decision` without candidates, as a tree of JSON values: with the picked clusters, the
/// changes and the planned writes, and if `counts` is set, with the numbers of targets that each reason
/// refuses. Targets that are not picked do not add to the size of the result.
pub fn summary_of(snapshot: &Snapshot, decision: &Decision, counts: bool) -> Result<Value, Status> {
    let inventory = &*snapshot.inventory;
    let places = Places::of(inventory, decision);
    let view = View {
        dialect: snapshot.dialect.name(),
        inventory,
        decision,
        places: &places,
    };
    let mut report: Report = view.report(
        snapshot.revision.0,
        Vec::new(),
        report::writes(inventory, decision),
    );
    report.remaining_candidates = Some(view.entries().len()).filter(|&rest| rest > 0);
    report.reason_counts = counts.then(|| report::reason_counts(inventory, decision));
    report_value(snapshot, decision, &report)
}

/// The Scheduling that shows `decision`, which was made on `snapshot`, as a tree of JSON values.
pub fn scheduling_of(snapshot: &Snapshot, decision: &Decision) -> Result<Value, Status> {
    report_value(snapshot, decision, &snapshot.report(decision))
}

fn report_value(snapshot: &Snapshot, decision: &Decision, report: &Report) -> Result<Value, Status> {
    serde_json::to_value(manifest(snapshot, decision, report))
        .map_err(|error| Status::internal(error.to_string()))
}

/// The Scheduling of `decision` with this `status`.
fn manifest<S>(snapshot: &Snapshot, decision: &Decision, status: S) -> Manifest<shape::Scheduling<S>> {
    let (metadata, spec) = head(snapshot, &decision.demand, "Scheduling");
    let body = shape::Scheduling {
        spec: Some(spec),
        status: Some(status),
    };
    Manifest::new("Scheduling", metadata, body)
}
