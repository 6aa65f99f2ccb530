//! The users of a system's own programs, whose work continues next to Berth's decisions.

use std::sync::Arc;

use serde_json::Value;

/// The field of a SchedulerConfiguration's `spec` that names these users.
pub const FIELD: &str = "systemUsers";

/// Names of users; a trailing `*` matches any rest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SystemUsers(Vec<Arc<str>>);

impl SystemUsers {
    /// Creates the set of users with these names.
    pub fn new<N: Into<Arc<str>>>(names: impl IntoIterator<Item = N>) -> Self {
        Self(names.into_iter().map(Into::into).collect())
    }

    /// The users that the `spec` of a SchedulerConfiguration names, or the `usual` ones if it names none.
    #[must_use]
    pub fn of(spec: &Value, usual: &[&str]) -> Self {
        match spec[FIELD].as_array() {
            Some(named) => Self::new(named.iter().filter_map(Value::as_str)),
            None => Self::new(usual.iter().copied()),
        }
    }

    /// Adds the missing users of `others`.
    #[must_use]
    pub fn and(mut self, others: &Self) -> Self {
        let missing = others.0.iter().filter(|name| !self.0.contains(name));
        let missing: Vec<Arc<str>> = missing.cloned().collect();
        self.0.extend(missing);
        self
    }

    /// Whether `name` is one of these users.
    #[must_use]
    pub fn includes(&self, name: &str) -> bool {
        self.0.iter().any(|known| match known.strip_suffix('*') {
            Some(beginning) => name.starts_with(beginning),
            None => **known == *name,
        })
    }

    /// The names.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|name| &**name)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_star_stands_for_every_end_of_a_name() {
        let users = SystemUsers::new(["system:serviceaccount:a:b", "gardener.cloud:system:seed:*"]);
        assert!(users.includes("system:serviceaccount:a:b"));
        assert!(users.includes("gardener.cloud:system:seed:aws-eu1"));
        assert!(
            !users.includes("system:serviceaccount:a:b2") && !users.includes("gardener.cloud:system:seeds")
        );
        assert!(!SystemUsers::default().includes(""));
    }

    #[test]
    fn what_a_configuration_names_replaces_the_usual_ones() {
        let usual = ["agent"];
        assert!(SystemUsers::of(&json!({}), &usual).includes("agent"));
        let named = SystemUsers::of(&json!({"systemUsers": ["other"]}), &usual);
        assert!(named.includes("other") && !named.includes("agent"));
        assert!(!SystemUsers::of(&json!({"systemUsers": []}), &usual).includes("agent"));
        let both = named.and(&SystemUsers::new(["other", "third"]));
        assert_eq!(both.names().collect::<Vec<_>>(), ["other", "third"]);
    }
}
