//! Check of the documented filters and reason tokens.

use std::fs;
use std::path::Path;

/// Checks that docs/reference.md ("Reason tokens") and the page of `system` name its filters, each with the
/// tokens of its reasons.
///
/// # Panics
/// When the row of the system has other content, or its page leaves out a filter or a token.
pub fn documented<'a>(system: &str, filters: impl IntoIterator<Item = (&'a str, &'a [&'a str])>) {
    let filters: Vec<_> = filters.into_iter().collect();
    let reference = page("reference.md");
    let start = format!("| {system} | ");
    let rows = reference.lines().filter_map(|line| line.strip_prefix(&start));
    let cells: Vec<&str> = rows.filter_map(|row| row.split(" | ").next()).collect();
    let expected = filters
        .iter()
        .copied()
        .filter_map(cell)
        .collect::<Vec<_>>()
        .join(", ");
    assert!(
        cells.contains(&expected.as_str()),
        "docs/reference.md, \"Reason tokens\", must say of {system}: {expected}\nfound: {cells:?}"
    );
    let own = page(&format!("systems/{system}.md"));
    for name in filters
        .iter()
        .flat_map(|(filter, tokens)| tokens.iter().chain([filter]))
    {
        let quoted = format!("`{name}`");
        assert!(
            own.contains(&quoted),
            "docs/systems/{system}.md does not name {quoted}"
        );
    }
}

/// The cell of a filter in the table, with its tokens, each once; `None` where the filter refuses
/// nothing.
fn cell((filter, tokens): (&str, &[&str])) -> Option<String> {
    let mut each: Vec<&str> = Vec::new();
    for token in tokens {
        if !each.contains(token) {
            each.push(token);
        }
    }
    match each.as_slice() {
        [] => None,
        [one] => Some(format!("{filter}/{one}")),
        many => Some(format!("{filter}/{{{}}}", many.join(", "))),
    }
}

fn page(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../docs")
        .join(name);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::documented;

    const ROOM: (&str, &[&str]) = ("Purpose", &["PurposeMismatch", "PurposeMismatch"]);

    #[test]
    #[should_panic(expected = "must say of openmcp: Purpose/PurposeMismatch")]
    fn a_row_that_says_more_or_less_is_found() {
        documented("openmcp", [ROOM]);
    }
}
