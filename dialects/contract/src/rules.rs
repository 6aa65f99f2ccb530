//! The choice between the rules that a system documents and the rules of its newest release, where the two
//! differ.

use serde_json::Value;

/// The rules by which a system decides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Rules {
    /// The rules that the system documents (see its page in docs/systems).
    #[default]
    Documented,
    /// The rules of the system's newest release.
    Current,
}

impl Rules {
    /// The rules as a token.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Documented => "Documented",
            Self::Current => "Current",
        }
    }
}

/// The choice of rules in a SchedulerConfiguration (`spec.rules`).
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

    /// The name of the field in the spec of a SchedulerConfiguration.
    pub const FIELD: &'static str = "rules";

    /// The choice as a token.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Auto => "Auto",
            Self::Documented => "Documented",
            Self::Current => "Current",
        }
    }

    /// The choice with this token; `None` if there is none.
    #[must_use]
    pub fn named(token: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|choice| choice.as_str() == token)
    }

    /// The choice in `configuration`, a SchedulerConfiguration; the default if it has none, or an unknown
    /// one.
    #[must_use]
    pub fn of(configuration: &Value) -> Self {
        let token = configuration["spec"][Self::FIELD].as_str();
        token.and_then(Self::named).unwrap_or_default()
    }
}

/// The rules in force, and the reason for them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EffectiveRules {
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
    fn the_choice_is_auto_where_the_configuration_has_no_valid_one() {
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
