//! Paths of fields, and combinations of field errors.

use std::collections::HashMap;

use crate::field_error::{FieldError, FieldErrorKind};

/// Adds the errors of `more` about fields without an error: one error per field is enough. An error that
/// explains a wrong type replaces the schema's error.
pub fn add_about_others(errors: &mut Vec<FieldError>, more: Vec<FieldError>) {
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
/// an aggregate.
#[must_use]
pub fn aggregate(errors: &[FieldError]) -> String {
    match errors {
        [one] => one.to_string(),
        many => {
            let lines: Vec<String> = many.iter().map(ToString::to_string).collect();
            format!("[{}]", lines.join(", "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_one_field_the_first_thing_that_is_wrong_is_told() {
        let mut errors = vec![FieldError::required("a", "")];
        add_about_others(
            &mut errors,
            vec![FieldError::invalid("a", "", "x"), FieldError::required("a.b", "")],
        );
        assert_eq!(aggregate(&errors), "[a: Required value, a.b: Required value]");
    }

    #[test]
    fn what_explains_a_wrong_type_takes_the_place_of_it() {
        let mut errors = vec![FieldError::type_invalid("a", "boolean", "must be of type string")];
        add_about_others(&mut errors, vec![FieldError::misread("a", false, "quote it")]);
        assert_eq!(aggregate(&errors), "a: Invalid value: false: quote it");
    }

    #[test]
    fn several_errors_stand_in_brackets() {
        let errors = [FieldError::required("a", ""), FieldError::required("b", "")];
        assert_eq!(aggregate(&errors), "[a: Required value, b: Required value]");
    }
}
