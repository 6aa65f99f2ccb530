//! AdmissionReviews: every input that is read as a review is answered, with its uid, by the rules of
//! every dialect.

use std::sync::OnceLock;

use berth_admission::Chain;
use berth_admission::webhook::{self, Body};
use berth_apimachinery::GroupResource;

use super::Target;

/// The target.
pub(super) const TARGET: Target = Target {
    name: "review",
    seeds: &[
        include_str!("../../seeds/review-namespace.json"),
        include_str!("../../seeds/review-configmap.json"),
        include_str!("../../seeds/review-binding.json"),
        include_str!("../../seeds/review-request.json"),
        include_str!("../../seeds/review-delete.json"),
    ],
    words: &[
        "\"object\":",
        "\"oldObject\":null",
        "\"metadata\":{}",
        "\"annotations\":{\"scheduling.kcp.dev/placement\":\"{}\"}",
        "\"finalizers\":[\"workloads.kcp.dev/syncer-x\"]",
        "\"subresource\":\"status\"",
        "\"operation\":\"DELETE\"",
        "\"username\":\"berth:scheduler\"",
        "\"username\":\"berth:syncer:\"",
        "\"state\":\"Unscheduled\"",
        "null",
        "[]",
        "{}",
        "\"\\u0000\"",
        "1e999",
    ],
    run,
};

struct Rules {
    chain: Chain,
    resources: Vec<GroupResource>,
}

fn rules() -> &'static Rules {
    static RULES: OnceLock<Rules> = OnceLock::new();
    RULES.get_or_init(|| {
        let dialects = berth_dialect_registry::all();
        let kinds = dialects.iter().flat_map(|dialect| dialect.kinds());
        let own = kinds.map(|kind| kind.info().resource());
        let guarded = dialects
            .iter()
            .flat_map(|dialect| dialect.configuration().guards(None));
        Rules {
            resources: own.chain(guarded).collect(),
            chain: Chain::new(dialects.iter().flat_map(|dialect| dialect.admission()).collect()),
        }
    })
}

fn run(input: &[u8]) {
    let review = match webhook::read(input) {
        Ok(Body::V1(review)) => review,
        Ok(Body::OtherVersion { api_version, uid }) => {
            let answer = webhook::refused_version(&api_version, &uid);
            assert_eq!(answer["response"]["allowed"], false);
            return;
        }
        Err(status) => {
            assert_eq!(status.code, 400, "{}", status.message);
            assert!(!status.message.is_empty());
            return;
        }
    };
    let rules = rules();
    let named = |known: &&GroupResource| {
        known.group == review.resource.group && known.resource == review.resource.resource
    };
    let resource = rules.resources.iter().find(named);
    let resource = *resource.unwrap_or(&rules.resources[0]);
    let validated = review.validate(&rules.chain, resource);
    let mutated = review.mutate(&rules.chain, resource);
    let object = Some(&review.object).filter(|object| !object.is_null());
    let request = review.request(resource);
    for needed in rules.chain.plugins_for(&request).needs(object) {
        let refusal = needed.refusal.clone().into_status(&request);
        assert!(
            !refusal.message.is_empty() && !needed.right.verb.is_empty(),
            "{needed:?}"
        );
    }
    for answer in mutated.into_iter().chain([validated]) {
        let response = &answer["response"];
        assert_eq!(response["uid"], review.uid.as_str());
        let allowed = response["allowed"].as_bool().expect("a verdict");
        assert!(
            allowed
                || response["status"]["message"]
                    .as_str()
                    .is_some_and(|text| !text.is_empty()),
            "a refusal says why: {answer}"
        );
    }
}
