//! Rules follow the stored configuration; an invalid one leaves the last good one in force.

use berth_admission::{Chain, Operation, UserInfo};
use berth_apimachinery::write::Verb;
use berth_apimachinery::{Draft, Key};
use berth_configuration::Modes;
use berth_storage::{Expect, MemoryStore, Source, Step};
use serde_json::json;

use super::*;

const SECRETS: GroupResource = GroupResource::new("", "secrets");
const CONFIG_MAPS: GroupResource = GroupResource::new("", "configmaps");

struct World {
    store: Arc<MemoryStore>,
    rules: Arc<Rules>,
}

impl World {
    fn new() -> Self {
        let store = Arc::new(MemoryStore::default());
        let kcp = berth_dialect_registry::by_name("kcp").unwrap();
        let source = Arc::clone(&store) as Arc<dyn Source>;
        let engine = Engine::new(
            vec![Arc::clone(&kcp)],
            source,
            Arc::new(berth_apiserver::SystemClock),
        );
        let modes = Modes::new(&engine, None, BTreeSet::new());
        engine.set_mandate(Arc::new(modes)).unwrap();
        let rules = Rules::new(&kcp, &engine);
        Self { store, rules }
    }

    fn store(&self, verb: Verb, spec: Value) {
        let object = json!({
            "apiVersion": "config.berth.dev/v1alpha1", "kind": "SchedulerConfiguration",
            "metadata": {"name": "kcp"}, "spec": spec,
        });
        let step = Step {
            verb,
            key: Key::new(config::RESOURCE, "", "kcp"),
            subresource: "",
            object: (verb != Verb::Delete).then(|| Draft::new(&object).unwrap()),
            expect: if verb == Verb::Create {
                Expect::Absent
            } else {
                Expect::Present
            },
            guards: Vec::new(),
        };
        self.store.commit(&[step]).unwrap();
    }

    /// Whether a user's change of a guarded label of an object of `resource` is refused.
    fn refuses(&self, resource: GroupResource) -> bool {
        let user = UserInfo::default();
        let old = json!({"metadata": {"name": "a", "namespace": "app"}});
        let mut new = old.clone();
        new["metadata"]["labels"] = json!({"state.internal.workloads.kcp.dev/x": "Sync"});
        let request = Request {
            operation: Operation::Update,
            resource,
            kind: "Any",
            subresource: "",
            namespace: "app",
            name: "a",
            user: &user,
            old: Some(&old),
            dry_run: false,
        };
        let chain = Chain::new(self.rules.plugins());
        let refused = chain
            .plugins_for(&request)
            .validate(Some(&new), &mut Vec::new())
            .is_err();
        let known = self.rules.guarded(resource.group, resource.resource) == Some(resource);
        assert_eq!(refused, known, "a webhook is asked about what is guarded");
        refused
    }
}

#[test]
fn what_is_guarded_follows_the_configuration() {
    let world = World::new();
    assert!(world.refuses(SECRETS) && world.refuses(CONFIG_MAPS));
    world.store(Verb::Create, json!({"kcp": {"syncedResources": ["secrets"]}}));
    assert!(world.refuses(SECRETS) && !world.refuses(CONFIG_MAPS));
    for wrong in [
        json!({"syncedResources": ["*"]}),
        json!([]),
        json!({"unknown": 1}),
    ] {
        world.store(Verb::Update, json!({"kcp": wrong}));
        assert!(
            world.refuses(SECRETS) && !world.refuses(CONFIG_MAPS),
            "the last good one"
        );
    }
    world.store(Verb::Update, json!({"kcp": {"syncedResources": []}}));
    assert!(!world.refuses(SECRETS) && !world.refuses(CONFIG_MAPS));
    world.store(Verb::Update, json!({"autoBind": "Off"}));
    assert!(
        world.refuses(SECRETS) && world.refuses(CONFIG_MAPS),
        "the defaults again"
    );
    world.store(Verb::Update, json!({"kcp": {"syncedResources": []}}));
    world.store(Verb::Delete, Value::Null);
    assert!(world.refuses(SECRETS), "none is the defaults");
}

#[test]
fn an_invalid_configuration_trusts_no_other_users_than_the_last_valid_one() {
    let world = World::new();
    let trusts = |user: &str| world.rules.configuration().users.includes(user);
    world.store(Verb::Create, json!({"systemUsers": ["ann"]}));
    assert!(trusts("ann") && !trusts("bob"));
    for wrong in [
        json!({"systemUsers": ["bob"], "kcp": {"syncedResources": ["*"]}}),
        json!({"systemUsers": ["bob"], "mode": "Sometimes"}),
    ] {
        world.store(Verb::Update, wrong);
        assert!(trusts("ann") && !trusts("bob"));
    }
    world.store(Verb::Update, json!({"systemUsers": ["bob"]}));
    assert!(!trusts("ann") && trusts("bob"));
}

#[test]
fn the_plugins_are_those_of_the_dialect_one_for_one() {
    let world = World::new();
    let names = |plugins: Vec<Arc<dyn Plugin>>| -> Vec<(&'static str, bool)> {
        plugins
            .iter()
            .map(|plugin| (plugin.name(), plugin.is_guard()))
            .collect()
    };
    let kcp = berth_dialect_registry::by_name("kcp").unwrap();
    assert_eq!(names(world.rules.plugins()), names(kcp.admission()));
}
