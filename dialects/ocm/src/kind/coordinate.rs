//! The score that a prioritizer's configuration names.

use std::fmt;

use berth_apimachinery::FieldError;

use super::placement_spec::{PrioritizerConfig, ScoreCoordinate};

/// The names of the built-in prioritizers.
pub(crate) const BUILT_IN: &[&str] = &[
    "Balance",
    "Steady",
    "ResourceAllocatableCPU",
    "ResourceAllocatableMemory",
];

/// The score that a prioritizer's configuration names. The fields `builtIn`, `buildIn` (an old spelling) and
/// `name` (deprecated) are parsed to the same value.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Coordinate {
    /// A built-in prioritizer.
    BuiltIn(String),
    /// A score in AddOnPlacementScore objects.
    AddOn {
        /// The name of the AddOnPlacementScore objects.
        resource: String,
        /// The name of the score.
        score: String,
    },
}

impl fmt::Display for Coordinate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BuiltIn(name) => f.write_str(name),
            Self::AddOn { resource, score } => write!(f, "AddOn/{resource}/{score}"),
        }
    }
}

/// Error in a coordinate.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct CoordinateError {
    /// The path of the field, below the prioritizer's configuration.
    field: &'static str,
    /// The invalid value; `None` if the field is missing.
    value: Option<String>,
    detail: &'static str,
}

impl CoordinateError {
    fn missing(field: &'static str, detail: &'static str) -> Self {
        Self {
            field,
            value: None,
            detail,
        }
    }

    /// Converts the error; `path` is the path of the prioritizer's configuration.
    pub(crate) fn into_field_error(self, path: &str) -> FieldError {
        let path = format!("{path}.{}", self.field);
        match self.value {
            Some(value) => FieldError::invalid(path, value, self.detail),
            None => FieldError::required(path, self.detail),
        }
    }
}

impl Coordinate {
    /// Parses the score in `config`. A score coordinate takes precedence over `name`.
    ///
    /// # Errors
    /// A field is missing or has an invalid value.
    pub(crate) fn of(config: &PrioritizerConfig) -> Result<Self, CoordinateError> {
        let Some(coordinate) = &config.score_coordinate else {
            return if config.name.is_empty() {
                Err(CoordinateError::missing(
                    "scoreCoordinate",
                    "name a built-in prioritizer, or a score of AddOnPlacementScore objects",
                ))
            } else {
                Ok(Self::BuiltIn(config.name.clone()))
            };
        };
        match coordinate.r#type.as_str() {
            "" | "BuiltIn" | "BuildIn" => Self::built_in(coordinate, &config.name),
            "AddOn" => Self::add_on(coordinate),
            other => Err(CoordinateError {
                field: "scoreCoordinate.type",
                value: Some(other.to_owned()),
                detail: "must be BuiltIn or AddOn",
            }),
        }
    }

    /// Parses a coordinate of the type BuiltIn; `name` is the deprecated field of the configuration.
    fn built_in(coordinate: &ScoreCoordinate, name: &str) -> Result<Self, CoordinateError> {
        let (new, old) = (&coordinate.built_in, &coordinate.build_in);
        if !new.is_empty() && !old.is_empty() && new != old {
            return Err(CoordinateError {
                field: "scoreCoordinate.buildIn",
                value: Some(old.clone()),
                detail: "is the old spelling of builtIn and must not differ from it",
            });
        }
        let names = [new.as_str(), old.as_str(), name];
        match names.into_iter().find(|name| !name.is_empty()) {
            Some(name) => Ok(Self::BuiltIn(name.to_owned())),
            None => Err(CoordinateError::missing(
                "scoreCoordinate.builtIn",
                "the type BuiltIn needs a prioritizer name",
            )),
        }
    }

    /// Parses a coordinate of the type AddOn.
    fn add_on(coordinate: &ScoreCoordinate) -> Result<Self, CoordinateError> {
        let add_on = coordinate.add_on.as_ref().ok_or_else(|| {
            CoordinateError::missing(
                "scoreCoordinate.addOn",
                "the type AddOn needs resourceName and scoreName",
            )
        })?;
        if add_on.resource_name.is_empty() {
            return Err(CoordinateError::missing(
                "scoreCoordinate.addOn.resourceName",
                "the name of the AddOnPlacementScore",
            ));
        }
        if add_on.score_name.is_empty() {
            return Err(CoordinateError::missing(
                "scoreCoordinate.addOn.scoreName",
                "the name of the score",
            ));
        }
        Ok(Self::AddOn {
            resource: add_on.resource_name.clone(),
            score: add_on.score_name.clone(),
        })
    }

    /// The path, below `config`, of the field that names the built-in prioritizer.
    pub(crate) fn built_in_field(config: &PrioritizerConfig) -> &'static str {
        match &config.score_coordinate {
            Some(coordinate) if !coordinate.built_in.is_empty() => "scoreCoordinate.builtIn",
            Some(coordinate) if !coordinate.build_in.is_empty() => "scoreCoordinate.buildIn",
            _ => "name",
        }
    }
}
