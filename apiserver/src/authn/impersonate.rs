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

/// User that a request impersonates, as the headers name it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct ImpersonatedUser {
    user: String,
    uid: String,
    groups: Vec<String>,
    extra: BTreeMap<String, Vec<String>>,
}

/// Returns the impersonated user if `user` has the rights to impersonate it, and removes the headers; `None`
/// when the request impersonates no user.
///
/// # Errors
/// 400 when there is a group, uid or extra attribute without a user, or a header is not UTF-8; 403 for the
/// first missing right; 500 when the authorizer could not answer.
pub async fn impersonate(
    user: &UserInfo,
    headers: &mut HeaderMap,
    authorizer: &dyn Authorizer,
) -> Result<Option<UserInfo>, Status> {
    let Some(impersonated) = read(headers).map_err(Status::bad_request)? else {
        return Ok(None);
    };
    strip(headers);
    for attributes in rights(user, &impersonated) {
        authz::require(authorizer, &attributes).await?;
    }
    Ok(Some(into_user_info(impersonated)))
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
    let impersonated = ImpersonatedUser {
        user: text(&USER)?,
        uid: text(&UID)?,
        groups,
        extra,
    };
    if impersonated == ImpersonatedUser::default() {
        return Ok(None);
    }
    if impersonated.user.is_empty() {
        return Err(
            "Impersonate-Group, Impersonate-Uid and Impersonate-Extra- headers also need an Impersonate-User \
                    header"
                .to_owned(),
        );
    }
    Ok(Some(impersonated))
}

/// Removes all headers of impersonation.
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

/// Returns the rights that the impersonation needs, in the order of the checks: one for the user, and one for
/// the uid, each group and each value of an extra attribute.
fn rights(user: &UserInfo, impersonated: &ImpersonatedUser) -> Vec<Attributes> {
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
    match service_account(&impersonated.user) {
        Some((namespace, name)) => rights.push(right("", "serviceaccounts", "", namespace, name)),
        None => rights.push(right("", "users", "", "", &impersonated.user)),
    }
    if !impersonated.uid.is_empty() {
        rights.push(right(AUTHENTICATION, "uids", "", "", &impersonated.uid));
    }
    rights.extend(
        impersonated
            .groups
            .iter()
            .map(|group| right("", "groups", "", "", group)),
    );
    for (key, values) in &impersonated.extra {
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

/// Returns the impersonated user, with the groups that Kubernetes adds.
fn into_user_info(impersonated: ImpersonatedUser) -> UserInfo {
    let mut groups = impersonated.groups;
    if groups.is_empty()
        && let Some((namespace, _)) = service_account(&impersonated.user)
    {
        groups.push("system:serviceaccounts".to_owned());
        groups.push(format!("system:serviceaccounts:{namespace}"));
    }
    let has_group = groups
        .iter()
        .any(|group| group == AUTHENTICATED || group == UNAUTHENTICATED);
    if !has_group {
        let group = if impersonated.user == ANONYMOUS {
            UNAUTHENTICATED
        } else {
            AUTHENTICATED
        };
        groups.push(group.to_owned());
    }
    UserInfo {
        name: impersonated.user,
        uid: impersonated.uid,
        groups,
        extra: impersonated.extra,
    }
}

#[cfg(test)]
mod tests;
