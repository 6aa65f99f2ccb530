//! Policies of the hub that do not hold for what is served here, said in the log: ValidatingAdmissionPolicy and
//! MutatingAdmissionPolicy are evaluated by kube-apiserver alone.

use admission::client::Rule;
use kube::api::ListParams;
use kube::core::{ApiResource, DynamicObject};
use kube::{Api, Client};
use meta::GroupResource;
use serde_json::Value;

use super::{GROUP, LOOKED_AT};
use crate::reviewer::chain;

/// The versions these kinds have had, newest first.
const VERSIONS: [&str; 3] = ["v1", "v1beta1", "v1alpha1"];

/// Looks at the policies there are and warns of each that names something in `served`.
pub(super) async fn warn(client: Client, served: Vec<GroupResource>) {
    for (plural, kind) in LOOKED_AT
        .map(|(_, plural)| plural)
        .into_iter()
        .zip(["ValidatingAdmissionPolicy", "MutatingAdmissionPolicy"])
    {
        match list(&client, plural, kind).await {
            Ok(policies) => {
                for policy in policies.iter().filter(|policy| names(&policy.data, &served)) {
                    tracing::warn!(
                        kind,
                        name = policy.metadata.name,
                        "this policy of the hub names kinds that this server serves, and does not hold for them: kube-apiserver does \
                         not evaluate it for aggregated APIs and neither does this server; use an admission webhook"
                    );
                }
            }
            Err(problem) => {
                tracing::warn!(
                    resource = plural,
                    problem,
                    "cannot list the admission policies of the hub; those that name kinds served here do not hold for them"
                );
            }
        }
    }
}

/// All of a kind, in the newest version the hub has; none where it has no such kind.
async fn list(client: &Client, plural: &str, kind: &str) -> Result<Vec<DynamicObject>, String> {
    for version in VERSIONS {
        let resource = ApiResource {
            group: GROUP.to_owned(),
            version: version.to_owned(),
            api_version: format!("{GROUP}/{version}"),
            kind: kind.to_owned(),
            plural: plural.to_owned(),
        };
        let api: Api<DynamicObject> = Api::all_with(client.clone(), &resource);
        match api.list(&ListParams::default()).await {
            Ok(list) => return Ok(list.items),
            Err(kube::Error::Api(status)) if status.code == 404 => {}
            Err(problem) => return Err(chain(&problem)),
        }
    }
    Ok(Vec::new())
}

/// Whether the constraints of a policy name a served resource or a subresource of one.
fn names(policy: &Value, served: &[GroupResource]) -> bool {
    let rules = policy["spec"]["matchConstraints"]["resourceRules"].as_array();
    rules.into_iter().flatten().map(Rule::of).any(|rule| {
        served
            .iter()
            .any(|resource| rule.names_group(resource.group) && rule.names_resource(resource.resource))
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_policy_is_warned_of_when_it_names_what_is_served() {
        let served = [GroupResource::new("g.example", "foos")];
        for (groups, resources, warned) in [
            (json!(["g.example"]), json!(["foos"]), true),
            (json!(["*"]), json!(["*/*"]), true),
            (json!(["*"]), json!(["foos/status"]), true),
            (json!(["apps"]), json!(["*"]), false),
            (json!(["*"]), json!(["pods"]), false),
        ] {
            let rule = json!({"apiGroups": groups, "apiVersions": ["*"], "resources": resources, "operations": ["*"]});
            let policy = json!({"spec": {"matchConstraints": {"resourceRules": [rule]}}});
            assert_eq!(names(&policy, &served), warned, "{policy}");
        }
        assert!(!names(&json!({"spec": {}}), &served));
    }
}
