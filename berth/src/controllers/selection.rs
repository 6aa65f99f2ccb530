//! `--controllers`: which dialects' controllers run, in kube-controller-manager's own notation.

/// The seed's name of openMCP's controller.
const ALIASES: [(&str, &str); 1] = [("scheduler", "openmcp")];

/// The dialects of `known` that `list` selects: `*` is all, `name` adds one, `-name` leaves one out.
///
/// # Errors
/// A sentence that names the unknown entry and lists the known ones.
pub fn select(list: &[String], known: &[&'static str]) -> Result<Vec<&'static str>, String> {
    let mut all = false;
    let (mut named, mut left_out) = (Vec::new(), Vec::new());
    for entry in list
        .iter()
        .map(|entry| entry.trim())
        .filter(|entry| !entry.is_empty())
    {
        if entry == "*" {
            all = true;
            continue;
        }
        let (name, out) = match entry.strip_prefix('-') {
            Some(name) => (name, true),
            None => (entry, false),
        };
        let name = ALIASES
            .iter()
            .find(|(alias, _)| *alias == name)
            .map_or(name, |(_, of)| of);
        let Some(found) = known.iter().find(|dialect| **dialect == name) else {
            return Err(format!(
                "--controllers: {entry:?} is no controller; there are *, {} and each with - before it",
                known.join(", ")
            ));
        };
        if out { &mut left_out } else { &mut named }.push(*found);
    }
    let chosen = known.iter().copied();
    Ok(chosen
        .filter(|name| (all || named.contains(name)) && !left_out.contains(name))
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: [&str; 3] = ["gardener", "ocm", "openmcp"];

    fn chosen(text: &str) -> Result<Vec<&'static str>, String> {
        let list: Vec<String> = text.split(',').map(str::to_owned).collect();
        select(&list, &KNOWN)
    }

    #[test]
    fn a_star_is_all_names_add_and_a_dash_leaves_out() {
        assert_eq!(chosen("*"), Ok(KNOWN.to_vec()));
        assert_eq!(chosen("*,-ocm"), Ok(vec!["gardener", "openmcp"]));
        assert_eq!(chosen("ocm"), Ok(vec!["ocm"]));
        assert_eq!(chosen("scheduler"), Ok(vec!["openmcp"]));
        assert_eq!(chosen("*,-scheduler"), Ok(vec!["gardener", "ocm"]));
        assert_eq!(chosen(""), Ok(Vec::new()));
    }

    #[test]
    fn an_unknown_name_is_refused_with_the_known_ones() {
        let problem = chosen("*,-nomad").unwrap_err();
        assert!(
            problem.contains("\"-nomad\"") && problem.contains("gardener, ocm, openmcp"),
            "{problem}"
        );
    }
}
