//! The query parameter `limit`, which shortens an answer.

use berth_apimachinery::Status;
use berth_apiserver::Query;

/// Highest number of entries by the parameter `limit` of `query`; [`usize::MAX`] for 0, and `default` without
/// the parameter. `entries` names the entries in the error.
///
/// # Errors
/// 400 for an invalid limit.
pub(super) fn limit(query: &Query, default: usize, entries: &str) -> Result<usize, Status> {
    let Some(text) = query.first("limit").filter(|text| !text.is_empty()) else {
        return Ok(default);
    };
    match text.parse::<usize>() {
        Ok(0) => Ok(usize::MAX),
        Ok(limit) => Ok(limit),
        Err(_) => Err(Status::bad_request(format!(
            "invalid limit {text:?}: it must be the number of {entries}, 0 for all"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_of_zero_is_none_however_it_is_written() {
        let of = |query: &str| limit(&Query::parse(query), 7, "entries");
        for (query, expected) in [
            ("", 7),
            ("limit=", 7),
            ("limit=3", 3),
            ("limit=0", usize::MAX),
            ("limit=00", usize::MAX),
        ] {
            assert_eq!(of(query).unwrap(), expected, "{query}");
        }
        for bad in ["limit=many", "limit=-1"] {
            assert_eq!(of(bad).unwrap_err().code, 400, "{bad}");
        }
    }
}
