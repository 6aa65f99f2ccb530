//! Instants in Kubernetes' formats. No function here reads a clock.

pub mod testing;

use jiff::Timestamp;

/// Formats a `metav1.Time`: RFC 3339 in UTC, in whole seconds (`2021-10-28T08:31:39Z`).
#[must_use]
pub fn rfc3339(instant: Timestamp) -> String {
    instant.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// Formats a `metav1.MicroTime`: RFC 3339 in UTC with six digits of a second.
#[must_use]
pub fn rfc3339_micro(instant: Timestamp) -> String {
    instant.strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string()
}

/// Parses an instant in the form of RFC 3339, or in another form that jiff accepts; `None` for other texts.
#[must_use]
pub fn parse(text: &str) -> Option<Timestamp> {
    text.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_seconds_are_written_in_utc() {
        let instant = parse("2021-10-28T10:31:39.5+02:00").unwrap();
        assert_eq!(rfc3339(instant), "2021-10-28T08:31:39Z");
        assert_eq!(rfc3339_micro(instant), "2021-10-28T08:31:39.500000Z");
        assert!(parse("yesterday").is_none());
    }
}
