//! The prioritizers of a policy, with their weights (docs/systems/ocm.md, "Placement spec").

use std::collections::BTreeSet;
use std::sync::Arc;

use super::{Problem, check_count};
use crate::kind::{BUILT_IN, Coordinate, PrioritizerPolicy};
use crate::names::MAX_PRIORITIZERS;

/// A prioritizer with a weight other than 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Prioritizer {
    /// The name, as in OCM: `Balance`, `AddOn/default/cpuratio`.
    pub(crate) name: Arc<str>,
    /// The factor by which scores are multiplied.
    pub(crate) weight: i64,
    /// The source of the scores.
    pub(crate) scoring: ScoreSource,
}

/// Source of the scores of a prioritizer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ScoreSource {
    /// Fewer decisions on a cluster are better.
    Balance,
    /// Clusters that are selected already are better.
    Steady,
    /// More allocatable CPU is better.
    Cpu,
    /// More allocatable memory is better.
    Memory,
    /// A score in AddOnPlacementScore objects.
    AddOn {
        /// The name of the AddOnPlacementScore objects.
        resource: Arc<str>,
        /// The name of the score.
        score: Arc<str>,
    },
}

impl ScoreSource {
    fn of(coordinate: &Coordinate) -> Option<Self> {
        Some(match coordinate {
            Coordinate::AddOn { resource, score } => Self::AddOn {
                resource: resource.as_str().into(),
                score: score.as_str().into(),
            },
            Coordinate::BuiltIn(name) => match name.as_str() {
                "Balance" => Self::Balance,
                "Steady" => Self::Steady,
                "ResourceAllocatableCPU" => Self::Cpu,
                "ResourceAllocatableMemory" => Self::Memory,
                _ => return None,
            },
        })
    }
}

/// Compiles the prioritizers of `policy`: either the defaults with additions and overrides, or exactly the
/// listed prioritizers.
pub(super) fn compile(policy: &PrioritizerPolicy) -> Result<Vec<Prioritizer>, Problem> {
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
    let configurations = &policy.configurations;
    let path = "spec.prioritizerPolicy.configurations";
    check_count(path, configurations.len(), MAX_PRIORITIZERS).map_err(Problem::policy)?;
    let mut configured: BTreeSet<Coordinate> = BTreeSet::new();
    for (index, config) in configurations.iter().enumerate() {
        let path = format!("{path}[{index}]");
        let coordinate = Coordinate::of(config)
            .map_err(|error| Problem::policy(error.into_field_error(&path).to_string()))?;
        if !configured.insert(coordinate.clone()) {
            return Err(Problem::policy(format!("{path}: {coordinate} is listed twice")));
        }
        let weight = i64::from(config.weight.unwrap_or(1));
        match list[..defaults]
            .iter_mut()
            .find(|(known, _)| *known == coordinate)
        {
            Some((_, overridden)) => *overridden = weight,
            None => list.push((coordinate, weight)),
        }
    }
    // A weight of 0 removes the prioritizer before its name is checked.
    list.retain(|&(_, weight)| weight != 0);
    list.into_iter()
        .map(|(coordinate, weight)| {
            let scoring = ScoreSource::of(&coordinate).ok_or_else(|| {
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
        let list = compile(&policy).map_err(|problem| problem.message())?;
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
