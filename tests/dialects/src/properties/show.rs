//! Decisions and views in a form that can be compared and printed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, LazyLock};

use berth_apimachinery::{Key, Schema, Timestamp};
use berth_dialect_contract::report::{Places, StreamedCandidates, View};
use berth_dialect_contract::{Action, AffectedDemands, Consequences, Decision, Inventory, TargetView};
use berth_engine::Snapshot;
use berth_scheduling_api::scheduling::PublishedReport;
use serde_json::Value;

/// Views of every demand and every target, as text.
#[derive(Debug, PartialEq)]
pub(crate) struct Views {
    demands: BTreeMap<Key, String>,
    targets: BTreeMap<Arc<str>, String>,
}

/// The views of all demands and targets at `now`.
pub(crate) fn views(inventory: &dyn Inventory, now: Timestamp) -> Views {
    let demands = inventory.demands().into_iter().map(|key| {
        let view = inventory.demand(&key, now);
        let text = view.map(|view| {
            let meta = view.object.meta();
            let source = (
                meta.labels(),
                meta.generation(),
                meta.uid(),
                meta.deletion_timestamp(),
            );
            format!(
                "{:?} {:?} wanted {:?} of {:?} {source:?}",
                view.phase, view.placed, view.wanted, view.amount
            )
        });
        (key, text.unwrap_or_default())
    });
    let targets = (0..inventory.count()).map(|candidate| {
        let cluster = inventory.cluster_name(candidate);
        let text = view_text(
            &inventory.target_name(candidate),
            &inventory.target(candidate, now),
        );
        let alone = inventory.target_of(&cluster, now);
        let alone = alone.map(|(name, view)| view_text(&name, &view));
        assert_eq!(alone.as_ref(), Some(&text), "{cluster} asked for by its name");
        (cluster, text)
    });
    Views {
        demands: demands.collect(),
        targets: targets.collect(),
    }
}

/// The view of a target as text.
fn view_text(name: &str, view: &TargetView) -> String {
    let ready = (view.ready, view.ready_reason, &view.ready_message, view.cordoned);
    let rest = (
        &view.taints,
        &view.capacity,
        &view.region,
        &view.provider,
        &view.labels,
        view.due_at,
    );
    format!("{} {name} {ready:?} {rest:?}", view.cluster_name)
}

/// Whether `affected` names `key`.
pub(crate) fn affects(affected: &AffectedDemands, key: &Key) -> bool {
    match affected {
        AffectedDemands::None => false,
        AffectedDemands::Some(keys) => keys.contains(key),
        AffectedDemands::All => true,
    }
}

/// Views that differ and are not named by `due`.
pub(crate) fn unannounced(before: &Views, after: &Views, due: &Consequences) -> Result<(), String> {
    let keys: BTreeSet<&Key> = before.demands.keys().chain(after.demands.keys()).collect();
    for key in keys {
        let (was, is) = (before.demands.get(key), after.demands.get(key));
        if was != is && !affects(&due.demands, key) {
            return Err(format!(
                "the view of {key} went from {was:?} to {is:?} and Due.demands does not name it"
            ));
        }
    }
    let names: BTreeSet<&Arc<str>> = before.targets.keys().chain(after.targets.keys()).collect();
    for name in names {
        let (was, is) = (before.targets.get(name), after.targets.get(name));
        let named = due.targets.as_ref().is_none_or(|targets| targets.contains(name));
        if was != is && !named {
            return Err(format!(
                "the view of target {name} went from {was:?} to {is:?} and Due.targets does not name it"
            ));
        }
    }
    Ok(())
}

/// The schema of `status` of a Scheduling.
static REPORT: LazyLock<Schema> = LazyLock::new(Schema::part::<PublishedReport>);

/// The report of `decision`, which fits its schema, without the revision of the inventory.
pub(crate) fn report(snapshot: &Snapshot, decision: &Decision) -> Result<Value, String> {
    let mut value = serde_json::to_value(snapshot.report(decision)).map_err(|error| error.to_string())?;
    if let Some(error) = REPORT.validate(&value).first() {
        return Err(format!(
            "the report does not fit its schema: {error:?} of {value}"
        ));
    }
    if let Some(path) = REPORT.unknown_fields(&value).first() {
        return Err(format!(
            "the report has a field {path} that its schema does not know: {value}"
        ));
    }
    if let Some(fields) = value.as_object_mut() {
        fields.remove("inventoryRevision");
    }
    Ok(value)
}

/// Checks that candidates which are written from the decision itself equal those of its report, byte by
/// byte.
pub(crate) fn written_as_made(snapshot: &Snapshot, decision: &Decision) -> Result<(), String> {
    let places = Places::of(&*snapshot.inventory, decision);
    let view = View {
        dialect: snapshot.dialect.name(),
        inventory: &*snapshot.inventory,
        decision,
        places: &places,
    };
    let written = StreamedCandidates {
        view,
        entries: &view.entries(),
        with_reasons: true,
    };
    let mut out = Vec::new();
    written.write(&mut out).map_err(|error| error.to_string())?;
    let made =
        serde_json::to_string(&snapshot.report(decision).candidates).map_err(|error| error.to_string())?;
    if out == made.as_bytes() {
        return Ok(());
    }
    let written = String::from_utf8_lossy(&out);
    Err(format!("{}: written are {written}, made {made}", decision.demand))
}

/// The names of the picked clusters, in rank order, and of clusters that are created, which are picked
/// once they exist.
pub(crate) fn picked(inventory: &dyn Inventory, decision: &Decision) -> Vec<String> {
    let picked = decision.solved.picked.iter();
    let made = decision
        .changes
        .iter()
        .filter(|change| change.action == Action::Create);
    picked
        .map(|&candidate| inventory.cluster_name(candidate).to_string())
        .chain(made.map(|change| change.cluster_name.to_string()))
        .collect()
}

/// A uid for the object at `key`, which depends only on the key (FNV-1a).
pub(crate) fn uid(key: &Key) -> String {
    let hash = key
        .to_string()
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
        });
    format!("00000000-0000-5000-8000-{:012x}", hash & 0xffff_ffff_ffff)
}

/// Checks that two maps of reports (or views) are equal.
pub(crate) fn same(what: &str, one: &BTreeMap<Key, Value>, two: &BTreeMap<Key, Value>) -> Result<(), String> {
    let keys: BTreeSet<&Key> = one.keys().chain(two.keys()).collect();
    for key in keys {
        let (first, second) = (one.get(key), two.get(key));
        if first != second {
            let null = Value::Null;
            let text = difference("status", first.unwrap_or(&null), second.unwrap_or(&null));
            return Err(format!("{what}: the reports on {key} differ: {text}"));
        }
    }
    Ok(())
}

/// The first place where two values differ.
pub(crate) fn difference(path: &str, one: &Value, two: &Value) -> String {
    match (one, two) {
        (Value::Object(a), Value::Object(b)) => {
            let names: BTreeSet<&String> = a.keys().chain(b.keys()).collect();
            let null = Value::Null;
            let found = names
                .into_iter()
                .find(|name| a.get(*name) != b.get(*name))
                .map(|name| (name, a.get(name).unwrap_or(&null), b.get(name).unwrap_or(&null)));
            match found {
                Some((name, first, second)) => difference(&format!("{path}.{name}"), first, second),
                None => format!("{path} is equal"),
            }
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            match a
                .iter()
                .zip(b)
                .enumerate()
                .find(|(_, (first, second))| first != second)
            {
                Some((index, (first, second))) => difference(&format!("{path}[{index}]"), first, second),
                None => format!("{path} is equal"),
            }
        }
        _ => format!("{path} is {one} and {two}"),
    }
}
