//! Many parallel requests: some are refused with a time for a retry, but never administrators and
//! probes.

use berth_tests::hub::Hub;
use berth_tests::hub::berth::{self, Berth};
use berth_tests::raw::send;
use futures::future::join_all;
use http::Method;

use crate::replicas::replica::direct;

const CANDIDATES: &str = "/apis/scheduling.berth.dev/v1alpha1/candidates";

#[tokio::test(flavor = "multi_thread")]
#[ignore = "builds and runs a real kube-apiserver: `make e2e`"]
async fn a_crowd_is_turned_away_in_part_and_masters_and_probes_are_not() {
    let started = tokio::task::spawn_blocking(|| {
        let hub = Hub::start();
        let berth = Berth::install(&hub, &["--max-requests-inflight", "1"]);
        berth::load(&hub, "../examples/gardener/fleet.yaml");
        let role = "--clusterrole=berth:target-viewer";
        hub.ensure(&["create", "clusterrolebinding", "crowd", role, "--user=crowd"]);
        (hub, berth)
    });
    let (hub, berth) = started.await.expect("it starts");
    let client = direct(&hub, &berth).await;
    let nobody = berth.client(None).await;
    let targets = "/apis/scheduling.berth.dev/v1alpha1/targets";
    let crowd = [("x-remote-user", "crowd")];
    let many = join_all((0..600).map(|_| send(&client, Method::GET, targets, &crowd, b"")));
    let masters = [("x-remote-user", "root"), ("x-remote-group", "system:masters")];
    let few = join_all((0..20).map(|_| send(&client, Method::GET, CANDIDATES, &masters, b"")));
    let probes = join_all((0..20).map(|_| send(&nobody, Method::GET, "/healthz", &[], b"")));
    let (many, few, probes) = tokio::join!(many, few, probes);
    let turned: Vec<_> = many.iter().filter(|answer| answer.code == 429).collect();
    assert!(
        !turned.is_empty() && turned.len() < many.len(),
        "{} of {}",
        turned.len(),
        many.len()
    );
    for answer in &turned {
        assert_eq!(answer.json()["reason"], "TooManyRequests");
        assert!(!answer.header("retry-after").is_empty());
    }
    let others = many.iter().filter(|answer| answer.code != 429);
    assert!(others.map(|answer| answer.code).all(|code| code == 200));
    for answer in few.iter().chain(&probes) {
        assert_eq!(answer.code, 200, "{}", String::from_utf8_lossy(&answer.body));
    }
}
