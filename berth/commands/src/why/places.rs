//! Interpretation of the words of a question: a decision, an object by kind and name, or a name alone.

use std::sync::Arc;

use berth_apimachinery::{Key, KindInfo};
use berth_dialect_contract::{DemandKind, Dialect, names};
use berth_engine::{Catalog, spelling};

/// Namespace and name of a decision that words may mean. The decision may not exist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Namespace of the decision; empty for a ClusterDecision.
    pub namespace: String,
    /// Name of the decision: `<object>.<system>`.
    pub name: String,
}

/// Names of the decision resources, as in kubectl: singular, plural and short.
const DECISIONS: [&str; 6] = [
    "decision",
    "decisions",
    "bdec",
    "clusterdecision",
    "clusterdecisions",
    "bcdec",
];

/// Names of the cluster-scoped resource among [`DECISIONS`].
const CLUSTER_DECISIONS: [&str; 3] = ["clusterdecision", "clusterdecisions", "bcdec"];

/// Returns the decisions that `words` may mean, in `namespace` unless the words name another namespace. A
/// name alone may mean a decision of each system.
///
/// # Errors
/// When the words name a kind without decisions, or no object.
pub fn places(
    words: &[String],
    namespace: &str,
    dialects: &[Arc<dyn Dialect>],
    catalog: &Catalog,
) -> Result<Vec<Place>, String> {
    let (words, within) = split(words, dialects, catalog);
    let is_named = within.is_some();
    let search = Search {
        namespace: within.unwrap_or(namespace),
        dialects,
        catalog,
    };
    let places = match *words.as_slice() {
        [name] if !name.is_empty() => search.by_name(name),
        [kind, name] if !kind.is_empty() && !name.is_empty() && !name.contains('/') => {
            let (word, group) = kind.split_once('.').unwrap_or((kind, names::GROUP));
            let is_named_by = |known: &&str| known.eq_ignore_ascii_case(word);
            if group == names::GROUP && DECISIONS.iter().any(is_named_by) {
                let is_cluster_scoped = CLUSTER_DECISIONS.iter().any(is_named_by);
                return Ok(scoped(search.by_name(name), is_cluster_scoped));
            }
            search.by_kind(kind, name)?
        }
        _ => {
            return Err(
                "say what to explain: KIND/NAME, NAMESPACE/NAME, a name, or a decision (NAME.SYSTEM); for example: berth why \
                 placement/web -n team-a"
                    .to_owned(),
            );
        }
    };
    Ok(if is_named { scoped(places, false) } else { places })
}

/// Search for decisions by the words of a question.
#[derive(Clone, Copy)]
struct Search<'a> {
    namespace: &'a str,
    dialects: &'a [Arc<dyn Dialect>],
    catalog: &'a Catalog,
}

impl<'a> Search<'a> {
    /// Every kind of demands, with its dialect.
    fn demands(self) -> impl Iterator<Item = (&'a Arc<dyn Dialect>, &'static DemandKind)> {
        let dialects = self.dialects.iter();
        dialects.flat_map(|dialect| dialect.demands().iter().map(move |demand| (dialect, demand)))
    }

    /// Returns the decisions that `name` may mean: the name of a decision, or the name of an object of any
    /// kind.
    fn by_name(self, name: &str) -> Vec<Place> {
        let has_system =
            |(_, system): &(&str, &str)| self.dialects.iter().any(|dialect| dialect.name() == *system);
        match names::split(name).filter(has_system) {
            Some((object, system)) => self
                .demands()
                .filter(|(dialect, _)| dialect.name() == system)
                .map(|(dialect, demand)| self.place(&**dialect, demand, object))
                .collect(),
            None => self
                .demands()
                .map(|(dialect, demand)| self.place(&**dialect, demand, name))
                .collect(),
        }
    }

    /// Returns the decisions about the object `name` of `kind`.
    fn by_kind(self, kind: &str, name: &str) -> Result<Vec<Place>, String> {
        let kinds = self.catalog.named(kind);
        let is_of_kind = |demand: &DemandKind| {
            let mut kinds = kinds.iter();
            kinds.any(|kind| kind.info().resource() == demand.resource)
        };
        let own = self
            .demands()
            .filter(|(_, demand)| is_of_kind(demand))
            .map(|(dialect, demand)| self.place(&**dialect, demand, name));
        let templates = kinds.iter();
        let of_templates =
            templates.flat_map(|kind| demands_of_template(kind.info(), self.dialects, self.namespace, name));
        let places: Vec<Place> = own.chain(of_templates).collect();
        if places.is_empty() {
            let known: Vec<&str> = self.demands().map(|(_, demand)| demand.kind).collect();
            return Err(format!(
                "\"{kind}\" is not a kind that is scheduled; these are: {}",
                known.join(", ")
            ));
        }
        Ok(places)
    }

    /// Place of the decision about the object `name` of `demand`.
    fn place(self, dialect: &dyn Dialect, demand: &DemandKind, name: &str) -> Place {
        // kcp schedules Namespaces: the decision about a Namespace is in that Namespace.
        let namespaced = self
            .catalog
            .find(&api_version(demand), demand.kind)
            .map_or(demand.namespaced, |(kind, _)| kind.info().namespaced());
        let namespace = if namespaced { self.namespace } else { "" };
        let (namespace, name) = names::place(dialect, &Key::new(demand.resource, namespace, name));
        Place { namespace, name }
    }
}

/// Returns the cluster-scoped places, or the places in namespaces; all places if none has this scope.
fn scoped(places: Vec<Place>, is_cluster_scoped: bool) -> Vec<Place> {
    let has_scope = |place: &&Place| place.namespace.is_empty() == is_cluster_scoped;
    let fitting: Vec<Place> = places.iter().filter(has_scope).cloned().collect();
    if fitting.is_empty() { places } else { fitting }
}

/// Returns the namespace that `words` name, in the form `KIND/NAMESPACE/NAME` or `NAMESPACE/NAME`.
#[must_use]
pub fn within<'a>(words: &'a [String], dialects: &[Arc<dyn Dialect>], catalog: &Catalog) -> Option<&'a str> {
    split(words, dialects, catalog).1
}

/// Splits `words` into the words for the object, and the namespace if they name one. In `WORD/NAME`, a word
/// that is a kind, or similar to a kind, is not a namespace.
pub(super) fn split<'a>(
    words: &'a [String],
    dialects: &[Arc<dyn Dialect>],
    catalog: &Catalog,
) -> (Vec<&'a str>, Option<&'a str>) {
    let words: Vec<&str> = match words {
        [word] => word.splitn(3, '/').collect(),
        words => return (words.iter().map(String::as_str).collect(), None),
    };
    match *words.as_slice() {
        [kind, namespace, name] if !namespace.is_empty() => (vec![kind, name], Some(namespace)),
        [namespace, name] if !name.is_empty() && is_namespace(namespace, dialects, catalog) => {
            (vec![name], Some(namespace))
        }
        _ => (words, None),
    }
}

/// Whether `word`, before a slash, can only be a namespace: it is not a kind, and no scheduled kind has
/// a similar spelling.
fn is_namespace(word: &str, dialects: &[Arc<dyn Dialect>], catalog: &Catalog) -> bool {
    let is_decision = |known: &&str| known.eq_ignore_ascii_case(word.split('.').next().unwrap_or(word));
    let lower = word.to_lowercase();
    let mut kinds = dialects.iter().flat_map(|dialect| dialect.demands());
    !word.is_empty()
        && !word.contains('.')
        && !DECISIONS.iter().any(is_decision)
        && catalog.named(word).is_empty()
        && !kinds.any(|demand| spelling::near(&lower, &demand.kind.to_lowercase()))
}

/// Returns the places of decisions about demands that systems create from the object `name` of a kind with
/// `info`, such as a workload in Karmada.
fn demands_of_template<'a>(
    info: &KindInfo,
    dialects: &'a [Arc<dyn Dialect>],
    namespace: &str,
    name: &str,
) -> impl Iterator<Item = Place> + use<'a> {
    let namespace = if info.namespaced() { namespace } else { "" };
    let key = Key::new(info.resource(), namespace, name);
    dialects.iter().filter_map(move |dialect| {
        let (namespace, name) = names::place(&**dialect, &dialect.demand_of_template(&key)?);
        Some(Place { namespace, name })
    })
}

fn api_version(demand: &DemandKind) -> String {
    match demand.resource.group {
        "" => demand.version.to_owned(),
        group => format!("{group}/{}", demand.version),
    }
}

#[cfg(test)]
mod tests;
