//! Known differences from openMCP's scheduler: docs/systems/openmcp.md, "Differences from upstream".

use serde_json::{Value, json};

use super::REQUEST_OF;
use crate::known_differences::{Case, KnownDifference};

pub(super) const KNOWN_DIFFERENCES: &[KnownDifference] = &[
    KnownDifference {
        why: "a request that is being deleted lets go of every Cluster; in the original of those that selectors.clusters matches",
        settle: |case, theirs, ours| {
            let deleted = !case.object("ClusterRequest")["metadata"]["deletionTimestamp"].is_null();
            let selectors = &case.world.configuration["scheduler"]["selectors"]["clusters"];
            if deleted && !selectors.is_null() {
                theirs["written"]["clusters"] = ours["written"]["clusters"].clone();
            }
        },
    },
    KnownDifference {
        why: "a request of a purpose that has no mapping is asked no further; in the original it can take nothing",
        settle: |case, theirs, ours| {
            let purpose = &case.object("ClusterRequest")["spec"]["purpose"];
            let mappings = &case.world.configuration["scheduler"]["purposeMappings"];
            let mapped = purpose
                .as_str()
                .is_some_and(|purpose| mappings.get(purpose).is_some());
            if !mapped && theirs["picked"] == json!([]) {
                for side in [theirs, ours] {
                    side["refused"].take();
                }
            }
        },
    },
    KnownDifference {
        why: "a Cluster that carries the request's finalizer already is not asked whether it could be taken: the first \
              of them is, all the same, and in the original each of them where it is the only one",
        settle: |case, theirs, ours| {
            if theirs["picked"] == ours["picked"] {
                for cluster in carrying(case) {
                    for side in [&mut *theirs, &mut *ours] {
                        if let Some(refused) = side["refused"].as_object_mut() {
                            refused.remove(&cluster);
                        }
                    }
                }
            }
        },
    },
    KnownDifference {
        why: "the strategy Random draws another Cluster each time: one that both say can be taken",
        settle: |case, theirs, ours| {
            let random = case.world.configuration["scheduler"]["strategy"] == "Random";
            let taken = |side: &Value| {
                let name = side["picked"][0].as_str().unwrap_or_default().to_owned();
                let there = case.objects("Cluster").any(|cluster| {
                    let metadata = &cluster["metadata"];
                    format!(
                        "{}/{}",
                        metadata["namespace"].as_str().unwrap_or_default(),
                        metadata["name"].as_str().unwrap_or_default()
                    ) == name
                });
                there && side["refused"].get(&name).is_none()
            };
            if random && theirs["picked"] != ours["picked"] && taken(theirs) && taken(ours) {
                for side in [theirs, ours] {
                    side["picked"] = json!("one that can be taken");
                    side["written"]["clusters"].take();
                }
            }
        },
    },
];

/// The Clusters with the finalizer of the request.
fn carrying(case: &Case<'_>) -> Vec<String> {
    let uid = &case.object("ClusterRequest")["metadata"]["uid"];
    let finalizer = format!("{REQUEST_OF}{}", uid.as_str().unwrap_or_default());
    let carries = |cluster: &&Value| {
        let list = cluster["metadata"]["finalizers"].as_array();
        list.is_some_and(|list| list.iter().any(|one| *one == finalizer.as_str()))
    };
    case.objects("Cluster")
        .filter(carries)
        .map(|cluster| {
            let text = |field: &str| cluster["metadata"][field].as_str().unwrap_or_default();
            format!("{}/{}", text("namespace"), text("name"))
        })
        .collect()
}
