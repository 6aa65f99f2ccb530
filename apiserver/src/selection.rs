//! Selection of objects for a list or a watch: by namespace, labels and fields.

use berth_apimachinery::budget::Budget;
use berth_apimachinery::selector::{FieldSelector, LabelFingerprint, Selector};
use berth_apimachinery::{Object, SelectableField, Status};

use crate::served::ServedVersion;

/// Highest number of comparisons in one list: a hundred terms for each of a million objects, which take some
/// seconds.
const COMPARISONS_LIMIT: u64 = 100_000_000;

/// Field of a field selector.
#[derive(Clone, Copy)]
enum Field {
    Name,
    Namespace,
    /// A selectable field that the kind defines: its index in [`berth_apimachinery::Kind::selectable`].
    OfKind(usize),
}

/// Comparison of one field with a value.
#[derive(Clone)]
struct FieldTerm {
    field: Field,
    /// Whether the field must equal the value; otherwise it must differ.
    equal: bool,
    value: String,
}

/// Selectors of one list or watch.
#[derive(Clone, Default)]
pub(crate) struct Selection {
    /// The only namespace; `None` means all.
    namespace: Option<String>,
    labels: Selector,
    /// Fingerprint of the labels that every selected object has.
    required_labels: LabelFingerprint,
    fields: Vec<FieldTerm>,
    /// Selectable fields that the kind defines.
    kind_fields: &'static [SelectableField],
}

impl Selection {
    /// Creates the selection of a request in `namespace` (empty for all) for `name` (empty for all).
    ///
    /// # Errors
    /// 400 when a field is not selectable, or when the selector has another name than `name`.
    pub(crate) fn new(
        served: &ServedVersion,
        namespace: &str,
        name: &str,
        labels: &Selector,
        fields: &FieldSelector,
    ) -> Result<Self, Status> {
        let mut selection = Self {
            namespace: (!namespace.is_empty()).then(|| namespace.to_owned()),
            labels: labels.clone(),
            required_labels: labels.fingerprint(),
            fields: Vec::with_capacity(fields.terms.len() + 1),
            kind_fields: served.kind().selectable(),
        };
        for (path, equal, value) in &fields.terms {
            let field = field(served, path)?;
            if matches!(field, Field::Name) && *equal && !name.is_empty() && value != name {
                return Err(Status::bad_request(format!(
                    "field selector metadata.name={value} does not match the name in the path ({name})"
                )));
            }
            selection.fields.push(FieldTerm {
                field,
                equal: *equal,
                value: value.clone(),
            });
        }
        if !name.is_empty() {
            selection.fields.push(FieldTerm {
                field: Field::Name,
                equal: true,
                value: name.to_owned(),
            });
        }
        Ok(selection)
    }

    /// The only namespace; `None` means all.
    pub(crate) fn namespace(&self) -> Option<&str> {
        self.namespace.as_deref()
    }

    /// Namespace and name of the only object that can match, if the selection requires both; the namespace is
    /// empty for a cluster-scoped kind.
    pub(crate) fn single(&self, served: &ServedVersion) -> Option<(&str, &str)> {
        let name = self.required_value(|field| matches!(field, Field::Name))?;
        if !served.info().namespaced() {
            return Some(("", name));
        }
        let namespace = self
            .namespace()
            .or_else(|| self.required_value(|field| matches!(field, Field::Namespace)))?;
        Some((namespace, name))
    }

    /// The value that the field selector requires of a field.
    fn required_value(&self, is_field: impl Fn(&Field) -> bool) -> Option<&str> {
        let mut terms = self.fields.iter();
        let term = terms.find(|term| term.equal && is_field(&term.field))?;
        Some(&term.value)
    }

    /// Highest number of comparisons for one object.
    pub(crate) fn comparisons(&self) -> usize {
        1 + self.labels.requirements.len() + self.fields.len()
    }

    /// Budget of comparisons for one list.
    pub(crate) fn budget(&self) -> Budget {
        Budget::new("selecting by labels and fields", COMPARISONS_LIMIT, 0)
    }

    /// Whether the selection has neither labels nor fields, so that every object of the namespace matches.
    pub(crate) fn is_everything(&self) -> bool {
        self.fields.is_empty() && self.labels.is_everything()
    }

    /// Whether [`Selection::matches_metadata`] is true for every object.
    pub(crate) fn accepts_any_metadata(&self) -> bool {
        let is_of_kind = |term: &FieldTerm| matches!(term.field, Field::OfKind(_));
        self.labels.is_everything() && self.fields.iter().all(is_of_kind)
    }

    /// Whether `object`, which is in the selected namespace, matches both selectors.
    pub(crate) fn matches(&self, object: &Object) -> bool {
        let needs_texts = self
            .fields
            .iter()
            .any(|term| matches!(term.field, Field::OfKind(_)));
        self.selects_labels(object)
            && match needs_texts {
                true => self.selects_fields(object, Some(&object.texts(self.kind_fields))),
                false => self.selects_fields(object, None),
            }
    }

    /// Whether `object` matches the labels, and the terms for name and namespace. The handler that computed
    /// the object has compared the fields that the kind defines.
    pub(crate) fn matches_metadata(&self, object: &Object) -> bool {
        self.selects_labels(object) && self.selects_fields(object, None)
    }

    fn selects_labels(&self, object: &Object) -> bool {
        object.label_fingerprint().covers(self.required_labels) && self.labels.matches(object.meta().labels())
    }

    /// Whether `object` matches the field selector. The fields that the kind defines are compared only if
    /// their `texts` are given.
    fn selects_fields(&self, object: &Object, texts: Option<&[Box<str>]>) -> bool {
        let meta = object.meta();
        self.fields.iter().all(|term| {
            let is_equal = match term.field {
                Field::Name => meta.name() == term.value,
                Field::Namespace => meta.namespace() == term.value,
                Field::OfKind(index) => match texts {
                    Some(texts) => *texts[index] == *term.value,
                    None => return true,
                },
            };
            is_equal == term.equal
        })
    }
}

fn field(served: &ServedVersion, path: &str) -> Result<Field, Status> {
    match path {
        "metadata.name" => return Ok(Field::Name),
        "metadata.namespace" => return Ok(Field::Namespace),
        _ => {}
    }
    let kind_fields = served.kind().selectable();
    if let Some(index) = kind_fields.iter().position(|field| field.path == path) {
        return Ok(Field::OfKind(index));
    }
    let known = ["metadata.name", "metadata.namespace"]
        .into_iter()
        .chain(kind_fields.iter().map(|field| field.path));
    let known: Vec<String> = known.map(|path| format!("\"{path}\"")).collect();
    Err(Status::bad_request(format!(
        "\"{path}\" is not a known field selector: only {}",
        known.join(", ")
    )))
}
