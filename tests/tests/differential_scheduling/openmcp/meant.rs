//! Meant differences from openMCP's scheduler: docs/systems/openmcp.md, "Differences from upstream".

use serde_json::{Value, json};

use crate::meant::Meant;

pub(super) const MEANT: &[Meant] = &[
    Meant {
        why: "a request that is being deleted lets go of every Cluster; in the original of those that selectors.clusters matches",
        settle: |case, theirs, ours| {
            let deleted = !case.object("ClusterRequest")["metadata"]["deletionTimestamp"].is_null();
            let selectors = &case.world.configuration["scheduler"]["selectors"]["clusters"];
            if deleted && !selectors.is_null() {
                theirs["written"]["clusters"] = ours["written"]["clusters"].clone();
            }
        },
    },
    Meant {
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
    Meant {
        why: "of a Cluster that is taken it is not asked whether it could be: the one that carries the request's finalizer already is \
              taken all the same",
        settle: |_, theirs, ours| {
            if theirs["picked"] == ours["picked"] {
                let picked = ours["picked"][0].as_str().unwrap_or_default().to_owned();
                for side in [theirs, ours] {
                    if let Some(refused) = side["refused"].as_object_mut() {
                        refused.remove(&picked);
                    }
                }
            }
        },
    },
    Meant {
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
