//! The choice between the rules that a system documents and the rules of its newest release, where the two
//! differ.

use serde_json::Value;

/// The rules of a decision.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Rules {
    /// The rules of the documentation on the system's page.
    #[default]
    Documented,
    /// The rules of the system's newest release.
    Current,
}

impl Rules {
    /// The token.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Documented => "Documented",
            Self::Current => "Current",
        }
    }
}

/// `spec.rules` of a SchedulerConfiguration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RulesChoice {
    /// [`Rules::Current`] for the objects of a hub and for objects of a current release, else
    /// [`Rules::Documented`].
    #[default]
    Auto,
    /// Always [`Rules::Documented`].
    Documented,
    /// Always [`Rules::Current`].
    Current,
}

impl RulesChoice {
    /// Every choice.
    pub const ALL: [Self; 3] = [Self::Auto, Self::Documented, Self::Current];

    /// The field of a SchedulerConfiguration's spec.
    pub const FIELD: &'static str = "rules";

    /// The token.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Auto => "Auto",
            Self::Documented => "Documented",
            Self::Current => "Current",
        }
    }

    /// The choice with this token.
    #[must_use]
    pub fn named(token: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|choice| choice.as_str() == token)
    }

    /// The choice of a stored SchedulerConfiguration.
    #[must_use]
    pub fn of(configuration: &Value) -> Self {
        let token = configuration["spec"][Self::FIELD].as_str();
        token.and_then(Self::named).unwrap_or_default()
    }
}

/// Rules in force, and the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InForce {
    /// The rules.
    pub rules: Rules,
    /// Whether the rules are chosen although the objects are of a release with the other rules.
    pub is_at_odds: bool,
    /// The reason for these rules, as a clause: `2 of 3 Seeds are of Gardener 1.49 or newer`.
    pub because: String,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_configuration_that_does_not_say_leaves_it_to_the_objects() {
        for (spec, choice) in [
            (json!({}), RulesChoice::Auto),
            (json!({"rules": "current"}), RulesChoice::Auto),
            (json!({"rules": "Current"}), RulesChoice::Current),
            (json!({"rules": "Documented"}), RulesChoice::Documented),
        ] {
            assert_eq!(RulesChoice::of(&json!({"spec": spec})), choice, "{spec}");
        }
    }
}
