//! Verification of every request before any other code handles it.
//!
//! Every page that the browser shows, and every user of the machine, can send requests to a server on
//! loopback. So each request must have the right host name, the right origin if there is an origin, and,
//! except for files of the page, the right token. All of these checks are necessary.

use http::header::{CONTENT_TYPE, HOST, ORIGIN};
use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use ring::rand::{SecureRandom, SystemRandom};

use crate::refusal::Refusal;

/// Header with the token. It is not a standard header, so that a browser sends a preflight before a page of
/// another origin can send it.
pub(crate) const TOKEN_HEADER: &str = "x-berth-console-token";
/// Prefix of the paths of API requests.
pub(crate) const API: &str = "/cluster";

/// Verifier of requests: by the accepted hosts and the token of this run.
#[derive(Debug)]
pub(crate) struct RequestVerifier {
    hosts: Vec<String>,
    token: String,
}

/// Request that passed the verification.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum AdmittedRequest {
    /// A file of the page.
    Asset,
    /// Data about this process for the page.
    About,
    /// A request to the API, with its path without the prefix [`API`].
    Api(String),
}

impl RequestVerifier {
    /// Creates the verifier for a server at `port`, with a random token. `more_hosts` are accepted too.
    ///
    /// # Errors
    /// When the operating system returns no random bytes.
    pub(crate) fn new(port: u16, more_hosts: &[String]) -> anyhow::Result<Self> {
        let mut bytes = [0_u8; 32];
        SystemRandom::new()
            .fill(&mut bytes)
            .map_err(|_| anyhow::anyhow!("the operating system returned no random bytes for a token"))?;
        let token = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let mut hosts: Vec<String> = ["localhost", "127.0.0.1", "[::1]"]
            .iter()
            .map(|host| format!("{host}:{port}"))
            .collect();
        hosts.extend(more_hosts.iter().map(|host| host.to_ascii_lowercase()));
        Ok(Self { hosts, token })
    }

    /// The token of this run.
    pub(crate) fn token(&self) -> &str {
        &self.token
    }

    /// Verifies the request with `parts`.
    ///
    /// # Errors
    /// The answer to a refused request.
    pub(crate) fn admit(&self, parts: &Parts) -> Result<AdmittedRequest, Refusal> {
        self.check_host(parts)?;
        self.check_origin(&parts.headers)?;
        if parts.method == Method::OPTIONS {
            return Err(Refusal::forbidden(
                "no page of another origin may send requests here: preflights are refused",
            ));
        }
        let path = parts.uri.path();
        let api = path.strip_prefix(API).filter(|rest| rest.starts_with('/'));
        let is_asset = api.is_none() && path != "/-/about";
        check_site(&parts.headers, is_asset)?;
        if is_asset {
            return if matches!(parts.method, Method::GET | Method::HEAD) {
                Ok(AdmittedRequest::Asset)
            } else {
                Err(Refusal::new(
                    StatusCode::METHOD_NOT_ALLOWED,
                    format!("files of the page must be read with GET, not {}", parts.method),
                ))
            };
        }
        self.check_token(&parts.headers)?;
        let Some(api) = api else {
            return Ok(AdmittedRequest::About);
        };
        if parts.method == Method::POST {
            check_json(&parts.headers)?;
        }
        Ok(AdmittedRequest::Api(api.to_owned()))
    }

    fn check_host(&self, parts: &Parts) -> Result<(), Refusal> {
        let mut hosts = parts.headers.get_all(HOST).iter();
        let (Some(host), None) = (hosts.next(), hosts.next()) else {
            return Err(Refusal::forbidden("a request must have exactly one Host header"));
        };
        // An absolute URI in the request line also names a host.
        let authority = parts.uri.authority().map(http::uri::Authority::as_str);
        for host in host.to_str().ok().into_iter().chain(authority) {
            if !self.hosts.iter().any(|own| host.eq_ignore_ascii_case(own)) {
                return Err(Refusal::forbidden(format!(
                    "Host {host:?} is not this server ({}): if you reach it by that name on purpose, start it with --allow-host {host}",
                    self.hosts.join(", ")
                )));
            }
        }
        if host.to_str().is_err() {
            return Err(Refusal::forbidden("the Host header must be ASCII text"));
        }
        Ok(())
    }

    fn check_origin(&self, headers: &HeaderMap) -> Result<(), Refusal> {
        for origin in headers.get_all(ORIGIN) {
            let is_own = origin.to_str().is_ok_and(|origin| {
                origin
                    .strip_prefix("http://")
                    .or_else(|| origin.strip_prefix("https://"))
                    .is_some_and(|host| self.hosts.iter().any(|own| host.eq_ignore_ascii_case(own)))
            });
            if !is_own {
                return Err(Refusal::forbidden(format!(
                    "requests from origin {origin:?} are refused: only the page of this server may send them; open the address \
                     that berth console printed"
                )));
            }
        }
        Ok(())
    }

    fn check_token(&self, headers: &HeaderMap) -> Result<(), Refusal> {
        let mut tokens = headers.get_all(TOKEN_HEADER).iter();
        let sent = match (tokens.next(), tokens.next()) {
            (Some(token), None) => token.as_bytes(),
            _ => &[],
        };
        if is_equal(sent, self.token.as_bytes()) {
            return Ok(());
        }
        Err(Refusal::new(
            StatusCode::UNAUTHORIZED,
            "the token of this run is missing or wrong: open the address that berth console printed",
        ))
    }
}

/// Compares two tokens in a time that does not depend on the position of the first difference, so that the time reveals
/// nothing.
fn is_equal(sent: &[u8], token: &[u8]) -> bool {
    sent.len() == token.len() && sent.iter().zip(token).fold(0, |differ, (a, b)| differ | (a ^ b)) == 0
}

/// Checks `Sec-Fetch-Site`, in which browsers state the relation between the origin of a request and the
/// console's own origin. The value is `none` for an address that the user typed or opened outside a page.
/// Requests for assets may also come from links, since assets contain no data: the file of the
/// [opener](crate::opener::Opener) has such a link.
fn check_site(headers: &HeaderMap, is_asset: bool) -> Result<(), Refusal> {
    for site in headers.get_all("sec-fetch-site") {
        if site != "same-origin" && !(is_asset && (site == "none" || is_link(headers))) {
            return Err(Refusal::forbidden(format!(
                "Sec-Fetch-Site is {site:?}: only the console's own page may send this request"
            )));
        }
    }
    Ok(())
}

/// Whether the request opens a whole document, as by a link, and not in a frame.
fn is_link(headers: &HeaderMap) -> bool {
    let has_only = |name: &str, value: &str| {
        let mut all = headers.get_all(name).iter();
        all.next().is_some_and(|first| first == value) && all.next().is_none()
    };
    has_only("sec-fetch-mode", "navigate") && has_only("sec-fetch-dest", "document")
}

/// Checks that the body is JSON. A page of another origin cannot send this type without a preflight.
fn check_json(headers: &HeaderMap) -> Result<(), Refusal> {
    let mut kinds = headers.get_all(CONTENT_TYPE).iter();
    if let (Some(kind), None) = (kinds.next(), kinds.next())
        && kind == "application/json"
    {
        return Ok(());
    }
    Err(Refusal::new(
        StatusCode::UNSUPPORTED_MEDIA_TYPE,
        "the Content-Type must be application/json",
    ))
}

/// Adds the headers that isolate the page from other pages; every answer gets them.
pub(crate) fn protect(headers: &mut HeaderMap) {
    const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
    for (name, value) in [
        ("content-security-policy", POLICY),
        ("x-frame-options", "DENY"),
        ("x-content-type-options", "nosniff"),
        ("referrer-policy", "no-referrer"),
        ("cross-origin-resource-policy", "same-origin"),
        ("cross-origin-opener-policy", "same-origin"),
    ] {
        headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
    headers
        .entry("cache-control")
        .or_insert(HeaderValue::from_static("no-store"));
}

#[cfg(test)]
mod tests;
