//! Objects that are made under a fence, and looked after there when they are made.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;

const FENCE: &str = "test/new-things";

/// The creation of the thing, which counts on what the fence guards.
fn counted(world: &World) -> Commit {
    let mut commit = world.commit(Verb::Create);
    commit.writes[0].object["metadata"]["finalizers"] = json!(["example.com/ours"]);
    commit.guards = vec![Guard::Fence {
        name: FENCE.into(),
        not_after: Revision(u64::MAX),
    }];
    commit
}

/// A hub without the fence's Lease, until the thing is made: then a look at the Lease is answered with `code`
/// and `lease`.
fn hub(code: u16, lease: &Value) -> impl Fn(&str) -> (u16, Value) + Send + Sync + use<> {
    let looks = AtomicUsize::new(0);
    let lease = lease.clone();
    move |line| match line.split(' ').next().unwrap() {
        "GET" if looks.fetch_add(1, Ordering::Relaxed) == 0 => (404, says(404, "NotFound")),
        "GET" => (code, lease.clone()),
        "POST" if line.contains("/leases") => (201, json!({"metadata": {"resourceVersion": "1"}})),
        "PATCH" => (
            200,
            at("8", &json!({"uid": "u", "finalizers": ["example.com/theirs"]})),
        ),
        "DELETE" => (
            200,
            json!({"kind": "Status", "status": "Success", "metadata": {}}),
        ),
        _ => {
            let finalizers = json!(["example.com/ours", "example.com/theirs"]);
            (201, at("7", &json!({"uid": "u", "finalizers": finalizers})))
        }
    }
}

#[tokio::test(start_paused = true)]
async fn what_was_made_is_waited_for_where_its_fence_cannot_be_read_again() {
    const TICK: Duration = Duration::from_millis(500);
    let world = World::with(None, hub(403, &says(403, "Forbidden"))).await;
    let (commit, start) = (counted(&world), Instant::now());
    let comes = async {
        tokio::time::sleep(TICK).await;
        world.hear(Seen(Some("7"))).await;
        world.hear(Copied(Some("7"))).await;
    };
    let (result, ()) = tokio::join!(world.committer.commit(commit), comes);
    assert!(
        matches!(&result, Err(error) if error.reason == WriteRefusal::Refused && error.status.code == 403),
        "{result:?}"
    );
    // Who decides next counts what is there.
    assert!(start.elapsed() >= TICK, "{:?}", start.elapsed());
}

#[tokio::test(start_paused = true)]
async fn what_came_too_late_is_taken_back_as_it_was_made() {
    let abandoned = json!([{
        "apiVersion": "example.com/v1", "group": "example.com", "resource": "things",
        "namespace": "ns", "name": "a", "resourceVersion": "", "holder": "somebody",
    }]);
    let annotations = json!({"scheduling.berth.dev/abandoned": abandoned.to_string()});
    let lease = json!({"metadata": {"resourceVersion": "2", "annotations": annotations}});
    let world = World::with(None, hub(200, &lease)).await;
    let result = world.committer.commit(counted(&world)).await;
    let error = result.unwrap_err();
    assert_eq!(error.reason, WriteRefusal::Fenced);
    assert!(error.status.message.contains(FENCE), "{error}");
    let asked = world.asked.lock().clone();
    let [.., patch, delete] = &asked[..] else {
        panic!("{asked:?}")
    };
    let path = "/apis/example.com/v1/namespaces/ns/things/a";
    assert_eq!(
        (&patch.0, &patch.1),
        (&format!("PATCH {path}"), &"berth:scheduler".to_owned())
    );
    // Only as it was made, and only its own finalizers: whoever holds it by now keeps it.
    let expected = json!({"resourceVersion": "7", "finalizers": ["example.com/theirs"]});
    assert_eq!(patch.2["metadata"], expected);
    assert_eq!(
        (&delete.0, &delete.1),
        (&format!("DELETE {path}"), &"berth:scheduler".to_owned())
    );
    assert_eq!(
        delete.2["preconditions"],
        json!({"uid": "u", "resourceVersion": "8"})
    );
}
