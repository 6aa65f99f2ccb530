//! Decisions that the words of a question may mean: a decision, an object by kind and name, or a name alone.

use std::sync::Arc;

use berth_apimachinery::{Key, KindInfo};
use berth_dialect_contract::{DemandKind, Dialect, names};
use berth_engine::{Catalog, spelling};

/// Namespace and name of a decision, which may not exist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Empty for a ClusterDecision.
    pub namespace: String,
    /// `<object>.<system>`.
    pub name: String,
}

/// The resources with decisions, in kubectl's form.
const DECISIONS: [&str; 6] = [
    "decision",
    "decisions",
    "bdec",
    "clusterdecision",
    "clusterdecisions",
    "bcdec",
];

/// The cluster-scoped resources among [`DECISIONS`].
const CLUSTER_DECISIONS: [&str; 3] = ["clusterdecision", "clusterdecisions", "bcdec"];

/// Places that `words` may mean, in `namespace` unless they name another namespace. Vague words have several
/// places.
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
    let namespace = within.unwrap_or(namespace);
    let demands = || {
        let each = |dialect: &Arc<dyn Dialect>| dialect.demands().iter();
        dialects
            .iter()
            .flat_map(move |dialect| each(dialect).map(move |demand| (dialect, demand)))
    };
    let place = |(dialect, demand): (&Arc<dyn Dialect>, &DemandKind), name: &str| {
        of(&**dialect, demand, catalog, namespace, name)
    };
    let places: Vec<Place> = match *words.as_slice() {
        [name] if !name.is_empty() => match names::split(name) {
            Some((object, system)) if dialects.iter().any(|dialect| dialect.name() == system) => demands()
                .filter(|(dialect, _)| dialect.name() == system)
                .map(|found| place(found, object))
                .collect(),
            _ => demands().map(|found| place(found, name)).collect(),
        },
        [kind, name] if !kind.is_empty() && !name.is_empty() && !name.contains('/') => {
            let (word, group) = kind.split_once('.').unwrap_or((kind, names::GROUP));
            if group == names::GROUP && DECISIONS.iter().any(|known| known.eq_ignore_ascii_case(word)) {
                let places = self::places(&[name.to_owned()], namespace, dialects, catalog)?;
                let is_cluster_scoped = CLUSTER_DECISIONS
                    .iter()
                    .any(|known| known.eq_ignore_ascii_case(word));
                return Ok(scoped(places, is_cluster_scoped));
            }
            let kinds = catalog.named(kind);
            let is_of_kind = |demand: &DemandKind| {
                let mut kinds = kinds.iter();
                kinds.any(|kind| kind.info().resource() == demand.resource)
            };
            let places: Vec<Place> = demands()
                .filter(|(_, demand)| is_of_kind(demand))
                .map(|found| place(found, name))
                .chain(
                    kinds
                        .iter()
                        .flat_map(|kind| demands_of_template(kind.info(), dialects, namespace, name)),
                )
                .collect();
            if places.is_empty() {
                let known: Vec<&str> = demands().map(|(_, demand)| demand.kind).collect();
                return Err(format!(
                    "\"{kind}\" is not a kind that is scheduled; these are: {}",
                    known.join(", ")
                ));
            }
            places
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

/// The cluster-scoped places, or the places in namespaces; all places if none has this scope.
fn scoped(places: Vec<Place>, is_cluster_scoped: bool) -> Vec<Place> {
    let has_scope = |place: &&Place| place.namespace.is_empty() == is_cluster_scoped;
    let fitting: Vec<Place> = places.iter().filter(has_scope).cloned().collect();
    if fitting.is_empty() { places } else { fitting }
}

/// The namespace that `words` name: of `KIND/NAMESPACE/NAME`, or of `NAMESPACE/NAME`.
#[must_use]
pub fn within<'a>(words: &'a [String], dialects: &[Arc<dyn Dialect>], catalog: &Catalog) -> Option<&'a str> {
    split(words, dialects, catalog).1
}

/// The words for the object, and the namespace if the words name one. In `WORD/NAME`, a first word that is a
/// kind, or similar to a kind, is not a namespace.
fn split<'a>(
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

/// Places of decisions about demands that systems make from the object `name` of a kind with `info`.
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

/// Place of the decision about the object `name` of `demand`.
fn of(dialect: &dyn Dialect, demand: &DemandKind, catalog: &Catalog, namespace: &str, name: &str) -> Place {
    // kcp schedules Namespaces: the decision about a Namespace is in that Namespace.
    let namespaced = catalog
        .find(&api_version(demand), demand.kind)
        .map_or(demand.namespaced, |(kind, _)| kind.info().namespaced());
    let namespace = if namespaced { namespace } else { "" };
    let (namespace, name) = names::place(dialect, &Key::new(demand.resource, namespace, name));
    Place { namespace, name }
}

fn api_version(demand: &DemandKind) -> String {
    match demand.resource.group {
        "" => demand.version.to_owned(),
        group => format!("{group}/{}", demand.version),
    }
}

#[cfg(test)]
mod tests;
