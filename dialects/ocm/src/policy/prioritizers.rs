//! Which scores count, with which weights (docs/systems/ocm.md, "Placement spec").

use std::fmt;
use std::sync::Arc;

use meta::FieldError;

use super::Problem;
use crate::kind::{PrioritizerConfig, PrioritizerPolicy};

/// The built-in prioritizers.
pub(crate) const BUILT_IN: &[&str] = &[
    "Balance",
    "Steady",
    "ResourceAllocatableCPU",
    "ResourceAllocatableMemory",
];

/// A prioritizer with a weight other than 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Prioritizer {
    /// As the system names it: `Balance`, `AddOn/default/cpuratio`.
    pub(crate) name: Arc<str>,
    /// What its values are multiplied with.
    pub(crate) weight: i64,
    /// How its values come about.
    pub(crate) scoring: Scoring,
}

/// How the values of a prioritizer come about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Scoring {
    /// Few decisions are better.
    Balance,
    /// Clusters that are selected already are better.
    Steady,
    /// More allocatable CPU is better.
    Cpu,
    /// More allocatable memory is better.
    Memory,
    /// The value of an AddOnPlacementScore.
    AddOn {
        /// The name of the objects.
        resource: Arc<str>,
        /// The name of the score.
        score: Arc<str>,
    },
}

/// Which score a configuration means, both spellings and the old `name` read alike.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Coordinate {
    /// A built-in prioritizer.
    BuiltIn(String),
    /// A score of AddOnPlacementScore objects.
    AddOn(String, String),
}

impl fmt::Display for Coordinate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BuiltIn(name) => f.write_str(name),
            Self::AddOn(resource, score) => write!(f, "AddOn/{resource}/{score}"),
        }
    }
}

/// What is wrong with a coordinate, where below its configuration.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct BadCoordinate {
    field: &'static str,
    value: Option<String>,
    detail: &'static str,
}

impl BadCoordinate {
    /// The error at `path`, the configuration.
    pub(crate) fn into_field_error(self, path: &str) -> FieldError {
        let path = format!("{path}.{}", self.field);
        match self.value {
            Some(value) => FieldError::invalid(path, value, self.detail),
            None => FieldError::required(path, self.detail),
        }
    }
}

impl Coordinate {
    /// The score `config` means; a score coordinate wins over `name`.
    ///
    /// # Errors
    /// What is missing or contradictory.
    pub(crate) fn of(config: &PrioritizerConfig) -> Result<Self, BadCoordinate> {
        let missing = |field, detail| BadCoordinate {
            field,
            value: None,
            detail,
        };
        let Some(coordinate) = &config.score_coordinate else {
            return if config.name.is_empty() {
                Err(missing("scoreCoordinate", "says which score is meant"))
            } else {
                Ok(Self::BuiltIn(config.name.clone()))
            };
        };
        match coordinate.r#type.as_str() {
            "" | "BuiltIn" | "BuildIn" => {
                let (new, old) = (&coordinate.built_in, &coordinate.build_in);
                if !new.is_empty() && !old.is_empty() && new != old {
                    let detail = "is the old spelling of builtIn and must not differ from it";
                    return Err(BadCoordinate {
                        field: "scoreCoordinate.buildIn",
                        value: Some(old.clone()),
                        detail,
                    });
                }
                let names = [new, old, &config.name];
                let name = names.into_iter().find(|name| !name.is_empty());
                let required = || {
                    missing(
                        "scoreCoordinate.builtIn",
                        "the type BuiltIn needs a prioritizer name",
                    )
                };
                name.cloned().map(Self::BuiltIn).ok_or_else(required)
            }
            "AddOn" => {
                let add_on = coordinate.add_on.as_ref();
                let add_on = add_on.ok_or_else(|| {
                    missing(
                        "scoreCoordinate.addOn",
                        "the type AddOn needs resourceName and scoreName",
                    )
                })?;
                if add_on.resource_name.is_empty() {
                    return Err(missing(
                        "scoreCoordinate.addOn.resourceName",
                        "the name of the AddOnPlacementScore",
                    ));
                }
                if add_on.score_name.is_empty() {
                    return Err(missing(
                        "scoreCoordinate.addOn.scoreName",
                        "the name of the score",
                    ));
                }
                Ok(Self::AddOn(
                    add_on.resource_name.clone(),
                    add_on.score_name.clone(),
                ))
            }
            other => Err(BadCoordinate {
                field: "scoreCoordinate.type",
                value: Some(other.to_owned()),
                detail: "must be BuiltIn or AddOn",
            }),
        }
    }

    /// The field of `config` that names its built-in prioritizer.
    pub(crate) fn built_in_field(config: &PrioritizerConfig) -> &'static str {
        match &config.score_coordinate {
            Some(coordinate) if !coordinate.built_in.is_empty() => "scoreCoordinate.builtIn",
            Some(coordinate) if !coordinate.build_in.is_empty() => "scoreCoordinate.buildIn",
            _ => "name",
        }
    }

    fn scoring(&self) -> Option<Scoring> {
        Some(match self {
            Self::AddOn(resource, score) => Scoring::AddOn {
                resource: resource.as_str().into(),
                score: score.as_str().into(),
            },
            Self::BuiltIn(name) => match name.as_str() {
                "Balance" => Scoring::Balance,
                "Steady" => Scoring::Steady,
                "ResourceAllocatableCPU" => Scoring::Cpu,
                "ResourceAllocatableMemory" => Scoring::Memory,
                _ => return None,
            },
        })
    }
}

/// The prioritizers of `policy`: the defaults overridden and added to, or exactly those listed.
pub(super) fn settle(policy: &PrioritizerPolicy) -> Result<Vec<Prioritizer>, Problem> {
    let mut list: Vec<(Coordinate, i64)> = match policy.mode.as_str() {
        "" | "Additive" => ["Balance", "Steady"]
            .map(|name| (Coordinate::BuiltIn(name.to_owned()), 1))
            .into(),
        "Exact" => Vec::new(),
        other => {
            return Err(Problem::policy(format!(
                "spec.prioritizerPolicy.mode: \"{other}\" is neither Additive nor Exact"
            )));
        }
    };
    let defaults = list.len();
    let mut given: Vec<Coordinate> = Vec::new();
    for (index, config) in policy.configurations.iter().enumerate() {
        let path = format!("spec.prioritizerPolicy.configurations[{index}]");
        let coordinate =
            Coordinate::of(config).map_err(|bad| Problem::policy(bad.into_field_error(&path).to_string()))?;
        if given.contains(&coordinate) {
            return Err(Problem::policy(format!("{path}: {coordinate} is listed twice")));
        }
        given.push(coordinate.clone());
        let weight = i64::from(config.weight.unwrap_or(1));
        match list[..defaults]
            .iter_mut()
            .find(|(known, _)| *known == coordinate)
        {
            Some((_, overridden)) => *overridden = weight,
            None => list.push((coordinate, weight)),
        }
    }
    // A weight of 0 removes the prioritizer before anyone asks for its name.
    list.retain(|&(_, weight)| weight != 0);
    list.into_iter()
        .map(|(coordinate, weight)| {
            let scoring = coordinate.scoring().ok_or_else(|| {
                Problem::policy(format!(
                    "there is no built-in prioritizer \"{coordinate}\", only {}",
                    BUILT_IN.join(", ")
                ))
            })?;
            Ok(Prioritizer {
                name: coordinate.to_string().into(),
                weight,
                scoring,
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use serde_json::json;

    use super::*;

    fn settled(policy: &serde_json::Value) -> Result<Vec<(String, i64)>, String> {
        let policy = PrioritizerPolicy::deserialize(policy).unwrap();
        let list = settle(&policy).map_err(|problem| problem.message())?;
        Ok(list
            .iter()
            .map(|prioritizer| (prioritizer.name.to_string(), prioritizer.weight))
            .collect())
    }

    fn pairs(list: &[(&str, i64)]) -> Result<Vec<(String, i64)>, String> {
        Ok(list
            .iter()
            .map(|&(name, weight)| (name.to_owned(), weight))
            .collect())
    }

    #[test]
    fn modes_and_weights_are_as_documented() {
        let steady = json!({"scoreCoordinate": {"type": "BuildIn", "buildIn": "Steady"}, "weight": 3});
        let score = json!({"scoreCoordinate": {"type": "AddOn", "addOn": {"resourceName": "default", "scoreName": "cpu"}}});
        assert_eq!(settled(&json!({})), pairs(&[("Balance", 1), ("Steady", 1)]));
        assert_eq!(settled(&json!({"mode": "Exact"})), pairs(&[]));
        assert_eq!(
            settled(&json!({"mode": "Exact", "configurations": [steady, score]})),
            pairs(&[("Steady", 3), ("AddOn/default/cpu", 1)])
        );
        assert_eq!(
            settled(&json!({"mode": "Additive", "configurations": [steady, score]})),
            pairs(&[("Balance", 1), ("Steady", 3), ("AddOn/default/cpu", 1)])
        );
        assert_eq!(
            settled(
                &json!({"configurations": [{"name": "Steady", "weight": 0}, {"name": "Unknown", "weight": 0}]})
            ),
            pairs(&[("Balance", 1)])
        );
    }

    #[test]
    fn both_spellings_and_the_old_name_mean_the_same() {
        for config in [
            json!({"name": "Steady"}),
            json!({"scoreCoordinate": {"builtIn": "Steady"}}),
            json!({"scoreCoordinate": {"type": "BuiltIn", "builtIn": "Steady"}}),
            json!({"scoreCoordinate": {"type": "BuildIn", "builtIn": "Steady"}}),
            json!({"scoreCoordinate": {"type": "BuildIn", "buildIn": "Steady"}, "name": "Balance"}),
            json!({"scoreCoordinate": {"type": ""}, "name": "Steady"}),
        ] {
            let settled = settled(&json!({"mode": "Exact", "configurations": [config]}));
            assert_eq!(settled, pairs(&[("Steady", 1)]), "{config}");
        }
    }

    #[test]
    fn what_cannot_be_understood_is_a_problem_of_the_policy() {
        for (policy, part) in [
            (json!({"mode": "Most"}), "\"Most\" is neither Additive nor Exact"),
            (
                json!({"configurations": [{}]}),
                "configurations[0].scoreCoordinate: Required value",
            ),
            (
                json!({"configurations": [{"name": "Spread"}]}),
                "no built-in prioritizer \"Spread\"",
            ),
            (
                json!({"configurations": [{"scoreCoordinate": {"type": "AddOn"}}]}),
                "addOn: Required value",
            ),
            (
                json!({"configurations": [{"name": "Steady"}, {"name": "Steady"}]}),
                "Steady is listed twice",
            ),
            (
                json!({"configurations": [{"scoreCoordinate": {"builtIn": "Steady", "buildIn": "Balance"}}]}),
                "buildIn: Invalid value",
            ),
        ] {
            let problem = settled(&policy).unwrap_err();
            assert!(
                problem.starts_with(':') && problem.contains(part),
                "{policy}: {problem}"
            );
        }
    }
}
