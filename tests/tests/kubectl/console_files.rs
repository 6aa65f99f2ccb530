//! `berth console -f`: files in the console, with the decisions of `berth simulate --independent`
//! (docs/console.md, "Files").

use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use berth_tests::running::Running;
use berth_tests::systems::SYSTEMS;
use serde_json::Value;

const NOW: &str = "2021-10-28T09:00:00Z";
const GROUP: &str = "/cluster/apis/scheduling.berth.dev/v1alpha1";

/// A running console.
struct Console {
    running: Running,
    port: u16,
    token: String,
}

impl Console {
    fn of(folders: &[String]) -> Self {
        let child = Command::new(berth_tests::berth())
            .args(["console", "--no-open", "--at", NOW, "-f"])
            .args(folders)
            .env("KUBECONFIG", "/nowhere")
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut console = Self {
            running: Running(child),
            port: 0,
            token: String::new(),
        };
        let mut lines = BufReader::new(console.running.0.stdout.take().unwrap()).lines();
        let url = lines.next().unwrap().unwrap();
        let (address, token) = url.split_once("/#token=").unwrap();
        console.port = address.rsplit_once(':').unwrap().1.parse().unwrap();
        token.clone_into(&mut console.token);
        console
    }

    /// The status and the body of an answer.
    fn ask(&self, method: &str, path: &str, body: &str) -> (u16, Value) {
        use std::io::{Read as _, Write as _};
        let mut stream = std::net::TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        let (port, token, length) = (self.port, &self.token, body.len());
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nx-berth-console-token: {token}\r\nAccept: application/json\r\n\
             Content-Type: application/json\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
        )
        .unwrap();
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).unwrap();
        let end = bytes.windows(4).position(|four| four == b"\r\n\r\n").unwrap();
        let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
        let code = head.split(' ').nth(1).unwrap().parse().unwrap();
        let mut body = &bytes[end + 4..];
        let mut whole = Vec::new();
        if head.to_lowercase().contains("transfer-encoding: chunked") {
            loop {
                let line = body.windows(2).position(|two| two == b"\r\n").unwrap();
                let size = usize::from_str_radix(std::str::from_utf8(&body[..line]).unwrap(), 16).unwrap();
                if size == 0 {
                    break;
                }
                whole.extend_from_slice(&body[line + 2..line + 2 + size]);
                body = &body[line + 4 + size..];
            }
        } else {
            whole.extend_from_slice(body);
        }
        (code, serde_json::from_slice(&whole).unwrap_or_default())
    }

    fn get(&self, path: &str) -> Value {
        let (code, answer) = self.ask("GET", &format!("{GROUP}/{path}"), "");
        assert_eq!(code, 200, "{path}: {answer}");
        answer
    }
}

fn example(path: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../examples")
        .join(path)
        .display()
        .to_string()
}

/// A decision without the counters in which the server and the simulation differ.
fn decided(scheduling: &Value) -> Value {
    let mut status = scheduling["status"].clone();
    let fields = status.as_object_mut().unwrap();
    for field in ["inventoryRevision", "writes", "conditions"] {
        fields.remove(field);
    }
    status
}

#[test]
fn files_of_all_six_systems_are_shown_as_simulate_decides_each_a_broken_one_among_them_or_not() {
    let folder = tempfile::tempdir().unwrap();
    let broken = folder.path().join("broken.yaml").display().to_string();
    std::fs::write(&broken, "a: [1\n---\napiVersion: core.gardener.cloud/v1beta1\nkind: Seed\nmetadata: {name: s}\nspec: {provider: 1}\n").unwrap();
    let files = [
        "gardener/fleet.yaml",
        "gardener/load.yaml",
        "gardener/same-region.yaml",
        "gardener/unschedulable.yaml",
        "ocm/fleet.yaml",
        "ocm/story-1.yaml",
        "fleet/fleet.yaml",
        "fleet/pick-n.yaml",
        "openmcp/configuration.yaml",
        "openmcp/fleet.yaml",
        "openmcp/shared.yaml",
        "kcp/fleet.yaml",
        "kcp/namespaces.yaml",
        "karmada/fleet.yaml",
        "karmada/divided.yaml",
    ];
    let files: Vec<String> = files.into_iter().map(example).chain([broken]).collect();
    let simulated = Command::new(berth_tests::berth())
        .args(["simulate", "--independent", "--at", NOW, "-o", "json", "-f"])
        .args(&files)
        .output()
        .unwrap();
    let simulated: Value = serde_json::from_slice(&simulated.stdout).unwrap();
    let simulated = simulated["items"].as_array().unwrap();
    let console = Console::of(&files);
    let (_, about) = console.ask("GET", "/-/about", "");
    assert_eq!(about["writes"], false);
    assert!(about["server"].as_str().unwrap().contains(NOW), "{about}");
    let mut systems = std::collections::BTreeSet::new();
    for expected in simulated {
        let text = |field: &str| expected["metadata"][field].as_str().unwrap_or_default();
        let path = match text("namespace") {
            "" => format!("clusterdecisions/{}/scheduling", text("name")),
            namespace => format!("namespaces/{namespace}/decisions/{}/scheduling", text("name")),
        };
        assert_eq!(decided(&console.get(&path)), decided(expected), "{path}");
        systems.insert(expected["spec"]["dialect"].as_str().unwrap().to_owned());
    }
    assert_eq!(systems.len(), SYSTEMS.len(), "{systems:?}");
    let count = |list: &Value| list["items"].as_array().unwrap().len();
    let listed =
        count(&console.get("decisions?limit=500")) + count(&console.get("clusterdecisions?limit=500"));
    assert_eq!(listed, simulated.len());
    assert!(count(&console.get("targets?limit=500")) >= 10);
}

#[test]
fn what_if_is_answered_and_nothing_is_written() {
    let console = Console::of(&["gardener/fleet.yaml", "gardener/same-region.yaml"].map(example));
    let review = r#"{"apiVersion":"scheduling.berth.dev/v1alpha1","kind":"SchedulingReview","metadata":{"name":"x"},
        "spec":{"reference":{"apiVersion":"core.gardener.cloud/v1beta1","kind":"Shoot","namespace":"garden-dev","name":"web"}}}"#;
    let (code, answer) = console.ask("POST", &format!("{GROUP}/schedulingreviews"), review);
    assert_eq!(code, 201, "{answer}");
    assert_eq!(answer["status"]["outcome"], "Scheduled");
    let binding = r#"{"apiVersion":"scheduling.berth.dev/v1alpha1","kind":"Binding","metadata":{"name":"web.gardener"}}"#;
    let (code, _) = console.ask(
        "POST",
        &format!("{GROUP}/namespaces/garden-dev/bindings"),
        binding,
    );
    assert_eq!(code, 403);
}

#[test]
fn a_malformed_configuration_is_told_of_as_simulate_does_and_flags_of_a_server_do_not_go_with_files() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("bad.yaml").display().to_string();
    std::fs::write(
        &file,
        "apiVersion: core.gardener.cloud/v1beta1\nkind: Seed\nmetadata: {name: A_b}\nspec: {provider: 1}\n",
    )
    .unwrap();
    let run = |command: &str, more: &[&str]| {
        let mut program = Command::new(berth_tests::berth());
        program
            .args([command, "-f", &example("ocm"), "--config", &file])
            .args(more)
            .output()
            .unwrap()
    };
    let (console, simulate) = (run("console", &["--no-open"]), run("simulate", &[]));
    assert_eq!(console.status.code(), Some(2));
    assert_eq!(
        String::from_utf8_lossy(&console.stderr),
        String::from_utf8_lossy(&simulate.stderr)
    );
    for more in [["--allow-writes", "--no-open"], ["--context", "x"]] {
        assert_eq!(run("console", &more).status.code(), Some(2), "{more:?}");
    }
}

#[test]
fn the_address_is_printed_a_browser_opened_from_a_terminal_only_and_ctrl_c_ends_it() {
    let folder = tempfile::tempdir().unwrap();
    let browser = folder.path().join("xdg-open");
    std::fs::write(&browser, "#!/bin/sh\ncp \"$1\" \"$OPENED\"\n").unwrap();
    std::fs::set_permissions(&browser, std::fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", folder.path().display(), std::env::var("PATH").unwrap());
    let files = example("ocm/fleet.yaml");
    let line = format!(
        "exec {} console --at {NOW} -f {files}",
        berth_tests::berth().display()
    );
    for from_a_terminal in [true, false] {
        let opened = folder.path().join(format!("opened-{from_a_terminal}"));
        // `script` runs its command on a terminal.
        let (program, arguments) = match from_a_terminal {
            true => ("script", vec!["-qec", &line, "/dev/null"]),
            false => ("sh", vec!["-c", &line]),
        };
        let child = Command::new(program)
            .args(arguments)
            .env("PATH", &path)
            .env("OPENED", &opened)
            .env("KUBECONFIG", "/nowhere")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut running = Running(child);
        let mut lines = BufReader::new(running.0.stdout.take().unwrap())
            .lines()
            .map(Result::unwrap);
        let printed = lines.next().unwrap();
        let url = &printed[printed.find("http://").unwrap()..];
        assert!(url.contains("/#token="), "{printed}");
        if from_a_terminal {
            berth_tests::eventually("the browser to be opened", || {
                // A file that redirects to the URL: the token is not on a command line.
                let with = std::fs::read_to_string(&opened).unwrap_or_default();
                with.contains(&format!("url={}\"", url.trim())).then_some(())
            });
        }
        let interrupted = Command::new("kill").args(["-INT", &running.innermost()]).status();
        assert!(interrupted.unwrap().success());
        assert!(lines.any(|line| line.trim() == "the console ended"));
        assert!(running.0.wait().unwrap().success());
        assert_eq!(opened.exists(), from_a_terminal);
    }
}
