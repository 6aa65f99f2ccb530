//! Links and citations between documents and in code: each has an existing target.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use berth_house::{files, read, root};

/// The documents, in `docs/` and beside it.
fn documents() -> Vec<PathBuf> {
    let mut all = files(&root().join("docs"), &[".md"]);
    let beside = std::fs::read_dir(root()).expect("the root can be read");
    let beside = beside.map(|entry| entry.expect("the entry can be read").path());
    all.extend(beside.filter(|path| path.extension().is_some_and(|ending| ending == "md")));
    all.push(root().join("deploy/README.md"));
    all
}

/// The text without blocks of code.
fn prose(text: &str) -> String {
    let mut code = false;
    let lines = text.lines().filter(|line| {
        let fence = line.trim_start().starts_with("```");
        code ^= fence;
        !code && !fence
    });
    lines.collect::<Vec<&str>>().join("\n")
}

fn headings(text: &str) -> BTreeSet<String> {
    let prose = prose(text);
    let lines = prose.lines().filter_map(|line| {
        let heading = line.trim_start_matches('#');
        (heading.len() < line.len()).then(|| heading.trim().to_owned())
    });
    lines.collect()
}

/// The anchor of a heading, as on GitHub.
fn anchor(heading: &str) -> String {
    let kept = heading
        .chars()
        .filter(|letter| letter.is_alphanumeric() || matches!(letter, ' ' | '-' | '_'));
    kept.collect::<String>().to_lowercase().replace(' ', "-")
}

#[test]
fn every_link_between_documents_leads_somewhere() {
    let mut broken = Vec::new();
    for document in documents() {
        let text = prose(&read(&document));
        for part in text.split("](").skip(1) {
            let Some((link, _)) = part.split_once(')') else {
                continue;
            };
            if link.contains("://") || link.starts_with("mailto:") {
                continue;
            }
            let (path, part) = link.split_once('#').unwrap_or((link, ""));
            let target = match path {
                "" => document.clone(),
                path => document.parent().expect("a document is in a folder").join(path),
            };
            let known = target.exists()
                && (part.is_empty()
                    || headings(&read(&target))
                        .iter()
                        .any(|heading| anchor(heading) == part));
            if !known {
                broken.push(format!("{}: {link}", document.display()));
            }
        }
    }
    assert!(broken.is_empty(), "broken links:\n{}", broken.join("\n"));
}

/// The source text without line breaks and marks of comments, so that a citation is in one piece.
fn joined(source: &str) -> String {
    let lines = source.lines().map(|line| {
        let line = line.trim();
        line.trim_start_matches(['/', '!', '#']).trim()
    });
    lines.collect::<Vec<&str>>().join(" ")
}

/// Citations in `text`: documents, each with the headings that follow it, as in `docs/reference.md, "Names"
/// and "Rights"`.
fn cited(text: &str) -> Vec<(String, Vec<String>)> {
    let mut list = Vec::new();
    for (start, _) in text.match_indices(".md") {
        let begin = text[..start]
            .rfind(|letter: char| !(letter.is_ascii_alphanumeric() || "/-_.".contains(letter)))
            .map_or(0, |before| {
                before + text[before..].chars().next().map_or(1, char::len_utf8)
            });
        let name = &text[begin..start + 3];
        if !(name.starts_with("docs/") || name == "ARCHITECTURE.md") {
            continue;
        }
        let mut headings = Vec::new();
        let mut rest = &text[start + 3..];
        let next = |rest: &str| -> Option<usize> {
            [", \"", " (\"", " and \"", " to \""]
                .iter()
                .find_map(|between| rest.starts_with(between).then_some(between.len()))
        };
        while let Some(skipped) = next(rest) {
            let Some((heading, after)) = rest[skipped..].split_once('"') else {
                break;
            };
            headings.push(heading.to_owned());
            rest = after;
        }
        list.push((name.to_owned(), headings));
    }
    list
}

#[test]
fn every_document_and_heading_that_code_cites_exists() {
    let mut known: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut wrong = Vec::new();
    let mut count = 0;
    for path in files(root(), &[".rs", ".toml", ".yaml"]) {
        if path.ends_with("rules/documentation.rs") {
            continue;
        }
        for (document, headings) in cited(&joined(&read(&path))) {
            count += 1;
            let there = known.entry(document.clone()).or_insert_with(|| {
                let text = std::fs::read_to_string(root().join(&document));
                text.map(|text| self::headings(&text)).unwrap_or_default()
            });
            if there.is_empty() {
                wrong.push(format!("{}: there is no {document}", path.display()));
            }
            let missing = headings.iter().filter(|heading| !there.contains(*heading));
            wrong.extend(
                missing.map(|heading| format!("{}: {document} has no \"{heading}\"", path.display())),
            );
        }
    }
    println!("{count} citations");
    assert!(
        wrong.is_empty(),
        "citations that lead nowhere:\n{}",
        wrong.join("\n")
    );
}

#[test]
fn citations_are_found_with_all_their_headings() {
    let text = joined(
        "//! The rules (docs/reference.md, \"Names\" and\n//! \"Rights\"), and ARCHITECTURE.md (\"The map\").",
    );
    let pair = |name: &str, headings: &[&str]| {
        let headings = headings.iter().map(|heading| (*heading).to_owned());
        (name.to_owned(), headings.collect::<Vec<String>>())
    };
    assert_eq!(
        cited(&text),
        [
            pair("docs/reference.md", &["Names", "Rights"]),
            pair("ARCHITECTURE.md", &["The map"])
        ]
    );
    assert_eq!(anchor("What is written"), "what-is-written");
    assert_eq!(anchor("The syncer's view"), "the-syncers-view");
}

/// The document of a release. (The folder of benchmarks also has generated ones.)
const RELEASE_NOTES: &str = "NOTES.md";
const BENCHMARKS: &str = "tests/examples";

/// The documents that `text` names, without those at other addresses.
fn named(text: &str) -> BTreeSet<&str> {
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || "/-_.".contains(letter);
    let ends = text.match_indices(".md").map(|(at, _)| at + 3);
    let ends = ends.filter(|&end| !text[end..].starts_with(|letter: char| letter.is_alphanumeric()));
    let names = ends.map(|end| {
        let before = text[..end]
            .char_indices()
            .rev()
            .find(|&(_, letter)| !is_part(letter));
        &text[before.map_or(0, |(at, letter)| at + letter.len_utf8())..end]
    });
    names
        .filter(|name| *name != ".md" && !name.starts_with("//"))
        .collect()
}

#[test]
fn nothing_cites_a_document_that_readers_do_not_have() {
    let mut sources = files(root(), &[".rs", ".toml", ".yaml", ".go", ".tpl", "Makefile"]);
    sources.extend(documents());
    let (mut citing, mut count) = (Vec::new(), 0);
    for path in sources {
        if path.ends_with("rules/documentation.rs") {
            continue;
        }
        let text = joined(&read(&path));
        let folder = path.parent().expect("a file is in a folder");
        for name in named(&text) {
            count += 1;
            let is_there = |folder: &Path| folder.join(name).is_file();
            let is_written =
                name == RELEASE_NOTES || path.starts_with(root().join(BENCHMARKS)) && !name.contains('/');
            let folders = [folder, root(), &root().join("docs")];
            let is_known = is_written || folders.into_iter().any(is_there);
            if !is_known {
                citing.push(format!("{}: {name}", path.display()));
            }
        }
    }
    assert!(count > 300, "only {count} names of documents were found");
    assert!(
        citing.is_empty(),
        "cited, and not in the repository:\n{}",
        citing.join("\n")
    );
}

#[test]
fn documents_are_named_with_their_folder_and_without_what_is_elsewhere() {
    let text = "See docs/concepts.md, (../CHANGELOG.md) and `x.md`; not https://example.com/y.md, <name>.md or a.mdx.";
    assert_eq!(
        named(text),
        ["docs/concepts.md", "../CHANGELOG.md", "x.md"].into()
    );
}

/// A message of kubectl itself.
const SAID_BY_KUBECTL: &str = "the server doesn't have a resource type";

#[test]
fn messages_that_operators_look_up_are_what_the_program_says() {
    let manual = read(&root().join("docs/operate.md"));
    let (_, table) = manual.split_once("## Troubleshooting").expect("it has that part");
    let sources = files(root(), &[".rs"]).into_iter();
    let sources = sources.filter(|path| !path.components().any(|part| part.as_os_str() == "tests"));
    // A long text continues in the next line after a backslash.
    let program: String = sources
        .map(|path| joined(&read(&path)).replace("\\ ", ""))
        .collect();
    let quoted = table.split('"').skip(1).step_by(2);
    let pieces = quoted.flat_map(|text| text.split('…')).map(str::trim);
    let sentences: Vec<&str> = pieces.filter(|piece| piece.split(' ').count() > 2).collect();
    assert!(sentences.len() > 8, "{sentences:?}");
    for sentence in sentences {
        assert!(
            sentence == SAID_BY_KUBECTL || program.contains(sentence),
            "docs/operate.md explains {sentence:?}, which nothing says"
        );
    }
}
