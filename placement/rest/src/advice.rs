//! `decisions/advice` and `clusterdecisions/advice`: the smallest changes that make targets fit
//! (docs/reference.md, "Advice").

use std::sync::Arc;

use async_trait::async_trait;
use berth_apimachinery::{Key, Status, Timestamp};
use berth_apiserver::{Call, Document, Query, Reply, RequestInfo, Rows, SubresourceHandler, heavy};
use berth_engine::advice::{self, Advice, NoAdvice, Terms};
use berth_engine::{Catalog, Engine, Snapshot, World};
use berth_scheduling_api::advice::{self as shape, SchedulingAdvice};
use berth_scheduling_api::shared::{Manifest, SchedulingSpec};
use serde_json::{Map, Value};

use super::head::head;
use super::limit::limit;
use super::live::live_world;
use super::resolve::{DemandResolver, ResolvedDemand};
use super::{render, rights_to_change};

/// Handler of the subresource `advice`.
pub(super) struct AdviceReader {
    /// The engine.
    pub(super) engine: Arc<Engine>,
    /// The kinds of objects that may change.
    pub(super) catalog: Arc<Catalog>,
    /// Finds the demand of the object that has the subresource.
    pub(super) resolver: DemandResolver,
}

#[async_trait]
impl SubresourceHandler for AdviceReader {
    /// The effort is unknown, since the number of decisions for an advice depends on the objects.
    fn effort(&self, _: &RequestInfo) -> usize {
        heavy::UNKNOWN
    }

    async fn get(&self, call: &Call) -> Result<Reply, Status> {
        let mut terms = terms(&call.query, call.now)?;
        let ResolvedDemand { snapshot, demand } = self
            .resolver
            .find(&self.engine, &call.namespace, &call.name)
            .await?;
        let world = live_world(&self.engine, &snapshot.dialect).await?;
        terms.can_bind = self.engine.is_entrusted(world.snapshot(), &demand);
        let mut advice = advise(&world, &self.catalog, &demand, &terms)?;
        rights_to_change::judge(call, &self.engine, &self.catalog, &demand, &mut advice.targets).await?;
        Ok(Reply::Document(Arc::new(AdviceRow {
            snapshot: world.snapshot().clone(),
            advice,
        })))
    }
}

/// The parameters of the advice, from `?limit=`, `?cluster=` and `?target=`.
///
/// # Errors
/// 400 for an invalid limit, and where both cluster and target are set.
fn terms(query: &Query, now: Timestamp) -> Result<Terms, Status> {
    let limit = limit(query, advice::TARGETS, "targets with advice")?;
    let named = |name: &str| query.first(name).filter(|text| !text.is_empty());
    let only = match (named("cluster"), named("target")) {
        (Some(_), Some(_)) => {
            return Err(Status::bad_request(
                "cluster and target may not be set together: each names the target of the advice".to_owned(),
            ));
        }
        (cluster, target) => cluster.or(target).map(str::to_owned),
    };
    Ok(Terms {
        now,
        seed: None,
        limit,
        only,
        can_bind: true,
    })
}

/// The advice about a demand of `world`.
pub(super) fn advise(
    world: &World,
    catalog: &Catalog,
    demand: &Key,
    terms: &Terms,
) -> Result<Advice, Status> {
    advice::advise(world, catalog, demand, terms).map_err(|problem| match problem {
        NoAdvice::Demand(demand) => Status::not_found(demand.resource, &demand.name),
        NoAdvice::Target(_) => Status::bad_request(format!(
            "{problem}: name it as its system does (cluster), or by its Target (target)"
        )),
        NoAdvice::Fault(fault) => Status::internal(fault.to_string()),
        NoAdvice::Ended(exceeded) => exceeded.into(),
    })
}

/// Advice as the object and the table of a response.
struct AdviceRow {
    snapshot: Snapshot,
    advice: Advice,
}

impl AdviceRow {
    fn head(&self) -> (Map<String, Value>, SchedulingSpec) {
        head(&self.snapshot, &self.advice.decision.demand, shape::KIND)
    }
}

impl Document for AdviceRow {
    fn metadata(&self) -> Value {
        self.head().0.into()
    }

    fn json(&self) -> Result<Vec<u8>, Status> {
        let (metadata, spec) = self.head();
        let body = SchedulingAdvice {
            spec: Some(spec),
            status: Some(self.advice.status(&self.snapshot)),
        };
        let object = render::tree(&Manifest::new(shape::KIND, metadata, body));
        serde_json::to_vec(&object).map_err(|error| Status::internal(error.to_string()))
    }

    fn rows(&self) -> Rows {
        let mut rows: Vec<_> = self.advice.short().targets.iter().flat_map(shape::rows).collect();
        if rows.is_empty() {
            let message = self.snapshot.inventory.message(&self.advice.decision);
            rows.push(shape::empty_row("<none>", message));
        }
        Rows {
            columns: shape::columns(),
            rows,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(query: &str) -> Result<Terms, Status> {
        terms(&Query::parse(query), Timestamp::UNIX_EPOCH)
    }

    #[test]
    fn a_query_says_how_many_or_which_one() {
        assert_eq!(of("").unwrap().limit, advice::TARGETS);
        assert_eq!(of("limit=0").unwrap().limit, usize::MAX);
        assert_eq!(of("limit=3").unwrap().limit, 3);
        assert_eq!(of("cluster=a").unwrap().only.as_deref(), Some("a"));
        assert_eq!(of("target=a.ocm").unwrap().only.as_deref(), Some("a.ocm"));
        for bad in ["limit=many", "limit=-1", "cluster=a&target=a.ocm"] {
            assert_eq!(of(bad).unwrap_err().code, 400, "{bad}");
        }
    }
}
