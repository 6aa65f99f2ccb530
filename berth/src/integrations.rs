//! Decisions for tools that ask over plain HTTP (docs/consumers.md, "Argo CD" and "Flux"): Argo CD's
//! plugin generator and Flux's ExternalService. Callers show the bearer token of a file, which is read
//! again at each request, or a client certificate.
//!
//! Both tools remove objects that they no longer find. So an uncertain answer is an error, never a
//! shorter list.

mod answer;
mod token;

use std::sync::Arc;
use std::time::Duration;

use berth_apiserver::authn::Connection;
use berth_apiserver::respond;

use axum::Router;
use axum::body::Body;
use axum::extract::{Extension, Path, Request, State};
use axum::routing::{get, post};
use berth_apimachinery::Status;
use berth_engine::Engine;
use http::{HeaderMap, Response, StatusCode};
use serde_json::{Value, json};

use self::answer::DecisionReference;
pub use self::token::{Callers, TokenFile};

/// Path at which Argo CD's plugin generator asks. The base URL in its configuration ends before `/api`.
const ARGO_CD: &str = "/integrations/argocd/api/v1/getparams.execute";
/// Path at which Flux asks about decisions in namespaces.
const FLUX: &str = "/integrations/flux/decisions/{namespace}/{name}";
/// Path at which Flux asks about ClusterDecisions.
const FLUX_CLUSTER: &str = "/integrations/flux/clusterdecisions/{name}";
/// Longest body of a request: Argo CD sends a name and a few parameters.
const LONGEST_BODY: usize = 64 * 1024;
/// Time limit for the arrival of a request's body, which is Argo CD's own time limit.
const ARRIVAL_TIMEOUT: Duration = Duration::from_secs(30);
/// The longest answer that Flux accepts.
const LONGEST_FOR_FLUX: usize = 900 * 1024;

struct Integrations {
    engine: Arc<Engine>,
    callers: Callers,
}

/// The routes, which answer `callers` about `engine`'s decisions.
pub fn routes(engine: Arc<Engine>, callers: Callers) -> Router {
    Router::new()
        .route(ARGO_CD, post(argo_cd))
        .route(FLUX, get(flux))
        .route(FLUX_CLUSTER, get(flux_cluster))
        .with_state(Arc::new(Integrations { engine, callers }))
}

async fn argo_cd(
    State(integrations): State<Arc<Integrations>>,
    Extension(peer): Extension<Arc<Connection>>,
    request: Request,
) -> Response<Body> {
    response(integrations.argo_cd(request, &peer).await)
}

async fn flux(
    State(integrations): State<Arc<Integrations>>,
    Extension(peer): Extension<Arc<Connection>>,
    Path((namespace, name)): Path<(String, String)>,
    headers: HeaderMap,
) -> Response<Body> {
    response(
        integrations
            .flux(&headers, &peer, DecisionReference { namespace, name })
            .await,
    )
}

async fn flux_cluster(
    State(integrations): State<Arc<Integrations>>,
    Extension(peer): Extension<Arc<Connection>>,
    Path(name): Path<String>,
    headers: HeaderMap,
) -> Response<Body> {
    let namespace = String::new();
    response(
        integrations
            .flux(&headers, &peer, DecisionReference { namespace, name })
            .await,
    )
}

fn response(answer: Result<Value, Status>) -> Response<Body> {
    match answer {
        Ok(value) => respond::bytes(StatusCode::OK, "application/json", value.to_string().into()),
        Err(status) => respond::status(&status),
    }
}

impl Integrations {
    async fn argo_cd(&self, request: Request, peer: &Connection) -> Result<Value, Status> {
        self.callers.check(request.headers(), peer).await?;
        let reading = axum::body::to_bytes(request.into_body(), LONGEST_BODY);
        let body = tokio::time::timeout(ARRIVAL_TIMEOUT, reading)
            .await
            .map_err(|_| Status::timeout(format!("the request did not arrive within {ARRIVAL_TIMEOUT:?}")))?
            .map_err(|_| Status::too_large(LONGEST_BODY))?;
        let question: Value = serde_json::from_slice(&body)
            .map_err(|error| Status::bad_request(format!("the body is not JSON: {error}")))?;
        let reference = DecisionReference::of_parameters(&question["input"]["parameters"])?;
        let parameters = self.clusters(reference).await?;
        Ok(json!({"output": {"parameters": parameters}}))
    }

    async fn flux(
        &self,
        headers: &HeaderMap,
        peer: &Connection,
        reference: DecisionReference,
    ) -> Result<Value, Status> {
        self.callers.check(headers, peer).await?;
        let mut inputs = self.clusters(reference).await?;
        for input in &mut inputs {
            input["id"] = input["cluster"].clone();
        }
        let answer = json!({"inputs": inputs});
        let length = answer.to_string().len();
        if length > LONGEST_FOR_FLUX {
            return Err(Status::failure(
                507,
                "TooLarge",
                format!("the decision has {length} bytes, and Flux accepts {LONGEST_FOR_FLUX}"),
            ));
        }
        Ok(answer)
    }

    /// The clusters of a decision. They are computed on a blocking thread, since there may be thousands.
    async fn clusters(&self, reference: DecisionReference) -> Result<Vec<Value>, Status> {
        let system = reference.system()?.to_owned();
        let snapshot = self.engine.fresh(&system).await;
        let snapshot = snapshot.map_err(|behind| berth_scheduling_rest::behind(&behind))?;
        let Some(snapshot) = snapshot else {
            return Err(reference.not_found());
        };
        let now = self.engine.clock().now();
        let task = tokio::task::spawn_blocking(move || answer::clusters(&snapshot, &reference, now));
        task.await.map_err(|error| Status::internal(error.to_string()))?
    }
}
