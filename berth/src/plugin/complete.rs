//! Completion of `kubectl berth` and `berth`: kubectl runs `kubectl_complete-berth` with the words after
//! `berth`, and the script of a shell runs `berth __complete`. The output has one proposal in each line, and
//! ends with `:` and a number, which is a directive for the shell.

use std::fmt;
use std::time::Duration;

use berth_client::Client;
use berth_scheduling_api::API_VERSION;
use clap::{Arg, ArgAction, Command};
use http::Method;
use serde_json::Value;

/// Time limit of a server's answer, since the shell waits for it.
const TIMEOUT: Duration = Duration::from_secs(2);
/// Highest number of names that are requested from a server.
const NAME_LIMIT: usize = 500;

/// Proposals for the next word.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Proposals {
    /// Words, each with its description.
    words: Vec<(String, String)>,
    /// Whether the shell proposes files in place of words.
    files: bool,
}

impl fmt::Display for Proposals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (word, description) in &self.words {
            match description.as_str() {
                "" => writeln!(f, "{word}")?,
                description => writeln!(f, "{word}\t{description}")?,
            }
        }
        // Cobra's directives: 0 lets the shell propose files; 4 prevents that.
        write!(f, ":{}", if self.files { 0 } else { 4 })
    }
}

/// Kind of names that are read from a server or a kubeconfig.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NameKind {
    Contexts,
    Namespaces,
    Targets,
    Decisions,
}

/// Kind of the word to complete.
#[derive(Debug, PartialEq)]
enum WordKind {
    /// One of the given words.
    Words(Vec<(String, String)>),
    /// A name of the given kind.
    Names(NameKind),
    /// A path.
    Files,
}

/// Flags before the completed word that select the server, the user and the namespace.
#[derive(Debug, Default)]
struct ConnectionFlags {
    kubeconfig: Option<String>,
    context: Option<String>,
    namespace: Option<String>,
}

/// Proposals for the last of `words`, the words after the command `root`.
pub(super) async fn proposals(root: &Command, words: &[String]) -> Proposals {
    let words = joined(words);
    let (before, partial) = words
        .split_last()
        .map_or((&[][..], ""), |(partial, before)| (before, partial.as_str()));
    let (next, connection_flags) = next_word(root, before, partial);
    let mut proposals = Proposals::default();
    match next {
        WordKind::Words(words) => proposals.words = words,
        WordKind::Files => proposals.files = true,
        WordKind::Names(names) => {
            let found = tokio::time::timeout(TIMEOUT, names_of(names, &connection_flags, partial)).await;
            proposals.words = found.unwrap_or_default();
        }
    }
    // `--flag=val` is completed as one word.
    let (flag, value) = match partial.split_once('=') {
        Some((flag, value)) if flag.starts_with("--") => (format!("{flag}="), value),
        _ => (String::new(), partial),
    };
    proposals.words.retain(|(word, _)| word.starts_with(value));
    for (word, _) in &mut proposals.words {
        *word = format!("{flag}{word}");
    }
    proposals
}

/// Joins `--flag`, `=` and the value, which Bash passes as separate words.
fn joined(words: &[String]) -> Vec<String> {
    let mut all: Vec<String> = Vec::with_capacity(words.len());
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match all
            .last_mut()
            .filter(|flag| word == "=" && flag.starts_with("--"))
        {
            Some(flag) => {
                flag.push('=');
                flag.extend(words.next().map(String::as_str));
            }
            None => all.push(word.clone()),
        }
    }
    all
}

/// Kind of the word that follows `before` and begins with `partial`, and the connection flags in `before`.
fn next_word(root: &Command, before: &[String], partial: &str) -> (WordKind, ConnectionFlags) {
    let mut command = root;
    let mut connection_flags = ConnectionFlags::default();
    let mut flag_without_value: Option<&Arg> = None;
    let mut positionals = 0;
    for word in before {
        if let Some(arg) = flag_without_value.take() {
            connection_flags.set(arg, word);
        } else if let Some((arg, value)) = flag(root, command, word) {
            match value {
                Some(value) => connection_flags.set(arg, value),
                None if takes_value(arg) => flag_without_value = Some(arg),
                None => {}
            }
        } else if let Some(found) = subcommand(command, word) {
            command = found;
        } else {
            positionals += 1;
        }
    }
    let next = match (flag_without_value, partial.split_once('=')) {
        (Some(arg), _) => value_kind(arg),
        (None, Some((name, _))) if name.starts_with("--") => match flag(root, command, name) {
            Some((arg, _)) => value_kind(arg),
            None => WordKind::Words(Vec::new()),
        },
        _ if partial.starts_with('-') => WordKind::Words(flags(root, command)),
        _ if command.has_subcommands() => WordKind::Words(
            command
                .get_subcommands()
                .filter(|command| !command.is_hide_set())
                .map(|command| (command.get_name().to_owned(), about(command.get_about())))
                .collect(),
        ),
        _ if command.get_name() == "export" => WordKind::Files,
        _ if matches!(command.get_name(), "why" | "advice" | "history") && positionals < 2 => {
            WordKind::Names(NameKind::Decisions)
        }
        _ => WordKind::Words(Vec::new()),
    };
    (next, connection_flags)
}

fn subcommand<'a>(command: &'a Command, word: &str) -> Option<&'a Command> {
    command
        .get_subcommands()
        .find(|command| command.get_name() == word || command.get_all_aliases().any(|alias| alias == word))
}

/// The flags of `command`, and the global flags of `root`.
fn flag_arguments<'a>(root: &'a Command, command: &'a Command) -> impl Iterator<Item = &'a Arg> {
    let own = command.get_arguments();
    let global = root
        .get_arguments()
        .filter(move |arg| arg.is_global_set() && !std::ptr::eq(root, command));
    own.chain(global).filter(|arg| !arg.is_positional())
}

/// The flag in `word`, with its value if the word contains both.
fn flag<'a, 'b>(
    root: &'a Command,
    command: &'a Command,
    word: &'b str,
) -> Option<(&'a Arg, Option<&'b str>)> {
    let mut all = flag_arguments(root, command);
    if let Some(long) = word.strip_prefix("--") {
        let (name, value) = match long.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (long, None),
        };
        return all
            .find(|arg| arg.get_long() == Some(name))
            .map(|arg| (arg, value));
    }
    let mut letters = word.strip_prefix('-')?.chars();
    let short = letters.next()?;
    let rest = Some(letters.as_str()).filter(|rest| !rest.is_empty());
    all.find(|arg| arg.get_short() == Some(short))
        .map(|arg| (arg, rest))
}

fn takes_value(arg: &Arg) -> bool {
    matches!(arg.get_action(), ArgAction::Set | ArgAction::Append)
}

/// Proposals of the flags of `command`, and of the global flags of `root`.
fn flags(root: &Command, command: &Command) -> Vec<(String, String)> {
    let flags = flag_arguments(root, command)
        .filter(|arg| !arg.is_hide_set())
        .filter_map(|arg| {
            let long = arg.get_long()?;
            Some((format!("--{long}"), about(arg.get_help())))
        });
    flags.collect()
}

/// The part of a help text before the first semicolon or line end.
fn about(text: Option<&clap::builder::StyledStr>) -> String {
    let text = text.map(ToString::to_string).unwrap_or_default();
    text.split([';', '\n']).next().unwrap_or_default().to_owned()
}

/// Kind of the values of the flag `arg`.
fn value_kind(arg: &Arg) -> WordKind {
    match arg.get_id().as_str() {
        "context" => WordKind::Names(NameKind::Contexts),
        "namespace" => WordKind::Names(NameKind::Namespaces),
        "cluster" | "drain" => WordKind::Names(NameKind::Targets),
        "kubeconfig" | "filename" | "change" | "against" | "config" => WordKind::Files,
        _ => WordKind::Words(
            arg.get_possible_values()
                .iter()
                .map(|value| (value.get_name().to_owned(), about(value.get_help())))
                .collect(),
        ),
    }
}

impl ConnectionFlags {
    /// Sets the flag of `arg` to `value`, if it is one of these flags.
    fn set(&mut self, arg: &Arg, value: &str) {
        let field = match arg.get_id().as_str() {
            "kubeconfig" => &mut self.kubeconfig,
            "context" => &mut self.context,
            "namespace" => &mut self.namespace,
            _ => return,
        };
        *field = Some(value.to_owned());
    }
}

/// The existing names of the kind `names`, each with a description; empty if there is no answer, or the user
/// may not read them.
async fn names_of(
    names: NameKind,
    connection_flags: &ConnectionFlags,
    partial: &str,
) -> Vec<(String, String)> {
    let kubeconfig = connection_flags.kubeconfig.as_deref().map(std::path::Path::new);
    if names == NameKind::Contexts {
        let file = berth_client::kubeconfig(kubeconfig).unwrap_or_default();
        let contexts = file.contexts.into_iter();
        return contexts.map(|context| (context.name, String::new())).collect();
    }
    let Ok(client) = Client::as_kubectl(kubeconfig, connection_flags.context.as_deref()).await else {
        return Vec::new();
    };
    let namespace = connection_flags
        .namespace
        .as_deref()
        .unwrap_or_else(|| client.namespace());
    let apis = format!("/apis/{API_VERSION}");
    let paths = match names {
        NameKind::Contexts => Vec::new(),
        NameKind::Namespaces => vec!["/api/v1/namespaces".to_owned()],
        NameKind::Targets => vec![format!("{apis}/targets")],
        NameKind::Decisions => vec![
            format!("{apis}/namespaces/{namespace}/decisions"),
            format!("{apis}/clusterdecisions"),
        ],
    };
    let mut all = Vec::new();
    for path in paths {
        let answer = client
            .send(Method::GET, &format!("{path}?limit={NAME_LIMIT}"), None)
            .await;
        if let Ok(Ok(list)) = answer {
            let items = list["items"].as_array().cloned().unwrap_or_default();
            all.extend(items.iter().map(proposal));
            // After `shoot/`, the objects of the kind Shoot are proposed, too.
            if let (NameKind::Decisions, Some((kind, _))) = (names, partial.split_once('/')) {
                all.extend(items.iter().filter_map(|item| source_proposal(item, kind)));
            }
        }
    }
    all
}

/// Proposal of the source object of the Decision `item` as `KIND/NAME`, with `kind` as the user spells it,
/// and with the phase of the Decision; `None` if the source object has another kind.
fn source_proposal(item: &Value, kind: &str) -> Option<(String, String)> {
    let source = &item["spec"]["sourceRef"];
    let (own, name) = (source["kind"].as_str()?, source["name"].as_str()?);
    let is_kind = own.eq_ignore_ascii_case(kind) || format!("{own}s").eq_ignore_ascii_case(kind);
    let word = berth_commands::terminal::shown(&format!("{kind}/{name}"));
    is_kind.then(|| (word, proposal(item).1))
}

/// Proposal of the name of an object, with the phase of the object.
fn proposal(item: &Value) -> (String, String) {
    let name = item["metadata"]["name"].as_str().unwrap_or_default();
    let phase = item["status"]["phase"].as_str().unwrap_or_default();
    (
        berth_commands::terminal::shown(name),
        berth_commands::terminal::shown(phase),
    )
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;
    use serde_json::json;

    use super::super::PluginCli;
    use super::*;

    #[test]
    fn objects_of_a_kind_are_proposed_behind_its_slash() {
        let item =
            json!({"spec": {"sourceRef": {"kind": "Shoot", "name": "web"}}, "status": {"phase": "Bound"}});
        let proposed = |kind| source_proposal(&item, kind).map(|(word, _)| word);
        assert_eq!(proposed("shoot").as_deref(), Some("shoot/web"));
        assert_eq!(proposed("Shoots").as_deref(), Some("Shoots/web"));
        assert_eq!(proposed("placement"), None);
    }

    fn after(words: &str) -> (WordKind, ConnectionFlags) {
        let mut words: Vec<String> = words.split(' ').map(str::to_owned).collect();
        let partial = words.pop().unwrap();
        next_word(&PluginCli::command(), &words, &partial)
    }

    fn words(text: &str) -> Vec<String> {
        match after(text).0 {
            WordKind::Words(words) => words.into_iter().map(|(word, _)| word).collect(),
            other => panic!("{text:?}: {other:?}"),
        }
    }

    #[test]
    fn a_flag_and_its_value_are_one_word_where_bash_splits_them() {
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(joined(&words("why --context = c x")), words("why --context=c x"));
        assert_eq!(joined(&words("why --output =")), words("why --output="));
        assert_eq!(joined(&words("why = x")), words("why = x"));
    }

    #[test]
    fn commands_flags_and_values_are_proposed_where_they_may_stand() {
        assert_eq!(
            words(""),
            [
                "why", "history", "advice", "plan", "console", "check", "export", "simulate", "compare"
            ]
        );
        assert_eq!(
            words("-n a p"),
            [
                "why", "history", "advice", "plan", "console", "check", "export", "simulate", "compare"
            ]
        );
        let flags = words("why --");
        for flag in [
            "--cluster",
            "--output",
            "--all",
            "--namespace",
            "--context",
            "--kubeconfig",
        ] {
            assert!(flags.iter().any(|known| known == flag), "{flag}: {flags:?}");
        }
        assert!(!flags.iter().any(|flag| flag == "--drain"));
        assert_eq!(words("why x -o "), ["table", "wide", "json", "yaml", "name"]);
        assert_eq!(
            words("why x --output=j"),
            ["table", "wide", "json", "yaml", "name"]
        );
        assert_eq!(words("why shoot x "), Vec::<String>::new());
        for (text, names) in [
            ("why ", NameKind::Decisions),
            ("history -n x ", NameKind::Decisions),
            ("-n team why we", NameKind::Decisions),
            ("why x --cluster ", NameKind::Targets),
            ("plan --drain ", NameKind::Targets),
            ("why -n ", NameKind::Namespaces),
            ("--context ", NameKind::Contexts),
        ] {
            assert_eq!(after(text).0, WordKind::Names(names), "{text:?}");
        }
        assert_eq!(after("plan -f ").0, WordKind::Files);
        assert_eq!(after("simulate -f x --change ").0, WordKind::Files);
    }

    #[test]
    fn the_server_that_is_asked_is_the_one_the_words_name() {
        let (_, connection_flags) = after("--kubeconfig=k why --context c -nteam ");
        assert_eq!(connection_flags.kubeconfig.as_deref(), Some("k"));
        assert_eq!(connection_flags.context.as_deref(), Some("c"));
        assert_eq!(connection_flags.namespace.as_deref(), Some("team"));
    }

    #[test]
    fn proposals_have_the_form_that_kubectl_reads() {
        let proposals = Proposals {
            words: vec![
                ("why".to_owned(), "Say".to_owned()),
                ("plan".to_owned(), String::new()),
            ],
            files: false,
        };
        assert_eq!(proposals.to_string(), "why\tSay\nplan\n:4");
    }
}
