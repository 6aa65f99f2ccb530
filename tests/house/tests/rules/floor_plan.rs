//! One floor plan for every dialect (docs/adding-a-system.md, "The folder"): the same file for the same role,
//! so that a reader who knows one dialect knows the layout of all.

use std::path::{Path, PathBuf};

use berth_house::{read, root, sources};

/// The dialects.
fn dialects() -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = std::fs::read_dir(root().join("dialects"))
        .expect("the folder of the dialects can be read")
        .map(|entry| entry.expect("entries can be read").path())
        .filter(|folder| folder.join("src/dialect.rs").exists() && folder.join("src/kind.rs").exists())
        .collect();
    found.sort();
    assert!(found.len() >= 5, "the search went astray: {found:?}");
    found
}

/// Files of every dialect in `src/`, each with a line that it must contain.
const FILES: [(&str, &str); 16] = [
    ("lib.rs", "mod dialect;"),
    ("dialect.rs", "impl Dialect for "),
    ("names.rs", ""),
    ("kind.rs", ""),
    ("fleet.rs", "struct Fleet {"),
    ("inventory.rs", "impl Inventory for Fleet {"),
    ("fleet/fold.rs", ""),
    ("code.rs", "berth_scheduling::filters! {"),
    ("filters.rs", "impl Filter<"),
    ("decide.rs", ""),
    ("detail.rs", "struct Detail {"),
    ("words.rs", ""),
    ("remedies.rs", "Vec<Remedy>"),
    ("writes.rs", "Vec<Write>"),
    ("admission.rs", "impl Plugin for "),
    ("admission/hub_rules.rs", "Vec<HubRule>"),
];

/// Lines that only one file may contain.
const ONLY_THERE: [&str; 5] = [
    "impl Dialect for ",
    "struct Fleet {",
    "impl Inventory for ",
    "berth_scheduling::filters! {",
    "struct Detail {",
];

fn problems(dialect: &Path, files: &[(PathBuf, String)]) -> Vec<String> {
    let source = dialect.join("src");
    let text_of = |name: &str| {
        let path = source.join(name);
        files.iter().find(|(file, _)| *file == path).map(|(_, text)| text)
    };
    let mut problems = Vec::new();
    for (name, line) in FILES {
        match text_of(name) {
            None => problems.push(format!("{}: there is no {name}", dialect.display())),
            Some(text) if !text.contains(line) => {
                problems.push(format!("{}/src/{name}: `{line}` is not there", dialect.display()));
            }
            Some(_) => {}
        }
    }
    for line in ONLY_THERE {
        let with: Vec<&PathBuf> = files
            .iter()
            .filter(|(file, text)| file.starts_with(&source) && text.contains(line))
            .map(|(file, _)| file)
            .collect();
        if with.len() > 1 {
            problems.push(format!("{}: `{line}` in {with:?}", dialect.display()));
        }
    }
    problems
}

#[test]
fn every_dialect_has_the_same_files_for_the_same_roles() {
    let files: Vec<(PathBuf, String)> = sources()
        .into_iter()
        .map(|path| {
            let text = read(&path);
            (path, text)
        })
        .collect();
    let problems: Vec<String> = dialects()
        .iter()
        .flat_map(|dialect| problems(dialect, &files))
        .collect();
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn a_dialect_with_rooms_of_its_own_making_would_be_seen() {
    let dialect = Path::new("/dialects/sixth");
    let mut files: Vec<(PathBuf, String)> = FILES
        .iter()
        .map(|(name, line)| (dialect.join("src").join(name), (*line).to_owned()))
        .collect();
    assert_eq!(problems(dialect, &files), [""; 0]);
    files[4] = (dialect.join("src/hub.rs"), "struct Hub {\n".to_owned());
    files.push((dialect.join("src/view.rs"), "impl Inventory for Hub {".to_owned()));
    let problems = problems(dialect, &files);
    assert_eq!(problems.len(), 2, "{problems:?}");
    assert!(problems[0].contains("no fleet.rs"), "{problems:?}");
}
