//! Changes that a policy or a webhook of the hub makes to a decision.

use super::*;

/// Answer of the hub to a write: the thing at `version` with `state`.
fn stored(version: &str, state: &str) -> Value {
    let mut answer = thing("decided");
    answer["metadata"]["resourceVersion"] = json!(version);
    answer["metadata"]["uid"] = json!("u");
    answer["metadata"]["labels"]["state"] = json!(state);
    answer
}

/// The writes that the hub was asked for, with the label that each asks for.
fn writes(world: &World) -> Vec<(String, Value)> {
    let asked = world.asked.lock().clone();
    let writes = asked.into_iter().filter(|(line, ..)| !line.starts_with("GET"));
    writes
        .map(|(line, _, body)| (line, body["metadata"]["labels"]["state"].clone()))
        .collect()
}

/// The refusal of an update of the thing that the hub answers with the states `says`, one after the other.
async fn refused_update(says: [&'static str; 2], dry_run: bool) -> (World, CommitError) {
    let puts = std::sync::atomic::AtomicUsize::new(0);
    let world = World::with(Some("5"), move |_| {
        let put = puts.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        (200, stored(&format!("{}", 6 + put), says[put.min(1)]))
    })
    .await;
    let mut commit = world.commit(Verb::Update);
    commit.dry_run = dry_run;
    let error = world.committer.commit(commit).await.unwrap_err();
    (world, error)
}

const PATH: &str = "/apis/example.com/v1/namespaces/ns/things";

#[tokio::test(start_paused = true)]
async fn an_update_that_the_hub_changes_is_put_back_and_told() {
    let (world, error) = refused_update(["evil", "s5"], false).await;
    assert_eq!((error.reason, error.status.code), (WriteRefusal::Overruled, 403));
    let message = &error.status.message;
    for part in [
        "metadata.labels.state",
        "berth:scheduler",
        "MutatingAdmissionPolicy",
        "reverted to its former state",
    ] {
        assert!(message.contains(part), "{part} is not in {message}");
    }
    let one = format!("PUT {PATH}/a");
    let expected = [(one.clone(), json!("sdecided")), (one, json!("s5"))];
    assert_eq!(writes(&world), expected);
    let version = &world.asked.lock()[1].2["metadata"]["resourceVersion"];
    assert_eq!(version, "6", "only what was made is put back");
}

#[tokio::test(start_paused = true)]
async fn what_the_hub_changes_whatever_is_written_stands_and_is_told() {
    let (world, error) = refused_update(["evil", "evil"], false).await;
    assert_eq!(error.reason, WriteRefusal::Overruled);
    let message = &error.status.message;
    assert!(
        message.contains("the changed object is still stored"),
        "{message}"
    );
    assert_eq!(writes(&world).len(), 2, "it is not fought for");
}

#[tokio::test(start_paused = true)]
async fn a_dry_run_that_the_hub_changes_is_refused_and_nothing_is_put_back() {
    let (world, error) = refused_update(["evil", "s5"], true).await;
    assert_eq!(error.reason, WriteRefusal::Overruled);
    let expected = [(format!("PUT {PATH}/a?dryRun=All"), json!("sdecided"))];
    assert_eq!(writes(&world), expected);
}

#[tokio::test(start_paused = true)]
async fn what_the_hub_creates_otherwise_is_deleted_again() {
    let world = World::with(None, |line| match line.split(' ').next() {
        Some("POST") => (201, stored("6", "evil")),
        _ => (
            200,
            json!({"kind": "Status", "status": "Success", "metadata": {}}),
        ),
    })
    .await;
    let error = world
        .committer
        .commit(world.commit(Verb::Create))
        .await
        .unwrap_err();
    assert_eq!(error.reason, WriteRefusal::Overruled);
    assert!(
        error.status.message.contains("deleted again"),
        "{}",
        error.status.message
    );
    let lines: Vec<String> = writes(&world).into_iter().map(|(line, _)| line).collect();
    assert_eq!(lines, [format!("POST {PATH}"), format!("DELETE {PATH}/a")]);
    let options = &world.asked.lock()[1].2;
    assert_eq!(
        options["preconditions"],
        json!({"uid": "u", "resourceVersion": "6"})
    );
}

#[tokio::test(start_paused = true)]
async fn what_the_hub_adds_or_does_not_know_is_no_change_of_a_decision() {
    let mut answer = stored("6", "sdecided");
    answer["metadata"]["labels"]["added"] = json!("1");
    answer["metadata"]["finalizers"] = json!(["example.com/theirs"]);
    let world = World::new(Some("5"), 200, answer).await;
    let mut commit = world.commit(Verb::Update);
    commit.writes[0].object["newer"] = json!({"field": 1});
    let (committed, ()) = tokio::join!(world.committer.commit(commit), async {
        world.hear(Seen(Some("6"))).await;
        world.hear(Copied(Some("6"))).await;
    });
    assert!(committed.is_ok(), "{committed:?}");
}
