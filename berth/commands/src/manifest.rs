//! Reading manifests: files and folders of YAML or JSON, several documents each. No document is skipped
//! silently: every problem is reported with its file and document.

use std::borrow::Cow;
use std::fmt;
use std::io::Read;
use std::path::{Path, PathBuf};

use berth_apimachinery::json::{self, Doubles};
use berth_dialect_contract::config;
use serde_json::Value;

/// One object of a manifest, and its place.
#[derive(Clone, Debug)]
pub struct Document {
    /// The file, or `-` for standard input.
    pub file: String,
    /// The document's number in the file, from 1.
    pub number: usize,
    /// The object; of duplicate fields, it has the last value.
    pub object: Value,
    /// Paths of the duplicate fields.
    pub duplicates: Vec<String>,
}

impl Document {
    /// `apiVersion`; empty if it is absent.
    #[must_use]
    pub fn api_version(&self) -> &str {
        self.object["apiVersion"].as_str().unwrap_or_default()
    }

    /// `kind`; empty if it is absent.
    #[must_use]
    pub fn kind(&self) -> &str {
        self.object["kind"].as_str().unwrap_or_default()
    }

    /// `metadata.name`; empty if it is absent.
    #[must_use]
    pub fn name(&self) -> &str {
        self.object["metadata"]["name"].as_str().unwrap_or_default()
    }

    /// `metadata.namespace`; empty if it is absent.
    #[must_use]
    pub fn namespace(&self) -> &str {
        self.object["metadata"]["namespace"].as_str().unwrap_or_default()
    }
}

/// Problem of a file or a document. Except for a duplicate field of a list, its object is not among the read
/// ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The file or folder.
    pub file: String,
    /// The document's number in the file, from 1; 0 for the file as a whole.
    pub number: usize,
    /// Sentence about the problem.
    pub problem: String,
    /// Whether this is only a note: the document is a program's configuration file, which is no error.
    pub is_note: bool,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.number {
            0 => write!(f, "{}: {}", self.file, self.problem),
            number => write!(f, "{}: document {number}: {}", self.file, self.problem),
        }
    }
}

/// Reads files, and folders without their subfolders (`*.yaml`, `*.yml`, `*.json`, by name); `-` is standard
/// input. Returns the readable objects, and every problem of the other documents and files.
#[must_use]
pub fn read_all(paths: &[PathBuf]) -> (Vec<Document>, Vec<Problem>) {
    let mut documents = Vec::new();
    let mut problems = Vec::new();
    for path in paths {
        for file in files(path).unwrap_or_else(|problem| {
            problems.push(problem);
            Vec::new()
        }) {
            let name = file.display().to_string();
            match text(&file) {
                Ok(text) => parse(&name, &text, &mut documents, &mut problems),
                Err(problem) => problems.push(Problem {
                    file: name,
                    number: 0,
                    problem,
                    is_note: false,
                }),
            }
        }
    }
    (documents, problems)
}

/// Returns the text of a file, or of standard input for `-`.
///
/// # Errors
/// Reason why the text cannot be read.
pub fn text(file: &Path) -> Result<String, String> {
    let mut bytes = Vec::new();
    let result = match file.as_os_str() == "-" {
        true => std::io::stdin().read_to_end(&mut bytes),
        false => std::fs::File::open(file).and_then(|mut file| file.read_to_end(&mut bytes)),
    };
    result.map_err(|error| error.to_string())?;
    berth_yaml::decode(&bytes)
        .map(Cow::into_owned)
        .map_err(|problem| problem.to_string())
}

/// The manifests in a folder, by name; for a file, the file itself.
fn files(path: &Path) -> Result<Vec<PathBuf>, Problem> {
    let problem = |text: String| Problem {
        file: path.display().to_string(),
        number: 0,
        problem: text,
        is_note: false,
    };
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let entries = std::fs::read_dir(path).map_err(|error| problem(error.to_string()))?;
    let mut list = Vec::new();
    for entry in entries {
        let file = entry.map_err(|error| problem(error.to_string()))?.path();
        let is_manifest = file
            .extension()
            .is_some_and(|end| ["yaml", "yml", "json"].iter().any(|known| end == *known));
        if file.is_file() && is_manifest {
            list.push(file);
        }
    }
    if list.is_empty() {
        return Err(problem(
            "no *.yaml, *.yml or *.json file in this folder".to_owned(),
        ));
    }
    list.sort();
    Ok(list)
}

/// Parses the documents of `text`, and appends the objects to `documents` and the problems to `problems`.
/// Each item of a list (an object whose kind ends with `List`) is an object of its own. An unreadable
/// document does not affect other documents. A duplicate field of the list itself is a problem, since an
/// earlier list of items is lost.
pub fn parse(file: &str, text: &str, documents: &mut Vec<Document>, problems: &mut Vec<Problem>) {
    for (number, result) in (1..).zip(values(text)) {
        let mut add_problem = |problem: String, is_note: bool| {
            problems.push(Problem {
                file: file.to_owned(),
                number,
                problem,
                is_note,
            });
        };
        let json::Document {
            mut value,
            duplicates,
        } = match result {
            Ok(result) => result,
            Err(problem) => {
                add_problem(problem, false);
                continue;
            }
        };
        let items = match is_list(&value) {
            true => value["items"].take(),
            false => Value::Null,
        };
        if items.is_array() {
            for path in duplicates.iter().filter(|path| !path.starts_with("items[")) {
                let problem = format!("duplicate field \"{path}\" of the list: only its last value is read");
                add_problem(problem, false);
            }
        }
        let mut add = |object: Value, place: &str, duplicates: Vec<String>| match check(&object) {
            Ok(()) => documents.push(Document {
                file: file.to_owned(),
                number,
                object,
                duplicates,
            }),
            Err(problem) => match configuration_note(&object) {
                Some(note) => add_problem(note, true),
                None => add_problem(format!("{place}{problem}"), false),
            },
        };
        match items {
            Value::Array(items) => {
                for (index, item) in items.into_iter().enumerate() {
                    let duplicates = paths_below(&duplicates, &format!("items[{index}]."));
                    add(item, &format!("items[{index}]: "), duplicates);
                }
            }
            _ => add(value, "", duplicates),
        }
    }
}

/// Returns the paths below `start`, without `start`.
fn paths_below(paths: &[String], start: &str) -> Vec<String> {
    let relative_paths = paths.iter().filter_map(|path| path.strip_prefix(start));
    relative_paths.map(str::to_owned).collect()
}

/// Parses every document of a text: consecutive JSON values, or YAML documents.
fn values(text: &str) -> Vec<Result<json::Document, String>> {
    // A text in the form of JSON may still be YAML.
    if text.trim_start().starts_with('{')
        && let Ok(documents) = json::documents(text, Doubles::AsDouble)
    {
        return documents.into_iter().map(Ok).collect();
    }
    let documents = berth_yaml::documents(text).into_iter();
    documents
        .map(|result| result.map_err(|problem| problem.to_string()))
        .collect()
}

/// Whether `value` is a list of objects.
fn is_list(value: &Value) -> bool {
    let kind = value["kind"].as_str().unwrap_or_default();
    kind.ends_with("List") && value["items"].is_array()
}

/// Checks that `object` has the form of a Kubernetes object.
fn check(object: &Value) -> Result<(), &'static str> {
    let text = |value: &Value| value.as_str().is_some_and(|text| !text.is_empty());
    if !object.is_object() {
        Err("not a Kubernetes object: a mapping with apiVersion, kind and metadata is expected")
    } else if !text(&object["apiVersion"]) {
        Err("apiVersion: Required value")
    } else if !text(&object["kind"]) {
        Err("kind: Required value")
    } else if object["kind"] == "SchedulingReview" {
        // A SchedulingReview is a question: it is never stored, and mostly has no name.
        Ok(())
    } else if matches!(object["metadata"]["name"], Value::Bool(_) | Value::Number(_)) {
        Err(
            "metadata.name: a string is expected: put quotes around numbers, and around y, n, yes, no, on and off, which are booleans",
        )
    } else if !text(&object["metadata"]["name"]) && !text(&object["metadata"]["generateName"]) {
        Err("metadata.name: Required value: name or generateName is required")
    } else {
        Ok(())
    }
}

/// Returns a note if `object` is a program's configuration file. It has no metadata, and is no error, since
/// such files may be in the folders of related objects.
fn configuration_note(object: &Value) -> Option<String> {
    if object.get("metadata").is_some() {
        return None;
    }
    let dialects = berth_dialect_registry::all();
    let owner = dialects
        .iter()
        .find(|dialect| dialect.configuration().own_file(object).is_some());
    if let Some(dialect) = owner {
        let name = dialect.name();
        return Some(format!(
            "this configuration file of {name}'s scheduler is ignored here: pass it with --config"
        ));
    }
    let text = |field: &str| object[field].as_str().unwrap_or_default();
    let (group, _) = text("apiVersion").split_once('/')?;
    // The kinds of Berth's own configuration are stored by a server.
    if group == config::GROUP {
        return None;
    }
    // The groups of such files contain `config` (kubescheduler.config.k8s.io), except for two groups of
    // kube-apiserver's files.
    let has_config_group = group.split('.').any(|label| label == "config");
    (has_config_group || ["apiserver.k8s.io", "audit.k8s.io"].contains(&group)).then(|| {
        let kind = text("kind");
        format!(
            "this configuration file of a program ({kind}.{group}) is ignored: it is no object of a server"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_text(text: &str) -> (Vec<Document>, Vec<Problem>) {
        let (mut documents, mut problems) = (Vec::new(), Vec::new());
        parse("f.yaml", text, &mut documents, &mut problems);
        (documents, problems)
    }

    #[test]
    fn several_documents_and_lists_are_taken_apart() {
        let (documents, problems) = read_text(
            "apiVersion: v1\nkind: A\nmetadata: {name: x}\n---\n---\napiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: B, metadata: {name: b}}\n",
        );
        assert!(problems.is_empty(), "{problems:?}");
        let names: Vec<&str> = documents.iter().map(Document::name).collect();
        assert_eq!(names, ["x", "b"]);
    }

    #[test]
    fn a_fleet_of_any_size_is_read() {
        let one = "apiVersion: v1\nkind: A\nmetadata: {name: x, labels: {a: b, c: d, e: f, y: n}}\n";
        let one = one.replace("y: n", "z: on1");
        let text = vec![one; 40_000].join("---\n");
        let (documents, problems) = read_text(&text);
        assert!(problems.is_empty(), "{problems:?}");
        assert_eq!(documents.len(), 40_000);
        assert_eq!(documents[0].object["metadata"]["labels"]["z"], "on1");
    }

    #[test]
    fn a_document_that_cannot_be_read_takes_no_other_with_it() {
        let (documents, problems) = read_text(
            "apiVersion: v1\nkind: A\nmetadata: {name: x}\n---\na: [1\n---\nkind: B\n---\napiVersion: v1\nkind: C\nmetadata: {name: z}\n",
        );
        let names: Vec<&str> = documents.iter().map(Document::name).collect();
        assert_eq!(names, ["x", "z"]);
        let messages: Vec<String> = problems.iter().map(ToString::to_string).collect();
        assert!(
            messages[0].starts_with("f.yaml: document 2: line "),
            "{messages:?}"
        );
        assert_eq!(messages[1], "f.yaml: document 3: apiVersion: Required value");
    }

    #[test]
    fn configuration_files_of_programs_are_nothing_wrong() {
        let (documents, problems) = read_text(
            "apiVersion: scheduler.config.gardener.cloud/v1alpha1\nkind: SchedulerConfiguration\nschedulers: {}\n---\n\
             scheduler: {scope: Namespaced}\n---\n\
             apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: [a.yaml]\n---\n\
             apiVersion: apiserver.k8s.io/v1alpha1\nkind: AdmissionConfiguration\nplugins: []\n---\n\
             apiVersion: config.berth.dev/v1alpha1\nkind: SchedulerConfiguration\nspec: {}\n---\n\
             apiVersion: config.berth.dev/v1alpha1\nkind: Publication\nspec: {}\n---\n\
             apiVersion: apps/v1\nkind: Deployment\n",
        );
        assert!(documents.is_empty());
        let notes: Vec<bool> = problems.iter().map(|problem| problem.is_note).collect();
        assert_eq!(
            notes,
            [true, true, true, true, false, false, false],
            "{problems:?}"
        );
        assert!(problems[0].problem.contains("--config"), "{problems:?}");
    }

    #[test]
    fn fields_that_stand_twice_are_known_by_object() {
        let (documents, _) = read_text(
            "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: A\n  metadata: {name: x}\n  spec: {a: 1, a: 2}\n",
        );
        assert_eq!(documents[0].duplicates, ["spec.a"]);
    }

    #[test]
    fn fields_of_a_list_that_stand_twice_are_a_problem() {
        let (documents, problems) = read_text(
            "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: A, metadata: {name: x}}\n\
             items:\n- {apiVersion: v1, kind: A, metadata: {name: y, name: z}}\n",
        );
        let found: Vec<(&str, &[String])> = documents
            .iter()
            .map(|document| (document.name(), &*document.duplicates))
            .collect();
        assert_eq!(found, [("z", &["metadata.name".to_owned()][..])]);
        let problems: Vec<String> = problems.iter().map(ToString::to_string).collect();
        assert_eq!(
            problems,
            ["f.yaml: document 1: duplicate field \"items\" of the list: only its last value is read"]
        );
    }

    #[test]
    fn fields_that_stand_twice_are_known_in_json_too() {
        let (documents, _) = read_text(
            r#"{"apiVersion": "v1", "kind": "A", "metadata": {"name": "x"}, "spec": {"a": 1, "a": 2}}"#,
        );
        assert_eq!(documents[0].duplicates, ["spec.a"]);
        let (documents, _) = read_text(
            r#"{"apiVersion": "v1", "kind": "List", "items": [
                {"apiVersion": "v1", "kind": "A", "metadata": {"name": "x", "name": "x"}}]}"#,
        );
        assert_eq!(documents[0].duplicates, ["metadata.name"]);
    }

    #[test]
    fn aliases_cannot_blow_a_text_up() {
        let mut text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
        for level in 1..12 {
            let before = vec![format!("*a{}", level - 1); 10].join(", ");
            text.push_str(&format!("a{level}: &a{level} [{before}]\n"));
        }
        let (_, problems) = read_text(&text);
        assert_eq!(problems.len(), 1);
    }

    #[test]
    fn json_is_read_too() {
        let (documents, problems) =
            read_text("{\"apiVersion\": \"v1\", \"kind\": \"A\", \"metadata\": {\"name\": \"x\"}}");
        assert!(problems.is_empty() && documents.len() == 1);
        let two = "{\"apiVersion\": \"v1\", \"kind\": \"A\", \"metadata\": {\"name\": \"x\"}}\n".repeat(2);
        assert_eq!(read_text(&two).0.len(), 2, "one after the other");
    }

    #[test]
    fn what_is_no_object_is_named_with_its_document() {
        let (_, problems) = read_text("apiVersion: v1\nkind: A\nmetadata: {name: x}\n---\nkind: B\n");
        assert_eq!(
            problems[0].to_string(),
            "f.yaml: document 2: apiVersion: Required value"
        );
        let (_, problems) = read_text("a: [1, 2\n");
        assert_eq!(problems.len(), 1);
        let (_, problems) = read_text("apiVersion: v1\nkind: A\nmetadata: {name: n}\n");
        assert!(problems[0].problem.contains("put quotes around"), "{problems:?}");
    }
}
