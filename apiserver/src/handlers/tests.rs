//! The API as clients see it: toy kinds over a store in memory, a projection and a handler.

mod admitted;
mod apply;
mod computed;
mod consulted;
mod deletes;
mod effort;
mod extended;
mod fuzz;
mod inside;
mod keeping;
mod lists;
mod messages;
mod metadata;
mod others;
mod patches;
mod rows;
mod shapes;
mod shared;
mod toys;
mod view;
mod watches;
mod writes;

use std::sync::Arc;

use berth_admission::UserInfo;
use http::{HeaderMap, HeaderValue, Method, Uri};
use http_body_util::BodyExt;
use serde_json::{Value, json};

use super::*;
use crate::annotations::Annotations;
use crate::auth::Access;
use crate::call::Warnings;
use crate::testing;

pub(super) const WIDGETS: &str = "/apis/toys.example.com/v1/namespaces/default/widgets";
pub(super) const ALL_WIDGETS: &str = "/apis/toys.example.com/v1/widgets";
pub(super) const GADGETS: &str = "/apis/toys.example.com/v1/gadgets";

/// Response to a request.
pub(super) struct Answer {
    pub(super) code: u16,
    pub(super) headers: HeaderMap,
    pub(super) bytes: bytes::Bytes,
    pub(super) warnings: Vec<String>,
}

impl Answer {
    pub(super) fn json(&self) -> Value {
        serde_json::from_slice(&self.bytes).unwrap_or_else(|problem| panic!("{problem}: {}", self.text()))
    }

    pub(super) fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }

    pub(super) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    /// The body, after checking the code.
    pub(super) fn expect(&self, code: u16) -> Value {
        assert_eq!(self.code, code, "{}", self.text());
        self.json()
    }

    /// The message of a `Status`, after checking that it is complete and has this code and reason.
    pub(super) fn refusal(&self, code: u16, reason: &str) -> String {
        let status = self.expect(code);
        assert_eq!(
            (&status["kind"], &status["status"]),
            (&json!("Status"), &json!("Failure"))
        );
        assert_eq!(
            (&status["code"], &status["reason"]),
            (&json!(code), &json!(reason)),
            "{status}"
        );
        status["message"].as_str().unwrap().to_owned()
    }
}

pub(super) struct Client {
    pub(super) api: Arc<ApiState>,
    pub(super) toys: toys::Toys,
}

impl Client {
    pub(super) fn new() -> Self {
        Self::with_limits(berth_storage::Limits::default())
    }

    pub(super) fn with_limits(limits: berth_storage::Limits) -> Self {
        let toys = toys::Toys::new(limits);
        let chain = toys.chain();
        Self::over(toys, chain)
    }

    /// The toys behind another chain.
    pub(super) fn over(toys: toys::Toys, chain: Chain) -> Self {
        let registry = Registry::builder(chain, testing::clock());
        let groups = toys.groups(registry.handle());
        let api =
            ApiState::from_registry(registry.build(&groups).unwrap()).with_codec(Arc::new(toys::Reversed));
        Self {
            api: Arc::new(api),
            toys,
        }
    }

    pub(super) fn request(method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> RequestCx {
        let method: Method = method.parse().unwrap();
        let uri: Uri = path.parse().unwrap();
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            let name: http::HeaderName = name.parse().unwrap();
            map.insert(name, HeaderValue::from_bytes(value.as_bytes()).unwrap());
        }
        RequestCx {
            info: Arc::new(RequestInfo::parse(&method, &uri).unwrap()),
            user: UserInfo {
                name: "alice".to_owned(),
                ..UserInfo::default()
            },
            method,
            headers: map,
            body: bytes::Bytes::copy_from_slice(body),
            now: testing::now(),
            authorizer: Arc::new(testing::FunctionAuthorizer(|_: &_| {
                Ok(Access::Allow(String::new()))
            })),
            warnings: Warnings::default(),
            annotations: Annotations::of("berth.dev"),
        }
    }

    pub(super) async fn open(&self, path: &str, headers: &[(&str, &str)]) -> Response<Body> {
        self.api
            .dispatch(AuthorizedRequest::new(Self::request("GET", path, headers, b"")))
            .await
    }

    pub(super) async fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Answer {
        let request = Self::request(method, path, headers, body);
        let warnings = request.warnings.clone();
        let response = self.api.dispatch(AuthorizedRequest::new(request)).await;
        let (parts, body) = response.into_parts();
        let bytes = body.collect().await.unwrap().to_bytes();
        Answer {
            code: parts.status.as_u16(),
            headers: parts.headers,
            bytes,
            warnings: warnings.take(),
        }
    }

    pub(super) async fn get(&self, path: &str) -> Answer {
        self.send("GET", path, &[], b"").await
    }

    pub(super) async fn get_as(&self, path: &str, accept: &str) -> Answer {
        self.send("GET", path, &[("accept", accept)], b"").await
    }

    pub(super) async fn post(&self, path: &str, body: &Value) -> Answer {
        self.send("POST", path, &[], body.to_string().as_bytes()).await
    }

    pub(super) async fn put(&self, path: &str, body: &Value) -> Answer {
        self.send("PUT", path, &[], body.to_string().as_bytes()).await
    }

    pub(super) async fn patch(&self, path: &str, kind: &str, body: &str) -> Answer {
        let media_type = format!("application/{kind}");
        self.send("PATCH", path, &[("content-type", &media_type)], body.as_bytes())
            .await
    }

    pub(super) async fn merge(&self, path: &str, body: &Value) -> Answer {
        self.patch(path, "merge-patch+json", &body.to_string()).await
    }

    pub(super) async fn delete(&self, path: &str) -> Answer {
        self.send("DELETE", path, &[], b"").await
    }

    /// Creates the widget `name` and returns it as stored.
    pub(super) async fn widget(&self, name: &str) -> Value {
        self.post(WIDGETS, &widget(name)).await.expect(201)
    }
}

pub(super) fn widget(name: &str) -> Value {
    json!({
        "apiVersion": "toys.example.com/v1",
        "kind": "Widget",
        "metadata": {"name": name},
        "spec": {"color": "red", "size": 1},
    })
}

pub(super) fn at(name: &str) -> String {
    format!("{WIDGETS}/{name}")
}
