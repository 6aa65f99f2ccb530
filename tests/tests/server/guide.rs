//! docs/build-your-own.md, followed literally: a package outside of the workspace is created from its
//! blocks, built, started as documented, and used with the documented commands.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use berth_tests::{Kubectl, eventually, ports};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("tests is in the workspace")
}

/// The guide's blocks in `language`.
fn blocks(language: &str) -> Vec<String> {
    let page = std::fs::read_to_string(root().join("docs/build-your-own.md")).expect("the guide is there");
    let begin = format!("```{language}\n");
    let blocks = page.split(&begin).skip(1);
    blocks
        .map(|rest| rest.split("```").next().unwrap_or_default().to_owned())
        .collect()
}

/// The only block in `language`.
fn block(language: &str) -> String {
    let mut blocks = blocks(language);
    assert_eq!(blocks.len(), 1, "blocks of {language}");
    blocks.remove(0)
}

/// The target folder of this test.
fn target() -> PathBuf {
    let test = std::env::current_exe().expect("a test knows its own path");
    let target = test
        .ancestors()
        .nth(3)
        .expect("tests live in <target>/<profile>/deps");
    target.to_owned()
}

/// Creates the package in `folder`, with the dependency versions of this workspace, and builds it.
fn build(folder: &Path) -> PathBuf {
    let clone = format!("path = \"{}/", root().display());
    let manifest = block("toml").replace("path = \"../berth/", &clone);
    std::fs::create_dir(folder.join("src")).unwrap();
    std::fs::write(folder.join("Cargo.toml"), manifest).unwrap();
    std::fs::write(folder.join("src/main.rs"), block("rust")).unwrap();
    std::fs::copy(root().join("Cargo.lock"), folder.join("Cargo.lock")).unwrap();
    let output = Command::new(env!("CARGO"))
        .args(["build", "--offline"])
        .current_dir(folder)
        .env("CARGO_TARGET_DIR", target().join("guide"))
        .output()
        .expect("cargo can be run");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    target().join("guide/debug/wardle")
}

/// A server that ends with the test.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

/// Starts `program` with the flags of the guide except for the port.
fn start(program: &Path, folder: &Path) -> Server {
    let line = blocks("sh")
        .into_iter()
        .find(|block| block.contains("--standalone"));
    let line = line.expect("the guide starts the server");
    let flags = line
        .lines()
        .next()
        .and_then(|line| line.strip_prefix("cargo run -- "));
    let flags = flags.expect("it is started by cargo").trim_end_matches(" &");
    let port = ports::free().to_string();
    let flags = flags
        .split(' ')
        .map(|flag| if flag == "6443" { port.as_str() } else { flag });
    let child = Command::new(program)
        .args(flags)
        .current_dir(folder)
        .stdout(Stdio::null())
        .spawn()
        .expect("the program runs");
    Server(child)
}

/// Words of a line without ages, which depend on the time.
fn words(line: &str) -> Vec<&str> {
    let is_age = |word: &&str| {
        word.strip_suffix('s')
            .is_some_and(|count| count.parse::<u32>().is_ok())
    };
    line.split_whitespace().filter(|word| !is_age(word)).collect()
}

#[test]
#[ignore = "builds a package of its own: make guide"]
fn the_guide_leads_from_a_new_package_to_kubectl_get() {
    let folder = tempfile::tempdir().unwrap();
    let program = build(folder.path());
    std::fs::write(folder.path().join("fin.yaml"), block("yaml")).unwrap();
    let _server = start(&program, folder.path());
    let kubeconfig = folder.path().join("certificates/admin.kubeconfig");
    eventually("the kubeconfig to be written", || {
        kubeconfig.exists().then_some(())
    });
    let kubectl = |arguments: &[&str]| Kubectl::new(&kubeconfig, folder.path(), arguments);
    eventually("the server to be ready", || {
        kubectl(&["get", "--raw", "/readyz"]).run().success.then_some(())
    });

    let fin = folder.path().join("fin.yaml").display().to_string();
    let console = block("console");
    let mut steps = console.split("$ kubectl ").skip(1).peekable();
    assert!(steps.peek().is_some(), "the guide asks nothing");
    for step in steps {
        let (command, expected) = step.split_once('\n').expect("a command has an answer");
        let arguments: Vec<&str> = command
            .split(' ')
            .map(|word| if word == "fin.yaml" { &fin } else { word })
            .collect();
        let printed = kubectl(&arguments).succeeds();
        let printed: Vec<Vec<&str>> = printed.lines().map(words).collect();
        let expected: Vec<Vec<&str>> = expected.lines().map(words).collect();
        assert_eq!(printed, expected, "kubectl {command}");
    }
    let text = kubectl(&["explain", "flunders.size"]).succeeds();
    assert!(text.contains("in centimetres"), "{text}");
}
