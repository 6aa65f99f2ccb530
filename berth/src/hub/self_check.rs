//! Check of the rights and objects that Berth needs on the hub, before the server starts to serve. The
//! message has a remedy for each missing right and object.

use std::time::Duration;

use anyhow::{Result, bail};
use berth_aggregation::Clients;
use berth_aggregation::reviewer::create;
use berth_apiserver::authn::delegated::{NAME, NAMESPACE};
use berth_client::root_cause;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{Api, Client};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::HubArgs;

/// Longest wait for a hub that is out of reach.
const TIMEOUT: Duration = Duration::from_secs(30);
/// Pause before the next attempt to reach the hub.
const RETRY_INTERVAL: Duration = Duration::from_secs(1);
/// The key of the aggregator's CA in the ConfigMap. Without this CA, requests through the aggregator are not
/// authenticated.
const PROXY_CA: &str = "requestheader-client-ca-file";

/// Checks that Berth has its rights on the hub, and that the hub has the objects that Berth needs. Berth
/// needs fewer rights if it is only `observing`.
///
/// # Errors
/// When the hub cannot be reached, or rights or objects are missing. The message lists all that are missing,
/// each with a remedy.
pub async fn run(clients: &Clients, args: &HubArgs, observing: bool) -> Result<()> {
    let authentication = identity(&clients.authentication).await?;
    let authorization = identity(&clients.authorization).await?;
    let mut problems = Vec::new();
    if !args.delegation.authentication_skip_lookup
        && !args.delegation.authentication_tolerate_lookup_failure
        && let Some(problem) = trust_problem(&clients.authentication, &authentication).await
    {
        problems.push(problem);
    }
    let reviews = [
        (
            &clients.authentication,
            &authentication,
            "authentication.k8s.io",
            "tokenreviews",
        ),
        (
            &clients.authorization,
            &authorization,
            "authorization.k8s.io",
            "subjectaccessreviews",
        ),
    ];
    for (client, user, group, resource) in reviews {
        if let Some(problem) = review_problem(client, user, group, resource).await? {
            problems.push(problem);
        }
    }
    if let Some(problem) = lock_problem(&clients.objects, args.own_namespace()).await? {
        problems.push(problem);
    }
    let (list, get) = (["list", "watch"].as_slice(), ["get"].as_slice());
    let mut read_resources: Vec<_> = berth_hub::mirror::ALWAYS.map(|resource| (resource, list)).into();
    if !observing {
        let watched = berth_aggregation::policies::WATCHED.into_iter();
        read_resources.extend(
            watched
                .chain([berth_hub::mirror::QUOTAS])
                .map(|resource| (resource, list)),
        );
        read_resources.push((berth_aggregation::policies::SERVICES, get));
    }
    for ((group, resource), verbs) in read_resources {
        if let Some(problem) = read_problem(&clients.objects, group, resource, verbs).await? {
            problems.push(problem);
        }
    }
    if problems.is_empty() {
        return Ok(());
    }
    bail!("the hub is not ready for Berth:\n- {}", problems.join("\n- "))
}

/// The name of Berth's user on the hub. Waits up to [`TIMEOUT`] for a hub that is out of reach.
async fn identity(client: &Client) -> Result<String> {
    let path = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
    let review = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"});
    let start = Instant::now();
    loop {
        match create(client, path, &review).await {
            Ok(answer) => {
                let name = answer["status"]["userInfo"]["username"].as_str();
                return Ok(name.unwrap_or_default().to_owned());
            }
            Err(problem) if problem.temporary && start.elapsed() < TIMEOUT => {
                tracing::warn!(%problem, "the hub does not answer yet; retrying");
                tokio::time::sleep(RETRY_INTERVAL).await;
            }
            Err(problem) => {
                bail!(
                    "cannot create a SelfSubjectReview on the hub, which returns the name of Berth's user: {problem}"
                )
            }
        }
    }
}

/// Problem with the ConfigMap in which the hub publishes its trust settings.
async fn trust_problem(client: &Client, user: &str) -> Option<String> {
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), NAMESPACE);
    match maps.get(NAME).await {
        Ok(map) => {
            let data = map.data.unwrap_or_default();
            let missing = data.get(PROXY_CA).is_none_or(|pem| pem.trim().is_empty());
            missing.then(|| {
                format!(
                    "the ConfigMap {NAMESPACE}/{NAME} has no key {PROXY_CA:?}, so Berth cannot authenticate requests through \
                     the aggregator: start kube-apiserver with --requestheader-client-ca-file, --proxy-client-cert-file \
                     and --proxy-client-key-file"
                )
            })
        }
        Err(kube::Error::Api(status)) if status.code == 403 => Some(format!(
            "User {user:?} may not read the ConfigMap {NAMESPACE}/{NAME}; a RoleBinding is missing:\n    \
             kubectl create rolebinding berth-authentication-reader -n {NAMESPACE} \
             --role=extension-apiserver-authentication-reader {}",
            subject(user)
        )),
        Err(kube::Error::Api(status)) if status.code == 404 => Some(format!(
            "ConfigMap {NAMESPACE}/{NAME} not found: kube-apiserver creates it when it is started with \
             --client-ca-file or --requestheader-client-ca-file"
        )),
        Err(problem) => Some(format!(
            "the ConfigMap {NAMESPACE}/{NAME} cannot be read: {}",
            root_cause(&problem)
        )),
    }
}

/// Problem with the right to create a review.
async fn review_problem(client: &Client, user: &str, group: &str, resource: &str) -> Result<Option<String>> {
    if is_allowed(client, "create", group, resource, "").await? {
        return Ok(None);
    }
    Ok(Some(format!(
        "User {user:?} may not create {resource}.{group}; a ClusterRoleBinding is missing:\n    kubectl create \
         clusterrolebinding berth-auth-delegator --clusterrole=system:auth-delegator {}",
        subject(user)
    )))
}

/// Problem with the right to read a resource that Berth copies, or reads on demand.
async fn read_problem(
    client: &Client,
    group: &str,
    resource: &str,
    verbs: &[&str],
) -> Result<Option<String>> {
    for verb in verbs {
        if !is_allowed(client, verb, group, resource, "").await? {
            let user = identity(client).await?;
            let dotted = if group.is_empty() {
                String::new()
            } else {
                format!(".{group}")
            };
            return Ok(Some(format!(
                "User {user:?} may not {verb} {resource}{dotted}; the ClusterRole berth:server of \
                 deploy/manifests/server-rbac.yaml allows it, bound by:\n    kubectl create clusterrolebinding \
                 berth-server --clusterrole=berth:server {}",
                subject(&user)
            )));
        }
    }
    Ok(None)
}

/// Problem with the right to write Berth's lock records.
async fn lock_problem(client: &Client, namespace: &str) -> Result<Option<String>> {
    for verb in ["get", "create", "update"] {
        if !is_allowed(client, verb, "coordination.k8s.io", "leases", namespace).await? {
            let user = identity(client).await?;
            return Ok(Some(format!(
                "User {user:?} may not {verb} leases.coordination.k8s.io in the namespace {namespace}; the Role \
                 berth:locks of deploy/manifests/server-rbac.yaml allows it, bound by:\n    kubectl create rolebinding \
                 berth-locks -n {namespace} --role=berth:locks {}",
                subject(&user)
            )));
        }
    }
    Ok(None)
}

/// Whether the client's own user has a right in `namespace`, or in all namespaces if `namespace` is empty.
async fn is_allowed(
    client: &Client,
    verb: &str,
    group: &str,
    resource: &str,
    namespace: &str,
) -> Result<bool> {
    let review = json!({
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": {
            "verb": verb, "group": group, "resource": resource, "namespace": namespace,
        }},
    });
    let path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
    let answer: Value = create(client, path, &review).await?;
    Ok(answer["status"]["allowed"] == true)
}

/// Flag of `kubectl create rolebinding` for the user as the subject.
fn subject(user: &str) -> String {
    match user.strip_prefix("system:serviceaccount:") {
        Some(account) => format!("--serviceaccount={account}"),
        None => format!("--user={user}"),
    }
}

#[cfg(test)]
mod tests {
    use super::subject;

    #[test]
    fn subjects_are_written_as_kubectl_takes_them() {
        assert_eq!(subject("system:serviceaccount:a:b"), "--serviceaccount=a:b");
        assert_eq!(subject("jane"), "--user=jane");
    }
}
