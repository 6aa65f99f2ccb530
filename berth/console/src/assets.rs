//! Files of the page, which are compiled into the program from `berth/console/web`.

use axum::body::Body;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, ETAG, IF_NONE_MATCH};
use http::{HeaderMap, HeaderValue, Response, StatusCode};
use ring::digest::{SHA256, digest};

use crate::refusal::Refusal;

/// One file of the page: path, content type and content.
pub type Asset = (&'static str, &'static str, &'static str);

const SCRIPT: &str = "text/javascript; charset=utf-8";

/// Every file of the page.
pub const ASSETS: &[Asset] = &[
    ("/", "text/html; charset=utf-8", include_str!("../web/index.html")),
    (
        "/style.css",
        "text/css; charset=utf-8",
        include_str!("../web/style.css"),
    ),
    ("/app.js", SCRIPT, include_str!("../web/app.js")),
    ("/api.js", SCRIPT, include_str!("../web/api.js")),
    ("/store.js", SCRIPT, include_str!("../web/store.js")),
    ("/words.js", SCRIPT, include_str!("../web/words.js")),
    ("/parts.js", SCRIPT, include_str!("../web/parts.js")),
    ("/map.js", SCRIPT, include_str!("../web/map.js")),
    ("/overview.js", SCRIPT, include_str!("../web/overview.js")),
    ("/lists.js", SCRIPT, include_str!("../web/lists.js")),
    ("/explain.js", SCRIPT, include_str!("../web/explain.js")),
    ("/request.js", SCRIPT, include_str!("../web/request.js")),
    ("/advice.js", SCRIPT, include_str!("../web/advice.js")),
    ("/activity.js", SCRIPT, include_str!("../web/activity.js")),
    ("/agreement.js", SCRIPT, include_str!("../web/agreement.js")),
    ("/cluster.js", SCRIPT, include_str!("../web/cluster.js")),
    ("/plan.js", SCRIPT, include_str!("../web/plan.js")),
    ("/form.js", SCRIPT, include_str!("../web/form.js")),
    ("/yaml.js", SCRIPT, include_str!("../web/yaml.js")),
    ("/try.js", SCRIPT, include_str!("../web/try.js")),
    ("/find.js", SCRIPT, include_str!("../web/find.js")),
    (
        "/vendor/preact.module.js",
        SCRIPT,
        include_str!("../web/vendor/preact.module.js"),
    ),
    (
        "/vendor/htm.module.js",
        SCRIPT,
        include_str!("../web/vendor/htm.module.js"),
    ),
];

/// Returns the file at `path`, or 304 if the browser has the current version.
///
/// # Errors
/// 404 when the page has no such file.
pub(crate) fn answer(path: &str, headers: &HeaderMap) -> Result<Response<Body>, Refusal> {
    let Some((_, kind, text)) = ASSETS.iter().find(|(at, ..)| *at == path) else {
        return Err(Refusal::new(
            StatusCode::NOT_FOUND,
            format!("the page has no file {path}"),
        ));
    };
    let sum = digest(&SHA256, text.as_bytes());
    let hex: String = sum.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
    let tag = HeaderValue::from_str(&format!("\"{hex}\""))
        .map_err(|problem| Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, problem.to_string()))?;
    let known = headers.get(IF_NONE_MATCH) == Some(&tag);
    let mut response = Response::new(if known { Body::empty() } else { Body::from(*text) });
    if known {
        *response.status_mut() = StatusCode::NOT_MODIFIED;
    }
    let response_headers = response.headers_mut();
    response_headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response_headers.insert(ETAG, tag);
    response_headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    Ok(response)
}

#[cfg(test)]
mod tests;
