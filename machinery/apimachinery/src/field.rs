//! Paths of fields, and lists of field errors.

use std::collections::HashMap;

use crate::field_error::{FieldError, FieldErrorKind};

/// Highest number of errors in a message, after which loops over parts of a body stop: each error takes time
/// and memory, and a body can have as many errors as values.
pub const MAX_ERRORS: usize = 250;

/// Adds the errors in `more` whose fields have no error in `errors` yet: one error per field is enough. A
/// [`FieldErrorKind::Misread`] replaces the error of its field.
pub fn merge_by_field(errors: &mut Vec<FieldError>, more: Vec<FieldError>) {
    if more.is_empty() {
        return;
    }
    let by_path = errors.iter().enumerate();
    let by_path: HashMap<String, usize> = by_path
        .map(|(place, error)| (error.path.clone(), place))
        .collect();
    for error in more {
        match by_path.get(&error.path) {
            None => errors.push(error),
            Some(place) if error.kind == FieldErrorKind::Misread => errors[*place] = error,
            Some(_) => {}
        }
    }
}

/// Returns the path of `field` below `path`; either may be empty, and `field` may begin with an index.
#[must_use]
pub fn below(path: &str, field: &str) -> String {
    let dot = if path.is_empty() || field.is_empty() || field.starts_with('[') {
        ""
    } else {
        "."
    };
    format!("{path}{dot}{field}")
}

/// Formats several errors as one text: a single one without brackets, more in brackets, as Kubernetes formats
/// an aggregate. Errors beyond [`MAX_ERRORS`] are only counted.
#[must_use]
pub fn aggregate(errors: &[FieldError]) -> String {
    match errors {
        [one] => one.to_string(),
        many => {
            let told = many.iter().take(MAX_ERRORS);
            let mut lines: Vec<String> = told.map(ToString::to_string).collect();
            let more = many.len() - lines.len();
            if more > 0 {
                lines.push(format!("and {more} more"));
            }
            format!("[{}]", lines.join(", "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_one_error_of_a_field_is_reported() {
        let mut errors = vec![FieldError::required("a", "")];
        merge_by_field(
            &mut errors,
            vec![FieldError::invalid("a", "", "x"), FieldError::required("a.b", "")],
        );
        assert_eq!(aggregate(&errors), "[a: Required value, a.b: Required value]");
    }

    #[test]
    fn an_explanation_replaces_the_error_of_a_wrong_type() {
        let mut errors = vec![FieldError::type_invalid("a", "boolean", "must be of type string")];
        merge_by_field(&mut errors, vec![FieldError::misread("a", false, "quote it")]);
        assert_eq!(aggregate(&errors), "a: Invalid value: false: quote it");
    }

    #[test]
    fn several_errors_stand_in_brackets() {
        let errors = [FieldError::required("a", ""), FieldError::required("b", "")];
        assert_eq!(aggregate(&errors), "[a: Required value, b: Required value]");
    }
}
