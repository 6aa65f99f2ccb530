//! One path to each public item of a published crate: a module is either private, with its public items
//! re-exported at the crate's root (or in one public module), or public, with its items only in itself.

use std::collections::{BTreeMap, BTreeSet};

use berth_house::{packages, root, text};

use crate::circles::{Module, code, crates, paths, resolve};

/// Modules that are declared `pub`, and whose parents all are, too.
fn public(files: &BTreeMap<Module, String>) -> BTreeSet<Module> {
    let declared = |module: &Module| {
        let (name, around) = module.split_last()?;
        let around = code(files.get(around)?);
        Some(around.contains(&format!("pub mod {name};")))
    };
    let is_public =
        |module: &Module| (1..=module.len()).all(|end| declared(&module[..end].to_vec()) == Some(true));
    files.keys().filter(|module| is_public(module)).cloned().collect()
}

/// Paths of every `pub use` in `text`, as they are written.
fn exported(text: &str) -> Vec<Module> {
    let mut found = Vec::new();
    for part in code(text).split("pub use ").skip(1) {
        let tree = part.split(';').next().unwrap_or_default().trim();
        paths(&[], tree.trim_start_matches("::"), &mut found);
    }
    found
}

/// Items of one crate with a second path, and items of other crates of the workspace that it
/// re-exports.
fn problems(files: &BTreeMap<Module, String>) -> Vec<String> {
    let modules: BTreeSet<Module> = files.keys().cloned().collect();
    let public = public(files);
    let mut problems = Vec::new();
    let mut shown_at: BTreeMap<(Module, String), Module> = BTreeMap::new();
    for at in &public {
        for path in exported(&files[at]) {
            let written = path.join("::");
            let shown = format!("{}::{written}", at.join("::"));
            if path.first().is_some_and(|first| first.starts_with("berth_")) {
                problems.push(format!("{shown} is an item of another crate of ours"));
            }
            let Some(from) = resolve(&path, at, &modules) else {
                continue;
            };
            let item = path.last().cloned().unwrap_or_default();
            if public.contains(&from) && from != *at {
                problems.push(format!("{shown} has a path already: the module is public"));
            } else if let Some(other) = shown_at.insert((from, item), at.clone()) {
                problems.push(format!("{shown} stands in \"{}\" too", other.join("::")));
            }
        }
    }
    problems
}

#[test]
fn an_item_of_a_published_crate_has_one_path() {
    let crates = crates();
    let mut seen = 0;
    let mut found = Vec::new();
    for package in packages().iter().filter(|package| package["publish"].is_null()) {
        let manifest = std::path::Path::new(text(package, "manifest_path"));
        let folder = manifest
            .parent()
            .and_then(|folder| folder.strip_prefix(root()).ok());
        let folder = folder
            .expect("a package lies in the workspace")
            .to_string_lossy()
            .replace('\\', "/");
        let files = crates.get(&folder).expect("a package has sources");
        seen += 1;
        found.extend(
            problems(files)
                .into_iter()
                .map(|problem| format!("{folder}: {problem}")),
        );
    }
    assert!(seen > 10, "the search went astray");
    assert!(
        found.is_empty(),
        "make the module private, or take its items off the other place (CONTRIBUTING.md, \"Style\"):\n{}",
        found.join("\n")
    );
}

#[test]
fn a_second_path_would_be_seen() {
    let module = |path: &str| path.split('/').map(str::to_owned).collect::<Module>();
    let files = |library: &str| {
        BTreeMap::from([
            (Vec::new(), library.to_owned()),
            (module("a"), "pub mod inner;\npub struct X;".to_owned()),
            (module("a/inner"), "pub struct Y;".to_owned()),
        ])
    };
    let count = |library: &str| problems(&files(library)).len();
    assert_eq!(count("pub mod a;"), 0);
    assert_eq!(count("mod a;\npub use a::{X, inner};\npub use axum::Router;"), 0);
    assert_eq!(count("pub mod a;\npub use a::X;"), 1);
    assert_eq!(count("pub mod a;\npub use a::inner::Y;"), 1);
    assert_eq!(
        count("mod a;\npub use a::X;\npub use self::a::{X as Z, inner};"),
        1
    );
    assert_eq!(count("mod a;\npub use a::X;\npub use crate::a::X;"), 1);
    assert_eq!(count("mod a;\npub use berth_storage::Step;"), 1);
}
