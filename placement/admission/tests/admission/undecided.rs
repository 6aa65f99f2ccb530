//! Systems that another scheduler decides: nothing that a hub asks about is refused, and what is
//! stored here has the rules of its API alone.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};

use berth_admission::{Operation, Request};
use berth_configuration::{Mode, Modes};
use berth_engine::Mandate;

use super::*;

/// Says of every system whether it is decided.
struct Switch(AtomicBool);

impl Mandate for Switch {
    fn decides(&self, _: &str) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    fn guards(&self, dialect: &str) -> bool {
        self.decides(dialect)
    }
}

fn user(name: &str) -> UserInfo {
    UserInfo {
        name: name.to_owned(),
        ..UserInfo::default()
    }
}

/// Asks the webhooks about the write: gives what they leave in the audit log, or their refusal.
async fn asked(world: &World, request: &Request<'_>, object: Option<&Value>) -> Result<Vec<String>, Status> {
    let plugins = world.webhooks.plugins_for(request);
    plugins.ready().await?;
    if let Some(object) = object {
        plugins.mutate(&mut object.clone(), &mut Vec::new())?;
    }
    plugins.check_rights(object).await?;
    let mut warnings = Vec::new();
    plugins.validate(object, &mut warnings)?;
    assert!(warnings.is_empty(), "who observes warns of nothing: {warnings:?}");
    let annotations = plugins.annotations(object).into_iter();
    Ok(annotations
        .map(|(key, value)| format!("{key}: {value}"))
        .collect())
}

fn request<'a>(operation: Operation, user: &'a UserInfo, old: Option<&'a Value>) -> Request<'a> {
    Request {
        operation,
        resource: SHOOTS,
        kind: "Shoot",
        subresource: "",
        namespace: "garden-dev",
        name: "s",
        user,
        old,
        dry_run: false,
    }
}

#[tokio::test]
async fn webhooks_let_every_write_pass_of_what_is_not_decided_here() {
    let world = World::new().await;
    let switch = Arc::new(Switch(AtomicBool::new(true)));
    world.engine.set_mandate(Arc::clone(&switch) as Arc<_>).unwrap();
    world.seed("small", 1).await;
    let (alice, placed, moved) = (user("alice"), shoot("s", Some("small")), shoot("s", Some("gone")));
    let create = request(Operation::Create, &alice, None);
    let update = request(Operation::Update, &alice, Some(&placed));
    let unplaced = shoot("s", None);
    assert!(asked(&world, &create, Some(&placed)).await.is_err());
    assert!(asked(&world, &update, Some(&moved)).await.is_err());
    switch.0.store(false, Ordering::Relaxed);
    for (request, object, rule) in [
        (&create, &placed, "FeasiblePlace"),
        (&create, &unplaced, "AutoBind"),
        (&update, &moved, "ShootBinding"),
        (&update, &moved, "Agreement"),
    ] {
        let annotations = asked(&world, request, Some(object)).await.unwrap();
        let [told] = &annotations[..] else {
            panic!("one annotation: {annotations:?}");
        };
        assert!(told.starts_with("not-judged: ") && told.contains(rule), "{told}");
    }
}

#[tokio::test]
async fn webhooks_do_not_judge_the_systems_own_programs_but_keep_them_from_decisions() {
    let world = World::new().await;
    world.seed("small", 1).await;
    let gardenlet = user("gardener.cloud:system:seed:small");
    let (placed, mut odd) = (shoot("s", Some("small")), shoot("s", Some("small")));
    odd["spec"]["cloudProfileName"] = "no-such".into();
    let update = request(Operation::Update, &gardenlet, Some(&placed));
    asked(&world, &update, Some(&odd)).await.unwrap();
    let moved = shoot("s", Some("gone"));
    assert!(
        asked(&world, &update, Some(&moved)).await.is_err(),
        "that is what Berth decides"
    );
}

#[tokio::test]
async fn who_observes_what_is_stored_here_neither_binds_nor_guards_it_and_keeps_its_rules() {
    let world = World::new().await;
    let modes = Modes::new(&world.engine, Some(Mode::Observe), BTreeSet::new());
    world.engine.set_mandate(Arc::new(modes)).unwrap();
    let seed = world.seed("small", 1).await;
    let made = world.create(&shoot("s", None)).await.unwrap();
    assert_eq!(
        made.value()["spec"]["seedName"],
        Value::Null,
        "nobody picks a seed"
    );
    world.create(&shoot("placed", Some("small"))).await.unwrap();
    let refused = world.write(Verb::Delete, &seed, "").await.unwrap_err();
    assert!(
        refused.message.contains("it is used by 1 shoots"),
        "{}",
        refused.message
    );
}
