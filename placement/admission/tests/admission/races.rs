//! Verdicts hold at the moment of the write, however the writes interleave.

use berth_engine::{Bind, BindError, UnplacedTreatment};

use super::*;

/// Rounds of each race; every one has new objects.
const ROUNDS: usize = 40;

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_seed_is_never_deleted_under_a_shoot_that_is_being_bound() {
    let world = Arc::new(World::new().await);
    let (mut kept, mut gone) = (0, 0);
    for round in 0..ROUNDS {
        let (seed_name, shoot_name) = (format!("seed-{round}"), format!("shoot-{round}"));
        let seed = world.seed(&seed_name, 5).await;
        let created = world.create(&shoot(&shoot_name, None)).await.unwrap();
        let key = Key::new(SHOOTS, "garden-dev", created.meta().name());
        let binding = {
            let (world, chosen) = (Arc::clone(&world), vec![seed_name.clone()]);
            tokio::spawn(async move {
                let wish = Bind {
                    dialect: "gardener",
                    demand: &key,
                    chosen: Some(&chosen),
                    dry_run: false,
                    unplaced: UnplacedTreatment::Refuse,
                    by: None,
                };
                world.engine.bind(&*world.committer, wish).await.map(drop)
            })
        };
        let deleting = {
            let world = Arc::clone(&world);
            tokio::spawn(async move {
                if round % 2 == 0 {
                    tokio::task::yield_now().await;
                }
                world.write(Verb::Delete, &seed, "").await.map(drop)
            })
        };
        let (bound, deleted) = (binding.await.unwrap(), deleting.await.unwrap());
        let there = world.stored(SEEDS, "", &seed_name).is_some();
        let stored = world.stored(SHOOTS, "garden-dev", &shoot_name).unwrap();
        let sits = stored.value()["spec"]["seedName"] == *seed_name;
        assert!(
            there || !sits,
            "round {round}: a shoot sits on a seed that is gone"
        );
        assert_eq!(bound.is_ok(), sits, "round {round}: {bound:?}");
        match deleted {
            Ok(()) => {
                assert!(!there);
                gone += 1;
                assert!(matches!(bound, Err(BindError::Refused(_))), "{bound:?}");
            }
            Err(status) => {
                kept += 1;
                assert!(
                    status.code == 403 && status.message.contains("it is used by 1 shoots")
                        || status.code == 409,
                    "{}",
                    status.message
                );
            }
        }
    }
    assert_eq!(kept + gone, ROUNDS);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn places_given_on_create_never_exceed_the_capacity() {
    let world = Arc::new(World::new().await);
    world.seed("small", 3).await;
    let creating: Vec<_> = (0..12)
        .map(|number| {
            let world = Arc::clone(&world);
            tokio::spawn(async move {
                let object = shoot(&format!("s-{number}"), Some("small"));
                loop {
                    match world.create(&object).await {
                        // In-process lists leave it to their makers to try again; clients' creates are tried
                        // again.
                        Err(status) if status.code == 409 => {}
                        result => return result.map(drop),
                    }
                }
            })
        })
        .collect();
    let mut made = 0;
    for task in creating {
        match task.await.unwrap() {
            Ok(()) => made += 1,
            Err(status) => assert_eq!(status.code, 422, "{}", status.message),
        }
    }
    assert_eq!(made, 3);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_profile_is_never_deleted_under_a_shoot_that_is_being_made() {
    let world = Arc::new(World::new().await);
    for round in 0..ROUNDS {
        let name = format!("profile-{round}");
        let profile = json!({
            "apiVersion": "core.gardener.cloud/v1beta1", "kind": "CloudProfile", "metadata": {"name": name},
            "spec": {"type": "aws"},
        });
        world.create(&profile).await.unwrap();
        let mut user = shoot(&format!("user-{round}"), None);
        user["spec"]["cloudProfile"]["name"] = name.as_str().into();
        let making = {
            let world = Arc::clone(&world);
            tokio::spawn(async move { world.create(&user).await.map(|object| object.revision()) })
        };
        let deleting = {
            let world = Arc::clone(&world);
            tokio::spawn(async move {
                world
                    .write(Verb::Delete, &profile, "")
                    .await
                    .map(|object| object.revision())
            })
        };
        let made = making.await.unwrap().unwrap();
        match deleting.await.unwrap() {
            // Deleted first: the shoot was made knowing nothing better, as it would have been a second later.
            Ok(deleted) => assert!(deleted < made, "round {round}: deleted while in use"),
            Err(status) => assert!(matches!(status.code, 403 | 409), "{}", status.message),
        }
    }
}
