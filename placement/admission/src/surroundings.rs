//! Sources on which admission policies depend: the policies themselves with their parameters, from Berth's
//! own store or from a hub; the authorizer; and the namespaces in the store, which are copies behind a hub.

use std::sync::Arc;

use berth_admission::UserInfo;
use berth_apimachinery::GroupResource;
use berth_apiserver::Authorizer;
use berth_apiserver::authz::expressions::Reviewer;
use berth_apiserver::metrics::PolicyMetrics;
use berth_cel::Review;
use berth_policies::{
    AccessReviewer, Catalog, Check, ParamError, ParamKind, Params, PendingReview, StoredSet,
};
use berth_storage::Source;
use serde_json::Value;

const NAMESPACES: GroupResource = GroupResource::new("", "namespaces");

/// Everything on which the evaluation of admission policies depends.
pub struct Surroundings {
    catalog: Arc<dyn Catalog>,
    reviewer: Reviewer,
    source: Arc<dyn Source>,
    metrics: Arc<PolicyMetrics>,
}

impl Surroundings {
    /// Creates the surroundings of the policies of `catalog`: `authorizer` checks rights, `source` has the
    /// namespaces, and `metrics` counts results.
    #[must_use]
    pub fn new(
        catalog: Arc<dyn Catalog>,
        authorizer: &Arc<dyn Authorizer>,
        source: &Arc<dyn Source>,
        metrics: &Arc<PolicyMetrics>,
    ) -> Self {
        Self {
            catalog,
            reviewer: Reviewer::new(authorizer),
            source: Arc::clone(source),
            metrics: Arc::clone(metrics),
        }
    }
}

impl AccessReviewer for Surroundings {
    fn decide<'a>(&'a self, user: &'a UserInfo, review: &'a Review) -> PendingReview<'a> {
        self.reviewer.decide(user, review)
    }
}

impl Catalog for Surroundings {
    fn stored(&self) -> Arc<StoredSet> {
        self.catalog.stored()
    }

    fn find(&self, kind: &ParamKind) -> Result<(), ParamError> {
        self.catalog.find(kind)
    }

    fn params(&self, kind: &ParamKind, namespace: &str, name: Option<&str>) -> Result<Params, ParamError> {
        self.catalog.params(kind, namespace, name)
    }

    fn count(&self, kind: &ParamKind, namespace: &str, most: usize) -> usize {
        self.catalog.count(kind, namespace, most)
    }
}

impl berth_policies::Surroundings for Surroundings {
    fn namespace(&self, name: &str) -> Option<Arc<Value>> {
        let namespaces = self.source.cached(NAMESPACES);
        Some(Arc::clone(namespaces.get("", name)?.value()))
    }

    fn run_blocking(&self, work: &mut dyn FnMut()) {
        berth_engine::run_blocking(u32::MAX, work);
    }

    fn checked(&self, check: &Check<'_>) {
        self.metrics.checked(check);
    }
}
