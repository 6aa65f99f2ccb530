//! Arguments of Berth in a Deployment: the mode, the systems that are turned off, and flags for single
//! systems.

use berth_configuration::Mode;
use berth_dialect_registry::ActorArgs;
use serde_json::Value;

use crate::source::{Place, source};

/// Arguments of a server: the mode, the systems that are turned off, and flags for single systems.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct ServerArguments {
    /// The mode, if the arguments set one.
    pub(crate) mode: Option<Mode>,
    /// The flags for single systems, on which the server's rights depend.
    pub(crate) actors: ActorArgs,
    /// The systems that are turned off.
    off: Vec<String>,
}

impl ServerArguments {
    /// Parses the arguments of the first container of `deployment`.
    pub(crate) fn of(deployment: &Value) -> Self {
        let arguments = deployment["spec"]["template"]["spec"]["containers"][0]["args"].as_array();
        let words: Vec<&str> = arguments
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        let mode = values(&words, "--mode").pop();
        let mode = mode.and_then(|mode| match mode.to_ascii_lowercase().as_str() {
            "observe" => Some(Mode::Observe),
            "decide" => Some(Mode::Decide),
            _ => None,
        });
        let mut off = Vec::new();
        // The last value about a system counts. Invalid values are skipped: the server itself refuses them.
        for entry in values(&words, "--source")
            .into_iter()
            .filter_map(|text| source(text).ok())
        {
            off.retain(|system| *system != entry.dialect);
            if entry.place == Place::Off {
                off.push(entry.dialect);
            }
        }
        let actors = ActorArgs::among(&words).unwrap_or_default();
        Self { mode, actors, off }
    }

    /// Whether `system` is turned off.
    pub(crate) fn is_off(&self, system: &str) -> bool {
        self.off.iter().any(|off| off == system)
    }
}

/// The values of `flag` in order, each written as `--flag=value` or as `--flag value`.
fn values<'a>(words: &[&'a str], flag: &str) -> Vec<&'a str> {
    let all = words.iter().enumerate();
    all.filter_map(|(at, word)| match word.strip_prefix(flag)? {
        "" => words.get(at + 1).copied(),
        rest => rest.strip_prefix('='),
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn started(arguments: &[&str]) -> ServerArguments {
        ServerArguments::of(&json!({"spec": {"template": {"spec": {"containers": [{"args": arguments}]}}}}))
    }

    #[test]
    fn the_last_word_about_a_mode_or_a_system_counts_however_it_is_written() {
        let read = started(&[
            "serve",
            "--source=ocm=off",
            "--source",
            "fleet=off",
            "--mode=decide",
            "--source=ocm=hub",
            "--mode",
            "Observe",
        ]);
        assert_eq!(read.mode, Some(Mode::Observe));
        assert!(read.is_off("fleet") && !read.is_off("ocm") && !read.is_off("gardener"));
        assert_eq!(ServerArguments::of(&json!({})), ServerArguments::default());
        assert_eq!(
            started(&["serve", "--model=x", "--source=moon=off"]),
            ServerArguments::default()
        );
    }
}
