//! Questions of a hub before it stores an object of its own: nothing that was asked about is stored here
//! meanwhile, as behind a hub, where the copies lag.

use berth_admission::{Operation, Request};

use super::*;

fn create<'a>(name: &'a str, user: &'a UserInfo) -> Request<'a> {
    Request {
        operation: Operation::Create,
        resource: SHOOTS,
        kind: "Shoot",
        subresource: "",
        namespace: "garden-dev",
        name,
        user,
        old: None,
        dry_run: false,
    }
}

fn user(name: &str, group: &str) -> UserInfo {
    UserInfo {
        name: name.to_owned(),
        groups: vec![group.to_owned()],
        ..UserInfo::default()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn no_webhook_gives_or_refuses_a_place_to_creates_that_name_none_however_many_there_are() {
    let world = Arc::new(World::new().await);
    world.seed("small", 1).await;
    let asking = (0..64).map(|number| {
        let world = Arc::clone(&world);
        tokio::spawn(async move {
            let (name, user) = (format!("s-{number}"), user("alice", "dev"));
            let request = create(&name, &user);
            let (mut object, mut warnings) = (shoot(&name, None), Vec::new());
            let plugins = world.webhooks.plugins_for(&request);
            plugins.ready().await?;
            plugins.mutate(&mut object, &mut warnings)?;
            plugins.check_rights(Some(&object)).await?;
            plugins.validate(Some(&object), &mut warnings)?;
            assert!(warnings.is_empty(), "there is room: {warnings:?}");
            Ok::<_, Status>(object["spec"]["seedName"].clone())
        })
    });
    for asked in asking.collect::<Vec<_>>() {
        let place = asked.await.unwrap().expect("no create is refused");
        assert_eq!(
            place,
            Value::Null,
            "64 creates would all be on the one free place"
        );
    }
}

#[tokio::test]
async fn a_create_without_a_feasible_seed_is_warned_of_by_the_webhook() {
    let world = World::new().await;
    let user = user("alice", "dev");
    let (request, mut warnings) = (create("s", &user), Vec::new());
    let plugins = world.webhooks.plugins_for(&request);
    plugins.ready().await.unwrap();
    let object = shoot("s", None);
    plugins.validate(Some(&object), &mut warnings).unwrap();
    assert!(
        warnings.len() == 1 && warnings[0].starts_with("not bound (NoSuitableSeed)"),
        "{warnings:?}"
    );
}

#[tokio::test]
async fn a_seed_that_a_create_names_takes_the_right_to_bind_where_nothing_reserves_it() {
    let world = World::new().await;
    world.seed("small", 3).await;
    let object = shoot("s", Some("small"));
    let (alice, root) = (user("alice", "dev"), user("root", "system:masters"));
    let request = create("s", &alice);
    let plugins = world.webhooks.plugins_for(&request);
    plugins.ready().await.unwrap();
    let refused = plugins.check_rights(Some(&object)).await.unwrap_err();
    assert!(
        refused.code == 403 && refused.message.contains("cannot be reserved for a create"),
        "{}",
        refused.message
    );
    let request = create("s", &root);
    let plugins = world.webhooks.plugins_for(&request);
    plugins.validate(Some(&object), &mut Vec::new()).unwrap();
    // Here, where the store holds the place until the object is in it, a feasible one is anybody's.
    world.create(&object).await.unwrap();
}

#[tokio::test]
async fn a_seed_that_cannot_be_judged_yet_takes_the_right_to_bind() {
    let world = World::new().await;
    world.seed("small", 3).await;
    let object = shoot("s", Some("small"));
    let (alice, root) = (user("alice", "dev"), user("root", "system:masters"));
    let request = create("s", &alice);
    let plugins = world.webhooks.plugins_for(&request);
    plugins.ready().await.unwrap();
    let waiting = "seeds are not listed yet";
    world.engine.hold("gardener", Some(waiting.to_owned()));
    let refused = plugins.check_rights(Some(&object)).await.unwrap_err();
    assert!(
        refused.code == 503 && refused.message.contains(waiting),
        "{}",
        refused.message
    );
    let request = create("s", &root);
    let rooted = world.webhooks.plugins_for(&request);
    rooted.check_rights(Some(&object)).await.unwrap();
    // By the time of the validation, the seed can be judged.
    world.engine.hold("gardener", None);
    rooted.validate(Some(&object), &mut Vec::new()).unwrap();
}
