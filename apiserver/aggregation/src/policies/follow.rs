//! Watches of the hub's webhook configurations and policies, with one watch for each kind.

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

use super::{GROUP, HubWebhooks, WATCHED};

/// Returns the kind of the webhook configurations of `webhook_type`.
pub(super) const fn kind(webhook_type: WebhookType) -> &'static str {
    match webhook_type {
        WebhookType::Mutating => "MutatingWebhookConfiguration",
        WebhookType::Validating => "ValidatingWebhookConfiguration",
    }
}

/// Returns the API resource of the webhook configurations of `webhook_type`.
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

/// Delay before another attempt after an error.
pub(super) const RETRY_DELAY: Duration = Duration::from_secs(1);

/// Objects of one watched resource.
pub(super) enum Snapshot {
    /// All existing objects, by name.
    All(Arc<BTreeMap<String, Arc<Value>>>),
    /// The hub does not serve the resource.
    Missing,
}

/// Watches the configurations of `webhook_type` and puts them in force, until the task is dropped. Reports
/// when all existing configurations are in force.
pub(super) async fn follow(
    client: Client,
    webhook_type: WebhookType,
    webhooks: Arc<HubWebhooks>,
    report: watch::Sender<bool>,
) {
    let resource = resource(webhook_type);
    let api: Api<DynamicObject> = Api::all_with(client, &resource);
    let mut snapshots = Box::pin(snapshots(api, resource.plural));
    while let Some(snapshot) = snapshots.next().await {
        if let Snapshot::All(known) = snapshot {
            webhooks.replace(webhook_type, &known);
            report.send_replace(true);
        }
    }
}

/// Returns snapshots of the objects of `api`: first of all existing objects, then after each change. The
/// stream never ends.
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
                // Init and the first pages of a list do not mean that the problem is solved.
                if !matches!(event, Event::Init | Event::InitApply(_)) {
                    last_problem = None;
                }
                apply_event(event, &mut known, &mut listed).then(|| Snapshot::All(Arc::new(known.clone())))
            }
            Err(problem) => {
                let text = root_cause(&problem);
                // A lasting problem is logged once.
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

/// Applies one event to the `known` objects; `listed` are the objects of an incomplete list. Returns whether
/// `known` is complete and may have changed.
fn apply_event(
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

/// Returns the name of an object and its content. The metadata has only the name, so that other changes of
/// metadata do not count as changes.
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
    fn a_list_replaces_the_known_objects_and_changes_are_added() {
        let (mut known, mut listed) = (BTreeMap::new(), BTreeMap::new());
        let mut after = |event| {
            let is_complete = apply_event(event, &mut known, &mut listed);
            is_complete.then(|| known.keys().cloned().collect::<Vec<_>>())
        };
        let some = |names: &[&str]| Some(names.iter().map(|name| (*name).to_owned()).collect());
        assert_eq!(after(Event::Init), None);
        assert_eq!(
            after(Event::InitApply(configuration("b"))),
            None,
            "an incomplete list is not in force"
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
            "objects that the new list lacks are gone"
        );
    }
}
