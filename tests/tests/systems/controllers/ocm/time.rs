//! Changes only by time: the end of a toleration, and of a score.

use std::time::Duration;

use berth_apimachinery::{Clock, time};
use berth_apiserver::SystemClock;

use super::*;

/// Long enough for a few requests, and short enough to wait.
const SOON: Duration = Duration::from_secs(6);

#[test]
fn decisions_move_at_the_end_of_a_toleration_and_of_a_score() {
    let server = Server::start();
    fleet(&server, &["a", "b"]);
    let tolerant =
        "{numberOfClusters: 1, tolerations: [{key: down, operator: Exists, tolerationSeconds: 6}]}";
    place(&server, "tolerant", tolerant);
    becomes(&server, "tolerant", &["a"]);
    patch(
        &server,
        "a",
        r#"{"spec":{"taints":[{"key":"down","effect":"NoSelect"}]}}"#,
    );
    becomes(&server, "tolerant", &["b"]);
    patch(&server, "a", NO_TAINT);
    let until = time::rfc3339(SystemClock.now().checked_add(SOON).unwrap());
    let score = format!(
        "apiVersion: cluster.open-cluster-management.io/v1alpha1\nkind: AddOnPlacementScore\nmetadata: {{name: default, namespace: b}}\n\
         status: {{validUntil: \"{until}\", scores: [{{name: free, value: 50}}]}}\n"
    );
    server.load(&server.file("score.yaml", &score));
    let scored = "{numberOfClusters: 1, prioritizerPolicy: {mode: Exact, configurations: [{scoreCoordinate: {type: AddOn, addOn: {resourceName: default, scoreName: free}}}]}}";
    place(&server, "scored", scored);
    becomes(&server, "scored", &["b"]);
    becomes(&server, "scored", &["a"]);
    let note = event(&server, "ns1", "scored", "Warning DecisionUpdate");
    assert!(
        note.ends_with("1 cluster: a: AddOnPlacementScores b/default expired in plugin AddOn/default/free"),
        "{note}"
    );
}
