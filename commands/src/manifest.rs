//! Reading manifests: files and folders of YAML or JSON, several documents each. Nothing is skipped silently: every
//! problem is told with its file and document.

use std::fmt;
use std::path::{Path, PathBuf};

use serde_json::Value;

/// One object of a manifest, and where it stands.
#[derive(Clone, Debug)]
pub struct Document {
    /// The file, or `-` for standard input.
    pub file: String,
    /// The document's number in the file, from 1.
    pub number: usize,
    /// The object.
    pub object: Value,
}

impl Document {
    /// `apiVersion`, empty where there is none.
    #[must_use]
    pub fn api_version(&self) -> &str {
        self.object["apiVersion"].as_str().unwrap_or_default()
    }

    /// `kind`, empty where there is none.
    #[must_use]
    pub fn kind(&self) -> &str {
        self.object["kind"].as_str().unwrap_or_default()
    }

    /// `metadata.name`, empty where there is none.
    #[must_use]
    pub fn name(&self) -> &str {
        self.object["metadata"]["name"].as_str().unwrap_or_default()
    }

    /// `metadata.namespace`, empty where there is none.
    #[must_use]
    pub fn namespace(&self) -> &str {
        self.object["metadata"]["namespace"].as_str().unwrap_or_default()
    }
}

/// Something that could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The file or folder.
    pub file: String,
    /// The document's number in the file, from 1; 0 for the file as a whole.
    pub number: usize,
    /// What is wrong.
    pub problem: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.number {
            0 => write!(f, "{}: {}", self.file, self.problem),
            number => write!(f, "{}: document {number}: {}", self.file, self.problem),
        }
    }
}

/// Reads all of `paths`, or nothing.
///
/// # Errors
/// Every problem of every file.
pub fn read(paths: &[PathBuf]) -> Result<Vec<Document>, Vec<Problem>> {
    let (documents, problems) = read_all(paths);
    if problems.is_empty() {
        Ok(documents)
    } else {
        Err(problems)
    }
}

/// Reads files and, without descending into them, folders (`*.yaml`, `*.yml`, `*.json`, by name); `-` is standard
/// input. Gives what could be read, and every problem with the rest.
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
            let text = match name.as_str() {
                "-" => std::io::read_to_string(std::io::stdin()),
                _ => std::fs::read_to_string(&file),
            };
            match text {
                Ok(text) => parse(&name, &text, &mut documents, &mut problems),
                Err(error) => problems.push(Problem {
                    file: name,
                    number: 0,
                    problem: error.to_string(),
                }),
            }
        }
    }
    (documents, problems)
}

fn files(path: &Path) -> Result<Vec<PathBuf>, Problem> {
    let problem = |text: String| Problem {
        file: path.display().to_string(),
        number: 0,
        problem: text,
    };
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let entries = std::fs::read_dir(path).map_err(|error| problem(error.to_string()))?;
    let mut list = Vec::new();
    for entry in entries {
        let file = entry.map_err(|error| problem(error.to_string()))?.path();
        let known = file
            .extension()
            .is_some_and(|end| ["yaml", "yml", "json"].iter().any(|known| end == *known));
        if file.is_file() && known {
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

/// Parses the documents of one text; a `List` stands for its items.
pub fn parse(file: &str, text: &str, documents: &mut Vec<Document>, problems: &mut Vec<Problem>) {
    let values = match values(text) {
        Ok(values) => values,
        Err(problem) => {
            problems.push(Problem {
                file: file.to_owned(),
                number: 0,
                problem,
            });
            return;
        }
    };
    for (number, value) in (1..).zip(values) {
        let mut add = |object: Value| match judge(&object) {
            Ok(()) => documents.push(Document {
                file: file.to_owned(),
                number,
                object,
            }),
            Err(problem) => problems.push(Problem {
                file: file.to_owned(),
                number,
                problem: problem.to_owned(),
            }),
        };
        match value {
            Value::Null => {}
            Value::Object(mut list) if list.get("kind").and_then(Value::as_str).is_some_and(is_list) => {
                match list.remove("items") {
                    Some(Value::Array(items)) => items.into_iter().for_each(&mut add),
                    _ => add(Value::Object(list)),
                }
            }
            object => add(object),
        }
    }
}

/// Every value of a text: one of JSON, or the documents of YAML.
fn values(text: &str) -> Result<Vec<Value>, String> {
    // What looks like JSON and is not may still be YAML.
    if text.trim_start().starts_with('{')
        && let Ok(value) = serde_json::from_str(text)
    {
        return Ok(vec![value]);
    }
    // As long as nothing is repeated by aliases, which keep their limits, a text has no more nodes than letters: a
    // fleet of any size is read.
    let most = text.len().saturating_add(1);
    let options = serde_saphyr::options! {
        strict_booleans: true,
        budget: serde_saphyr::budget! {
            max_documents: most,
            max_events: most.saturating_mul(4),
            max_nodes: most,
            max_total_scalar_bytes: most.max(64 << 20),
        },
    };
    serde_saphyr::from_multiple_with_options(text, options).map_err(|error| error.to_string())
}

fn is_list(kind: &str) -> bool {
    kind.ends_with("List")
}

fn judge(object: &Value) -> Result<(), &'static str> {
    let text = |value: &Value| value.as_str().is_some_and(|text| !text.is_empty());
    if !object.is_object() {
        Err("not a Kubernetes object: a mapping with apiVersion, kind and metadata is expected")
    } else if !text(&object["apiVersion"]) {
        Err("apiVersion: Required value")
    } else if !text(&object["kind"]) {
        Err("kind: Required value")
    } else if object["kind"] == "SchedulingReview" {
        // A question: it is never stored, and mostly has no name.
        Ok(())
    } else if !text(&object["metadata"]["name"]) && !text(&object["metadata"]["generateName"]) {
        Err("metadata.name: Required value: name or generateName is required")
    } else {
        Ok(())
    }
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
        let text = vec![one; 40_000].join("---\n");
        let (documents, problems) = read_text(&text);
        assert!(problems.is_empty(), "{problems:?}");
        assert_eq!(documents.len(), 40_000);
        assert_eq!(documents[0].object["metadata"]["labels"]["y"], "n");
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
    }
}
