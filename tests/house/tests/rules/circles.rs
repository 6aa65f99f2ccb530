//! No circles between the modules of a crate: of two sibling modules, only one may use the other.
//!
//! Modules are compared with their siblings, each with all modules below it; a module and its children may
//! use each other. There are no circles any more, so that [`LEFT`] stays empty; items that use each other
//! belong in one module.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use berth_house::{read, shown, sources};

/// Permitted circles: the parent module, and the modules of the circle.
const LEFT: &[(&str, &[&str])] = &[];

/// A module's path inside its crate.
pub(super) type Module = Vec<String>;

/// Whether a module with this name is only for tests.
pub(super) fn is_for_tests(name: &str) -> bool {
    matches!(name, "tests" | "testing" | "toys" | "toy")
}

/// The text without comments and without the tests at its end.
pub(super) fn code(text: &str) -> String {
    let product = text.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
    let lines = product
        .lines()
        .map(|line| line.split("//").next().unwrap_or_default());
    lines.collect::<Vec<_>>().join("\n")
}

/// Every path that `tree`, the content of a `use`, expands to.
pub(super) fn paths(before: &[String], tree: &str, found: &mut Vec<Module>) {
    let segments = |text: &str| -> Vec<String> {
        let parts = text.split("::").map(|part| part.trim().to_owned());
        parts.filter(|part| !part.is_empty()).collect()
    };
    let tree = tree.trim();
    let Some(open) = tree.find('{') else {
        let plain = tree.split(" as ").next().unwrap_or_default();
        found.push([before, &segments(plain)].concat());
        return;
    };
    let inside = tree[open + 1..].trim_end().trim_end_matches('}');
    let before = [before, &segments(&tree[..open])].concat();
    let (mut depth, mut start) = (0, 0);
    for (at, letter) in inside.char_indices().chain([(inside.len(), ',')]) {
        match letter {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth <= 0 => {
                let part = &inside[start..at];
                let balanced =
                    part.matches('{').count() - part.matches('}').count().min(part.matches('{').count());
                if !part.trim().is_empty() {
                    paths(&before, &format!("{part}{}", "}".repeat(balanced)), found);
                }
                start = (at + 1).min(inside.len());
            }
            _ => {}
        }
    }
}

/// Every path of this crate that `code` names, as written.
fn named(code: &str) -> Vec<Module> {
    let mut found = Vec::new();
    for part in code.split(';') {
        let Some(at) = part.rfind("use ") else { continue };
        paths(&[], &part[at + 4..], &mut found);
    }
    for start in ["crate::", "super::", "self::"] {
        for (at, _) in code.match_indices(start) {
            let end = code[at..]
                .find(|letter: char| !letter.is_alphanumeric() && letter != '_' && letter != ':')
                .map_or(code.len(), |length| at + length);
            paths(&[], code[at..end].trim_end_matches(':'), &mut found);
        }
    }
    found
}

/// The module that `path` in the module `at` refers to, or whose item it refers to.
pub(super) fn resolve(path: &[String], at: &Module, modules: &BTreeSet<Module>) -> Option<Module> {
    let (first, mut rest) = path.split_first()?;
    let mut here = match first.as_str() {
        "crate" => Vec::new(),
        "self" => at.clone(),
        "super" => at[..at.len().checked_sub(1)?].to_vec(),
        name => {
            let child = [at.as_slice(), &[name.to_owned()]].concat();
            if !modules.contains(&child) {
                return None;
            }
            child
        }
    };
    while rest.first().is_some_and(|name| name == "super") {
        here.pop()?;
        rest = &rest[1..];
    }
    for name in rest {
        let child = [here.as_slice(), std::slice::from_ref(name)].concat();
        if !modules.contains(&child) {
            break;
        }
        here = child;
    }
    Some(here)
}

/// Pairs of modules of one crate, of which the first names the second. `files` has the text of each
/// module.
fn edges(files: &BTreeMap<Module, String>) -> BTreeSet<(Module, Module)> {
    let modules: BTreeSet<Module> = files.keys().cloned().collect();
    let mut edges = BTreeSet::new();
    for (at, text) in files {
        for path in named(&code(text)) {
            if let Some(to) = resolve(&path, at, &modules)
                && to != *at
            {
                edges.insert((at.clone(), to));
            }
        }
    }
    edges
}

/// Every circle between sibling modules: the parent, and the modules.
fn circles(files: &BTreeMap<Module, String>) -> Vec<(Module, BTreeSet<String>)> {
    let mut beside: BTreeMap<Module, BTreeSet<(String, String)>> = BTreeMap::new();
    for (from, to) in edges(files) {
        let common = from.iter().zip(&to).take_while(|(a, b)| a == b).count();
        if let (Some(a), Some(b)) = (from.get(common), to.get(common)) {
            let edge = (a.clone(), b.clone());
            beside.entry(from[..common].to_vec()).or_default().insert(edge);
        }
    }
    let mut found = Vec::new();
    for (module, edges) in beside {
        let reach = |from: &String| {
            let (mut seen, mut open) = (BTreeSet::new(), vec![from]);
            while let Some(next) = open.pop() {
                for (_, to) in edges.iter().filter(|(a, _)| a == next) {
                    if seen.insert(to.clone()) {
                        open.push(to);
                    }
                }
            }
            seen
        };
        let names: BTreeSet<&String> = edges.iter().map(|(from, _)| from).collect();
        let reached: BTreeMap<&String, BTreeSet<String>> =
            names.into_iter().map(|name| (name, reach(name))).collect();
        let mut circles = BTreeSet::new();
        for (name, all) in &reached {
            if all.contains(*name) {
                let back = |other: &&String| reached.get(*other).is_some_and(|all| all.contains(*name));
                circles.insert(all.iter().filter(back).cloned().collect::<BTreeSet<String>>());
            }
        }
        found.extend(circles.into_iter().map(|circle| (module.clone(), circle)));
    }
    found
}

/// The text of every module of every crate, by the crate's folder.
pub(super) fn crates() -> BTreeMap<String, BTreeMap<Module, String>> {
    let mut crates: BTreeMap<String, BTreeMap<Module, String>> = BTreeMap::new();
    for path in sources() {
        let shown = shown(&path).replace('\\', "/");
        let Some((krate, file)) = shown.split_once("/src/") else {
            continue;
        };
        let module: Module = Path::new(file)
            .with_extension("")
            .iter()
            .map(|part| part.to_string_lossy().into_owned())
            .collect();
        if matches!(krate, "tests" | "tests/fuzz") || module.iter().any(|name| is_for_tests(name)) {
            continue;
        }
        let module = if module == ["lib"] { Vec::new() } else { module };
        crates
            .entry(krate.to_owned())
            .or_default()
            .insert(module, read(&path));
    }
    crates
}

#[test]
fn modules_side_by_side_stand_above_one_another() {
    let mut found = BTreeSet::new();
    for (krate, files) in crates() {
        for (module, circle) in circles(&files) {
            let place = [std::slice::from_ref(&krate), module.as_slice()]
                .concat()
                .join("/");
            found.insert((place, circle));
        }
    }
    let left: BTreeSet<(String, BTreeSet<String>)> = LEFT
        .iter()
        .map(|(place, circle)| {
            let names = circle.iter().map(|name| (*name).to_owned()).collect();
            ((*place).to_owned(), names)
        })
        .collect();
    let lines = |these: Vec<&(String, BTreeSet<String>)>| {
        let line =
            |(place, circle): &(String, BTreeSet<String>)| format!("    (\"{place}\", &{circle:?}),\n");
        these.into_iter().map(line).collect::<String>()
    };
    let (new, gone) = (
        lines(found.difference(&left).collect()),
        lines(left.difference(&found).collect()),
    );
    assert!(
        new.is_empty(),
        "circles that are not in LEFT:\n{new}no longer there, take them out:\n{gone}"
    );
    assert!(gone.is_empty(), "no longer there, take them out of LEFT:\n{gone}");
}

#[test]
fn a_circle_would_be_seen() {
    let module = |path: &str| path.split('/').map(str::to_owned).collect::<Module>();
    let mut files = BTreeMap::from([
        (Vec::new(), "pub mod a;\npub mod b;\n".to_owned()),
        (
            module("a"),
            "use crate::{b::{X, Y as Z}, c};\nmod inner;".to_owned(),
        ),
        (module("a/inner"), "use super::Thing;".to_owned()),
        (
            module("b"),
            "// use crate::a::Thing;\nfn f() -> u8 { 1 }".to_owned(),
        ),
        (
            module("c"),
            "#[cfg(test)]\nmod tests {\n    use crate::a;\n}".to_owned(),
        ),
    ]);
    assert_eq!(circles(&files), []);
    files.insert(
        module("b"),
        "fn f() -> crate::a::inner::Deep { todo!() }".to_owned(),
    );
    let names = BTreeSet::from(["a".to_owned(), "b".to_owned()]);
    assert_eq!(circles(&files), [(Vec::new(), names)]);
}
