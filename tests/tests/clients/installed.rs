//! Packages of the programs in other languages than Go, installed once per list of versions in
//! `tests/clients`, below cargo's target folder.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use berth_house::program;
use berth_tests::target;

/// The folder of a language in `tests/clients`.
pub(crate) fn sources(language: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("clients")
        .join(language)
}

/// The folder with the packages of `language`, which `install` installs there from the lists `files`.
fn installed(language: &str, files: &[&str], install: impl FnOnce(&Path)) -> PathBuf {
    let folder = target().join("clients").join(language);
    let texts = files
        .iter()
        .map(|file| std::fs::read_to_string(sources(language).join(file)).expect("it is there"));
    let wanted = texts.collect::<Vec<_>>().join("\n");
    let done = folder.join("installed");
    if std::fs::read_to_string(&done).is_ok_and(|text| text == wanted) {
        return folder;
    }
    if folder.exists() {
        std::fs::remove_dir_all(&folder).expect("what an earlier list made can go");
    }
    std::fs::create_dir_all(&folder).expect("the target folder is writable");
    for file in files {
        std::fs::copy(sources(language).join(file), folder.join(file)).expect("it can be copied");
    }
    install(&folder);
    std::fs::write(&done, wanted).expect("the target folder is writable");
    folder
}

fn run(command: &mut Command) {
    let output = command.output().expect("it can be run");
    let shown = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(
        output.status.success(),
        "{command:?}: {}{}",
        shown(&output.stdout),
        shown(&output.stderr)
    );
}

/// A call of Python with the packages of `requirements.txt`.
pub(crate) fn python() -> Command {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    let folder = FOLDER.get_or_init(|| {
        let mut python = program("python3");
        installed("python", &["requirements.txt"], |folder| {
            run(python.args(["-m", "venv", "venv"]).current_dir(folder));
            let pip = [
                "-m",
                "pip",
                "install",
                "--quiet",
                "--no-deps",
                "-r",
                "requirements.txt",
            ];
            run(Command::new(folder.join("venv/bin/python"))
                .args(pip)
                .current_dir(folder));
        })
    });
    let mut python = Command::new(folder.join("venv/bin/python"));
    // Python must not write files beside the sources.
    python.arg("-B");
    python
}

/// A call of the program `name` of `tests/clients/node`, in Node.js with the packages of `package-lock.json`.
pub(crate) fn node(name: &str) -> Command {
    let (mut node, mut npm) = (program("node"), program("npm"));
    let folder = installed("node", &["package.json", "package-lock.json"], |folder| {
        let install = ["ci", "--no-audit", "--no-fund", "--ignore-scripts"];
        run(npm.args(install).current_dir(folder));
    });
    // Node.js resolves modules beside the importing program.
    std::fs::copy(sources("node").join(name), folder.join(name)).expect("it can be copied");
    node.arg(folder.join(name));
    node
}

/// The plugin that downloads the dependencies of a `pom.xml`.
const COPY: &str = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies";

/// A call of the source `name` of `tests/clients/java`, in Java with the libraries of `pom.xml`.
pub(crate) fn java(name: &str) -> Command {
    let (mut java, mut maven) = (program("java"), program("mvn"));
    let folder = installed("java", &["pom.xml"], |folder| {
        let copy = ["--quiet", "--batch-mode", COPY, "-DoutputDirectory=libraries"];
        run(maven.args(copy).current_dir(folder));
    });
    java.arg("-cp")
        .arg(folder.join("libraries").join("*"))
        .arg(sources("java").join(name));
    java
}
