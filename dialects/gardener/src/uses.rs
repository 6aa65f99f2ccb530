//! The seeds and cloud profiles that shoots use. They cannot be deleted while a shoot uses them
//! (docs/systems/gardener.md, "What is guarded").

use berth_apimachinery::{GroupResource, Key};
use serde_json::Value;

use crate::fleet::shoot::Requirements;
use crate::fleet::{Fleet, OccupiedSeeds, ShootEntry};
use crate::kind::shoot::spec::{CLOUD_PROFILE, NAMESPACED_CLOUD_PROFILE};
use crate::names::{CLOUD_PROFILES, NAMESPACED_CLOUD_PROFILES, SEEDS, SHOOTS};

/// The seeds and cloud profiles that `object`, which is of `resource`, uses. Only Shoots use any.
pub(crate) fn used_objects(resource: GroupResource, object: &Value) -> Vec<Key> {
    if resource == SHOOTS {
        objects_used_by_shoot(object)
    } else {
        Vec::new()
    }
}

/// The objects that a raw Shoot uses: the seeds in its spec and status, and its cloud profile.
fn objects_used_by_shoot(shoot: &Value) -> Vec<Key> {
    let text = |path: &str| shoot.pointer(path).and_then(Value::as_str);
    let occupied = OccupiedSeeds::of(text("/spec/seedName"), text("/status/seedName"));
    let mut keys: Vec<Key> = occupied.names().map(|name| Key::new(SEEDS, "", name)).collect();
    let (resource, profile) = match shoot.pointer("/spec/cloudProfile") {
        Some(Value::Object(reference)) => {
            let field_text = |field| reference.get(field).and_then(Value::as_str);
            let resource = match field_text("kind").unwrap_or_default() {
                "" | CLOUD_PROFILE => Some(CLOUD_PROFILES),
                NAMESPACED_CLOUD_PROFILE => Some(NAMESPACED_CLOUD_PROFILES),
                _ => None,
            };
            (resource, field_text("name"))
        }
        _ => (Some(CLOUD_PROFILES), text("/spec/cloudProfileName")),
    };
    if let (Some(resource), Some(name)) = (resource, profile.filter(|name| !name.is_empty())) {
        let namespace = text("/metadata/namespace").filter(|_| resource == NAMESPACED_CLOUD_PROFILES);
        let namespace = namespace.unwrap_or_default();
        keys.push(Key::new(resource, namespace, name));
    }
    keys
}

impl Fleet {
    /// The shoots that use the seed or the profile at `key`: the keys of the first `most`, and the number of
    /// all.
    pub(crate) fn users_of(&self, key: &Key, most: usize) -> (Vec<Key>, usize) {
        if key.resource == SEEDS {
            let count = usize::try_from(self.shoots_on(&key.name)).unwrap_or_default();
            // The number is known, so the search can end after the first `most`.
            let first = self.keys_on(&key.name).take(most.min(count));
            return (first.cloned().collect(), count);
        }
        if key.resource != CLOUD_PROFILES && key.resource != NAMESPACED_CLOUD_PROFILES {
            return (Vec::new(), 0);
        }
        let uses = |requirements: &Requirements| {
            if key.resource == CLOUD_PROFILES {
                // The shoot uses the profile itself, or a profile that extends it.
                return self.root_of(&requirements.namespace, &requirements.profile) == Some(&*key.name);
            }
            let (kind, name) = &requirements.profile;
            kind == NAMESPACED_CLOUD_PROFILE
                && **name == *key.name
                && *requirements.namespace == *key.namespace
        };
        let is_or_extends = |used: &Key| {
            *used == *key
                || (key.resource == CLOUD_PROFILES
                    && used.resource == NAMESPACED_CLOUD_PROFILES
                    && self
                        .namespaced_profile(&used.namespace, &used.name)
                        .is_some_and(|own| *own.parent == *key.name))
        };
        let is_user = |entry: &ShootEntry| match &entry.record {
            Ok(record) => uses(&record.requirements),
            // A Shoot that cannot be parsed still names its profile.
            Err(shoot) => objects_used_by_shoot(shoot.value()).iter().any(is_or_extends),
        };
        let mut first = Vec::new();
        let mut count = 0;
        for (user, _) in self.shoots.iter().filter(|(_, entry)| is_user(entry)) {
            count += 1;
            if first.len() < most {
                first.push(user.clone());
            }
        }
        (first, count)
    }
}

#[cfg(test)]
mod tests {
    use berth_dialect_contract::Dialect;
    use serde_json::json;

    use super::*;
    use crate::Gardener;
    use crate::decide::fence;
    use crate::names::DIALECT;
    use crate::testing::{fleet, own_profile, shoot, with};

    fn used_by(shoot: &Value) -> Vec<String> {
        (Gardener.guarded().uses)(SHOOTS, shoot)
            .iter()
            .map(|key| match &*key.namespace {
                "" => format!("{}/{}", key.resource.resource, key.name),
                namespace => format!("{}/{namespace}/{}", key.resource.resource, key.name),
            })
            .collect()
    }

    #[test]
    fn a_shoot_uses_the_seeds_of_spec_and_status_and_its_profile() {
        let shoot =
            json!({"spec": {"seedName": "a", "cloudProfileName": "aws"}, "status": {"seedName": "b"}});
        assert_eq!(used_by(&shoot), ["seeds/a", "seeds/b", "cloudprofiles/aws"]);
        let newer =
            json!({"spec": {"cloudProfileName": "old", "cloudProfile": {"name": "new"}, "seedName": ""}});
        assert_eq!(used_by(&newer), ["cloudprofiles/new"]);
        let own = json!({
            "metadata": {"namespace": "garden-dev"},
            "spec": {"cloudProfile": {"kind": "NamespacedCloudProfile", "name": "mine"}},
        });
        assert_eq!(used_by(&own), ["namespacedcloudprofiles/garden-dev/mine"]);
        assert!(used_by(&json!(7)).is_empty());
    }

    #[test]
    fn users_are_counted_and_the_first_of_them_named() {
        let shoots: Vec<Value> = ["c", "a", "b"]
            .iter()
            .map(|name| with(shoot(name, "r"), "/spec/seedName", json!("s")))
            .collect();
        let moving = with(shoot("d", "r"), "/status", json!({"seedName": "s"}));
        let fleet = fleet(&[shoots, vec![moving, shoot("e", "r")]].concat());
        let names = |(first, count): (Vec<Key>, usize)| {
            let first: Vec<String> = first.iter().map(|key| key.name.to_string()).collect();
            (first.join(" "), count)
        };
        let users = |resource, name: &str, most| names(fleet.users_of(&Key::new(resource, "", name), most));
        assert_eq!(users(SEEDS, "s", 2), ("a b".to_owned(), 4));
        assert_eq!(users(SEEDS, "s", 9), ("a b c d".to_owned(), 4));
        assert_eq!(users(SEEDS, "t", 9), (String::new(), 0));
        assert_eq!(users(CLOUD_PROFILES, "aws", 3), ("a b c".to_owned(), 5));
        assert_eq!(users(SHOOTS, "a", 3), (String::new(), 0));
    }

    #[test]
    fn a_shoot_that_cannot_be_read_uses_its_profile() {
        let broken = |shoot: Value| with(shoot, "/spec/provider", json!(5));
        let own = json!({"kind": "NamespacedCloudProfile", "name": "mine"});
        let of_own = with(shoot("b", "r"), "/spec/cloudProfile", own);
        let fleet = fleet(&[
            own_profile("mine", "aws"),
            broken(shoot("a", "r")),
            broken(of_own),
        ]);
        for (resource, namespace, name, users) in [
            (CLOUD_PROFILES, "", "aws", 2),
            (NAMESPACED_CLOUD_PROFILES, "garden-dev", "mine", 1),
            (CLOUD_PROFILES, "", "gcp", 0),
        ] {
            let key = Key::new(resource, namespace, name);
            assert_eq!(fleet.users_of(&key, 9).1, users, "{key}");
        }
    }

    #[test]
    fn deleting_a_seed_passes_the_fence_that_bindings_pass() {
        assert_eq!(
            berth_dialect_contract::guarded::fence(DIALECT, &Key::new(SEEDS, "", "eu-1")),
            fence("eu-1")
        );
    }
}
