//! Kubernetes' own end-to-end specs (`test/e2e` of k8s.io/kubernetes) with a standalone server, and a
//! comparison of its protobuf messages with Go's (docs/conformance.md). The programs are in Go
//! (`tests/conformance/kubernetes`) and built on first use (`make conformance`), so these tests are otherwise
//! ignored.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use berth_apiserver::Codec as _;
use berth_kubernetes::protobuf::Protobuf;
use berth_tests::{Server, go};
use serde_json::{Value, json};

const MODULE: &str = "conformance/kubernetes";

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(MODULE)
}

/// The specs that must pass.
fn required() -> BTreeSet<String> {
    let text = std::fs::read_to_string(folder().join("passing.txt")).unwrap();
    text.lines().map(str::to_owned).collect()
}

/// The specs that cannot pass, each with the reason. Specs whose reason starts with `~` would wait for
/// minutes before they fail, and are not run.
fn excused() -> BTreeMap<String, String> {
    let text = std::fs::read_to_string(folder().join("excused.txt")).unwrap();
    let mut reason = "";
    let mut specs = BTreeMap::new();
    for line in text.lines().filter(|line| !line.is_empty()) {
        match line.strip_prefix("# ") {
            Some(why) => reason = why,
            None => drop(specs.insert(line.to_owned(), reason.to_owned())),
        }
    }
    specs
}

/// Outcome of a spec.
struct Outcome {
    passed: bool,
    failure: String,
}

/// Runs the suite's program, and returns its outcome of each spec.
fn spec_outcomes(arguments: &[&str], report: &Path) -> BTreeMap<String, Outcome> {
    let program = go::build(MODULE, ".", "specs");
    let output = Command::new(program)
        .args(arguments)
        .arg("-specs-report")
        .arg(report)
        .output()
        .expect("the program runs");
    let text = std::fs::read_to_string(report).unwrap_or_default();
    let outcomes: BTreeMap<_, _> = text
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("a line of JSON on each spec"))
        .map(|spec| {
            let text = |field: &str| spec[field].as_str().unwrap_or_default().to_owned();
            let outcome = Outcome {
                passed: text("state") == "passed",
                failure: format!("{} {}", text("state"), text("failure")),
            };
            (text("name"), outcome)
        })
        .collect();
    let output_text = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!outcomes.is_empty(), "nothing ran:\n{output_text}\n{errors}");
    outcomes
}

/// Runs `specs` with `server`.
fn run<'a>(server: &Server, specs: impl Iterator<Item = &'a String>) -> BTreeMap<String, Outcome> {
    let names: Vec<_> = specs.map(String::as_str).collect();
    let list = server.file("specs.txt", &names.join("\n"));
    let kubeconfig = server.kubeconfig();
    let report = server.file("specs.json", "");
    let arguments = [
        "-specs",
        list.to_str().unwrap(),
        "-kubeconfig",
        kubeconfig.to_str().unwrap(),
        // There is no controller that creates them.
        "-e2e-verify-service-account=false",
    ];
    spec_outcomes(&arguments, &report)
}

#[test]
#[ignore = "make conformance: builds Kubernetes' end-to-end tests"]
fn kubernetes_own_specs_pass() {
    let server = Server::start();
    let required = required();
    let outcomes = run(&server, required.iter());
    let missing = required.iter().filter(|name| !outcomes.contains_key(*name));
    let failed = outcomes
        .iter()
        .filter(|(_, outcome)| !outcome.passed)
        .map(|(name, outcome)| format!("{name}:\n    {}", outcome.failure))
        .chain(missing.map(|name| format!("{name}:\n    there is no such spec")));
    let failed: Vec<_> = failed.collect();
    assert!(
        failed.is_empty(),
        "{} of {}:\n{}",
        failed.len(),
        required.len(),
        failed.join("\n")
    );
    println!("{} specs passed", outcomes.len());
}

#[test]
#[ignore = "make conformance: builds Kubernetes' end-to-end tests"]
fn what_is_excused_still_fails() {
    let server = Server::start();
    let mut excused = excused();
    excused.retain(|_, reason| !reason.starts_with('~'));
    let outcomes = run(&server, excused.keys());
    let passed: Vec<_> = outcomes
        .iter()
        .filter(|(_, outcome)| outcome.passed)
        .map(|(name, _)| name.as_str())
        .collect();
    let missing: Vec<_> = excused
        .keys()
        .filter(|name| !outcomes.contains_key(*name))
        .collect();
    assert!(
        passed.is_empty(),
        "these pass now, and belong into passing.txt:\n{}",
        passed.join("\n")
    );
    assert!(missing.is_empty(), "there are no such specs: {missing:#?}");
    println!("{} specs failed, as is known", outcomes.len());
}

#[test]
#[ignore = "make conformance: builds Kubernetes' end-to-end tests"]
fn every_spec_of_api_machinery_is_on_one_of_the_lists() {
    let report = tempfile::NamedTempFile::new().unwrap();
    let all = spec_outcomes(&["-specs-list"], report.path());
    let (required, excused) = (required(), excused());
    let both: Vec<_> = required
        .iter()
        .filter(|name| excused.contains_key(*name))
        .collect();
    assert!(both.is_empty(), "on both lists: {both:#?}");
    let unlisted: Vec<_> = all
        .keys()
        .filter(|name| name.starts_with("[sig-api-machinery]"))
        .filter(|name| !required.contains(*name) && !excused.contains_key(*name))
        .collect();
    assert!(unlisted.is_empty(), "on neither list: {unlisted:#?}");
    let reasons: BTreeSet<_> = excused.values().collect();
    assert!(reasons.iter().all(|reason| !reason.is_empty()));
}

/// Runs the program of Go's messages.
fn messages(arguments: &[&str], input: &[u8]) -> String {
    let program = go::build(MODULE, "./messages", "messages");
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program runs");
    let mut stdin = child.stdin.take().expect("it is piped");
    let input = input.to_vec();
    let writer = std::thread::spawn(move || stdin.write_all(&input));
    let output = child.wait_with_output().expect("the program ends");
    let written = writer.join().expect("nothing panics there");
    let text = String::from_utf8(output.stdout).expect("it writes text");
    assert!(output.status.success(), "{text}");
    written.expect("it reads all of its input");
    text
}

#[test]
#[ignore = "make conformance: builds a program in Go"]
fn the_table_of_messages_is_that_of_gos_types() {
    let page = "apiserver/kubernetes/src/protobuf/messages.txt";
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let table = std::fs::read_to_string(root.join("..").join(page)).unwrap();
    let wanted = messages(&[], b"");
    assert!(
        table == wanted,
        "{page} is another one: cd tests/{MODULE} && go run ./messages > ../../../{page}"
    );
}

/// Number of random objects of each kind.
const EXAMPLES: &str = "200";

#[test]
#[ignore = "make conformance: builds a program in Go"]
fn objects_of_random_fields_are_read_and_written_as_in_go() {
    let examples = messages(&["-examples", EXAMPLES], b"");
    let mut back = Vec::new();
    for line in examples.lines() {
        let example: Value = serde_json::from_str(line).unwrap();
        let text = |field: &str| example[field].as_str().unwrap();
        let (api_version, kind) = (text("apiVersion"), text("kind"));
        let raw = STANDARD.decode(text("protobuf")).unwrap();
        let read = Protobuf
            .decode(&enveloped(api_version, kind, &raw))
            .expect("the kind is known")
            .unwrap_or_else(|problem| panic!("{problem}: {line}"));
        let written = Protobuf.message(api_version, kind, &example["json"]);
        let written = written.expect("the kind is known");
        let line = json!({"apiVersion": api_version, "kind": kind, "original": example["protobuf"], "json": read,
            "protobuf": STANDARD.encode(written)});
        writeln!(back, "{line}").unwrap();
    }
    println!("{}", messages(&["-compare"], &back).trim());
}

/// The body of an object with the message `raw`.
fn enveloped(api_version: &str, kind: &str, raw: &[u8]) -> Vec<u8> {
    let field = |number: u8, bytes: &[u8]| {
        let mut length = bytes.len();
        let mut out = vec![number << 3 | 2];
        while length > 0x7f {
            out.push(0x80 | u8::try_from(length & 0x7f).unwrap());
            length >>= 7;
        }
        out.push(u8::try_from(length).unwrap());
        out.extend_from_slice(bytes);
        out
    };
    let named = [field(1, api_version.as_bytes()), field(2, kind.as_bytes())].concat();
    [b"k8s\0".to_vec(), field(1, &named), field(2, raw)].concat()
}
