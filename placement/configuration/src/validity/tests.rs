//! Content of the condition, which follows the stored configuration.

use std::collections::BTreeSet;

use berth_admission::Chain;
use berth_apimachinery::write::Verb;
use berth_apimachinery::{Clock, Draft};
use berth_apiserver::{Registry, SystemClock};
use berth_scheduling_rest::RegistryCommitter;
use berth_storage::{Expect, MemoryStore, Source, Step, Store, Writer};

use super::*;

const NAME: &str = "gardener";

fn configuration(strategy: &str) -> Value {
    json!({
        "apiVersion": "config.berth.dev/v1alpha1",
        "kind": "SchedulerConfiguration",
        "metadata": {"name": NAME, "uid": "u", "generation": 3},
        "spec": {NAME: {"schedulers": {"shoot": {"candidateDeterminationStrategy": strategy}}}},
    })
}

fn kind() -> SchedulerConfiguration {
    SchedulerConfiguration::new(berth_dialect_registry::all())
}

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

fn stored(value: &Value) -> Object {
    Draft::new(value).unwrap().at(berth_apimachinery::Revision(7))
}

#[test]
fn the_condition_says_whether_and_why() {
    let kind = kind();
    let valid = with_verdicts(&kind, &stored(&configuration("SameRegion")), None, at(0)).unwrap();
    assert_eq!(
        valid["status"]["conditions"],
        json!([{
            "type": "Valid", "status": "True", "reason": "Valid", "message": "it is in force",
            "lastTransitionTime": "1970-01-01T00:00:00Z", "observedGeneration": 3,
        }])
    );
    assert!(
        with_verdicts(&kind, &stored(&valid), None, at(9)).is_none(),
        "it is said already"
    );
    let mut invalid = valid.clone();
    invalid["spec"] = configuration("Nearest")["spec"].clone();
    invalid["status"]["conditions"]
        .as_array_mut()
        .unwrap()
        .insert(0, json!({"type": "Other", "status": "True"}));
    let invalid = with_verdicts(&kind, &stored(&invalid), None, at(9)).unwrap();
    let conditions = invalid["status"]["conditions"].as_array().unwrap();
    assert_eq!(conditions[0]["type"], "Other", "others stay");
    assert_eq!(not_in_force(&invalid), conditions[1]["message"].as_str());
    assert_eq!(not_in_force(&valid), None);
    let [status, since, message] =
        ["status", "lastTransitionTime", "message"].map(|field| conditions[1][field].as_str().unwrap());
    assert_eq!((status, since), ("False", "1970-01-01T00:00:09Z"));
    assert!(
        message.starts_with(
            "it is not in force: spec.gardener.schedulers.shoot.candidateDeterminationStrategy: Unsupported value"
        ),
        "{message}"
    );
    let mut worse = invalid.clone();
    worse["spec"][NAME]["schedulers"]["shoot"]["concurrentSyncs"] = json!(-1);
    let worse = with_verdicts(&kind, &stored(&worse), None, at(20)).unwrap();
    let condition = &worse["status"]["conditions"][1];
    assert_eq!(
        condition["lastTransitionTime"], "1970-01-01T00:00:09Z",
        "False since then"
    );
    assert!(condition["message"].as_str().unwrap().contains("concurrentSyncs"));
}

#[tokio::test]
async fn the_condition_follows_what_is_stored() {
    let store = Arc::new(MemoryStore::default());
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let source = Arc::clone(&store) as Arc<dyn Source>;
    let engine = Engine::new(berth_dialect_registry::all(), source, Arc::clone(&clock));
    let shared = Arc::clone(&store) as Arc<dyn Store>;
    let group = crate::group(berth_dialect_registry::all(), shared);
    let registry = Registry::builder(Chain::default(), clock)
        .build(&[group])
        .unwrap();
    let committer: Arc<dyn Committer> = Arc::new(RegistryCommitter(registry));
    let (lead, leading) = watch::channel(false);
    let modes = Arc::new(Modes::new(&engine, None, BTreeSet::from([NAME])));
    let task = spawn(&engine, &modes, &committer, leading);
    // Past the rules, as a hub might have it.
    write(&store, Verb::Create, &configuration("Nearest")).await;
    lead.send(true).unwrap();
    assert_eq!(condition(&store, "False").await["observedGeneration"], 3);
    write(&store, Verb::Update, &configuration("SameRegion")).await;
    assert_eq!(condition(&store, "True").await["reason"], "Valid");
    task.abort();
}

#[tokio::test]
async fn the_condition_deciding_is_about_the_configuration_in_force() {
    let store = Arc::new(MemoryStore::default());
    let source = Arc::clone(&store) as Arc<dyn Source>;
    let engine = Engine::new(berth_dialect_registry::all(), source, Arc::new(SystemClock));
    let modes = Modes::new(&engine, None, BTreeSet::new());
    let message = || deciding(&engine, &modes, NAME).unwrap().message;
    let mut valid = configuration("SameRegion");
    valid["spec"]["requests"] = json!({"selector": {"matchLabels": {"scheduler": "berth"}}});
    write(&store, Verb::Create, &valid).await;
    let before = message();
    assert!(before.contains("that spec.requests selects"), "{before}");
    // Past the rules, as a hub might have it.
    write(&store, Verb::Update, &configuration("Nearest")).await;
    assert_eq!(message(), before);
}

async fn write(store: &MemoryStore, verb: Verb, value: &Value) {
    let step = Step {
        verb,
        key: Key::new(config::RESOURCE, "", NAME),
        subresource: "",
        object: Some(Draft::new(value).unwrap()),
        expect: match verb {
            Verb::Create => Expect::Absent,
            _ => Expect::Present,
        },
        guards: Vec::new(),
    };
    store.apply(vec![step]).await.unwrap();
}

/// The condition Valid once it has `status`.
async fn condition(store: &MemoryStore, status: &str) -> Value {
    let mut watching = store
        .watch(Scope::One(config::RESOURCE), store.revision())
        .unwrap();
    let limit = Duration::from_mins(1);
    let seen = tokio::time::timeout(limit, async {
        loop {
            let stored = store.cached(config::RESOURCE).get("", NAME).cloned();
            let conditions =
                stored.and_then(|object| object.value()["status"]["conditions"].as_array().cloned());
            let found = conditions
                .into_iter()
                .flatten()
                .find(|condition| condition["type"] == VALID);
            if let Some(found) = found.filter(|condition| condition["status"] == status) {
                return found;
            }
            watching.next(usize::MAX).await.unwrap();
        }
    });
    seen.await.unwrap()
}

#[test]
fn on_a_hub_a_configuration_that_syncs_what_nothing_was_granted_for_is_not_in_force() {
    let on_hub = berth_dialect_registry::ActorArgs::default().settings_on_hub();
    let object = stored(&json!({
        "apiVersion": "config.berth.dev/v1alpha1", "kind": "SchedulerConfiguration",
        "metadata": {"name": "kcp", "uid": "u", "generation": 1},
        "spec": {"kcp": {"syncedResources": ["configmaps", "ingresses.networking.k8s.io"]}},
    }));
    let judged = |settings| {
        let kind = SchedulerConfiguration::new(berth_dialect_registry::with(&settings));
        with_verdicts(&kind, &object, None, at(0)).unwrap()
    };
    let told = judged(on_hub);
    let problem = not_in_force(&told).expect("it is left out");
    for wanted in [
        "spec.kcp.syncedResources[1]",
        "ingresses.networking.k8s.io",
        "--kcp-synced-resources",
    ] {
        assert!(problem.contains(wanted), "{wanted} is not in: {problem}");
    }
    let standalone = judged(berth_dialect_registry::Settings::default());
    assert_eq!(not_in_force(&standalone), None);
}
