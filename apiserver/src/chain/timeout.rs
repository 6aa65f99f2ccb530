//! How long a request may take: `?timeout=`, within the server's own limits.

use std::time::Duration;

use meta::Status;

use crate::request_info::RequestInfo;

/// Writes wait for little but the disk; what takes longer is stuck (kube-apiserver's figure).
const LONGEST_WRITE: Duration = Duration::from_secs(34);

/// How long the request may take; `None` for long-running ones.
///
/// # Errors
/// 400 when `timeout` is not a duration.
pub(super) fn of(info: &RequestInfo, most: Duration) -> Result<Option<Duration>, Status> {
    if info.is_long_running() {
        return Ok(None);
    }
    let most = if info.is_read_only() {
        most
    } else {
        most.min(LONGEST_WRITE)
    };
    let Some(text) = info.query.first("timeout").filter(|text| !text.is_empty()) else {
        return Ok(Some(most));
    };
    match parse(text) {
        Some(Duration::ZERO) => Ok(Some(most)),
        Some(asked) => Ok(Some(asked.min(most))),
        None => Err(Status::bad_request(format!(
            "invalid timeout specified in the request URL: {text:?} is not a duration such as 30s, 1m30s or 500ms"
        ))),
    }
}

/// A duration in Go's notation: `1h2m3.5s`, `500ms`, `0`. Negative ones are none.
fn parse(text: &str) -> Option<Duration> {
    let mut rest = text.strip_prefix('+').unwrap_or(text);
    if rest == "0" {
        return Some(Duration::ZERO);
    }
    if rest.is_empty() {
        return None;
    }
    let mut total = Duration::ZERO;
    while !rest.is_empty() {
        let digits = rest.find(|letter: char| !letter.is_ascii_digit() && letter != '.')?;
        let number: f64 = rest[..digits].parse().ok()?;
        rest = &rest[digits..];
        let letters = rest
            .find(|letter: char| letter.is_ascii_digit() || letter == '.')
            .unwrap_or(rest.len());
        let seconds = match &rest[..letters] {
            "ns" => 1e-9,
            "us" | "\u{b5}s" | "\u{3bc}s" => 1e-6,
            "ms" => 1e-3,
            "s" => 1.0,
            "m" => 60.0,
            "h" => 3600.0,
            _ => return None,
        };
        rest = &rest[letters..];
        total = total.checked_add(Duration::try_from_secs_f64(number * seconds).ok()?)?;
    }
    Some(total)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn go_durations_are_read() {
        for (text, millis) in [
            ("0", Some(0)),
            ("30s", Some(30_000)),
            ("1m30s", Some(90_000)),
            ("1.5h", Some(5_400_000)),
            ("500ms", Some(500)),
            (".5s", Some(500)),
            ("banana", None),
            ("30", None),
            ("-1s", None),
            ("s", None),
            ("1s2", None),
            ("1x", None),
            ("", None),
            ("99999999999999999999h", None),
        ] {
            assert_eq!(parse(text), millis.map(Duration::from_millis), "{text}");
        }
    }

    #[test]
    fn the_limits_hold_whatever_is_asked() {
        let minute = Duration::from_mins(1);
        let limit = |method: &str, target: &str| {
            let info = RequestInfo::parse(&method.parse().unwrap(), &target.parse().unwrap()).unwrap();
            of(&info, minute)
        };
        assert_eq!(limit("GET", "/api/v1/pods").unwrap(), Some(minute));
        assert_eq!(
            limit("GET", "/api/v1/pods?timeout=5s").unwrap(),
            Some(Duration::from_secs(5))
        );
        assert_eq!(limit("GET", "/api/v1/pods?timeout=5h").unwrap(), Some(minute));
        assert_eq!(limit("GET", "/api/v1/pods?timeout=0s").unwrap(), Some(minute));
        assert_eq!(limit("POST", "/api/v1/pods").unwrap(), Some(LONGEST_WRITE));
        assert_eq!(limit("GET", "/api/v1/pods?watch=1&timeout=banana").unwrap(), None);
        assert_eq!(limit("GET", "/api/v1/pods?timeout=banana").unwrap_err().code, 400);
    }
}
