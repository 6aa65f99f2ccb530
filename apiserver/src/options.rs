//! Options of reads and writes, from the query or from the body of a delete.

use berth_apimachinery::selector::{FieldSelector, Selector};
use berth_apimachinery::write::{CommitError, WriteRefusal};
use berth_apimachinery::{FieldError, GroupResource, Object, Status};
use serde_json::Value;

use crate::managers;
use crate::request_info::Query;

/// API group of `ListOptions` and the other kinds of options, for error messages.
const META: &str = "meta.k8s.io";

fn refuse(kind: &str, errors: &[FieldError]) -> Result<(), Status> {
    if errors.is_empty() {
        Ok(())
    } else {
        Err(Status::invalid(META, kind, "", errors))
    }
}

fn number<T: std::str::FromStr>(query: &Query, key: &str) -> Result<Option<T>, Status> {
    match query.first(key) {
        None | Some("") => Ok(None),
        Some(text) => {
            let number = text.parse();
            number.map(Some).map_err(|_| {
                Status::bad_request(format!(
                    "the query parameter {key} must be a whole number, not {text:?}"
                ))
            })
        }
    }
}

/// Value of `resourceVersionMatch`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum VersionMatch {
    Exact,
    NotOlderThan,
}

/// The options of list, watch and deletecollection.
#[derive(Clone, Debug, Default)]
pub(crate) struct ListOptions {
    pub(crate) labels: Selector,
    pub(crate) fields: FieldSelector,
    /// Requested resource version; `None` means the most recent, 0 means any.
    pub(crate) revision: Option<u64>,
    pub(crate) version_match: Option<VersionMatch>,
    /// Page size; 0 means unlimited.
    pub(crate) limit: usize,
    /// The received continue token; empty for a first page.
    pub(crate) token: String,
    pub(crate) timeout_seconds: Option<u64>,
    pub(crate) bookmarks: bool,
    pub(crate) send_initial_events: Option<bool>,
}

impl ListOptions {
    /// Parses the options of a list (or, with `watch`, of a watch).
    pub(crate) fn parse(query: &Query, watch: bool) -> Result<Self, Status> {
        let text = |key: &str| query.first(key).unwrap_or_default();
        let labels = Selector::parse(text("labelSelector"))
            .map_err(|problem| Status::bad_request(format!("unable to parse labelSelector: {problem}")))?;
        let fields = FieldSelector::parse(text("fieldSelector"))
            .map_err(|problem| Status::bad_request(format!("unable to parse fieldSelector: {problem}")))?;
        let limit = number::<i64>(query, "limit")?.unwrap_or_default();
        let options = Self {
            labels,
            fields,
            revision: revision(query)?,
            version_match: version_match(query, watch)?,
            limit: usize::try_from(limit).unwrap_or_default(),
            token: text("continue").to_owned(),
            timeout_seconds: number::<i64>(query, "timeoutSeconds")?
                .and_then(|seconds| u64::try_from(seconds).ok()),
            bookmarks: query.flag("allowWatchBookmarks"),
            send_initial_events: query
                .first("sendInitialEvents")
                .map(|_| query.flag("sendInitialEvents")),
        };
        options.check(watch)?;
        Ok(options)
    }

    fn check(&self, watch: bool) -> Result<(), Status> {
        let mut errors = Vec::new();
        let mut forbid = |field: &str, detail: &str| errors.push(FieldError::forbidden(field, detail));
        if let Some(version_match) = self.version_match {
            let field = "resourceVersionMatch";
            if watch && self.send_initial_events.is_none() {
                forbid(
                    field,
                    "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided",
                );
            } else if !watch && self.revision.is_none() {
                forbid(
                    field,
                    "resourceVersionMatch is forbidden unless resourceVersion is provided",
                );
            }
            if !self.token.is_empty() {
                forbid(
                    field,
                    "resourceVersionMatch is forbidden when continue is provided",
                );
            }
            if version_match == VersionMatch::Exact && self.revision == Some(0) {
                forbid(
                    field,
                    "resourceVersionMatch \"Exact\" is forbidden for resourceVersion \"0\"",
                );
            }
        }
        if self.send_initial_events.is_some() {
            let field = "sendInitialEvents";
            if !watch {
                forbid(field, "sendInitialEvents is forbidden for list");
            } else if self.version_match != Some(VersionMatch::NotOlderThan) {
                forbid(
                    field,
                    "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan",
                );
            }
        }
        refuse("ListOptions", &errors)
    }
}

/// Parses `resourceVersion` of a get, a list or a watch.
pub(crate) fn revision(query: &Query) -> Result<Option<u64>, Status> {
    match query.first("resourceVersion") {
        None | Some("") => Ok(None),
        Some(text) => text.parse().map(Some).map_err(|_| {
            Status::bad_request(format!(
                "resourceVersion: Invalid value: {text:?}: must be an unsigned integer"
            ))
        }),
    }
}

fn version_match(query: &Query, watch: bool) -> Result<Option<VersionMatch>, Status> {
    match query.first("resourceVersionMatch") {
        None | Some("") => Ok(None),
        Some("NotOlderThan") => Ok(Some(VersionMatch::NotOlderThan)),
        Some("Exact") if !watch => Ok(Some(VersionMatch::Exact)),
        Some(other) => {
            let supported: &[&str] = if watch {
                &["NotOlderThan"]
            } else {
                &["Exact", "NotOlderThan"]
            };
            let error = FieldError::not_supported("resourceVersionMatch", other, supported);
            Err(Status::invalid(META, "ListOptions", "", &[error]))
        }
    }
}

/// Handling of unknown and duplicate fields.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum FieldValidation {
    Ignore,
    #[default]
    Warn,
    Strict,
}

/// The options of create, update and patch.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct WriteOptions {
    pub(crate) dry_run: bool,
    pub(crate) field_validation: FieldValidation,
    /// Whether an apply takes over fields of other managers.
    pub(crate) force: bool,
}

impl WriteOptions {
    /// Parses the options of a write of `kind` (`CreateOptions`, `UpdateOptions`, `PatchOptions`).
    pub(crate) fn parse(query: &Query, kind: &str) -> Result<Self, Status> {
        Self::read(query, kind, false)
    }

    /// Parses the options of a server-side apply.
    pub(crate) fn of_apply(query: &Query) -> Result<Self, Status> {
        Self::read(query, "PatchOptions", true)
    }

    fn read(query: &Query, kind: &str, apply: bool) -> Result<Self, Status> {
        let mut errors = Vec::new();
        let values: Vec<&str> = query.all("dryRun").collect();
        let dry_run = dry_run(&values, &mut errors);
        let field_validation = match query.first("fieldValidation") {
            None | Some("" | "Warn") => FieldValidation::Warn,
            Some("Ignore") => FieldValidation::Ignore,
            Some("Strict") => FieldValidation::Strict,
            Some(other) => {
                let supported = ["", "Ignore", "Strict", "Warn"];
                errors.push(FieldError::not_supported("fieldValidation", other, &supported));
                FieldValidation::Strict
            }
        };
        let force = query.first("force");
        if kind == "PatchOptions" && !apply && force.is_some() {
            errors.push(FieldError::forbidden(
                "force",
                "may not be specified for non-apply patch",
            ));
        }
        match query.first("fieldManager").unwrap_or_default() {
            "" if apply => errors.push(FieldError::required(
                managers::FIELD,
                "is required for apply patch",
            )),
            name => errors.extend(berth_apply::name_problems(managers::FIELD, name)),
        }
        refuse(kind, &errors)?;
        Ok(Self {
            dry_run,
            field_validation,
            force: force.is_some_and(|text| !matches!(&*text.to_ascii_lowercase(), "false" | "0")),
        })
    }
}

/// Whether the request is a dry run. Only the value `All` is valid. An empty value is also an error: it may
/// come from an unset variable of a script, and nothing should be written by mistake.
fn dry_run(values: &[&str], errors: &mut Vec<FieldError>) -> bool {
    if values.iter().any(|value| *value != "All") {
        errors.push(FieldError::not_supported("dryRun", Value::from(values), &["All"]));
    }
    values.contains(&"All")
}

/// Policy for the dependents of a deleted object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Propagation {
    Background,
    Foreground,
    Orphan,
}

/// `metav1.DeleteOptions`, from the body or the query.
#[derive(Clone, Debug, Default)]
pub(crate) struct DeleteOptions {
    pub(crate) dry_run: bool,
    pub(crate) propagation: Option<Propagation>,
    /// Precondition: the UID of the object.
    uid: Option<String>,
    /// Precondition: the resource version of the object.
    revision: Option<String>,
}

impl DeleteOptions {
    /// Parses the options in the query.
    pub(crate) fn of_query(query: &Query) -> Result<Self, Status> {
        let orphan = query
            .first("orphanDependents")
            .map(|_| query.flag("orphanDependents"));
        number::<i64>(query, "gracePeriodSeconds")?;
        let dry_run: Vec<&str> = query.all("dryRun").collect();
        let text = |key: &str| {
            query
                .first(key)
                .filter(|text| !text.is_empty())
                .map(str::to_owned)
        };
        Ok(Self {
            uid: text("uid"),
            revision: text("resourceVersion"),
            ..Self::new(&dry_run, query.first("propagationPolicy"), orphan)?
        })
    }

    /// Parses the options in a decoded body.
    pub(crate) fn of_body(body: &Value) -> Result<Self, Status> {
        let is_text_list = |value: &Value| {
            value
                .as_array()
                .is_some_and(|list| list.iter().all(Value::is_string))
        };
        expect(body, "dryRun", "an array of strings", is_text_list)?;
        expect(body, "propagationPolicy", "a string", Value::is_string)?;
        expect(body, "orphanDependents", "a boolean", Value::is_boolean)?;
        expect(body, "gracePeriodSeconds", "an integer", Value::is_i64)?;
        expect(body, "preconditions", "an object", Value::is_object)?;
        let preconditions = &body["preconditions"];
        expect(preconditions, "uid", "a string", Value::is_string)?;
        expect(preconditions, "resourceVersion", "a string", Value::is_string)?;
        let list = body["dryRun"].as_array();
        let dry_run: Vec<&str> =
            list.map_or_else(Vec::new, |list| list.iter().filter_map(Value::as_str).collect());
        let options = Self::new(
            &dry_run,
            body["propagationPolicy"].as_str(),
            body["orphanDependents"].as_bool(),
        )?;
        let text = |field: &str| preconditions[field].as_str().map(str::to_owned);
        Ok(Self {
            uid: text("uid"),
            revision: text("resourceVersion"),
            ..options
        })
    }

    fn new(dry_run_values: &[&str], policy: Option<&str>, orphan: Option<bool>) -> Result<Self, Status> {
        let mut errors = Vec::new();
        let dry_run = dry_run(dry_run_values, &mut errors);
        if policy.is_some() && orphan.is_some() {
            let detail = "orphanDependents and deletionPropagation cannot be both set";
            errors.push(FieldError::invalid(
                "propagationPolicy",
                policy.unwrap_or_default(),
                detail,
            ));
        }
        let propagation = match policy {
            None => orphan.map(|orphan| {
                if orphan {
                    Propagation::Orphan
                } else {
                    Propagation::Background
                }
            }),
            Some("Background") => Some(Propagation::Background),
            Some("Foreground") => Some(Propagation::Foreground),
            Some("Orphan") => Some(Propagation::Orphan),
            Some(other) => {
                let supported = ["Foreground", "Background", "Orphan"];
                errors.push(FieldError::not_supported("propagationPolicy", other, &supported));
                None
            }
        };
        refuse("DeleteOptions", &errors)?;
        Ok(Self {
            dry_run,
            propagation,
            uid: None,
            revision: None,
        })
    }

    /// Checks the preconditions against `object`; the error is 409.
    pub(crate) fn check_preconditions(
        &self,
        resource: GroupResource,
        object: &Object,
    ) -> Result<(), CommitError> {
        let name = object.meta().name();
        let differs = |field: &str, expected: &str, have: &str| {
            let text = format!(
                "Precondition failed: {field} in precondition: {expected}, {field} in object meta: {have}"
            );
            let conflict = Status::conflict(resource, name, &text);
            Err(CommitError::new(WriteRefusal::Changed, conflict))
        };
        match (&self.uid, &self.revision) {
            (Some(uid), _) if *uid != object.meta().uid() => differs("UID", uid, object.meta().uid()),
            (_, Some(revision)) if *revision != object.revision().to_string() => {
                if revision.parse::<u64>().is_ok() {
                    differs("ResourceVersion", revision, &object.revision().to_string())
                } else {
                    Err(CommitError::modified(resource, name))
                }
            }
            _ => Ok(()),
        }
    }
}

/// Checks that `field` is absent or has the type `wanted`, which `fits` tests.
fn expect(body: &Value, field: &str, wanted: &str, fits: impl Fn(&Value) -> bool) -> Result<(), Status> {
    match body.get(field) {
        Some(value) if !value.is_null() && !fits(value) => Err(Status::bad_request(format!(
            "DeleteOptions: {field} must be {wanted}, not {value}"
        ))),
        _ => Ok(()),
    }
}
