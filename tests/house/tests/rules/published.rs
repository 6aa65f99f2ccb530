//! The published crates (`publish = true`, those below the placement layer) can be packed: each depends only
//! on published ones, has its own description, and reads no file of another package.

use std::path::{Component, Path, PathBuf};
use std::process::Command;

use berth_house::{packages, root, text};
use serde_json::Value;

/// The packages that are published.
fn published() -> Vec<Value> {
    let mut packages = packages();
    packages.retain(|package| package["publish"].is_null());
    assert!(packages.len() > 10, "the search went astray");
    packages
}

fn folder(package: &Value) -> PathBuf {
    let manifest = Path::new(text(package, "manifest_path"));
    manifest.parent().expect("a manifest lies in a folder").to_owned()
}

#[test]
fn a_published_crate_stands_on_published_crates_alone() {
    let published = published();
    let names: Vec<&str> = published.iter().map(|package| text(package, "name")).collect();
    let mut problems = Vec::new();
    for package in &published {
        for dependency in package["dependencies"].as_array().into_iter().flatten() {
            let (ours, other) = (text(package, "name"), text(dependency, "name"));
            // A package leaves out the dependencies of its tests.
            if !other.starts_with("berth-") || dependency["kind"] == "dev" {
                continue;
            }
            if !names.contains(&other) {
                problems.push(format!("{ours} stands on {other}, which is not published"));
            } else if dependency["req"] == "*" {
                problems.push(format!("{ours} asks for {other} without a version"));
            }
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn a_published_crate_says_for_itself_what_it_is() {
    let published = published();
    let mut problems = Vec::new();
    for package in &published {
        let name = text(package, "name");
        let description = text(package, "description");
        let alike = published
            .iter()
            .filter(|other| text(other, "description") == description);
        if description.is_empty() || alike.count() > 1 {
            problems.push(format!("{name} has no description of its own"));
        }
        for list in ["keywords", "categories"] {
            if package[list].as_array().is_none_or(Vec::is_empty) {
                problems.push(format!("{name} has no {list}"));
            }
        }
        let readme = std::fs::read_to_string(folder(package).join("README.md")).unwrap_or_default();
        if !readme.starts_with(&format!("# {name}\n")) || !readme.contains("```rust") {
            problems.push(format!("{name} has no README.md with its name and an example"));
        }
        let library = folder(package).join("src/lib.rs");
        let library = std::fs::read_to_string(library).expect("a crate has a library");
        if !library.contains("#![doc = include_str!(\"../README.md\")]") {
            problems.push(format!("{name} does not test the example of its README.md"));
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

/// The files of the packed `package`.
fn files(package: &str) -> Vec<PathBuf> {
    let output = Command::new(env!("CARGO"))
        .args([
            "package",
            "--list",
            "--allow-dirty",
            "--offline",
            "--package",
            package,
        ])
        .current_dir(root())
        .output()
        .expect("cargo can be run");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{package}: {errors}");
    let listed = String::from_utf8(output.stdout).expect("cargo lists files");
    listed.lines().map(PathBuf::from).collect()
}

/// The paths that `code` includes.
fn included_files(code: &str) -> Vec<&str> {
    ["include_str!(", "include_bytes!(", "#[path = "]
        .into_iter()
        .flat_map(|word| code.split(word).skip(1))
        .filter_map(|rest| rest.trim_start().strip_prefix('"')?.split('"').next())
        .collect()
}

/// Whether `path`, included by the file `from`, leads out of the folder to which `from` is relative.
fn leaves(from: &Path, path: &str) -> bool {
    let folder = from.parent().unwrap_or(Path::new(""));
    let mut depth = 0;
    for component in folder.join(path).components() {
        match component {
            Component::ParentDir => depth -= 1,
            Component::Normal(_) => depth += 1,
            _ => {}
        }
        if depth < 0 {
            return true;
        }
    }
    false
}

#[test]
fn a_published_crate_reads_no_file_of_another_package() {
    let mut problems = Vec::new();
    for package in published() {
        let name = text(&package, "name");
        let files = files(name);
        assert!(files.contains(&PathBuf::from("README.md")), "{name}: {files:?}");
        for file in files
            .iter()
            .filter(|file| file.extension().is_some_and(|end| end == "rs"))
        {
            let code = std::fs::read_to_string(folder(&package).join(file)).expect("sources are text");
            let out = included_files(&code)
                .into_iter()
                .filter(|path| leaves(file, path));
            problems.extend(out.map(|path| format!("{name}: {} takes in {path}", file.display())));
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn a_file_of_another_package_would_be_seen() {
    let code = "#[path = \"../../tests/src/etcd.rs\"]\nmod etcd;\nconst ROWS: &str = include_str!(\n    \"rows.json\");";
    assert_eq!(included_files(code), ["rows.json", "../../tests/src/etcd.rs"]);
    assert!(leaves(Path::new("tests/etcd.rs"), "../../tests/src/etcd.rs"));
    assert!(!leaves(Path::new("src/lib.rs"), "../README.md"));
}
