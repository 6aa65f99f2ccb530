//! Impersonation of another user (`kubectl --as`): the `Impersonate-*` headers and the rights that they need.

use std::collections::BTreeMap;

use berth_admission::UserInfo;
use berth_apimachinery::Status;
use http::{HeaderMap, HeaderName};

use super::{ANONYMOUS, AUTHENTICATED, UNAUTHENTICATED, headers};
use crate::auth::{Attributes, Authorizer};
use crate::authz;

const USER: HeaderName = HeaderName::from_static("impersonate-user");
const GROUP: HeaderName = HeaderName::from_static("impersonate-group");
const UID: HeaderName = HeaderName::from_static("impersonate-uid");
const PREFIX: &str = "impersonate-";
const EXTRA: &str = "impersonate-extra-";
const SERVICE_ACCOUNT: &str = "system:serviceaccount:";

/// User that a request impersonates.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct ImpersonatedUser {
    user: String,
    uid: String,
    groups: Vec<String>,
    extra: BTreeMap<String, Vec<String>>,
}

/// Returns the impersonated user, when the request names one and `user` may impersonate it, and removes the
/// headers. `None` when the request names no user.
///
/// # Errors
/// 400 when a group, uid or attribute comes without a user, or a header is not UTF-8; 403 for the first right
/// that is missing; 500 when the authorizer could not answer.
pub async fn impersonate(
    user: &UserInfo,
    headers: &mut HeaderMap,
    authorizer: &dyn Authorizer,
) -> Result<Option<UserInfo>, Status> {
    let Some(target) = read(headers).map_err(Status::bad_request)? else {
        return Ok(None);
    };
    strip(headers);
    for attributes in rights(user, &target) {
        authz::require(authorizer, &attributes).await?;
    }
    Ok(Some(become_user(target)))
}

fn read(map: &HeaderMap) -> Result<Option<ImpersonatedUser>, String> {
    if !map.keys().any(|name| name.as_str().starts_with(PREFIX)) {
        return Ok(None);
    }
    let text = |name: &HeaderName| match map.get(name) {
        Some(value) => headers::text(name, value.as_bytes()).map(str::to_owned),
        None => Ok(String::new()),
    };
    let groups = map
        .get_all(&GROUP)
        .iter()
        .map(|value| headers::text(&GROUP, value.as_bytes()).map(str::to_owned))
        .collect::<Result<_, _>>()?;
    let extra = headers::extra(map, &[EXTRA.to_owned()])?;
    let target = ImpersonatedUser {
        user: text(&USER)?,
        uid: text(&UID)?,
        groups,
        extra,
    };
    if target == ImpersonatedUser::default() {
        return Ok(None);
    }
    if target.user.is_empty() {
        return Err(
            "Impersonate-Group, Impersonate-Uid and Impersonate-Extra- headers need an Impersonate-User \
                    header beside them"
                .to_owned(),
        );
    }
    Ok(Some(target))
}

fn strip(map: &mut HeaderMap) {
    let found: Vec<HeaderName> = map
        .keys()
        .filter(|name| name.as_str().starts_with(PREFIX))
        .cloned()
        .collect();
    for name in found {
        map.remove(name);
    }
}

/// Rights that the impersonation needs, in the order of the checks: one for each impersonated attribute.
fn rights(user: &UserInfo, target: &ImpersonatedUser) -> Vec<Attributes> {
    let right = |group: &str, resource: &str, subresource: &str, namespace: &str, name: &str| Attributes {
        user: user.clone(),
        verb: "impersonate".to_owned(),
        is_resource: true,
        group: group.to_owned(),
        version: "v1".to_owned(),
        resource: resource.to_owned(),
        subresource: subresource.to_owned(),
        namespace: namespace.to_owned(),
        name: name.to_owned(),
        ..Attributes::default()
    };
    const AUTHENTICATION: &str = "authentication.k8s.io";
    let mut rights = Vec::new();
    match service_account(&target.user) {
        Some((namespace, name)) => rights.push(right("", "serviceaccounts", "", namespace, name)),
        None => rights.push(right("", "users", "", "", &target.user)),
    }
    if !target.uid.is_empty() {
        rights.push(right(AUTHENTICATION, "uids", "", "", &target.uid));
    }
    rights.extend(
        target
            .groups
            .iter()
            .map(|group| right("", "groups", "", "", group)),
    );
    for (key, values) in &target.extra {
        rights.extend(
            values
                .iter()
                .map(|value| right(AUTHENTICATION, "userextras", key, "", value)),
        );
    }
    rights
}

/// Splits `system:serviceaccount:<namespace>:<name>` into namespace and name.
fn service_account(user: &str) -> Option<(&str, &str)> {
    let (namespace, name) = user.strip_prefix(SERVICE_ACCOUNT)?.split_once(':')?;
    (!namespace.is_empty() && !name.is_empty() && !name.contains(':')).then_some((namespace, name))
}

fn become_user(target: ImpersonatedUser) -> UserInfo {
    let mut groups = target.groups;
    if groups.is_empty()
        && let Some((namespace, _)) = service_account(&target.user)
    {
        groups.push("system:serviceaccounts".to_owned());
        groups.push(format!("system:serviceaccounts:{namespace}"));
    }
    let has_group = groups
        .iter()
        .any(|group| group == AUTHENTICATED || group == UNAUTHENTICATED);
    if !has_group {
        let group = if target.user == ANONYMOUS {
            UNAUTHENTICATED
        } else {
            AUTHENTICATED
        };
        groups.push(group.to_owned());
    }
    UserInfo {
        name: target.user,
        uid: target.uid,
        groups,
        extra: target.extra,
    }
}

#[cfg(test)]
mod tests;
