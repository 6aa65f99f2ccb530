//! The fold of the inventory: each change updates the records, and makes waiting shoots due.

use std::sync::Arc;

use berth_apimachinery::{Change, Key, Object};
use berth_dialect_contract::config;
use berth_dialect_contract::rules::RulesChoice;
use berth_dialect_contract::{AffectedDemands, Consequences};
use serde::Deserialize;

use super::exposure::Exposure;
use super::profile::{NamespacedProfile, Profile};
use super::project::Project;
use super::region::RegionMap;
use super::seed::Row;
use super::shoot::{Requirements, ShootRecord};
use super::{Fleet, OccupiedSeeds, ShootEntry};
use crate::config::Config;
use crate::kind::shoot::spec::NAMESPACED_CLOUD_PROFILE;
use crate::names::{
    CLOUD_PROFILES, CONFIG_MAPS, DIALECT, EXPOSURE_CLASSES, GARDEN_NAMESPACE, MANAGED_SEEDS,
    NAMESPACED_CLOUD_PROFILES, PROJECTS, SEEDS, SHOOTS,
};

impl Fleet {
    /// Applies `change`, and returns the due and changed shoots and the changed seeds.
    pub(crate) fn apply_change(&mut self, change: &Change) -> Consequences {
        let resource = change.key.resource;
        let new = change.new.as_ref();
        if resource == SHOOTS {
            self.apply_shoot(&change.key, new)
        } else if resource == SEEDS {
            self.apply_seed(&change.key, new)
        } else if resource == CLOUD_PROFILES {
            self.apply_profile(&change.key, new)
        } else if resource == NAMESPACED_CLOUD_PROFILES {
            self.apply_namespaced_profile(&change.key, new)
        } else if resource == PROJECTS {
            self.apply_project(&change.key, new)
        } else if resource == EXPOSURE_CLASSES {
            self.apply_exposure_class(&change.key, new)
        } else if resource == MANAGED_SEEDS {
            self.apply_managed_seed(&change.key, new)
        } else if resource == CONFIG_MAPS {
            self.apply_config_map(&change.key, new)
        } else if change.key == config::key(DIALECT) {
            self.apply_config(&change.key, new)
        } else {
            Consequences::nothing()
        }
    }

    fn apply_shoot(&mut self, key: &Key, new: Option<&Arc<Object>>) -> Consequences {
        let old = self.shoots.remove(key);
        let entry = match new {
            Some(object) => {
                let read = self.unusable.record(key, ShootRecord::read(object));
                let record = read.map(Arc::new).ok_or_else(|| Arc::clone(object));
                let occupied = match &record {
                    Ok(record) => record.occupied.clone(),
                    Err(object) => occupied_by(object),
                };
                Some(ShootEntry { occupied, record })
            }
            None => {
                self.unusable.forget(key);
                None
            }
        };
        let none = OccupiedSeeds::default();
        let before = old.as_ref().map_or(&none, |entry| &entry.occupied);
        let after = entry.as_ref().map_or(&none, |entry| &entry.occupied);
        let (mut targets, freed) = self.move_shoot(before, after);

        let old_record = old.as_ref().and_then(|entry| entry.record.as_ref().ok());
        let new_record = entry.as_ref().and_then(|entry| entry.record.as_ref().ok());
        let needs_seed = new_record.is_some_and(|record| record.needs_seed());
        let is_due = needs_seed
            && !old_record.is_some_and(|old_record| {
                old_record.needs_seed()
                    && new_record.is_some_and(|new_record| new_record.requirements == old_record.requirements)
            });
        if needs_seed {
            self.waiting.insert(key.clone());
        } else {
            self.waiting.remove(key);
        }
        if let Some(entry) = entry {
            self.shoots.insert(key.clone(), entry);
        }
        let moved = self.managed.seeds_of(key);
        let relabelled: Vec<Arc<str>> = moved.into_iter().filter(|seed| self.relabel(seed)).collect();
        let decide = if freed || !relabelled.is_empty() {
            self.all_waiting()
        } else if is_due {
            AffectedDemands::Some(vec![key.clone()])
        } else {
            AffectedDemands::None
        };
        let mut demands = vec![key.clone()];
        if let AffectedDemands::Some(others) = &decide {
            demands.extend(others.iter().filter(|other| *other != key).cloned());
        }
        targets.extend(relabelled);
        Consequences {
            decide,
            demands: AffectedDemands::Some(demands),
            targets: Some(targets),
        }
    }

    fn apply_managed_seed(&mut self, key: &Key, new: Option<&Arc<Object>>) -> Consequences {
        if !self.managed.apply(key, new) || !self.relabel(&key.name) {
            return Consequences::nothing();
        }
        let decide = self.all_waiting();
        Consequences {
            demands: decide.clone(),
            decide,
            targets: Some(vec![Arc::clone(&key.name)]),
        }
    }

    /// The name of the seed that hosts the seed `name`, if that seed is itself a shoot.
    fn host_of(&self, name: &str) -> Option<Arc<str>> {
        self.shoot(self.managed.shoot_of(name)?)?.seed.clone()
    }

    /// Updates the label of the seed `name` about the seed that hosts it. Returns whether a fact of the row
    /// changed.
    fn relabel(&mut self, name: &str) -> bool {
        let Ok(position) = self.position(name) else {
            return false;
        };
        let row = &self.rows[position];
        let (object, used) = (Arc::clone(&row.record.object), row.used);
        let host = self.host_of(name);
        match Row::read(&object, used, host.as_deref(), &mut self.interners) {
            Ok(row) => {
                let old = self.rows.set(position, row);
                self.rows[position].facts != old.facts
            }
            // The object has been parsed before, and the host does not affect parsing.
            Err(_) => false,
        }
    }

    /// Moves a shoot from the seeds `before` to the seeds `after`. Returns the existing seeds whose number of
    /// shoots changed, and whether a full seed got room.
    fn move_shoot(&mut self, before: &OccupiedSeeds, after: &OccupiedSeeds) -> (Vec<Arc<str>>, bool) {
        let mut changed = Vec::new();
        let mut freed = false;
        let removed = before
            .names()
            .filter(|name| !after.names().any(|other| other == *name))
            .map(|name| (name, -1));
        let added = after
            .names()
            .filter(|name| !before.names().any(|other| other == *name))
            .map(|name| (name, 1));
        for (name, step) in removed.chain(added) {
            let count = self.shoot_counts.get(name).copied().unwrap_or(0) + step;
            if count == 0 {
                self.shoot_counts.remove(name);
            } else {
                self.shoot_counts.insert(Arc::clone(name), count);
            }
            if let Ok(position) = self.position(name)
                && let Some(row) = self.rows.get_mut(position)
            {
                let was_full = !row.has_room(0);
                row.used = count;
                freed |= was_full && row.has_room(0);
                changed.push(Arc::clone(name));
            }
        }
        (changed, freed)
    }

    fn apply_seed(&mut self, key: &Key, new: Option<&Arc<Object>>) -> Consequences {
        let used = self.shoot_counts.get(&key.name).copied().unwrap_or(0);
        let row = match new {
            Some(object) => {
                let host = self.host_of(&key.name);
                let read = Row::read(object, used, host.as_deref(), &mut self.interners);
                self.unusable.record(key, read)
            }
            None => {
                self.unusable.forget(key);
                None
            }
        };
        let rules = self.rules();
        let count_of = |row: &Row| usize::from(row.facts.has_current_rules);
        self.seeds_with_current_rules += row.as_ref().map_or(0, count_of);
        let is_unchanged = match (self.position(&key.name), row) {
            (Ok(position), Some(row)) => {
                let old = self.rows.set(position, row);
                self.seeds_with_current_rules -= count_of(&old);
                self.rows.get(position).is_some_and(|row| row.facts == old.facts)
            }
            (Err(position), Some(row)) => {
                self.rows.insert(position, row);
                false
            }
            (Ok(position), None) => {
                let old = self.rows.remove(position);
                self.seeds_with_current_rules -= count_of(&old);
                false
            }
            (Err(_), None) => true,
        };
        let decide = if is_unchanged {
            AffectedDemands::None
        } else {
            self.all_waiting()
        };
        // If the rules change, readiness and visibility change for every seed.
        let has_same_rules = self.rules() == rules;
        Consequences {
            demands: decide.clone(),
            decide,
            targets: has_same_rules.then(|| vec![Arc::clone(&key.name)]),
        }
    }

    fn apply_profile(&mut self, key: &Key, new: Option<&Arc<Object>>) -> Consequences {
        let profile = match new {
            Some(object) => self.unusable.record(key, Profile::read(object)).map(Arc::new),
            None => {
                self.unusable.forget(key);
                None
            }
        };
        let old = match &profile {
            Some(profile) => self.profiles.insert(Arc::clone(&key.name), Arc::clone(profile)),
            None => self.profiles.remove(&key.name),
        };
        if old == profile {
            return Consequences::nothing();
        }
        self.due_where(|requirements| {
            self.root_of(&requirements.namespace, &requirements.profile) == Some(&*key.name)
        })
    }

    fn apply_namespaced_profile(&mut self, key: &Key, new: Option<&Arc<Object>>) -> Consequences {
        let profile = match new {
            Some(object) => self
                .unusable
                .record(key, NamespacedProfile::read(object))
                .map(Arc::new),
            None => {
                self.unusable.forget(key);
                None
            }
        };
        let entry = (Arc::clone(&key.namespace), Arc::clone(&key.name));
        let old = match &profile {
            Some(profile) => self.namespaced_profiles.insert(entry, Arc::clone(profile)),
            None => self.namespaced_profiles.remove(&entry),
        };
        if old == profile {
            return Consequences::nothing();
        }
        self.due_where(|requirements| {
            let (kind, name) = &requirements.profile;
            kind == NAMESPACED_CLOUD_PROFILE
                && *name == *key.name
                && *requirements.namespace == *key.namespace
        })
    }

    /// Applies an ExposureClass. No shoot becomes due: the requirements of the class are copied to new
    /// shoots.
    fn apply_exposure_class(&mut self, key: &Key, new: Option<&Arc<Object>>) -> Consequences {
        let class = match new {
            Some(object) => self.unusable.record(key, Exposure::read(object)),
            None => {
                self.unusable.forget(key);
                None
            }
        };
        match class {
            Some(class) => drop(
                self.exposure_classes
                    .insert(Arc::clone(&key.name), Arc::new(class)),
            ),
            None => drop(self.exposure_classes.remove(&key.name)),
        }
        Consequences::nothing()
    }

    fn apply_config_map(&mut self, key: &Key, new: Option<&Arc<Object>>) -> Consequences {
        if *key.namespace != *GARDEN_NAMESPACE {
            return Consequences::nothing();
        }
        let map = new.and_then(|object| RegionMap::read(key, object)).map(Arc::new);
        let old = match &map {
            Some(map) => self.region_maps.insert(Arc::clone(&key.name), Arc::clone(map)),
            None => self.region_maps.remove(&key.name),
        };
        if old == map {
            return Consequences::nothing();
        }
        let decide = self.all_waiting();
        Consequences {
            demands: decide.clone(),
            decide,
            targets: Some(Vec::new()),
        }
    }

    fn apply_project(&mut self, key: &Key, new: Option<&Arc<Object>>) -> Consequences {
        let project = match new {
            Some(object) => {
                let read = self.unusable.record(key, Project::read(object));
                Some(Arc::new(read.unwrap_or_else(|| Project::unreadable(object))))
            }
            None => {
                self.unusable.forget(key);
                None
            }
        };
        let old = match &project {
            Some(project) => self.projects.insert(Arc::clone(&key.name), Arc::clone(project)),
            None => self.projects.remove(&key.name),
        };
        let is_same = match (&old, &project) {
            (Some(old), Some(new)) => old.has_same_settings(new),
            (None, None) => true,
            _ => false,
        };
        if is_same {
            return Consequences::nothing();
        }
        if let Some(old) = &old {
            self.remove_claim(old);
        }
        if let Some(new) = &project {
            let claims = self.claims.entry(Arc::clone(&new.namespace)).or_default();
            claims.insert(new.claim.clone());
        }
        let namespaces: Vec<&Arc<str>> = old
            .iter()
            .chain(&project)
            .map(|project| &project.namespace)
            .collect();
        self.due_where(|requirements| {
            namespaces
                .iter()
                .any(|namespace| ***namespace == *requirements.namespace)
        })
    }

    /// Removes the claim of `project` on its namespace.
    fn remove_claim(&mut self, project: &Project) {
        let Some(claims) = self.claims.get_mut(&project.namespace) else {
            return;
        };
        claims.remove(&project.claim);
        if claims.is_empty() {
            self.claims.remove(&project.namespace);
        }
    }

    /// Makes the waiting shoots due for whose requirements `concerns` returns true.
    fn due_where(&self, concerns: impl Fn(&Requirements) -> bool) -> Consequences {
        let waiting = self.waiting.iter().filter(|key| {
            self.shoot(key)
                .is_some_and(|record| concerns(&record.requirements))
        });
        let decide = demands(waiting.cloned().collect());
        Consequences {
            demands: decide.clone(),
            decide,
            targets: Some(Vec::new()),
        }
    }

    /// Applies a configuration. If it is invalid, the last valid configuration stays in force; if there was
    /// none, no shoot gets a seed.
    fn apply_config(&mut self, key: &Key, new: Option<&Arc<Object>>) -> Consequences {
        let before = (self.config.clone(), self.config_problem.clone(), self.choice);
        let rules = self.rules();
        let read = new.map(|object| {
            let path = format!("spec.{DIALECT}");
            let spec = object.value().get("spec").and_then(|spec| spec.get(DIALECT));
            Config::read(spec, &path).map_err(|errors| berth_apimachinery::field::aggregate(&errors))
        });
        self.unusable.forget(key);
        match read {
            None => {
                self.config = Config::default();
                self.choice = RulesChoice::default();
                self.configured = false;
                self.config_problem = None;
            }
            Some(Ok(config)) => {
                self.config = config;
                self.choice = new
                    .map(|object| RulesChoice::of(object.value()))
                    .unwrap_or_default();
                self.configured = true;
                self.config_problem = None;
            }
            Some(Err(problem)) => {
                let problem: Arc<str> = problem.into();
                self.unusable.record::<()>(key, Err(problem.to_string()));
                self.config_problem = (!self.configured).then_some(problem);
            }
        }
        if before == (self.config.clone(), self.config_problem.clone(), self.choice) {
            return Consequences::nothing();
        }
        let decide = self.all_waiting();
        Consequences {
            demands: decide.clone(),
            decide,
            targets: (self.rules() == rules).then(Vec::new),
        }
    }

    /// All shoots that wait for a seed.
    fn all_waiting(&self) -> AffectedDemands {
        demands(self.waiting.iter().cloned().collect())
    }
}

/// The affected demands with these `keys`; [`AffectedDemands::None`] for an empty list.
fn demands(keys: Vec<Key>) -> AffectedDemands {
    if keys.is_empty() {
        AffectedDemands::None
    } else {
        AffectedDemands::Some(keys)
    }
}

/// The seeds of a shoot that cannot be parsed, but still occupies seeds.
fn occupied_by(object: &Object) -> OccupiedSeeds {
    #[derive(Default, Deserialize)]
    #[serde(rename_all = "camelCase", default)]
    struct NamedReference {
        seed_name: Option<String>,
    }
    let name = |part: &str| {
        let part = object.value().get(part)?;
        NamedReference::deserialize(part).ok()?.seed_name
    };
    OccupiedSeeds::of(name("spec").as_deref(), name("status").as_deref())
}
