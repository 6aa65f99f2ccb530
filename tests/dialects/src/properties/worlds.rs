//! Properties of whole worlds, which do not depend on their history, and hold while they change.

use std::collections::{BTreeMap, BTreeSet};

use berth_dialect_contract::{Outcome, config};
use berth_scheduling::Random;

use super::laws::{self, Law, Matter};
use super::server::{self, Server};
use super::show;
use super::{Generator, Trial};

/// Tests `law` on every demand, each after the writes of the earlier ones.
pub(crate) fn each_demand(generator: &dyn Generator, trial: &Trial, law: Law) -> Result<(), String> {
    let mut server = Server::build(generator.dialect(), &trial.case)?;
    round(generator, trial, &mut server, &[law])
}

/// Tests `laws` on every demand of `server`, each after the writes of the earlier ones.
fn round(generator: &dyn Generator, trial: &Trial, server: &mut Server, laws: &[Law]) -> Result<(), String> {
    let settles = generator.settles(&trial.case);
    for demand in server.demands() {
        let matter = Matter {
            generator,
            settles,
            demand: &demand,
            seed: trial.random,
        };
        for law in laws {
            law(&matter, server.clone())?;
        }
        server.settle(&demand)?;
    }
    Ok(())
}

/// Tests every law at every step of a story.
pub(crate) fn all_along(generator: &dyn Generator, trial: &Trial) -> Result<(), String> {
    let mut server = Server::build(generator.dialect(), &trial.case)?;
    round(generator, trial, &mut server, &laws::ALL)?;
    for (step, later) in (1..).zip(&trial.case.later) {
        let with_step = |problem: String| format!("at step {step}: {problem}");
        server.happen(later).map_err(with_step)?;
        server.usable().map_err(with_step)?;
        round(generator, trial, &mut server, &laws::ALL).map_err(with_step)?;
        let fresh = server.rebuilt()?;
        show::same(
            "built afresh",
            &server::reports(&server)?,
            &server::reports(&fresh)?,
        )
        .map_err(with_step)?;
    }
    Ok(())
}

/// Shuffles `list`.
fn shuffle<T>(list: &mut [T], random: &mut Random) {
    for place in (1..list.len()).rev() {
        let other = random.below(place as u64 + 1);
        list.swap(place, usize::try_from(other).unwrap_or(place));
    }
}

/// Decides one demand and drops the decision, so that parts which are built at the first read are built
/// early.
fn peek(server: &Server, random: &mut Random) -> Result<(), String> {
    let demands = server.demands();
    let place = random.below(demands.len() as u64);
    match usize::try_from(place).ok().and_then(|place| demands.get(place)) {
        Some(demand) => server.decide(demand).map(drop),
        None => Ok(()),
    }
}

/// Every order of arrival gives the same reports.
pub(crate) fn any_order(generator: &dyn Generator, trial: &Trial) -> Result<(), String> {
    let straight = Server::build(generator.dialect(), &trial.case)?;
    let mut random = Random::new(trial.random);
    let mut other = Server::empty(generator.dialect(), trial.case.now);
    let mut objects = other.read_all(&trial.case)?;
    shuffle(&mut objects, &mut random);
    for (key, object) in &objects {
        other.fold(key, Some(object))?;
        peek(&other, &mut random)?;
    }
    let order: Vec<String> = objects.iter().map(|(key, _)| key.to_string()).collect();
    let what = format!("arrived as {}", order.join(", "));
    same_world(&what, &straight, &other)
}

/// Checks that two worlds have equal reports and views.
fn same_world(what: &str, one: &Server, two: &Server) -> Result<(), String> {
    show::same(what, &server::reports(one)?, &server::reports(two)?)?;
    let views = |server: &Server| show::views(server.inventory(), server.now);
    let (first, second) = (views(one), views(two));
    if first != second {
        return Err(format!("{what}: the views differ: {first:?} and {second:?}"));
    }
    Ok(())
}

/// Tests a target that no demand can use.
pub(crate) fn infeasible(generator: &dyn Generator, trial: &Trial) -> Result<(), String> {
    let Some(target) = &trial.case.infeasible else {
        return Ok(());
    };
    let without = Server::build(generator.dialect(), &trial.case)?;
    let mut with = without.clone();
    let (key, object) = with.read(target)?;
    let known: BTreeSet<String> = names(&without);
    with.fold(&key, Some(&object))?;
    let added: Vec<String> = names(&with).difference(&known).cloned().collect();
    let [added] = added.as_slice() else {
        return Err(format!(
            "the generator's infeasible target {key} adds the candidates {added:?}, not one"
        ));
    };
    for demand in without.demands() {
        let (Some(one), Some(two)) = (without.decide(&demand)?, with.decide(&demand)?) else {
            continue;
        };
        let judged = !matches!(
            two.outcome,
            Outcome::Invalid | Outcome::Ignored | Outcome::Released
        );
        let candidate = with.inventory().candidate(added);
        if judged && candidate.is_some_and(|candidate| two.solved.row_of(candidate).is_some()) {
            return Err(format!(
                "the generator's infeasible target {added} is feasible for {demand}"
            ));
        }
        let (was, is) = (
            show::picked(without.inventory(), &one),
            show::picked(with.inventory(), &two),
        );
        if was != is {
            return Err(format!(
                "{demand}: with {added}, {is:?} is picked instead of {was:?}"
            ));
        }
        if one.changes != two.changes {
            return Err(format!(
                "{demand}: with {added}, {:?} changes instead of {:?}",
                two.changes, one.changes
            ));
        }
    }
    with.fold(&key, None)?;
    same_world(&format!("{added} came and went"), &without, &with)
}

fn names(server: &Server) -> BTreeSet<String> {
    let inventory = server.inventory();
    (0..inventory.count())
        .map(|candidate| inventory.cluster_name(candidate).to_string())
        .collect()
}

/// Checks that every changed view is named, from the first object on.
pub(crate) fn named(generator: &dyn Generator, trial: &Trial) -> Result<(), String> {
    let mut server = Server::empty(generator.dialect(), trial.case.now);
    server.watched = true;
    let mut objects = server.read_all(&trial.case)?;
    shuffle(&mut objects, &mut Random::new(trial.random));
    for (key, object) in &objects {
        server.fold(key, Some(object))?;
    }
    for demand in server.demands() {
        server.settle(&demand)?;
    }
    for later in &trial.case.later {
        server.happen(later)?;
        for demand in server.demands() {
            server.settle(&demand)?;
        }
    }
    for (key, _) in &objects {
        server.fold(key, None)?;
    }
    Ok(())
}

/// Checks that earlier snapshots are unchanged at the end.
pub(crate) fn stand(generator: &dyn Generator, trial: &Trial) -> Result<(), String> {
    let mut server = Server::empty(generator.dialect(), trial.case.now);
    let mut random = Random::new(trial.random);
    let mut objects = server.read_all(&trial.case)?;
    shuffle(&mut objects, &mut random);
    let mut taken = Vec::new();
    let mut take = |server: &Server, random: &mut Random| -> Result<(), String> {
        if random.below(3) == 0 {
            taken.push((
                server.clone(),
                server::reports(server)?,
                show::views(server.inventory(), server.now),
            ));
        }
        Ok(())
    };
    for (key, object) in &objects {
        server.fold(key, Some(object))?;
        take(&server, &mut random)?;
    }
    for demand in server.demands() {
        server.settle(&demand)?;
        take(&server, &mut random)?;
    }
    for later in &trial.case.later {
        server.happen(later)?;
        take(&server, &mut random)?;
    }
    for (key, _) in &objects {
        server.fold(key, None)?;
        take(&server, &mut random)?;
    }
    for (old, reports, views) in &taken {
        let what = format!("the snapshot at revision {}", old.snapshot.revision);
        show::same(&what, reports, &server::reports(old)?)?;
        let now = show::views(old.inventory(), old.now);
        if now != *views {
            return Err(format!("{what} showed {views:?} and shows {now:?}"));
        }
    }
    Ok(())
}

/// Tests a world that was another one before.
pub(crate) fn incremental(generator: &dyn Generator, trial: &Trial) -> Result<(), String> {
    let Some(before) = &trial.before else {
        return Ok(());
    };
    let fresh = Server::build(generator.dialect(), &trial.case)?;
    let mut server = Server::empty(generator.dialect(), trial.case.now);
    let mut random = Random::new(trial.random);
    let old: BTreeMap<_, _> = server.read_all(before)?.into_iter().collect();
    let new: BTreeMap<_, _> = server.read_all(&trial.case)?.into_iter().collect();
    for (key, object) in &old {
        server.fold(key, Some(object))?;
        peek(&server, &mut random)?;
    }
    let keys: BTreeSet<_> = old.keys().chain(new.keys()).collect();
    let mut keys: Vec<_> = keys.into_iter().collect();
    shuffle(&mut keys, &mut random);
    for key in keys {
        server.fold(key, new.get(key))?;
        peek(&server, &mut random)?;
    }
    let name = server.snapshot.dialect.name();
    if trial.case.config.is_none() && server.snapshot.dialect.reads().contains(&config::RESOURCE) {
        server.fold(&config::key(name), None)?;
    }
    server.usable()?;
    same_world("reached by updates and deletes", &fresh, &server)
}
