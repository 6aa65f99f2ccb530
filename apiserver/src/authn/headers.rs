//! Users that a trusted front proxy names in headers, and removal of identity headers after authentication.

use std::collections::BTreeMap;

use berth_admission::UserInfo;
use http::header::AUTHORIZATION;
use http::{HeaderMap, HeaderName};

use super::trust::RequestHeaderTrust;

/// Prefix of identity headers that are removed even if no front proxy is configured: later steps must never
/// trust them.
const REMOTE_PREFIX: &str = "x-remote-";

/// Returns the user that the headers name; `None` when they name no user.
///
/// # Errors
/// A header value that is not UTF-8.
pub(crate) fn user(headers: &HeaderMap, trust: &RequestHeaderTrust) -> Result<Option<UserInfo>, String> {
    let Some(name) = first(headers, &trust.username_headers)? else {
        return Ok(None);
    };
    let uid = first(headers, &trust.uid_headers)?.unwrap_or_default().to_owned();
    let mut groups = Vec::new();
    for header in &trust.group_headers {
        for value in headers.get_all(header) {
            let group = text(header, value.as_bytes())?;
            if !group.is_empty() {
                groups.push(group.to_owned());
            }
        }
    }
    let extra = extra(headers, &trust.extra_prefixes)?;
    Ok(Some(UserInfo {
        name: name.to_owned(),
        uid,
        groups,
        extra,
    }))
}

/// Returns the extra attributes in headers with one of the prefixes. Keys are in lower case and
/// percent-decoded.
///
/// # Errors
/// A header value that is not UTF-8.
pub(crate) fn extra(
    headers: &HeaderMap,
    prefixes: &[String],
) -> Result<BTreeMap<String, Vec<String>>, String> {
    let mut extra: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (header, value) in headers {
        let Some(key) = prefixes
            .iter()
            .find_map(|prefix| header.as_str().strip_prefix(prefix.as_str()))
        else {
            continue;
        };
        // A key that does not decode is kept unchanged, as in kube-apiserver.
        let key = match percent_encoding::percent_decode_str(key).decode_utf8() {
            Ok(key) => key.into_owned(),
            Err(_) => key.to_owned(),
        };
        extra
            .entry(key)
            .or_default()
            .push(text(header, value.as_bytes())?.to_owned());
    }
    Ok(extra)
}

/// Removes credentials and every header that could be mistaken for an identity.
pub(crate) fn strip(headers: &mut HeaderMap, trust: Option<&RequestHeaderTrust>) {
    headers.remove(AUTHORIZATION);
    let is_identity = |name: &str| {
        name.starts_with(REMOTE_PREFIX)
            || trust.is_some_and(|trust| {
                trust
                    .extra_prefixes
                    .iter()
                    .any(|prefix| name.starts_with(prefix.as_str()))
                    || [&trust.username_headers, &trust.group_headers, &trust.uid_headers]
                        .into_iter()
                        .flatten()
                        .any(|header| header.as_str() == name)
            })
    };
    let found: Vec<HeaderName> = headers
        .keys()
        .filter(|name| is_identity(name.as_str()))
        .cloned()
        .collect();
    for name in found {
        headers.remove(name);
    }
}

/// Returns a header value as text.
pub(crate) fn text<'a>(header: &HeaderName, value: &'a [u8]) -> Result<&'a str, String> {
    std::str::from_utf8(value).map_err(|_| format!("header {header} is not UTF-8"))
}

/// Returns the value of the first of `names` that has one.
fn first<'a>(headers: &'a HeaderMap, names: &[HeaderName]) -> Result<Option<&'a str>, String> {
    for name in names {
        if let Some(value) = headers.get(name) {
            let value = text(name, value.as_bytes())?;
            if !value.is_empty() {
                return Ok(Some(value));
            }
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::authn::CaPool;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        let mut map = HeaderMap::new();
        for (name, value) in pairs {
            map.append(*name, value.parse().unwrap());
        }
        map
    }

    #[test]
    fn users_groups_and_extra_attributes_are_read() {
        let trust = RequestHeaderTrust::new(CaPool::default(), Vec::new());
        let map = headers(&[
            ("x-remote-user", "alice"),
            ("x-remote-group", "dev"),
            ("x-remote-group", "ops"),
            ("x-remote-uid", "7"),
            ("x-remote-extra-acme.com%2fproject", "a"),
            ("x-remote-extra-acme.com%2fproject", "b"),
            ("x-remote-extra-scopes", "view"),
        ]);
        let user = user(&map, &trust).unwrap().unwrap();
        assert_eq!((user.name.as_str(), user.uid.as_str()), ("alice", ""));
        assert_eq!(user.groups, ["dev", "ops"]);
        assert_eq!(user.extra["acme.com/project"], ["a", "b"]);
        assert_eq!(user.extra["scopes"], ["view"]);
    }

    #[test]
    fn headers_without_a_user_name_no_user() {
        let trust = RequestHeaderTrust::new(CaPool::default(), Vec::new());
        assert_eq!(
            user(&headers(&[("x-remote-group", "system:masters")]), &trust).unwrap(),
            None
        );
    }

    #[test]
    fn configured_and_default_identity_headers_are_removed() {
        let mut trust = RequestHeaderTrust::new(CaPool::default(), Vec::new());
        trust.username_headers = vec![HeaderName::from_static("x-login")];
        let mut map = headers(&[
            ("authorization", "Bearer x"),
            ("x-login", "alice"),
            ("x-remote-user", "bob"),
            ("x-remote-extra-a", "b"),
            ("accept", "*/*"),
        ]);
        strip(&mut map, Some(&trust));
        assert_eq!(map.keys().map(HeaderName::as_str).collect::<Vec<_>>(), ["accept"]);
    }
}
