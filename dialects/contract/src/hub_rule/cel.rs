//! CEL expressions for conditions. No expression fails if the object lacks a field: if a condition fails, the
//! hub does not call the webhook (or refuses the write, with the failurePolicy Fail).

/// `text` as a CEL literal.
#[must_use]
pub fn text(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'"))
}

/// An expression: the field `path` of `root` (`object` or `oldObject`), or `otherwise` where the object or
/// the field is absent.
#[must_use]
pub fn field(root: &str, path: &[&str], otherwise: &str) -> String {
    let mut present = vec![format!("{root} != null")];
    for end in 1..=path.len() {
        present.push(format!("has({root}.{})", path[..end].join(".")));
    }
    format!(
        "({} ? {root}.{} : {otherwise})",
        present.join(" && "),
        path.join(".")
    )
}

/// An expression: whether the field `path` of the object is not empty.
#[must_use]
pub fn filled(path: &[&str]) -> String {
    format!("{} != ''", field("object", path, "''"))
}

/// An expression: whether the write changes the field `path`.
#[must_use]
pub fn differs(path: &[&str]) -> String {
    format!(
        "{} != {}",
        field("object", path, "null"),
        field("oldObject", path, "null")
    )
}

/// An expression: whether the write sets the boolean field `path` to true.
#[must_use]
pub fn turned_on(path: &[&str]) -> String {
    format!(
        "{} && !{}",
        field("object", path, "false"),
        field("oldObject", path, "false")
    )
}

/// An expression: whether the write changes an entry of the map `path` whose key fits `pattern` (an
/// expression over `key`).
#[must_use]
pub fn entry_differs(path: &[&str], pattern: &str) -> String {
    let (new, old) = (field("object", path, "{}"), field("oldObject", path, "{}"));
    format!(
        "{new}.exists(key, ({pattern}) && (!(key in {old}) || {old}[key] != {new}[key])) || \
         {old}.exists(key, ({pattern}) && !(key in {new}))"
    )
}

/// An expression: whether the write adds or removes an element of the list `path` that fits `pattern` (an
/// expression over `item`).
#[must_use]
pub fn element_differs(path: &[&str], pattern: &str) -> String {
    let (new, old) = (field("object", path, "[]"), field("oldObject", path, "[]"));
    format!(
        "{new}.exists(item, ({pattern}) && !(item in {old})) || {old}.exists(item, ({pattern}) && !(item in {new}))"
    )
}

/// An expression: whether any of `expressions` is true.
#[must_use]
pub fn any(expressions: &[String]) -> String {
    let parts: Vec<String> = expressions.iter().map(|part| format!("({part})")).collect();
    parts.join(" || ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_are_quoted() {
        assert_eq!(text("a'b\\c"), r"'a\'b\\c'");
    }

    #[test]
    fn every_part_of_a_path_is_tested() {
        assert_eq!(
            field("object", &["spec", "seedName"], "''"),
            "(object != null && has(object.spec) && has(object.spec.seedName) ? object.spec.seedName : '')"
        );
    }
}
