//! Answers to requests for paths that are not resources: index, health, version, metrics, discovery, OpenAPI.

use axum::body::Body;
use berth_apimachinery::Status;
use http::request::Parts;
use http::{HeaderValue, Response, StatusCode, header};

use super::Chain;
use crate::health::Probe;
use crate::request_info::RequestInfo;
use crate::respond;

const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

impl Chain {
    /// Answers an authorized request for a path.
    ///
    /// # Errors
    /// 404 for an unknown path, 405 for a method other than GET and HEAD, 406 when no form of a document is
    /// acceptable, 500 when the answer cannot be rendered.
    pub(super) fn answer_path(&self, info: &RequestInfo, parts: &Parts) -> Result<Response<Body>, Status> {
        let is_read = matches!(info.verb, "get" | "head");
        if let Some((probe, check)) = Probe::of_path(&info.path) {
            return if is_read {
                self.health.answer(probe, check, &info.query, &self.metrics)
            } else {
                Err(Status::method_not_allowed())
            };
        }
        match info.path.trim_end_matches('/') {
            "/version" if is_read => Ok(respond::bytes(
                StatusCode::OK,
                "application/json",
                self.version.clone(),
            )),
            "/metrics" if is_read => self.metrics_page(),
            "/version" | "/metrics" => Err(Status::method_not_allowed()),
            "" if is_read => self.index(),
            _ if info.path.starts_with("/openapi") && info.path.ends_with('/') => Err(Status::no_such_path()),
            path => self.documents.answer(path, is_read, &parts.headers, &info.query),
        }
    }

    fn metrics_page(&self) -> Result<Response<Body>, Status> {
        self.metrics.in_flight("readOnly", self.reads.in_flight());
        self.metrics.in_flight("mutating", self.writes.in_flight());
        let text = self
            .metrics
            .render()
            .map_err(|problem| Status::internal(problem.to_string()))?;
        Ok(respond::bytes(StatusCode::OK, OPEN_METRICS, text.into()))
    }

    /// Answers `/` with the list of paths, as kube-apiserver does.
    fn index(&self) -> Result<Response<Body>, Status> {
        let mut paths: Vec<&str> = vec!["/healthz", "/livez", "/metrics", "/readyz", "/version"];
        paths.extend(self.documents.paths());
        paths.sort_unstable();
        let body = serde_json::to_vec_pretty(&serde_json::json!({ "paths": paths }))
            .map_err(|problem| Status::internal(problem.to_string()))?;
        let mut response = respond::bytes(StatusCode::OK, "application/json", body.into());
        response
            .headers_mut()
            .insert(header::VARY, HeaderValue::from_static("Accept"));
        Ok(response)
    }
}
