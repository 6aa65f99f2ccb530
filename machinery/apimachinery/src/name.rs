//! Validation of names in Kubernetes.

fn is_alphanumeric(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte.is_ascii_digit()
}

/// Reason why a text is not a valid name, in Kubernetes' words. Clients read it after `metadata.name: Invalid
/// value: …: `.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NameError {
    /// The name has more bytes than the rule allows.
    #[error("must be no more than {0} characters")]
    TooLong(usize),
    /// The name is not an RFC 1123 label.
    #[error(
        "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start \
         and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is \
         '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
    )]
    NotALabel,
    /// The name is not an RFC 1123 subdomain.
    #[error(
        "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must \
         start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is \
         '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
    )]
    NotASubdomain,
    /// The name is a path segment with a special meaning: `.` or `..`.
    #[error("may not be '{0}'")]
    Reserved(&'static str),
    /// The name has a character that ends or escapes a path segment.
    #[error("may not contain '{0}'")]
    Forbidden(char),
    /// The name breaks a kind's own rule.
    #[error("{0}")]
    Own(String),
}

impl From<NameError> for String {
    fn from(error: NameError) -> Self {
        error.to_string()
    }
}

/// Checks an RFC 1123 label: at most 63 of `a-z0-9-`, alphanumeric at both ends.
///
/// # Errors
/// The problem of the name.
pub fn dns_label(name: &str) -> Result<(), NameError> {
    if name.len() > 63 {
        return Err(NameError::TooLong(63));
    }
    if has_label_shape(name) {
        return Ok(());
    }
    Err(NameError::NotALabel)
}

fn has_label_shape(name: &str) -> bool {
    let bytes = name.as_bytes();
    match (bytes.first(), bytes.last()) {
        (Some(&first), Some(&last)) => {
            is_alphanumeric(first)
                && is_alphanumeric(last)
                && bytes.iter().all(|&byte| is_alphanumeric(byte) || byte == b'-')
        }
        _ => false,
    }
}

/// Checks an RFC 1123 subdomain: at most 253 characters, labels (of any length) joined by dots.
///
/// # Errors
/// The problem of the name.
pub fn dns_subdomain(name: &str) -> Result<(), NameError> {
    if name.len() > 253 {
        return Err(NameError::TooLong(253));
    }
    if !name.is_empty() && name.split('.').all(has_label_shape) {
        return Ok(());
    }
    Err(NameError::NotASubdomain)
}

/// Checks that a name is a valid part of a URL path: not `.` or `..`, and without `/` or `%`.
///
/// # Errors
/// The problem of the name.
pub fn path_segment(name: &str) -> Result<(), NameError> {
    if let Some(reserved) = [".", ".."].into_iter().find(|reserved| *reserved == name) {
        return Err(NameError::Reserved(reserved));
    }
    match ['/', '%'].into_iter().find(|bad| name.contains(*bad)) {
        Some(bad) => Err(NameError::Forbidden(bad)),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subdomains_are_judged_as_kubernetes_does() {
        for good in ["a", "a-b", "a.b", "0", "eu-1.example.com"] {
            assert!(dns_subdomain(good).is_ok(), "{good}");
        }
        for bad in ["", "-a", "a-", "A", "a_b", "a..b", ".a", "a b"] {
            assert!(dns_subdomain(bad).is_err(), "{bad}");
        }
        assert!(dns_subdomain(&"a".repeat(254)).is_err());
    }

    #[test]
    fn path_segments_without_url_characters_are_valid() {
        assert!(path_segment("system:node.x").is_ok());
        for bad in [".", "..", "a/b", "a%b"] {
            assert!(path_segment(bad).is_err(), "{bad}");
        }
    }
}
