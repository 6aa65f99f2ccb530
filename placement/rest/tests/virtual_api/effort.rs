//! Requests that are worth a thread of their own: requests that decide, over many targets, by themselves.

use berth_apimachinery::GroupResource;
use berth_apiserver::{Query, RequestInfo, Resource, heavy};
use berth_scheduling_api::GROUP;
use berth_storage::Source;

use super::{World, gardener, ocm};

/// Cost of a request to `resource`, beside the bytes that were sent.
fn effort(resource: &Resource, verb: &'static str, subresource: &str, query: &str) -> usize {
    let info = RequestInfo {
        verb,
        subresource: subresource.to_owned(),
        query: Query::parse(query),
        ..RequestInfo::default()
    };
    resource.effort_of(&info)
}

/// Until the targets of the world are known.
async fn loaded(world: &World) {
    world.engine.caught_up(world.store.revision()).await.unwrap();
    assert!(world.engine.most_targets() > 0);
}

#[tokio::test]
async fn a_request_is_heavy_where_it_decides_by_itself() {
    let world = ocm::world();
    loaded(&world).await;
    let placements = world.resource(ocm::GROUP, "placements");
    for (verb, subresource, query) in [
        ("create", "", ""),
        ("update", "status", ""),
        ("get", "", ""),
        ("delete", "", "dryRun=All"),
        ("create", "binding", ""),
    ] {
        assert_eq!(
            effort(placements, verb, subresource, query),
            0,
            "{verb} {subresource} {query}"
        );
    }
    for (verb, subresource, query) in [("create", "", "dryRun=All"), ("get", "scheduling", "")] {
        assert!(
            effort(placements, verb, subresource, query) > 0,
            "{verb} {subresource} {query}"
        );
    }
    let candidates = world.resource(GROUP, "candidates");
    assert_eq!(
        effort(candidates, "list", "", ""),
        heavy::UNKNOWN,
        "of all decisions"
    );
    let decisions = world.resource(GROUP, "decisions");
    assert_eq!(effort(decisions, "list", "", ""), 0);
    assert_eq!(effort(decisions, "create", "binding", ""), 0);
    assert!(effort(decisions, "get", "scheduling", "") > 0);
    assert_eq!(effort(decisions, "get", "advice", ""), heavy::UNKNOWN);
    assert_eq!(
        effort(decisions, "get", "scheduling", "advice=true"),
        heavy::UNKNOWN
    );
}

#[tokio::test]
async fn a_write_of_what_names_its_place_judges_it() {
    let world = gardener::world();
    loaded(&world).await;
    let GroupResource { group, resource } = gardener::SHOOTS;
    let shoots = world.resource(group, resource);
    assert!(effort(shoots, "create", "", "") > 0);
    assert_eq!(effort(shoots, "get", "", ""), 0);
}
