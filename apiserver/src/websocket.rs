//! Opening handshake of a WebSocket (RFC 6455): a watch is answered with one message per event if its request
//! opens a WebSocket (docs/reference.md, "Lists and watches").
//!
//! The answer is the same as for any watch, but with status 101; `serve` sends the lines of its body as
//! messages once the connection has switched.

use axum::body::Body;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use berth_apimachinery::Status;
use http::header::{
    CONNECTION, CONTENT_TYPE, HeaderValue, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_PROTOCOL,
    SEC_WEBSOCKET_VERSION, UPGRADE,
};
use http::{HeaderMap, HeaderName, Method, Response, StatusCode};

/// The only version of the protocol.
const VERSION: &str = "13";

/// Suffix that RFC 6455 appends to the client's key before the digest.
const KEY_SUFFIX: &[u8] = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

/// Prefix of the subprotocol in which a browser sends a token; it is never selected.
const TOKEN_PROTOCOL: &str = "base64url.bearer.authorization.k8s.io.";

/// Answer to a request that opens a WebSocket.
#[derive(Debug)]
pub(crate) struct Handshake {
    accept: HeaderValue,
    protocol: Option<HeaderValue>,
}

impl Handshake {
    /// Parses the request's headers; `None` for an ordinary request.
    ///
    /// # Errors
    /// 400 for an invalid request for a WebSocket.
    pub(crate) fn of(method: &Method, headers: &HeaderMap) -> Result<Option<Self>, Status> {
        // Few requests have the header, but every watch is checked, so the check is cheap.
        if !headers.contains_key(UPGRADE)
            || !has(headers, &UPGRADE, "websocket")
            || !has(headers, &CONNECTION, "upgrade")
        {
            return Ok(None);
        }
        if method != Method::GET {
            return Err(Status::bad_request("a WebSocket must be opened with GET"));
        }
        if headers
            .get(SEC_WEBSOCKET_VERSION)
            .is_none_or(|version| version != VERSION)
        {
            return Err(Status::bad_request(format!(
                "opening a WebSocket requires the header Sec-WebSocket-Version: {VERSION}"
            )));
        }
        let key = headers.get(SEC_WEBSOCKET_KEY).filter(|key| is_key(key));
        let Some(key) = key else {
            return Err(Status::bad_request(
                "opening a WebSocket requires the header Sec-WebSocket-Key with 16 bytes in base64",
            ));
        };
        let digest = HeaderValue::from_str(&accept_digest(key.as_bytes()));
        Ok(Some(Self {
            accept: digest.map_err(|problem| Status::internal(problem.to_string()))?,
            protocol: protocol(headers),
        }))
    }

    /// Turns `response` into a response that switches protocols.
    pub(crate) fn switch(self, response: &mut Response<Body>) {
        *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
        let headers = response.headers_mut();
        headers.remove(CONTENT_TYPE);
        headers.insert(UPGRADE, HeaderValue::from_static("websocket"));
        headers.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
        headers.insert(SEC_WEBSOCKET_ACCEPT, self.accept);
        if let Some(protocol) = self.protocol {
            headers.insert(SEC_WEBSOCKET_PROTOCOL, protocol);
        }
    }
}

/// Returns the entries of the header `name`, which is a comma-separated list.
fn entries<'a>(headers: &'a HeaderMap, name: &HeaderName) -> impl Iterator<Item = &'a str> {
    let values = headers.get_all(name).into_iter();
    values
        .filter_map(|value| value.to_str().ok())
        .flat_map(|text| text.split(','))
        .map(str::trim)
}

fn has(headers: &HeaderMap, name: &HeaderName, entry: &str) -> bool {
    entries(headers, name).any(|listed| listed.eq_ignore_ascii_case(entry))
}

fn is_key(key: &HeaderValue) -> bool {
    STANDARD
        .decode(key.as_bytes())
        .is_ok_and(|bytes| bytes.len() == 16)
}

/// Returns the value of `Sec-WebSocket-Accept`: the digest that proves to the client that its key was read.
fn accept_digest(key: &[u8]) -> String {
    let mut digest = ring::digest::Context::new(&ring::digest::SHA1_FOR_LEGACY_USE_ONLY);
    digest.update(key);
    digest.update(KEY_SUFFIX);
    STANDARD.encode(digest.finish())
}

/// Returns the client's first subprotocol that is not a token, as in kube-apiserver: events have the same
/// form in all subprotocols.
fn protocol(headers: &HeaderMap) -> Option<HeaderValue> {
    let protocol = entries(headers, &SEC_WEBSOCKET_PROTOCOL)
        .find(|protocol| !protocol.is_empty() && !protocol.starts_with(TOKEN_PROTOCOL))?;
    HeaderValue::from_str(protocol).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        let pairs = pairs.iter();
        pairs
            .map(|&(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)))
            .collect()
    }

    const HANDSHAKE: [(&str, &str); 4] = [
        ("connection", "keep-alive, Upgrade"),
        ("upgrade", "WebSocket"),
        ("sec-websocket-version", "13"),
        ("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ=="),
    ];

    #[test]
    fn the_handshake_answers_the_key_and_takes_the_first_subprotocol_that_is_no_token() {
        let mut request_headers = HANDSHAKE.to_vec();
        let handshake = |request_headers: &[_]| {
            Handshake::of(&Method::GET, &headers(request_headers))
                .unwrap()
                .unwrap()
        };
        // The example of RFC 6455, section 1.3.
        assert_eq!(handshake(&request_headers).accept, "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
        assert_eq!(handshake(&request_headers).protocol, None);
        request_headers.push((
            "sec-websocket-protocol",
            "base64url.bearer.authorization.k8s.io.eHg, v4.channel.k8s.io, x",
        ));
        assert_eq!(handshake(&request_headers).protocol.unwrap(), "v4.channel.k8s.io");
        let mut response = Response::new(Body::empty());
        handshake(&request_headers).switch(&mut response);
        assert_eq!(response.status(), 101);
        assert_eq!(response.headers()["sec-websocket-protocol"], "v4.channel.k8s.io");
    }

    #[test]
    fn ordinary_requests_are_none_and_half_handshakes_are_refused() {
        let of = |request_headers: &[_]| Handshake::of(&Method::GET, &headers(request_headers));
        assert!(of(&[]).unwrap().is_none());
        assert!(of(&HANDSHAKE[..1]).unwrap().is_none());
        assert!(of(&HANDSHAKE[1..]).unwrap().is_none());
        assert!(
            of(&[("connection", "upgrade"), ("upgrade", "h2c")])
                .unwrap()
                .is_none()
        );
        assert_eq!(of(&HANDSHAKE[..2]).unwrap_err().code, 400);
        assert_eq!(of(&HANDSHAKE[..3]).unwrap_err().code, 400);
        let mut short = HANDSHAKE;
        short[3].1 = "dGhl";
        assert_eq!(of(&short).unwrap_err().code, 400);
        assert_eq!(
            Handshake::of(&Method::HEAD, &headers(&HANDSHAKE))
                .unwrap_err()
                .code,
            400
        );
    }
}
