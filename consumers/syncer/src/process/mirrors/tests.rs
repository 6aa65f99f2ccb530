//! Keys that become due, and plans.

use berth_dialect_kcp::syncer_view::copy::copy;
use berth_dialect_kcp::syncer_view::step::SyncerWait;
use kube::core::ApiResource;
use serde_json::json;

use super::*;

fn kind(group: &str, kind: &str, plural: &str) -> SyncedKind {
    SyncedKind {
        api: ApiResource {
            group: group.to_owned(),
            version: "v1".to_owned(),
            api_version: "v1".to_owned(),
            kind: kind.to_owned(),
            plural: plural.to_owned(),
        },
        reports: false,
    }
}

fn owner() -> Owner {
    Owner {
        identifier: "x".to_owned(),
        logical_cluster: "root".to_owned(),
        registration: None,
        adopted: Vec::new(),
    }
}

fn mirrors() -> Mirrors {
    Mirrors::new(
        owner(),
        &[
            kind("", "Namespace", "namespaces"),
            kind("", "ConfigMap", "configmaps"),
        ],
    )
}

fn namespace(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "resourceVersion": "1"}})
}

fn config_map(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"a": "1"}, "metadata": {"name": name, "namespace": "app",
        "resourceVersion": "2", "finalizers": ["workloads.kcp.dev/syncer-x"]}})
}

fn key(kind: usize, name: &str) -> Key {
    let namespace = if kind == NAMESPACES { "" } else { "app" };
    Key {
        kind,
        namespace: namespace.to_owned(),
        name: name.to_owned(),
    }
}

impl Mirrors {
    fn see(&mut self, side: Side, kind: usize, content: ObservationContent) -> Vec<Key> {
        self.apply(Observation { side, kind, content })
    }

    fn list(&mut self, side: Side, kind: usize, objects: &[Value]) -> Vec<Key> {
        self.see(side, kind, ObservationContent::Begin);
        for object in objects {
            assert!(
                self.see(side, kind, ObservationContent::Object(Arc::new(object.clone())))
                    .is_empty()
            );
        }
        self.see(side, kind, ObservationContent::End)
    }

    fn step_at(&mut self, key: &Key, now: Instant) -> Option<Step> {
        self.plan(key, now).map(|plan| plan.step)
    }

    fn step(&mut self, key: &Key) -> Option<Step> {
        self.step_at(key, Instant::now())
    }
}

fn home() -> Value {
    owner().namespace_copy("app")
}

#[test]
fn nothing_is_planned_before_enough_is_known() {
    let mut mirrors = mirrors();
    let mut leaving = namespace("app");
    leaving["metadata"]["deletionTimestamp"] = "2021-10-28T08:00:00Z".into();
    mirrors.list(Side::Up, 0, &[leaving]);
    mirrors.list(Side::Down, 0, &[home()]);
    assert_eq!(mirrors.step(&key(0, "app")), None, "there may be config maps");
    mirrors.see(
        Side::Up,
        0,
        ObservationContent::Object(Arc::new(namespace("app"))),
    );
    assert_eq!(mirrors.step(&key(0, "app")), Some(Step::Rest));
    mirrors.list(
        Side::Down,
        1,
        &[copy("x", &config_map("a"), &downstream_namespace("root", "app"))],
    );
    assert_eq!(
        mirrors.step(&key(1, "a")),
        None,
        "an empty view is not a view that is not known"
    );
    let due = mirrors.list(Side::Up, 1, &[config_map("a")]);
    assert_eq!(due, [key(0, "app"), key(1, "a")]);
    assert_eq!(mirrors.step(&key(0, "app")), Some(Step::Rest));
    assert_eq!(mirrors.step(&key(1, "a")), Some(Step::Rest));
    assert!(mirrors.is_complete_except(|_, _| false));
}

#[test]
fn a_kind_that_cannot_be_followed_stops_only_itself() {
    let mut mirrors = mirrors();
    mirrors.list(Side::Up, 0, &[namespace("app")]);
    mirrors.list(Side::Down, 0, &[]);
    mirrors.list(Side::Up, 1, &[config_map("a")]);
    mirrors.see(Side::Down, 1, ObservationContent::Failed("forbidden".to_owned()));
    assert!(matches!(mirrors.step(&key(0, "app")), Some(Step::Create(_))));
    assert_eq!(mirrors.step(&key(1, "a")), None);
    assert!(!mirrors.is_complete_except(|_, _| false));
    assert!(mirrors.is_complete_except(|kind, side| (kind, side) == (1, Side::Down)));
    assert_eq!(mirrors.upstream_count(), 2);
    assert_eq!(mirrors.exists_upstream(&key(1, "a")), Some(true));
}

#[test]
fn what_a_new_list_does_not_have_is_gone() {
    let mut mirrors = mirrors();
    let down = downstream_namespace("root", "app");
    mirrors.list(Side::Up, 0, &[namespace("app")]);
    mirrors.list(Side::Down, 0, &[home()]);
    mirrors.list(Side::Up, 1, &[config_map("a"), config_map("b")]);
    mirrors.list(
        Side::Down,
        1,
        &[
            copy("x", &config_map("a"), &down),
            copy("x", &config_map("b"), &down),
        ],
    );
    let due = mirrors.list(Side::Up, 1, &[config_map("b")]);
    assert!(due.contains(&key(1, "a")), "{due:?}");
    assert_eq!(mirrors.step(&key(1, "a")), Some(Step::Delete));
}

#[test]
fn a_copy_in_the_form_of_the_cluster_rests_until_it_is_gone() {
    let mut mirrors = mirrors();
    let mut up = config_map("a");
    up["settings"] = json!({"cpu": 0.5});
    let written = copy("x", &up, &downstream_namespace("root", "app"));
    let mut stored = written.clone();
    stored["settings"]["cpu"] = "500m".into();
    mirrors.list(Side::Up, 0, &[namespace("app")]);
    mirrors.list(Side::Down, 0, &[home()]);
    mirrors.list(Side::Up, 1, &[up]);
    mirrors.list(Side::Down, 1, std::slice::from_ref(&stored));
    assert!(matches!(mirrors.step(&key(1, "a")), Some(Step::Update(_))));
    let now = Instant::now();
    assert!(mirrors.record_form(&key(1, "a"), ClusterForm::of(&written, &stored), now));
    assert_eq!(mirrors.step_at(&key(1, "a"), now), Some(Step::Rest));
    assert!(!mirrors.record_form(&key(1, "a"), None, now));
    assert!(matches!(
        mirrors.step_at(&key(1, "a"), now),
        Some(Step::Update(_))
    ));
}

#[test]
fn the_form_of_a_copy_is_tested_by_another_write_after_a_while() {
    let mut mirrors = mirrors();
    let mut up = config_map("a");
    up["settings"] = json!({"new": 1});
    let written = copy("x", &up, &downstream_namespace("root", "app"));
    let mut stored = written.clone();
    stored["settings"] = json!({});
    mirrors.list(Side::Up, 0, &[namespace("app")]);
    mirrors.list(Side::Down, 0, &[home()]);
    mirrors.list(Side::Up, 1, &[up]);
    mirrors.list(Side::Down, 1, std::slice::from_ref(&stored));
    let (form, mut now) = (ClusterForm::of(&written, &stored), Instant::now());
    for _ in 0..2 {
        assert!(mirrors.record_form(&key(1, "a"), form.clone(), now));
        assert!(
            !mirrors.record_form(&key(1, "a"), form.clone(), now),
            "it is known"
        );
        assert_eq!(mirrors.step_at(&key(1, "a"), now), Some(Step::Rest));
        now += FORM_KEPT;
        assert!(matches!(
            mirrors.step_at(&key(1, "a"), now),
            Some(Step::Update(_))
        ));
    }
}

#[test]
fn content_waits_for_its_namespace_and_a_namespace_for_its_content() {
    let mut mirrors = mirrors();
    mirrors.list(Side::Down, 0, &[]);
    mirrors.list(Side::Down, 1, &[]);
    mirrors.list(Side::Up, 1, &[config_map("a")]);
    mirrors.list(Side::Up, 0, &[namespace("app")]);
    assert!(matches!(mirrors.step(&key(0, "app")), Some(Step::Create(_))));
    assert_eq!(
        mirrors.step(&key(1, "a")),
        Some(Step::Wait(SyncerWait::Namespace))
    );
    let due = mirrors.see(Side::Down, 0, ObservationContent::Object(Arc::new(home())));
    assert!(
        due.contains(&key(1, "a")) && due.contains(&key(0, "app")),
        "{due:?}"
    );
    let Some(plan) = mirrors.plan(&key(1, "a"), Instant::now()) else {
        panic!("all is known")
    };
    assert!(matches!(plan.step, Step::Create(_)));
    assert_eq!(plan.down, (downstream_namespace("root", "app"), "a".to_owned()));

    let mut leaving = namespace("app");
    leaving["metadata"]["deletionTimestamp"] = "2021-10-28T08:00:00Z".into();
    mirrors.see(Side::Up, 0, ObservationContent::Object(Arc::new(leaving)));
    assert_eq!(
        mirrors.step(&key(0, "app")),
        Some(Step::Wait(SyncerWait::Content))
    );
    let due = mirrors.see(Side::Up, 1, ObservationContent::Gone(Arc::new(config_map("a"))));
    assert!(due.contains(&key(0, "app")), "{due:?}");
    assert_eq!(mirrors.step(&key(0, "app")), Some(Step::Delete));
}

#[test]
fn copies_are_known_by_what_they_are_copies_of() {
    let mut mirrors = mirrors();
    let original = config_map("kube-root-ca.crt");
    let mut made = copy("x", &original, &downstream_namespace("root", "app"));
    assert_eq!(made["metadata"]["name"], "kcp-root-ca.crt");
    mirrors.list(Side::Down, 0, &[home()]);
    let due = mirrors.list(Side::Down, 1, std::slice::from_ref(&made));
    assert!(due.contains(&key(1, "kube-root-ca.crt")), "{due:?}");
    made["metadata"]["namespace"] = "elsewhere".into();
    let due = mirrors.see(Side::Down, 1, ObservationContent::Object(Arc::new(made)));
    assert!(due.is_empty(), "in a namespace that is none of ours: {due:?}");
}

#[test]
fn copies_are_known_when_their_namespace_is_gone() {
    let mut mirrors = mirrors();
    let made = copy("x", &config_map("a"), &downstream_namespace("root", "app"));
    mirrors.list(Side::Up, 0, &[namespace("app")]);
    mirrors.list(Side::Down, 0, &[home()]);
    mirrors.list(Side::Up, 1, &[config_map("a")]);
    mirrors.list(Side::Down, 1, std::slice::from_ref(&made));
    assert_eq!(mirrors.step(&key(1, "a")), Some(Step::Rest));
    mirrors.see(Side::Down, 0, ObservationContent::Gone(Arc::new(home())));
    let due = mirrors.see(Side::Down, 1, ObservationContent::Gone(Arc::new(made)));
    assert!(due.contains(&key(1, "a")), "{due:?}");
}

#[test]
fn a_list_lasts_from_its_beginning_to_its_end() {
    let mut mirrors = mirrors();
    let object = || ObservationContent::Object(Arc::new(config_map("a")));
    for content in [
        ObservationContent::Begin,
        object(),
        ObservationContent::Failed("expired".to_owned()),
        ObservationContent::Begin,
    ] {
        mirrors.see(Side::Down, 1, content);
        assert!(mirrors.is_listing(1, Side::Down) && !mirrors.is_listing(1, Side::Up));
    }
    for content in [ObservationContent::End, object()] {
        mirrors.see(Side::Down, 1, content);
        assert!(!mirrors.is_listing(1, Side::Down));
    }
}

#[test]
fn an_object_is_gone_when_neither_side_has_it() {
    let mut mirrors = mirrors();
    let (down, object) = (downstream_namespace("root", "app"), key(1, "a"));
    mirrors.list(Side::Up, 0, &[namespace("app")]);
    mirrors.list(Side::Down, 0, &[home()]);
    mirrors.list(Side::Up, 1, &[config_map("a")]);
    mirrors.list(Side::Down, 1, &[copy("x", &config_map("a"), &down)]);
    let at = (down, "a".to_owned());
    assert!(!mirrors.is_gone(&object, &at));
    mirrors.list(Side::Up, 1, &[]);
    assert!(!mirrors.is_gone(&object, &at), "the copy is still there");
    mirrors.list(Side::Down, 1, &[]);
    assert!(mirrors.is_gone(&object, &at));
}
