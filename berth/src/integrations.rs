//! HTTP API for tools that use decisions (docs/consumers.md, "Argo CD" and "Flux"): Argo CD's plugin
//! generator and Flux's ExternalService. Callers present a client certificate, or the bearer token of a file,
//! which is read again at each request.
//!
//! Both tools remove objects that they no longer find. So an uncertain answer is an error, never a shorter
//! list.

mod answer;
mod token;

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{Extension, Path, Request, State};
use axum::routing::{get, post};
use berth_apimachinery::Status;
use berth_apiserver::authn::Connection;
use berth_apiserver::respond;
use berth_engine::Engine;
use http::{HeaderMap, Response, StatusCode};
use serde_json::{Value, json};

use self::answer::DecisionReference;
pub use self::token::{CallerCredentials, TokenFile};

/// Path for Argo CD's plugin generator. The base URL in the generator's configuration ends before `/api`.
const ARGO_CD: &str = "/integrations/argocd/api/v1/getparams.execute";
/// Path for Flux, for decisions in namespaces.
const FLUX: &str = "/integrations/flux/decisions/{namespace}/{name}";
/// Path for Flux, for ClusterDecisions.
const FLUX_CLUSTER: &str = "/integrations/flux/clusterdecisions/{name}";
/// Highest number of bytes of a request's body. Argo CD sends a name and a few parameters.
const MAX_BODY_LENGTH: usize = 64 * 1024;
/// Time limit for a request's body to arrive, as long as Argo CD's own time limit.
const BODY_TIMEOUT: Duration = Duration::from_secs(30);
/// Highest number of bytes of an answer that Flux accepts.
const MAX_FLUX_ANSWER_LENGTH: usize = 900 * 1024;

struct Integrations {
    engine: Arc<Engine>,
    callers: CallerCredentials,
}

/// Routes that answer requests of `callers` about the decisions of `engine`.
pub fn routes(engine: Arc<Engine>, callers: CallerCredentials) -> Router {
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
        let reading = axum::body::to_bytes(request.into_body(), MAX_BODY_LENGTH);
        let body = tokio::time::timeout(BODY_TIMEOUT, reading)
            .await
            .map_err(|_| Status::timeout(format!("the request did not arrive within {BODY_TIMEOUT:?}")))?
            .map_err(|_| Status::too_large(MAX_BODY_LENGTH))?;
        let body: Value = serde_json::from_slice(&body)
            .map_err(|error| Status::bad_request(format!("the body is not JSON: {error}")))?;
        let reference = DecisionReference::from_parameters(&body["input"]["parameters"])?;
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
        if length > MAX_FLUX_ANSWER_LENGTH {
            return Err(Status::failure(
                507,
                "TooLarge",
                format!(
                    "the answer has {length} bytes, and Flux accepts at most {MAX_FLUX_ANSWER_LENGTH}: place on fewer clusters"
                ),
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
