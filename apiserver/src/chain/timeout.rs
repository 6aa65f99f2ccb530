//! Time limits of requests: `?timeout=`, within the server's own limits.

use std::time::Duration;

use berth_apimachinery::{Status, duration};

use crate::request_info::RequestInfo;

/// Highest time limit of a write, as in kube-apiserver. Writes wait mainly for the disk; a write that takes
/// longer is stuck.
const MAX_WRITE_TIME: Duration = Duration::from_secs(34);

/// Returns the time limit of a request, at most `longest`; `None` for a long-running request.
///
/// # Errors
/// 400 when `timeout` is not a duration.
pub(super) fn of_request(info: &RequestInfo, longest: Duration) -> Result<Option<Duration>, Status> {
    if info.is_long_running() {
        return Ok(None);
    }
    let longest = if info.is_read_only() {
        longest
    } else {
        longest.min(MAX_WRITE_TIME)
    };
    let Some(text) = info.query.first("timeout").filter(|text| !text.is_empty()) else {
        return Ok(Some(longest));
    };
    match duration::parse_unsigned(text) {
        Ok(Duration::ZERO) => Ok(Some(longest)),
        Ok(requested) => Ok(Some(requested.min(longest))),
        Err(problem) => Err(Status::bad_request(format!(
            "invalid timeout specified in the request URL: {problem}"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_requested_timeout_is_at_most_the_limit() {
        let minute = Duration::from_mins(1);
        let limit = |method: &str, target: &str| {
            let info = RequestInfo::parse(&method.parse().unwrap(), &target.parse().unwrap()).unwrap();
            of_request(&info, minute)
        };
        assert_eq!(limit("GET", "/api/v1/pods").unwrap(), Some(minute));
        assert_eq!(
            limit("GET", "/api/v1/pods?timeout=5s").unwrap(),
            Some(Duration::from_secs(5))
        );
        assert_eq!(limit("GET", "/api/v1/pods?timeout=5h").unwrap(), Some(minute));
        assert_eq!(limit("GET", "/api/v1/pods?timeout=0s").unwrap(), Some(minute));
        assert_eq!(limit("POST", "/api/v1/pods").unwrap(), Some(MAX_WRITE_TIME));
        assert_eq!(limit("GET", "/api/v1/pods?watch=1&timeout=banana").unwrap(), None);
        assert_eq!(limit("GET", "/api/v1/pods?timeout=banana").unwrap_err().code, 400);
    }
}
