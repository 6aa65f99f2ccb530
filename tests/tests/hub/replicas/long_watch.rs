//! A watch through the aggregator continues for more than two minutes, which is longer than any timeout of a
//! request, and across a new serving certificate.

use std::io::BufReader;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use berth_apimachinery::Clock as _;
use berth_apiserver::SystemClock;
use berth_tests::hub::Hub;
use berth_tests::hub::berth::{self, Berth};
use serde_json::Value;

/// Longer than two minutes.
const LONG: Duration = Duration::from_secs(125);

#[test]
#[ignore = "builds and runs a real kube-apiserver, and watches for two minutes: `make e2e`"]
fn a_watch_lives_longer_than_two_minutes_and_than_the_serving_certificate() {
    let hub = Hub::start();
    berth::apply_rights(&hub);
    let issue = || {
        let names = ["localhost", "127.0.0.1", "berth.berth-system.svc"].map(str::to_owned);
        let issued = hub
            .ca()
            .issue_server(&names, SystemClock.now())
            .expect("a certificate");
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("PEM is text");
        (
            hub.file("serving.crt", &text(issued.certificate.as_ref())),
            hub.file("serving.key", &text(issued.key.as_ref())),
        )
    };
    let (certificate, key) = issue();
    let (certificate, key) = (certificate.display().to_string(), key.display().to_string());
    let arguments = ["--tls-cert-file", &certificate, "--tls-private-key-file", &key];
    let serving = Berth::start(&hub, "berth", &arguments);
    let registered = ["apiservice.yaml", "apiservices-owned.yaml"];
    berth::register(
        &hub,
        serving.port(),
        hub.ca().certificate_pem().as_bytes(),
        &registered,
    );
    berth::available(&hub);
    berth::load(&hub, "../examples/gardener/fleet.yaml");

    let mut watch = hub
        .kubectl("get targets --watch --output-watch-events -o json --field-selector=metadata.name=aws-eu1.gardener")
        .spawn();
    let (sender, events) = mpsc::channel();
    let output = watch.stdout.take().expect("the output is piped");
    std::thread::spawn(move || {
        for event in serde_json::Deserializer::from_reader(BufReader::new(output)).into_iter::<Value>() {
            let Ok(event) = event else { return };
            if sender.send(event).is_err() {
                return;
            }
        }
    });
    let next = |what: &str| -> Value {
        let event = events.recv_timeout(Duration::from_secs(60));
        event.unwrap_or_else(|problem| panic!("{what}: {problem}"))
    };
    assert_eq!(next("the target as it is")["type"], "ADDED");
    let start = Instant::now();
    let before = served(&serving);
    issue();
    while served(&serving) == before {
        assert!(
            start.elapsed() < Duration::from_secs(100),
            "the new certificate is not served"
        );
        std::thread::park_timeout(Duration::from_millis(500));
    }
    // Not a wait for an event: the test is about a watch of this age.
    std::thread::sleep(LONG.saturating_sub(start.elapsed()));
    hub.kubectl("label seed aws-eu1 watched=long").succeeds();
    let changed = next("the change after two minutes");
    assert_eq!(
        (
            &changed["type"],
            &changed["object"]["metadata"]["labels"]["watched"]
        ),
        (&Value::from("MODIFIED"), &Value::from("long")),
        "{changed}"
    );
    watch.kill().expect("the watch is still there");
    watch.wait().expect("it ends");
}

/// The serial number and dates of the serving certificate, as text to compare.
fn served(berth: &Berth) -> String {
    let address = format!("127.0.0.1:{}", berth.port());
    let output = std::process::Command::new("openssl")
        .args(["s_client", "-connect", &address])
        .stdin(std::process::Stdio::null())
        .output()
        .expect("openssl runs");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let begin = text
        .find("-----BEGIN CERTIFICATE-----")
        .expect("a certificate is shown");
    let end = text
        .find("-----END CERTIFICATE-----")
        .expect("a certificate is shown");
    text[begin..end].to_owned()
}
