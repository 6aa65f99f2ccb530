//! Conversion of `--change`, `--drain` and `--delete` to the entries of `spec.changes` of a SchedulingReview.

use berth_engine::Catalog;
use berth_engine::plan::Step;
use serde_json::{Value, json};

use crate::args::ChangeArgs;
use crate::manifest::{self, Document, Problem};

/// One entry of `spec.changes`, and its place in the input.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// File and number of the document; empty for a flag.
    pub at: String,
    /// Path of the entry in the document, or the name of the flag; empty if the whole document is the change.
    pub path: String,
    /// The entry as JSON.
    pub value: Value,
}

/// Changes that were read, and problems with the rest.
#[derive(Debug, Default)]
pub struct Changes {
    /// The entries, in order: files, then drained clusters, then deleted objects.
    pub entries: Vec<Entry>,
    /// Notes about objects of kinds that no scheduler reads, and about configuration files of programs.
    pub notes: Vec<String>,
    /// Notes about what was hardly intended, and what `--strict` refuses: unknown and duplicate fields, and
    /// objects of kinds that no scheduler reads although they resemble a kind of a system.
    pub doubtful: Vec<String>,
    /// Problems of documents that cannot be read, and are set aside.
    pub aside: Vec<String>,
    /// Problems that prevent a plan, such as a missing file.
    pub problems: Vec<String>,
}

/// Reads the changes of `args`. Namespaced objects without a namespace are in `namespace`, if it is given.
#[must_use]
pub fn read(args: &ChangeArgs, catalog: &Catalog, namespace: Option<&str>) -> Changes {
    let mut changes = Changes::default();
    let (documents, problems) = manifest::read_all(&args.change);
    for problem in problems {
        let message = problem.to_string();
        match problem {
            Problem { is_note: true, .. } => changes.notes.push(message),
            // A missing file prevents the plan.
            Problem { number: 0, .. } => changes.problems.push(message),
            _ => changes.aside.push(message),
        }
    }
    for mut document in documents {
        if let Some(namespace) = namespace {
            set_namespace(&mut document.object, catalog, namespace);
        }
        changes.add_document(document, catalog);
    }
    for target in &args.drain {
        changes.add("", "--drain".to_owned(), json!({"drain": target}));
    }
    for text in &args.delete {
        match reference(text, catalog, namespace) {
            Ok(reference) => changes.add("", "--delete".to_owned(), json!({"delete": reference})),
            Err(problem) => changes.problems.push(format!("--delete {text}: {problem}")),
        }
    }
    if changes.entries.is_empty() && changes.problems.is_empty() {
        changes.problems.push(no_plan_reason(args));
    }
    changes
}

/// Reason why there is nothing to plan.
fn no_plan_reason(args: &ChangeArgs) -> String {
    if args.is_empty() {
        return "nothing to plan: pass -f FILE, --drain CLUSTER or --delete KIND/[NAMESPACE/]NAME".to_owned();
    }
    "nothing to plan: the files contain no change, and no object that a scheduler reads".to_owned()
}

/// Returns the problem of a change in words for people: a missing cluster of `--drain` is reported as
/// missing, and not as an invalid value of a field.
#[must_use]
pub fn sentence(problem: &str) -> String {
    let absent = problem
        .strip_prefix("--drain")
        .and_then(|rest| rest.split_once("Not found: "))
        .map(|(_, rest)| rest.split_once(": ").unwrap_or((rest, "")));
    match absent {
        None => problem.to_owned(),
        Some((name, "")) => format!("--drain: no cluster named {name}"),
        Some((name, hint)) => format!("--drain: no cluster named {name}; {hint}"),
    }
}

impl Changes {
    fn add(&mut self, at: &str, path: String, value: Value) {
        self.entries.push(Entry {
            at: at.to_owned(),
            path,
            value,
        });
    }

    fn add_document(&mut self, document: Document, catalog: &Catalog) {
        let at = format!("{}: document {}", document.file, document.number);
        let duplicates = document.duplicates.iter();
        self.doubtful
            .extend(duplicates.map(|path| format!("{at}: duplicate field \"{path}\"")));
        if document.kind() == "SchedulingReview" {
            let Some(list) = document.object["spec"]["changes"].as_array() else {
                let problem =
                    "spec.changes: Required value: a SchedulingReview without changes is not a plan";
                return self.problems.push(format!("{at}: {problem}"));
            };
            for (index, entry) in list.iter().enumerate() {
                let path = format!("spec.changes[{index}]");
                for field in ["object", "patch"] {
                    let place = format!("{path}.{field}.");
                    self.add_unknown_fields(&at, &place, &entry[field], catalog);
                }
                self.add(&at, path, entry.clone());
            }
        } else if catalog.find(document.api_version(), document.kind()).is_none() {
            let kind = document.kind();
            let group = document.api_version().rsplit_once('/').map(|(group, _)| group);
            let hint = catalog.hint(document.api_version(), kind);
            let is_doubtful = hint.is_some() || group.is_some_and(|group| catalog.knows_group(group));
            let hint = hint.map(|hint| format!("; {hint}")).unwrap_or_default();
            let notes = match is_doubtful {
                true => &mut self.doubtful,
                false => &mut self.notes,
            };
            notes.push(format!("no scheduler reads {kind}: {at} is ignored{hint}"));
        } else {
            self.add_unknown_fields(&at, "", &document.object, catalog);
            self.add(&at, String::new(), json!({"object": document.object}));
        }
    }

    /// Notes the unknown fields of `object`, whose paths begin with `place` in the document `at`.
    fn add_unknown_fields(&mut self, at: &str, place: &str, object: &Value, catalog: &Catalog) {
        let unknown = catalog.unknown_fields(object).into_iter();
        self.doubtful
            .extend(unknown.map(|path| format!("{at}: unknown field \"{place}{path}\"")));
    }

    /// Converts the entries to steps of a plan.
    ///
    /// # Errors
    /// All problems with the form of the entries.
    pub fn steps(&self) -> Result<Vec<Step>, Vec<String>> {
        let (mut steps, mut problems) = (Vec::new(), Vec::new());
        for entry in &self.entries {
            match Step::read(&entry.value, &entry.at, &entry.path) {
                Ok(mut step) => {
                    // Problems of a whole document or of a flag have no path of a SchedulingReview.
                    if !entry.path.starts_with("spec.") {
                        step.path.clone_from(&entry.path);
                    }
                    steps.push(step);
                }
                Err(errors) => {
                    problems.extend(errors.iter().map(|error| format!("{}: {error}", entry.at)));
                }
            }
        }
        if problems.is_empty() {
            Ok(steps)
        } else {
            Err(problems)
        }
    }
}

/// Sets `namespace` in an object of a namespaced kind that has no namespace.
fn set_namespace(object: &mut Value, catalog: &Catalog, namespace: &str) {
    let text = |field: &str| object[field].as_str().unwrap_or_default();
    let found_kind = catalog.find(text("apiVersion"), text("kind"));
    let metadata = &object["metadata"];
    if found_kind.is_some_and(|(kind, _)| kind.info().namespaced())
        && metadata.is_object()
        && metadata["namespace"].as_str().is_none_or(str::is_empty)
    {
        object["metadata"]["namespace"] = namespace.into();
    }
}

/// Returns a reference to the object that `text` names, as `KIND/NAME` or `KIND/NAMESPACE/NAME`. A namespaced
/// object without a namespace is in `default_namespace`.
fn reference(text: &str, catalog: &Catalog, default_namespace: Option<&str>) -> Result<Value, String> {
    let parts: Vec<&str> = text.split('/').collect();
    let (kind, namespace, name) = match parts.as_slice() {
        [kind, name] if !name.is_empty() => (*kind, "", *name),
        [kind, namespace, name] if !namespace.is_empty() && !name.is_empty() => (*kind, *namespace, *name),
        _ => return Err("KIND/NAME or KIND/NAMESPACE/NAME is expected".to_owned()),
    };
    let kinds = catalog.named(kind);
    let [found_kind] = kinds.as_slice() else {
        let names: Vec<String> = kinds
            .iter()
            .map(|kind| format!("{}.{}", kind.info().plural, kind.info().group))
            .collect();
        return Err(match names.is_empty() {
            true => format!("there is no kind \"{kind}\""),
            false => format!(
                "several kinds have this name, {}: name the group, as KIND.GROUP",
                names.join(" and ")
            ),
        });
    };
    let info = found_kind.info();
    let namespace = match default_namespace {
        Some(default_namespace) if namespace.is_empty() && info.namespaced() => default_namespace,
        _ => namespace,
    };
    if namespace.is_empty() && info.namespaced() {
        return Err(format!(
            "a {} has a namespace: KIND/NAMESPACE/NAME is expected",
            info.kind
        ));
    }
    if !namespace.is_empty() && !info.namespaced() {
        return Err(format!("a {} has no namespace", info.kind));
    }
    let mut reference = json!({
        "apiVersion": info.api_version(info.storage_version), "kind": info.kind, "name": name,
    });
    if !namespace.is_empty() {
        reference["namespace"] = namespace.into();
    }
    Ok(reference)
}

#[cfg(test)]
mod tests;
