//! HTTP API for tools that use decisions (docs/consumers.md, "Argo CD" and "Flux"): Argo CD's plugin
//! generator and Flux's ExternalService. Callers present a client certificate, or the bearer token of a file,
//! which is read again at each request.
//!
//! Both tools remove objects that they no longer find. So an uncertain answer is an error, never a shorter
//! list.

mod answer;
mod token;

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{Extension, Path, Request, State};
use axum::routing::{get, post};
use berth_apimachinery::Status;
use berth_apiserver::authn::Connection;
use berth_apiserver::memory::{ByteLimiter, Charge, Share};
use berth_apiserver::{memory, respond};
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
/// Holder of the memory that all requests of callers together take.
const MEMORY_HOLDER: &str = "tools that read decisions";
/// Highest number of bytes of an answer that Flux accepts.
const MAX_FLUX_ANSWER_LENGTH: usize = 900 * 1024;

struct Integrations {
    engine: Arc<Engine>,
    callers: CallerCredentials,
    memory: Arc<ByteLimiter>,
}

/// Routes that answer requests of `callers` about the decisions of `engine`. The bodies take their room from
/// `memory`.
pub fn routes(engine: Arc<Engine>, callers: CallerCredentials, memory: Arc<ByteLimiter>) -> Router {
    Router::new()
        .route(ARGO_CD, post(argo_cd))
        .route(FLUX, get(flux))
        .route(FLUX_CLUSTER, get(flux_cluster))
        .with_state(Arc::new(Integrations {
            engine,
            callers,
            memory,
        }))
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
        let mut charge = self.memory.charge(MEMORY_HOLDER, Share::USER, memory::REQUEST)?;
        let body = read_json(request, &mut charge).await?;
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

/// Reads the JSON in the body of `request`. Its bytes and its values are added to `charge`.
///
/// # Errors
/// The errors of [`berth_apiserver::read_body`], and 400 when the body is not JSON.
async fn read_json(request: Request, charge: &mut Charge) -> Result<Value, Status> {
    let (parts, body) = request.into_parts();
    let body = berth_apiserver::read_body(&parts.headers, body, MAX_BODY_LENGTH, charge).await?;
    charge.grow(memory::tree_size(&body))?;
    serde_json::from_slice(&body)
        .map_err(|error| Status::bad_request(format!("the body is not JSON: {error}")))
}

#[cfg(test)]
mod tests {
    use std::io;

    use bytes::Bytes;
    use futures::{StreamExt as _, stream};

    use super::*;

    /// The code with which `body` is refused.
    async fn refusal(body: Body) -> u16 {
        let limiter = ByteLimiter::new(memory::DEFAULT_BYTES);
        let mut charge = limiter.empty_charge(MEMORY_HOLDER, Share::USER);
        let request = Request::post(ARGO_CD).body(body).unwrap();
        read_json(request, &mut charge).await.unwrap_err().code
    }

    #[tokio::test(start_paused = true)]
    async fn only_a_body_over_the_limit_is_too_large() {
        let begun = || stream::iter([Ok(Bytes::from_static(b"{\"input\":"))]);
        let broken = stream::iter([Err(io::Error::from(io::ErrorKind::ConnectionReset))]);
        assert_eq!(refusal(Body::from_stream(begun().chain(broken))).await, 400);
        let stalled = begun().chain(stream::pending::<io::Result<Bytes>>());
        assert_eq!(refusal(Body::from_stream(stalled)).await, 408);
        assert_eq!(refusal(Body::from("{")).await, 400);
        assert_eq!(refusal(Body::from(vec![b' '; MAX_BODY_LENGTH + 1])).await, 413);
    }
}
