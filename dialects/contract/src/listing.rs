//! Lists of cluster names for sentences.

/// Highest number of names that a sentence lists.
const MAX_NAMES: usize = 10;

/// Returns a list of the first names in `all` and the number of further names; `no cluster` if `all` is
/// empty.
pub fn clusters<'a>(all: impl ExactSizeIterator<Item = &'a str>) -> String {
    let count = all.len();
    if count == 0 {
        return "no cluster".to_owned();
    }
    let first: Vec<&str> = all.take(MAX_NAMES).collect();
    let more = match count.saturating_sub(MAX_NAMES) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("{}{more}", first.join(", "))
}

#[cfg(test)]
mod tests {
    use super::clusters;

    #[test]
    fn ten_names_are_listed_and_the_others_counted() {
        let names: Vec<String> = (0..12).map(|number| format!("c{number}")).collect();
        let list = |count: usize| clusters(names[..count].iter().map(String::as_str));
        assert_eq!(list(0), "no cluster");
        assert_eq!(list(2), "c0, c1");
        assert!(list(10).ends_with("c8, c9"));
        assert!(list(12).ends_with("c8, c9 and 2 more"));
    }
}
