//! Selection of objects for a list or a watch: by namespace, labels and fields.

use berth_apimachinery::budget::Budget;
use berth_apimachinery::selector::{FieldSelector, LabelPrint, Selector};
use berth_apimachinery::{Object, SelectableField, Status};

use crate::served::ServedVersion;

/// Highest number of comparisons in one list: a hundred terms for each of a million objects, which take some
/// seconds.
const COMPARISONS_LIMIT: u64 = 100_000_000;

#[derive(Clone, Copy)]
enum Field {
    Name,
    Namespace,
    /// A selectable field that the kind defines, by its index.
    Other(usize),
}

/// Selected objects.
#[derive(Clone, Default)]
pub(crate) struct Selection {
    /// The only namespace; `None` means all.
    namespace: Option<String>,
    labels: Selector,
    /// Labels that every selected object has.
    required_labels: LabelPrint,
    fields: Vec<(Field, bool, String)>,
    /// Selectable fields that the kind defines.
    others: &'static [SelectableField],
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
            required_labels: labels.needs(),
            fields: Vec::with_capacity(fields.terms.len() + 1),
            others: served.kind().selectable(),
        };
        for (path, equal, value) in &fields.terms {
            let field = field(served, path)?;
            if matches!(field, Field::Name) && *equal && !name.is_empty() && value != name {
                return Err(Status::bad_request(format!(
                    "field selector metadata.name={value} does not match the name in the path ({name})"
                )));
            }
            selection.fields.push((field, *equal, value.clone()));
        }
        if !name.is_empty() {
            selection.fields.push((Field::Name, true, name.to_owned()));
        }
        Ok(selection)
    }

    /// The only namespace; `None` means all.
    pub(crate) fn namespace(&self) -> Option<&str> {
        self.namespace.as_deref()
    }

    /// The only object that can match, if both parts of its name are known.
    pub(crate) fn single(&self, served: &ServedVersion) -> Option<(&str, &str)> {
        let name = self.equal(|field| matches!(field, Field::Name))?;
        if !served.info().namespaced() {
            return Some(("", name));
        }
        let namespace = self
            .namespace()
            .or_else(|| self.equal(|field| matches!(field, Field::Namespace)))?;
        Some((namespace, name))
    }

    fn equal(&self, is: impl Fn(&Field) -> bool) -> Option<&str> {
        self.fields
            .iter()
            .find(|(field, equal, _)| *equal && is(field))
            .map(|(_, _, value)| value.as_str())
    }

    /// Highest number of comparisons for one object.
    pub(crate) fn terms(&self) -> usize {
        1 + self.labels.requirements.len() + self.fields.len()
    }

    /// Budget for comparing the objects of one list with the selectors.
    pub(crate) fn budget(&self) -> Budget {
        Budget::new("selecting by labels and fields", COMPARISONS_LIMIT, 0)
    }

    /// Whether the selection is only a namespace.
    pub(crate) fn is_everything(&self) -> bool {
        self.fields.is_empty() && self.labels.is_everything()
    }

    /// Whether [`Selection::matches_metadata`] is true for every object.
    pub(crate) fn is_left_to_others(&self) -> bool {
        let others = |(field, ..): &(Field, bool, String)| matches!(field, Field::Other(_));
        self.labels.is_everything() && self.fields.iter().all(others)
    }

    /// Whether `object`, which is in the selected namespace, matches both selectors.
    pub(crate) fn matches(&self, object: &Object) -> bool {
        let has_others = self
            .fields
            .iter()
            .any(|(field, ..)| matches!(field, Field::Other(_)));
        self.selects_labels(object)
            && match has_others {
                true => self.selects_fields(object, Some(&object.texts(self.others))),
                false => self.selects_fields(object, None),
            }
    }

    /// Whether `object` matches by labels, name and namespace: the handler that computed the object has
    /// compared the other fields.
    pub(crate) fn matches_metadata(&self, object: &Object) -> bool {
        self.selects_labels(object) && self.selects_fields(object, None)
    }

    fn selects_labels(&self, object: &Object) -> bool {
        object.print().covers(self.required_labels) && self.labels.matches(object.meta().labels())
    }

    /// Whether `object` matches the field selector. Without `texts`, the fields that the kind defines are not
    /// compared.
    fn selects_fields(&self, object: &Object, texts: Option<&[Box<str>]>) -> bool {
        let meta = object.meta();
        self.fields.iter().all(|(field, equal, wanted)| {
            let same = match field {
                Field::Name => meta.name() == *wanted,
                Field::Namespace => meta.namespace() == *wanted,
                Field::Other(index) => match texts {
                    Some(texts) => *texts[*index] == **wanted,
                    None => return true,
                },
            };
            same == *equal
        })
    }
}

fn field(served: &ServedVersion, path: &str) -> Result<Field, Status> {
    match path {
        "metadata.name" => return Ok(Field::Name),
        "metadata.namespace" => return Ok(Field::Namespace),
        _ => {}
    }
    let others = served.kind().selectable();
    if let Some(index) = others.iter().position(|field| field.path == path) {
        return Ok(Field::Other(index));
    }
    let known = ["metadata.name", "metadata.namespace"]
        .into_iter()
        .chain(others.iter().map(|field| field.path));
    let known: Vec<String> = known.map(|path| format!("\"{path}\"")).collect();
    Err(Status::bad_request(format!(
        "\"{path}\" is not a known field selector: only {}",
        known.join(", ")
    )))
}
