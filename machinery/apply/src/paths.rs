//! Paths of the fields in an object, and mismatches with its types.

use serde_json::Value;

use crate::MAX_DEPTH;
use crate::element::Element;
use crate::fields::Set;
use crate::items::IndexedList;
use crate::path_text;
use crate::types::{DEDUCED, List, Node, Scalars, Shape, Types};

/// Number of mismatches after which nothing is checked any more: the text of each takes time and memory, and
/// an object can have as many mismatches as values.
const MAX_PROBLEMS: usize = 250;

/// Mismatch between a value and the type of its field.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{path}{}{problem}", if path.is_empty() { "" } else { ": " })]
pub struct Mismatch {
    /// Path of the value, as in `.spec.ports`; empty for the object itself. Long parts are truncated.
    pub path: String,
    /// Description of the error.
    pub problem: String,
}

impl Mismatch {
    pub(crate) fn too_deep() -> Self {
        Self {
            path: String::new(),
            problem: format!("nested deeper than {MAX_DEPTH} levels"),
        }
    }
}

/// Formats mismatches as one text: a single mismatch on one line, several on a line each.
pub(crate) fn join_mismatches(problems: &[Mismatch]) -> String {
    match problems {
        [one] => one.to_string(),
        many => {
            let lines: Vec<String> = many.iter().map(|one| format!("\n  {one}")).collect();
            format!("errors:{}", lines.concat())
        }
    }
}

impl Types {
    /// Returns the paths in a configuration: the fields that the configuration's manager owns after the
    /// apply.
    ///
    /// # Errors
    /// The mismatches, including duplicates in sets and in lists with keys. After an undeclared field, further
    /// fields of the same object are not checked, and a list with an element without a valid key is not checked
    /// further. After 250 mismatches nothing is.
    pub fn paths(&self, config: &Value) -> Result<Set, Vec<Mismatch>> {
        self.walk(config, false)
    }

    /// Returns the paths of a stored object. Unlike in a configuration, duplicates in a list are allowed, and
    /// are one path. Fields that the schema does not have are allowed too, with deduced types: an earlier
    /// schema may have had them.
    ///
    /// # Errors
    /// The mismatches, as of [`Types::paths`].
    pub fn paths_of_stored(&self, object: &Value) -> Result<Set, Vec<Mismatch>> {
        self.walk(object, true)
    }

    /// Checks that a stored object fits these types.
    pub(crate) fn check_stored(&self, object: &Value) -> Result<(), Vec<Mismatch>> {
        self.walk(object, true).map(drop)
    }

    /// Returns the fields with the same values in `last` and `live`. `last` is a configuration that was
    /// applied by other means than server-side apply. In the first server-side apply, its manager may take
    /// over these fields without force.
    ///
    /// # Errors
    /// The mismatches of either object, as of [`Types::paths`].
    pub fn unchanged(&self, last: &Value, live: &Value) -> Result<Set, Vec<Mismatch>> {
        let mut set = self.paths(last)?;
        self.check_stored(live)?;
        let found = self.compare(last, live);
        for differing in [&found.modified, &found.added, &found.removed] {
            set.remove(differing);
        }
        Ok(set)
    }

    /// Returns the paths of a stored object, or else of a configuration.
    fn walk(&self, object: &Value, stored: bool) -> Result<Set, Vec<Mismatch>> {
        let mut walk = Walk {
            stored,
            path: Vec::new(),
            problems: Vec::new(),
        };
        let mut set = Set::default();
        walk.visit(&self.root, object, &mut set);
        set.member = false;
        if walk.problems.is_empty() {
            Ok(set)
        } else {
            Err(walk.problems)
        }
    }
}

/// State of the traversal of an object.
struct Walk {
    /// Whether the object is stored, and not a configuration.
    stored: bool,
    /// Path of the visited value.
    path: Vec<Element>,
    problems: Vec<Mismatch>,
}

impl Walk {
    /// Adds `value` and everything below it to `set`, and their mismatches to `problems`.
    fn visit(&mut self, node: &Node, value: &Value, set: &mut Set) {
        if self.is_full() {
            return;
        }
        if self.path.len() > MAX_DEPTH {
            return self.refuse(format!("nested deeper than {MAX_DEPTH} levels"));
        }
        match value {
            Value::Null => set.member = true,
            Value::Object(fields) => match &node.object {
                None => self.refuse(format!("expected {}, got map", expected(node))),
                Some(shape) if shape.atomic || fields.is_empty() => {
                    set.member = true;
                    self.check_atomic_object(shape, value);
                }
                Some(shape) => self.fields(shape, value, set),
            },
            Value::Array(items) => match &node.list {
                None => self.refuse(format!("expected {}, got list", expected(node))),
                Some(list) if list.is_granular() => self.items(list, items, set),
                Some(list) => {
                    set.member = true;
                    self.check_atomic_list(list, items);
                }
            },
            _ => match node.scalar {
                Some(scalars) if accepts(scalars, value) => set.member = true,
                _ => self.refuse(format!("expected {}, got {value}", expected(node))),
            },
        }
    }

    fn fields(&mut self, shape: &Shape, value: &Value, set: &mut Set) {
        for (name, field) in value.as_object().into_iter().flatten() {
            let element = Element::Field(name.clone());
            self.path.push(element.clone());
            match shape.field(name).or(self.stored.then_some(&*DEDUCED)) {
                None => {
                    self.refuse("field not declared in schema".to_owned());
                    self.path.pop();
                    // Only the first undeclared field is reported, and later fields are not checked.
                    break;
                }
                Some(node) => {
                    let below = set.below.entry(element).or_default();
                    self.visit(node, field, below);
                    // An entry of a map is a path itself; a declared field is only a path if it is a leaf.
                    below.member |= !shape.fields.contains_key(name);
                }
            }
            self.path.pop();
        }
        set.below.retain(|_, below| !below.is_empty());
    }

    /// Checks the fields of an atomic object: the object is one path, but its fields must fit as well.
    fn check_atomic_object(&mut self, shape: &Shape, value: &Value) {
        self.fields(shape, value, &mut Set::default());
    }

    /// Checks the items of an atomic list in a configuration. A stored list is not checked: it may be older
    /// than the schema, and is replaced as a whole.
    fn check_atomic_list(&mut self, list: &List, items: &[Value]) {
        if self.stored || !list.has_schema() {
            return;
        }
        for (index, item) in (0..).zip(items) {
            self.path.push(Element::Index(index));
            self.visit(&list.items, item, &mut Set::default());
            self.path.pop();
        }
    }

    fn items(&mut self, list: &List, items: &[Value], set: &mut Set) {
        let mut is_invalid = false;
        for (index, item) in items.iter().enumerate() {
            if let Err(problem) = list.element(index, item) {
                self.refuse(problem);
                is_invalid = true;
            }
        }
        if is_invalid {
            return;
        }
        for (element, values) in IndexedList::of(list, items).iter() {
            if values.len() > 1 && !self.stored {
                self.refuse(format!("duplicate entries for key {element}"));
            }
            let below = set.below.entry(element.clone()).or_default();
            if let [only] = values {
                self.path.push(element.clone());
                self.visit(&list.items, only, below);
                self.path.pop();
            }
            below.member = true;
        }
    }

    fn is_full(&self) -> bool {
        self.problems.len() >= MAX_PROBLEMS
    }

    fn refuse(&mut self, problem: String) {
        if !self.is_full() {
            let path = path_text::of(&self.path);
            self.problems.push(Mismatch { path, problem });
        }
    }
}

fn accepts(scalars: Scalars, value: &Value) -> bool {
    match scalars {
        Scalars::Any => true,
        Scalars::Text => value.is_string(),
        Scalars::Number => value.is_number(),
        Scalars::Boolean => value.is_boolean(),
    }
}

/// Name of the expected type in messages.
fn expected(node: &Node) -> &'static str {
    match node {
        Node { object: Some(_), .. } => "map",
        Node { list: Some(_), .. } => "list",
        Node {
            scalar: Some(Scalars::Text),
            ..
        } => "string",
        Node {
            scalar: Some(Scalars::Number),
            ..
        } => "numeric (int or float)",
        Node {
            scalar: Some(Scalars::Boolean),
            ..
        } => "boolean",
        _ => "scalar",
    }
}
