//! The score in a prioritizer's configuration.

use std::fmt;

use berth_apimachinery::FieldError;

use super::placement_spec::PrioritizerConfig;

/// The names of the built-in prioritizers.
pub(crate) const BUILT_IN: &[&str] = &[
    "Balance",
    "Steady",
    "ResourceAllocatableCPU",
    "ResourceAllocatableMemory",
];

/// The score in a prioritizer's configuration. The fields `builtIn`, `buildIn` (its old spelling) and `name`
/// (its predecessor) are parsed to the same value.
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

/// Error in a coordinate, with the path of the field below the prioritizer's configuration.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct BadCoordinate {
    field: &'static str,
    value: Option<String>,
    detail: &'static str,
}

impl BadCoordinate {
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
    pub(crate) fn of(config: &PrioritizerConfig) -> Result<Self, BadCoordinate> {
        let missing = |field, detail| BadCoordinate {
            field,
            value: None,
            detail,
        };
        let Some(coordinate) = &config.score_coordinate else {
            return if config.name.is_empty() {
                Err(missing(
                    "scoreCoordinate",
                    "name a built-in prioritizer, or a score of AddOnPlacementScore objects",
                ))
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

    /// The path, below `config`, of the field that names its built-in prioritizer.
    pub(crate) fn built_in_field(config: &PrioritizerConfig) -> &'static str {
        match &config.score_coordinate {
            Some(coordinate) if !coordinate.built_in.is_empty() => "scoreCoordinate.builtIn",
            Some(coordinate) if !coordinate.build_in.is_empty() => "scoreCoordinate.buildIn",
            _ => "name",
        }
    }
}
