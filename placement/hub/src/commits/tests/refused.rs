//! Notes in fences about writes that the hub refuses, or that are never sent.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;

/// The change of the thing, which counts what `fences` guard.
fn counted(world: &World, fences: &[&str]) -> Commit {
    let mut commit = world.commit(Verb::Update);
    let guards = fences.iter().map(|&name| Guard::Fence {
        name: name.into(),
        not_after: Revision(u64::MAX),
    });
    commit.guards = guards.collect();
    commit
}

/// The writes of Leases: the method, and the number of noted writes.
fn notes(world: &World) -> Vec<(String, usize)> {
    let asked = world.asked.lock().clone();
    let leases = asked
        .iter()
        .filter(|(line, ..)| line.contains("/leases") && !line.starts_with("GET"));
    let notes = leases.map(|(line, _, lease)| {
        let noted = lease["metadata"]["annotations"]["scheduling.berth.dev/noted"].as_str();
        let noted: Vec<Value> = serde_json::from_str(noted.unwrap()).unwrap();
        (line.split(' ').next().unwrap().to_owned(), noted.len())
    });
    notes.collect()
}

fn made(code: u16) -> (u16, Value) {
    (code, json!({"metadata": {"resourceVersion": "1"}}))
}

/// The writes of Leases for a commit under one fence whose write the hub answers with `refusal`.
async fn notes_after(refusal: Status) -> Vec<(String, usize)> {
    let (code, answer) = (refusal.code, serde_json::to_value(refusal).unwrap());
    let world = World::with(Some("5"), move |line| {
        match (line.split(' ').next().unwrap(), line.contains("/leases")) {
            ("GET", true) => (404, says(404, "NotFound")),
            ("GET", false) => (200, at("5", &json!({}))),
            (_, true) => made(201),
            (_, false) => (code, answer.clone()),
        }
    })
    .await;
    let commit = counted(&world, &["test/room"]);
    world.committer.commit(commit).await.unwrap_err();
    notes(&world)
}

fn noted(writes: &[(&str, usize)]) -> Vec<(String, usize)> {
    let owned = |&(method, count): &(&str, usize)| (method.to_owned(), count);
    writes.iter().map(owned).collect()
}

#[tokio::test(start_paused = true)]
async fn the_note_about_a_refused_write_is_taken_back_and_no_other_note() {
    for (code, reason, is_taken_back) in [
        (403, "Forbidden", true),
        (422, "Invalid", true),
        (409, "Conflict", false),
        (500, "InternalError", false),
        (504, "Timeout", false),
    ] {
        let refusal = Status::failure(code, reason, "as the test says");
        let mut expected = vec![("POST".to_owned(), 1)];
        expected.extend(is_taken_back.then(|| ("PUT".to_owned(), 0)));
        assert_eq!(notes_after(refusal).await, expected, "{code}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_note_about_a_write_whose_webhook_cannot_be_called_is_taken_back() {
    let text = "Internal error occurred: failed calling webhook \"a.x\": failed to call webhook: Post \
                \"https://a.x:443/?timeout=10s\": context deadline exceeded";
    let refusal = Status::failure(500, "InternalError", text);
    assert_eq!(notes_after(refusal).await, noted(&[("POST", 1), ("PUT", 0)]));
}

#[tokio::test(start_paused = true)]
async fn the_notes_of_writes_that_are_never_sent_are_taken_back() {
    let posts = AtomicUsize::new(0);
    let world = World::with(Some("5"), move |line| match line.split(' ').next().unwrap() {
        "GET" => (404, says(404, "NotFound")),
        "POST" if posts.fetch_add(1, Ordering::Relaxed) == 1 => (409, says(409, "AlreadyExists")),
        _ => made(201),
    })
    .await;
    let commit = counted(&world, &["test/first", "test/second"]);
    let error = world.committer.commit(commit).await.unwrap_err();
    assert_eq!(error.reason, WriteRefusal::Fenced);
    assert_eq!(notes(&world), noted(&[("POST", 1), ("POST", 1), ("PUT", 0)]));
}

#[tokio::test(start_paused = true)]
async fn notes_are_taken_back_no_further_where_the_hub_does_not_take_them() {
    let world = World::with(Some("5"), |line| {
        match (line.split(' ').next().unwrap(), line.contains("/leases")) {
            ("GET", true) => (404, says(404, "NotFound")),
            ("GET", false) => (200, at("5", &json!({}))),
            ("POST", true) => made(201),
            (_, true) => (503, says(503, "ServiceUnavailable")),
            (_, false) => (403, says(403, "Forbidden")),
        }
    })
    .await;
    let commit = counted(&world, &["test/first", "test/second"]);
    let error = world.committer.commit(commit).await.unwrap_err();
    assert_eq!(error.status.code, 403);
    assert_eq!(notes(&world), noted(&[("POST", 1), ("POST", 1), ("PUT", 0)]));
}
