//! Filter of the requested demands: the demands in the namespace of `-n`, or the one demand that `--for`
//! names, as `KIND/[NAMESPACE/]NAME`.

use berth_apimachinery::Key;
use berth_dialect_contract::{Dialect, names};
use berth_engine::Simulation;

/// Filter of the requested demands.
pub(crate) enum DemandFilter<'a> {
    /// Demands of a namespace, and cluster-scoped demands; without a namespace, all.
    Within(Option<&'a str>),
    /// A single demand.
    One(SingleDemand),
}

/// A demand, with the system that schedules it.
pub(crate) struct SingleDemand {
    dialect: &'static str,
    demand: Key,
}

impl DemandFilter<'_> {
    /// Whether `demand` of `dialect` is requested.
    pub(crate) fn accepts(&self, dialect: &dyn Dialect, demand: &Key) -> bool {
        match self {
            Self::Within(namespace) => {
                let (demand_namespace, _) = names::place(dialect, demand);
                namespace.is_none_or(|namespace| demand_namespace == namespace || demand_namespace.is_empty())
            }
            Self::One(one) => one.dialect == dialect.name() && one.demand == *demand,
        }
    }
}

/// Finds the demand that `text` names, in the namespace `within` if the text names no namespace. Kinds are
/// accepted in any case, singular or plural, with or without their group.
///
/// # Errors
/// When `text` has another form, or not exactly one demand matches. The message names the first two matches,
/// or existing demands if none matches.
pub(super) fn find(
    simulation: &Simulation,
    text: &str,
    within: Option<&str>,
) -> Result<SingleDemand, String> {
    let (kind, namespace, name) = parts(text)?;
    let aside = simulation.invalid_demands().iter();
    let aside = aside.map(|aside| (&aside.dialect, aside.demand.clone()));
    let demands: Vec<_> = simulation.demands().into_iter().chain(aside).collect();
    let mut matches = demands.iter().filter(|(dialect, demand)| {
        is_kind(&***dialect, demand, kind)
            && *demand.name == *name
            && match namespace {
                Some(namespace) => *demand.namespace == *namespace,
                None => DemandFilter::Within(within).accepts(&***dialect, demand),
            }
    });
    match (matches.next(), matches.next()) {
        (Some((dialect, demand)), None) => Ok(SingleDemand {
            dialect: dialect.name(),
            demand: demand.clone(),
        }),
        (Some((_, first)), Some((_, second))) => Err(format!(
            "--for {text}: there are several, such as {first} and {second}: name the namespace, as KIND/NAMESPACE/NAME, or the group, as KIND.GROUP"
        )),
        (None, _) => Err(format!(
            "--for {text}: there is no such object to schedule; the objects are: {}",
            first_names(&demands)
        )),
    }
}

fn parts(text: &str) -> Result<(&str, Option<&str>, &str), String> {
    let parts: Vec<&str> = text.split('/').collect();
    match *parts {
        [kind, name] if !kind.is_empty() && !name.is_empty() => Ok((kind, None, name)),
        [kind, namespace, name] if !kind.is_empty() && !name.is_empty() => Ok((kind, Some(namespace), name)),
        _ => Err(format!(
            "--for {text:?}: KIND/NAME or KIND/NAMESPACE/NAME is expected, such as shoot/garden-dev/web"
        )),
    }
}

fn is_kind(dialect: &dyn Dialect, demand: &Key, text: &str) -> bool {
    let (kind, group) = text
        .split_once('.')
        .map_or((text, None), |(kind, group)| (kind, Some(group)));
    let mut kinds = dialect.demands().iter();
    kinds.any(|known| {
        known.resource == demand.resource
            && (known.kind.eq_ignore_ascii_case(kind) || known.resource.resource.eq_ignore_ascii_case(kind))
            && group.is_none_or(|group| group == known.resource.group)
    })
}

/// Highest number of demands that an error names.
const DEMANDS_LIMIT: usize = 10;

/// Names of the first demands, and the number of the rest.
fn first_names(demands: &[(&std::sync::Arc<dyn Dialect>, Key)]) -> String {
    if demands.is_empty() {
        return "none".to_owned();
    }
    let all = demands.iter().take(DEMANDS_LIMIT).map(|(dialect, demand)| {
        let (namespace, name) = names::place(&***dialect, demand);
        let place = if namespace.is_empty() {
            String::new()
        } else {
            format!("{namespace}/")
        };
        format!("{place}{name}")
    });
    let mut text = all.collect::<Vec<_>>().join(", ");
    if demands.len() > DEMANDS_LIMIT {
        text.push_str(&format!(" and {} more", demands.len() - DEMANDS_LIMIT));
    }
    text
}
