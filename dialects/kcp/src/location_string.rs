//! Location strings, `<location cluster>+<location>+<workload cluster identifier>` (docs/systems/kcp.md,
//! "Location strings"): the keys of the placement annotation.
//!
//! No escaping is needed, since no segment can have a `+`.

use std::fmt;
use std::sync::Arc;

use berth_apimachinery::name;
use berth_apimachinery::name::NameError;

use crate::names::LONGEST_IDENTIFIER;

/// Reason why a text is not a location string.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LocationStringError {
    /// The text does not have three segments.
    #[error(
        "has {0} segments, a location string has 3: <location cluster>+<location>+<workload cluster identifier>"
    )]
    Segments(usize),
    /// The first segment is invalid.
    #[error("location cluster \"{0}\" {1}")]
    LocationCluster(String, LocationClusterError),
    /// The second segment is invalid.
    #[error("location \"{0}\": {1}")]
    Location(String, NameError),
    /// The third segment is invalid.
    #[error("workload cluster identifier \"{0}\" {1}")]
    Identifier(String, IdentifierError),
}

/// The error about a text that is not the path of a location cluster. The message is the end of a sentence
/// whose subject is the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "must be \"root\" or a path below it, with lowercase names that are separated by colons, such as \"root:compute\""
)]
pub struct LocationClusterError;

/// Reason why a text cannot identify a workload cluster. The message is the end of a sentence whose subject
/// is the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum IdentifierError {
    /// The text is empty.
    #[error("must not be empty")]
    Empty,
    /// The text is too long for label keys and finalizers.
    #[error(
        "must be no more than {LONGEST_IDENTIFIER} characters, since it is part of label keys and finalizers"
    )]
    TooLong,
    /// The text has invalid characters, or invalid characters at its ends.
    #[error(
        "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric \
         character"
    )]
    Characters,
}

/// A parsed location string.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LocationString {
    /// The cluster of the Location: a path such as `root:compute`.
    pub location_cluster: Arc<str>,
    /// The name of the Location.
    pub location: Arc<str>,
    /// The identifier of the WorkloadCluster.
    pub identifier: Arc<str>,
}

impl LocationString {
    /// Creates the location string of these segments, which are not checked.
    #[must_use]
    pub fn new(location_cluster: &Arc<str>, location: &Arc<str>, identifier: &Arc<str>) -> Self {
        Self {
            location_cluster: Arc::clone(location_cluster),
            location: Arc::clone(location),
            identifier: Arc::clone(identifier),
        }
    }

    /// Parses `text`.
    ///
    /// # Errors
    /// The invalid segment, and the valid form.
    pub fn parse(text: &str) -> Result<Self, LocationStringError> {
        let segments: Vec<&str> = text.split('+').collect();
        let [location_cluster, location, identifier] = segments[..] else {
            return Err(LocationStringError::Segments(segments.len()));
        };
        check_location_cluster(location_cluster)
            .map_err(|error| LocationStringError::LocationCluster(location_cluster.to_owned(), error))?;
        name::dns_subdomain(location)
            .map_err(|error| LocationStringError::Location(location.to_owned(), error))?;
        check_identifier(identifier)
            .map_err(|error| LocationStringError::Identifier(identifier.to_owned(), error))?;
        Ok(Self {
            location_cluster: location_cluster.into(),
            location: location.into(),
            identifier: identifier.into(),
        })
    }
}

impl fmt::Display for LocationString {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}+{}+{}",
            self.location_cluster, self.location, self.identifier
        )
    }
}

/// Validates the path of a location cluster: `root`, or names below it, separated by colons.
///
/// # Errors
/// When the text is invalid.
pub fn check_location_cluster(path: &str) -> Result<(), LocationClusterError> {
    let mut parts = path.split(':');
    let begins_with_root = parts.next() == Some("root");
    if begins_with_root && parts.all(is_path_part) {
        Ok(())
    } else {
        Err(LocationClusterError)
    }
}

fn is_path_part(part: &str) -> bool {
    let is_alphanumeric = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let bytes = part.as_bytes();
    match (bytes.first(), bytes.last()) {
        (Some(&first), Some(&last)) => {
            is_alphanumeric(first)
                && is_alphanumeric(last)
                && bytes.iter().all(|&byte| is_alphanumeric(byte) || byte == b'-')
        }
        _ => false,
    }
}

/// Validates the identifier of a workload cluster, which is part of label keys and finalizers.
///
/// # Errors
/// When the identifier is invalid.
pub fn check_identifier(identifier: &str) -> Result<(), IdentifierError> {
    if identifier.is_empty() {
        return Err(IdentifierError::Empty);
    }
    if identifier.len() > LONGEST_IDENTIFIER {
        return Err(IdentifierError::TooLong);
    }
    let bytes = identifier.as_bytes();
    let ends = [bytes.first(), bytes.last()];
    let is_valid = ends.into_iter().flatten().all(u8::is_ascii_alphanumeric)
        && bytes
            .iter()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(byte));
    if is_valid {
        Ok(())
    } else {
        Err(IdentifierError::Characters)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_location_string_is_parsed_and_displayed() {
        let text = "root:compute+us-east1-gcp+a7fcajg8a-a9sf-a738";
        let read = LocationString::parse(text).unwrap();
        assert_eq!(&*read.location_cluster, "root:compute");
        assert_eq!(&*read.location, "us-east1-gcp");
        assert_eq!(&*read.identifier, "a7fcajg8a-a9sf-a738");
        assert_eq!(read.to_string(), text);
    }

    #[test]
    fn every_wrong_segment_is_named() {
        let long = format!("root+a+{}", "x".repeat(57));
        let cases = [
            ("", "has 1 segments"),
            ("root+a", "has 2 segments"),
            ("root+a+b+c", "has 4 segments"),
            ("++", "location cluster \"\" must be"),
            ("compute+a+b", "location cluster \"compute\" must be"),
            ("root:+a+b", "location cluster \"root:\" must be"),
            ("root:Up+a+b", "location cluster \"root:Up\" must be"),
            ("root++b", "location \"\": a lowercase RFC 1123 subdomain"),
            ("root+A+b", "location \"A\": a lowercase RFC 1123 subdomain"),
            ("root+a+", "workload cluster identifier \"\" must not be empty"),
            ("root+a+b c", "workload cluster identifier \"b c\" must consist"),
            ("root+a+-b", "workload cluster identifier \"-b\" must consist"),
            (&long, "must be no more than 56 characters"),
        ];
        for (text, part) in cases {
            let problem = LocationString::parse(text).unwrap_err().to_string();
            assert!(problem.contains(part), "{text}: {problem}");
        }
        assert!(LocationString::parse(&format!("root:a-1:b+a.b+{}", "x".repeat(56))).is_ok());
    }
}
