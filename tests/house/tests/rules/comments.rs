//! Comments are readable by themselves, and fit the width of a page.

use berth_house::{read, shown, sources};

/// Most columns of a line that is a comment.
const WIDTH: usize = 120;

/// Beginnings that depend on a sentence outside of the comment, or that delay the noun.
const BEGINNINGS: [&str; 9] = [
    "The same", "What", "Where", "Who", "Whom", "Whose", "Whoever", "That", "How",
];

/// Numbers of the lines of `text` where a doc comment has such a beginning.
fn leaning(text: &str) -> Vec<usize> {
    let mut before = None;
    let mut found = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let line = line.trim_start();
        let comment = ["///", "//!"]
            .into_iter()
            .find_map(|mark| Some((mark, line.strip_prefix(mark)?.trim_start())));
        if let Some((mark, text)) = comment
            && before != Some(mark)
            && BEGINNINGS.iter().any(|word| begins(text, word))
        {
            found.push(at + 1);
        }
        before = comment.map(|(mark, _)| mark);
    }
    found
}

fn begins(text: &str, word: &str) -> bool {
    text.strip_prefix(word)
        .is_some_and(|rest| !rest.starts_with(|letter: char| letter.is_alphanumeric()))
}

/// Numbers of the lines of `text` that are too wide comments. URLs and rows of tables cannot be broken.
fn wide(text: &str) -> Vec<usize> {
    let lines = text.lines().enumerate().filter(|(_, line)| {
        line.trim_start().starts_with("//")
            && line.chars().count() > WIDTH
            && !line.contains("://")
            && !line.ends_with('|')
    });
    lines.map(|(at, _)| at + 1).collect()
}

/// The places in all sources at which `find` finds something.
fn places(find: fn(&str) -> Vec<usize>) -> Vec<String> {
    let sources = sources();
    let found = sources.iter().flat_map(|path| {
        let lines = find(&read(path));
        lines.into_iter().map(|line| format!("{}:{line}", shown(path)))
    });
    found.collect()
}

#[test]
fn doc_comments_stand_alone() {
    let leaning = places(leaning);
    assert!(
        leaning.is_empty(),
        "begin these doc comments with a noun or a verb, none with {BEGINNINGS:?}:\n{}",
        leaning.join("\n")
    );
}

#[test]
fn comments_fit_the_page() {
    let wide = places(wide);
    assert!(
        wide.is_empty(),
        "break these comments within {WIDTH} columns:\n{}",
        wide.join("\n")
    );
}

#[test]
fn a_comment_that_leans_on_another_or_is_too_wide_would_be_seen() {
    let text = "//! How it goes.\n\n/// The same, later.\n/// What follows is its second line.\nfn f() {}\n";
    assert_eq!(leaning(text), [1, 3]);
    for fine in [
        "/// Whether it goes.",
        "/// Whatever.",
        "/// Returns\n/// what it is.",
        "/// Those\n",
        "// What",
    ] {
        assert_eq!(leaning(fine), [0; 0], "{fine}");
    }
    let long = "x".repeat(WIDTH);
    let text = format!("fn f() {{}}\n    // {long}\nlet text = \"{long}\";\n// https://{long}\n");
    assert_eq!(wide(&text), [2]);
}
