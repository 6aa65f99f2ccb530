//! `--controllers`: which controllers run, in the notation of kube-controller-manager.
//!
//! A dialect's name selects all of its controllers; if the dialect has several, each has its own name, too. A
//! controller's own name takes precedence over the name of its dialect, which takes precedence over
//! `*`.

use std::sync::Arc;

use berth_dialect_contract::Dialect;

/// The controllers that run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// The dialects whose demands the controllers decide.
    pub deciders: Vec<&'static str>,
    /// The reconcilers, by name.
    pub reconcilers: Vec<&'static str>,
}

/// Entries of `--controllers`: names, and whether each is enabled or, with a leading `-`, excluded.
struct ControllerList<'a>(Vec<(&'a str, bool)>);

impl<'a> ControllerList<'a> {
    /// Parses the entries of `--controllers`. An alias of a dialect becomes the name of the dialect.
    fn parse(list: &'a [String], dialects: &[Arc<dyn Dialect>]) -> Self {
        let entries = list
            .iter()
            .map(|entry| entry.trim())
            .filter(|entry| !entry.is_empty());
        let parse = |entry: &'a str| {
            let (name, runs) = match entry.strip_prefix('-') {
                Some(name) => (name, false),
                None => (entry, true),
            };
            let has_alias = |dialect: &&Arc<dyn Dialect>| dialect.controllers().alias() == Some(name);
            let dialect = dialects.iter().find(has_alias);
            (dialect.map_or(name, |dialect| dialect.name()), runs)
        };
        Self(entries.map(parse).collect())
    }

    /// Whether the list enables or excludes `name`; `None` if the list does not have the name. A name that is
    /// both enabled and excluded is excluded.
    fn is_enabled(&self, name: &str) -> Option<bool> {
        let entries = self.0.iter().filter(|(entry, _)| *entry == name);
        entries.map(|(_, runs)| *runs).min()
    }

    /// Whether the controller `name` of `dialect` runs.
    fn runs(&self, name: &str, dialect: &str) -> bool {
        let own = self.is_enabled(name).or_else(|| self.is_enabled(dialect));
        own.or_else(|| self.is_enabled("*")).unwrap_or(false)
    }

    /// The first entry that is neither one of the names `known` nor `*`.
    fn first_unknown(&self, known: &[&str]) -> Option<String> {
        let mut entries = self.0.iter();
        let invalid = entries.find(|(name, runs)| !known.contains(name) && (*name != "*" || !runs))?;
        Some(format!("{}{}", if invalid.1 { "" } else { "-" }, invalid.0))
    }
}

/// The controllers of `dialects` that `list` selects: `*` selects all, a name adds a controller, and `-`
/// before a name excludes the controller.
///
/// # Errors
/// A message with the unknown entry and the known names.
pub fn select(list: &[String], dialects: &[Arc<dyn Dialect>]) -> Result<Selection, String> {
    let list = ControllerList::parse(list, dialects);
    let reconcilers = |dialect: &Arc<dyn Dialect>| -> Vec<&'static str> {
        let reconcilers = dialect.controllers().reconcilers(None);
        reconcilers.iter().map(|reconciler| reconciler.name()).collect()
    };
    let mut known = Vec::new();
    for dialect in dialects {
        known.push(dialect.name());
        known.extend(dialect.controllers().decider());
        known.extend(reconcilers(dialect));
    }
    if let Some(entry) = list.first_unknown(&known) {
        return Err(format!(
            "--controllers: unknown controller {entry:?}; known are * and, with or without a leading -, {}",
            known.join(", ")
        ));
    }
    let mut selection = Selection::default();
    for dialect in dialects {
        let decider = dialect.controllers().decider().unwrap_or(dialect.name());
        if list.runs(decider, dialect.name()) {
            selection.deciders.push(dialect.name());
        }
        let names = reconcilers(dialect).into_iter();
        selection
            .reconcilers
            .extend(names.filter(|name| list.runs(name, dialect.name())));
    }
    Ok(selection)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The reconcilers of kcp.
    const RECONCILERS: [&str; 4] = ["kcp-heartbeat", "kcp-location", "kcp-namespace", "kcp-resource"];
    const ALL: [&str; 6] = [
        "fleet-status",
        "karmada-detector",
        RECONCILERS[0],
        RECONCILERS[1],
        RECONCILERS[2],
        RECONCILERS[3],
    ];

    fn chosen(text: &str) -> Result<Selection, String> {
        let list: Vec<String> = text.split(',').map(str::to_owned).collect();
        select(&list, &berth_dialect_registry::all())
    }

    fn deciders(text: &str) -> Vec<&'static str> {
        chosen(text).unwrap().deciders
    }

    fn reconcilers(text: &str) -> Vec<&'static str> {
        chosen(text).unwrap().reconcilers
    }

    #[test]
    fn a_star_is_all_names_add_and_a_dash_leaves_out() {
        assert_eq!(
            deciders("*"),
            ["fleet", "gardener", "karmada", "kcp", "ocm", "openmcp"]
        );
        assert_eq!(reconcilers("*"), ALL);
        assert_eq!(
            deciders("*,-ocm"),
            ["fleet", "gardener", "karmada", "kcp", "openmcp"]
        );
        assert_eq!(deciders("ocm"), ["ocm"]);
        assert_eq!(deciders("scheduler"), ["openmcp"]);
        assert_eq!(
            deciders("*,-scheduler"),
            ["fleet", "gardener", "karmada", "kcp", "ocm"]
        );
        assert_eq!(deciders("ocm,-ocm"), [""; 0]);
        assert_eq!(chosen(""), Ok(Selection::default()));
    }

    #[test]
    fn a_dialect_stands_for_its_controllers_and_each_of_them_for_itself() {
        assert_eq!(reconcilers("*,-kcp"), ALL[..2]);
        assert_eq!(reconcilers("*,-fleet,-karmada"), RECONCILERS);
        assert_eq!(
            (deciders("kcp"), reconcilers("kcp")),
            (vec!["kcp"], RECONCILERS.to_vec())
        );
        assert_eq!(
            (deciders("kcp-namespace"), reconcilers("kcp-namespace")),
            (Vec::new(), vec!["kcp-namespace"])
        );
        let without = "*,-kcp-placement";
        assert_eq!(
            (deciders(without), reconcilers(without)),
            (
                vec!["fleet", "gardener", "karmada", "ocm", "openmcp"],
                ALL.to_vec()
            )
        );
        assert_eq!(reconcilers("kcp,-kcp-resource"), RECONCILERS[..3]);
        assert_eq!(
            reconcilers("*,-kcp,kcp-resource"),
            ["fleet-status", "karmada-detector", "kcp-resource"]
        );
    }

    #[test]
    fn an_unknown_name_is_refused_with_the_known_ones() {
        let problem = chosen("*,-nomad").unwrap_err();
        assert!(
            problem.contains("\"-nomad\"")
                && problem.contains("gardener, karmada, karmada-detector, kcp, kcp-placement, kcp-heartbeat"),
            "{problem}"
        );
        assert!(chosen("-*").is_err());
    }
}
