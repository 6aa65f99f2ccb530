//! Field manager of a write: the query parameter `fieldManager`, or else the user agent of the client.

use berth_apply::{NAME_LIMIT, is_printable};
use http::HeaderMap;
use http::header::USER_AGENT;

use crate::request_info::Query;

/// Query parameter with the field manager.
pub(crate) const FIELD: &str = "fieldManager";

/// Returns the field manager of a request.
pub(crate) fn of_request(headers: &HeaderMap, query: &Query) -> String {
    match query.first(FIELD) {
        None | Some("") => of_agent(headers),
        Some(name) => name.to_owned(),
    }
}

/// Returns the user agent up to the first slash, without unprintable characters, truncated to [`NAME_LIMIT`]
/// bytes; `unknown` if nothing remains.
fn of_agent(headers: &HeaderMap) -> String {
    let agent = headers
        .get(USER_AGENT)
        .map(|value| String::from_utf8_lossy(value.as_bytes()))
        .unwrap_or_default();
    let product = agent.split('/').next().unwrap_or_default();
    let mut name = String::new();
    for letter in product.chars().filter(|letter| is_printable(*letter)) {
        if name.len() + letter.len_utf8() > NAME_LIMIT {
            break;
        }
        name.push(letter);
    }
    if name.is_empty() {
        name.push_str("unknown");
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(agent: &[u8], query: &str) -> String {
        let mut headers = HeaderMap::new();
        headers.insert(USER_AGENT, http::HeaderValue::from_bytes(agent).unwrap());
        of_request(&headers, &Query::parse(query))
    }

    #[test]
    fn the_manager_is_the_one_named_or_what_the_client_calls_itself() {
        let agent = b"kubectl/v1.36.0 (linux/amd64) kubernetes/abc";
        assert_eq!(of(agent, "fieldManager=flux"), "flux");
        assert_eq!(of(agent, "fieldManager="), "kubectl");
        assert_eq!(of(b"curl", ""), "curl");
        assert_eq!(of(b"a\tb/1", ""), "ab");
        assert_eq!(of(b"/1", ""), "unknown");
        assert_eq!(of_request(&HeaderMap::new(), &Query::default()), "unknown");
        assert_eq!(of("ü".repeat(65).as_bytes(), ""), "ü".repeat(64));
    }
}
