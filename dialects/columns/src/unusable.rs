//! The objects of a dialect that could not be parsed, with the reasons.

use std::fmt::Display;
use std::sync::Arc;

use berth_apimachinery::Key;
use berth_dialect_contract::UnusableObject;

/// The objects that could not be parsed, by key, each with the reason. A clone shares the content.
#[derive(Clone, Debug, Default)]
pub struct UnusableObjects(imbl::OrdMap<Key, Arc<str>>);

impl UnusableObjects {
    /// Records whether the object at `key` could be parsed, and returns the result if it could.
    pub fn record<T>(&mut self, key: &Key, result: Result<T, impl Display>) -> Option<T> {
        match result {
            Ok(value) => {
                self.0.remove(key);
                Some(value)
            }
            Err(problem) => {
                self.0.insert(key.clone(), problem.to_string().into());
                None
            }
        }
    }

    /// Removes the object at `key`, which was deleted or is no longer read.
    pub fn forget(&mut self, key: &Key) {
        self.0.remove(key);
    }

    /// Whether there is an object at `key` that could not be parsed.
    pub fn contains(&self, key: &Key) -> bool {
        self.0.contains_key(key)
    }

    /// Reason why the object at `key` could not be parsed.
    pub fn problem(&self, key: &Key) -> Option<String> {
        self.0.get(key).map(ToString::to_string)
    }

    /// The keys of the objects that could not be parsed.
    pub fn keys(&self) -> impl Iterator<Item = &Key> {
        self.0.keys()
    }

    /// The list for [`berth_dialect_contract::Inventory::unusable`].
    pub fn list(&self) -> Vec<UnusableObject> {
        let entries = self.0.iter();
        entries
            .map(|(key, problem)| UnusableObject {
                key: key.clone(),
                problem: problem.to_string(),
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use berth_apimachinery::GroupResource;

    use super::*;

    #[test]
    fn an_object_is_listed_until_it_can_be_read_or_is_gone() {
        let key = |name: &str| {
            Key::new(
                GroupResource {
                    group: "g.example",
                    resource: "things",
                },
                "",
                name,
            )
        };
        let mut objects = UnusableObjects::default();
        assert_eq!(objects.record(&key("a"), Err::<(), _>("no spec")), None);
        assert_eq!(objects.record(&key("b"), Err::<(), _>("no name")), None);
        let older = objects.clone();
        assert_eq!(objects.record(&key("a"), Ok::<_, String>(1)), Some(1));
        objects.forget(&key("b"));
        assert!(objects.list().is_empty() && !objects.contains(&key("b")));
        let problems: Vec<String> = older.list().into_iter().map(|entry| entry.problem).collect();
        assert_eq!(problems, ["no spec", "no name"]);
    }
}
