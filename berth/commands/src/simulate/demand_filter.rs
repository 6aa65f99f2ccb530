//! Requested demands: the demands in the namespace of `-n`, or the one demand that `--for
//! KIND/[NAMESPACE/]NAME` names. The kind has any form that kubectl accepts.

use berth_apimachinery::Key;
use berth_dialect_contract::{Dialect, names};
use berth_engine::Simulation;

/// The requested demands.
pub(crate) enum DemandFilter<'a> {
    /// Demands of a namespace, or cluster-scoped ones; without a namespace, all.
    Within(Option<&'a str>),
    /// A single demand.
    One(One),
}

/// A demand, and its system.
pub(crate) struct One {
    dialect: &'static str,
    demand: Key,
}

impl DemandFilter<'_> {
    /// Whether `demand` of `dialect` is requested.
    pub(crate) fn is(&self, dialect: &dyn Dialect, demand: &Key) -> bool {
        match self {
            Self::Within(namespace) => {
                let (of, _) = names::place(dialect, demand);
                namespace.is_none_or(|namespace| of == namespace || of.is_empty())
            }
            Self::One(one) => one.dialect == dialect.name() && one.demand == *demand,
        }
    }
}

/// Finds the objects that `text` names, in the namespace `within` where it names none. Kinds are
/// accepted in any case, singular or plural, with or without their group.
///
/// # Errors
/// When not exactly one object has the name: the message has the correct spelling, or the existing
/// demands.
pub(super) fn find(simulation: &Simulation, text: &str, within: Option<&str>) -> Result<One, String> {
    let (kind, namespace, name) = parts(text)?;
    let aside = simulation.aside().iter();
    let aside = aside.map(|aside| (&aside.dialect, aside.demand.clone()));
    let demands: Vec<_> = simulation.demands().into_iter().chain(aside).collect();
    let mut found = demands.iter().filter(|(dialect, demand)| {
        is_kind(&***dialect, demand, kind)
            && *demand.name == *name
            && match namespace {
                Some(namespace) => *demand.namespace == *namespace,
                None => DemandFilter::Within(within).is(&***dialect, demand),
            }
    });
    match (found.next(), found.next()) {
        (Some((dialect, demand)), None) => Ok(One {
            dialect: dialect.name(),
            demand: demand.clone(),
        }),
        (Some((_, first)), Some((_, second))) => Err(format!(
            "--for {text}: there are several, such as {first} and {second}: name the namespace, as KIND/NAMESPACE/NAME, or the group, as KIND.GROUP"
        )),
        (None, _) => Err(format!(
            "--for {text}: no such object to schedule; there are {}",
            some(&demands)
        )),
    }
}

fn parts(text: &str) -> Result<(&str, Option<&str>, &str), String> {
    let parts: Vec<&str> = text.split('/').collect();
    match *parts {
        [kind, name] if !kind.is_empty() && !name.is_empty() => Ok((kind, None, name)),
        [kind, namespace, name] if !kind.is_empty() && !name.is_empty() => Ok((kind, Some(namespace), name)),
        _ => Err(format!(
            "--for {text:?}: KIND/NAME or KIND/NAMESPACE/NAME is expected"
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
const SHOWN: usize = 10;

fn some(demands: &[(&std::sync::Arc<dyn Dialect>, Key)]) -> String {
    if demands.is_empty() {
        return "none".to_owned();
    }
    let all = demands.iter().take(SHOWN).map(|(dialect, demand)| {
        let (namespace, name) = names::place(&***dialect, demand);
        let place = if namespace.is_empty() {
            String::new()
        } else {
            format!("{namespace}/")
        };
        format!("{place}{name}")
    });
    let mut text = all.collect::<Vec<_>>().join(", ");
    if demands.len() > SHOWN {
        text.push_str(&format!(" and {} more", demands.len() - SHOWN));
    }
    text
}
