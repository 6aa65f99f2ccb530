//! The users of a system's own programs, which continue to run beside Berth.

use std::sync::Arc;

use serde_json::Value;

/// The field in the `spec` of a SchedulerConfiguration with the users of the system's own programs.
pub const FIELD: &str = "systemUsers";

/// The users of a system's own programs, by name. A `*` at the end of a name stands for any text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SystemUsers(Vec<Arc<str>>);

impl SystemUsers {
    /// Creates the set of users with these names.
    pub fn new<N: Into<Arc<str>>>(names: impl IntoIterator<Item = N>) -> Self {
        Self(names.into_iter().map(Into::into).collect())
    }

    /// The users in `spec`, the spec of a SchedulerConfiguration; `defaults` if it does not have the field.
    #[must_use]
    pub fn of(spec: &Value, defaults: &[&str]) -> Self {
        match spec[FIELD].as_array() {
            Some(named) => Self::new(named.iter().filter_map(Value::as_str)),
            None => Self::new(defaults.iter().copied()),
        }
    }

    /// Adds the users of `others` that are missing.
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

    /// The names of the users.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|name| &**name)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_star_matches_any_end_of_a_name() {
        let users = SystemUsers::new(["system:serviceaccount:a:b", "gardener.cloud:system:seed:*"]);
        assert!(users.includes("system:serviceaccount:a:b"));
        assert!(users.includes("gardener.cloud:system:seed:aws-eu1"));
        assert!(
            !users.includes("system:serviceaccount:a:b2") && !users.includes("gardener.cloud:system:seeds")
        );
        assert!(!SystemUsers::default().includes(""));
    }

    #[test]
    fn users_in_a_configuration_replace_the_defaults() {
        let usual = ["agent"];
        assert!(SystemUsers::of(&json!({}), &usual).includes("agent"));
        let named = SystemUsers::of(&json!({"systemUsers": ["other"]}), &usual);
        assert!(named.includes("other") && !named.includes("agent"));
        assert!(!SystemUsers::of(&json!({"systemUsers": []}), &usual).includes("agent"));
        let both = named.and(&SystemUsers::new(["other", "third"]));
        assert_eq!(both.names().collect::<Vec<_>>(), ["other", "third"]);
    }
}
