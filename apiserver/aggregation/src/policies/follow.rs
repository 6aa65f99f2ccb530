//! Watches of the hub's webhook configurations and policies, one for each kind.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use berth_admission::client::WebhookType;
use berth_client::root_cause;
use futures::{Stream, StreamExt};
use kube::core::{ApiResource, DynamicObject};
use kube::runtime::WatchStreamExt;
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Api, Client};
use serde_json::Value;
use tokio::sync::watch;

use super::{GROUP, Policies, WATCHED};

/// Kind of the webhook configurations.
pub(super) const fn kind(webhook_type: WebhookType) -> &'static str {
    match webhook_type {
        WebhookType::Mutating => "MutatingWebhookConfiguration",
        WebhookType::Validating => "ValidatingWebhookConfiguration",
    }
}

/// API resource of the webhook configurations.
pub(super) fn resource(webhook_type: WebhookType) -> ApiResource {
    let (_, plural) = match webhook_type {
        WebhookType::Mutating => WATCHED[0],
        WebhookType::Validating => WATCHED[1],
    };
    ApiResource {
        group: GROUP.to_owned(),
        version: "v1".to_owned(),
        api_version: format!("{GROUP}/v1"),
        kind: kind(webhook_type).to_owned(),
        plural: plural.to_owned(),
    }
}

/// Pause before a failed attempt is repeated.
pub(super) const PAUSE: Duration = Duration::from_secs(1);

/// Known objects of one resource.
pub(super) enum Snapshot {
    /// All existing objects, by name.
    All(Arc<BTreeMap<String, Arc<Value>>>),
    /// The hub does not serve the resource.
    Missing,
}

/// Keeps the configurations of one kind in force until the task is dropped; reports when all existing ones
/// are in force.
pub(super) async fn follow(
    client: Client,
    webhook_type: WebhookType,
    policies: Arc<Policies>,
    report: watch::Sender<bool>,
) {
    let resource = resource(webhook_type);
    let api: Api<DynamicObject> = Api::all_with(client, &resource);
    let mut snapshots = Box::pin(snapshots(api, resource.plural));
    while let Some(snapshot) = snapshots.next().await {
        if let Snapshot::All(known) = snapshot {
            policies.replace(webhook_type, &known);
            report.send_replace(true);
        }
    }
}

/// Snapshots of `api`: first all existing objects, then the objects after each change. The stream never ends.
pub(super) fn snapshots(
    api: Api<DynamicObject>,
    plural: impl Into<String>,
) -> impl Stream<Item = Snapshot> + Send {
    let plural = plural.into();
    let (mut known, mut listed) = (BTreeMap::new(), BTreeMap::new());
    let mut last_problem = None;
    let events = watcher(api, watcher::Config::default()).default_backoff();
    events.filter_map(move |event| {
        let snapshot = match event {
            Ok(event) => {
                // Each attempt at a list begins with Init and its first pages, whatever the hub answers then.
                if !matches!(event, Event::Init | Event::InitApply(_)) {
                    last_problem = None;
                }
                take(event, &mut known, &mut listed).then(|| Snapshot::All(Arc::new(known.clone())))
            }
            Err(problem) => {
                let text = root_cause(&problem);
                // One log line for each new problem, since a problem may last.
                if last_problem.as_ref() != Some(&text) {
                    tracing::warn!(
                        resource = plural,
                        problem = text,
                        "cannot watch a resource of the hub; retrying"
                    );
                }
                last_problem = Some(text);
                is_missing(&problem).then_some(Snapshot::Missing)
            }
        };
        std::future::ready(snapshot)
    })
}

/// Whether the hub does not serve the watched resource.
pub(super) fn is_missing(problem: &watcher::Error) -> bool {
    match problem {
        watcher::Error::InitialListFailed(kube::Error::Api(status))
        | watcher::Error::WatchStartFailed(kube::Error::Api(status))
        | watcher::Error::WatchError(status) => status.code == 404,
        _ => false,
    }
}

/// Applies one event. Returns whether the known objects are complete and ready to be put in force.
fn take(
    event: Event<DynamicObject>,
    known: &mut BTreeMap<String, Arc<Value>>,
    listed: &mut BTreeMap<String, Arc<Value>>,
) -> bool {
    match event {
        Event::Init => {
            listed.clear();
            false
        }
        Event::InitApply(object) => {
            listed.extend(entry(&object));
            false
        }
        Event::InitDone => {
            *known = std::mem::take(listed);
            true
        }
        Event::Apply(object) => {
            known.extend(entry(&object));
            true
        }
        Event::Delete(object) => known
            .remove(object.metadata.name.as_deref().unwrap_or_default())
            .is_some(),
    }
}

/// The name of an object, and its content; of the metadata only the name.
fn entry(object: &DynamicObject) -> Option<(String, Arc<Value>)> {
    let name = object.metadata.name.clone()?;
    let mut value = object.data.clone();
    value["metadata"] = serde_json::json!({"name": name});
    Some((name, Arc::new(value)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn configuration(name: &str) -> DynamicObject {
        let mut object = DynamicObject::new(name, &resource(WebhookType::Mutating));
        object.data = serde_json::json!({"webhooks": [{"name": name}]});
        object
    }

    #[test]
    fn a_list_replaces_what_was_known_and_changes_add_to_it() {
        let (mut known, mut listed) = (BTreeMap::new(), BTreeMap::new());
        let mut after = |event| {
            let published = take(event, &mut known, &mut listed);
            published.then(|| known.keys().cloned().collect::<Vec<_>>())
        };
        let some = |names: &[&str]| Some(names.iter().map(|name| (*name).to_owned()).collect());
        assert_eq!(after(Event::Init), None);
        assert_eq!(
            after(Event::InitApply(configuration("b"))),
            None,
            "half a list is not in force"
        );
        assert_eq!(after(Event::InitApply(configuration("a"))), None);
        assert_eq!(after(Event::InitDone), some(&["a", "b"]));
        assert_eq!(after(Event::Apply(configuration("c"))), some(&["a", "b", "c"]));
        assert_eq!(after(Event::Delete(configuration("a"))), some(&["b", "c"]));
        assert_eq!(after(Event::Init), None);
        assert_eq!(after(Event::InitApply(configuration("d"))), None);
        assert_eq!(
            after(Event::InitDone),
            some(&["d"]),
            "what is gone meanwhile is gone"
        );
    }
}
