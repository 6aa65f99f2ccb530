//! Ages in the form of `kubectl`.

use jiff::Timestamp;

/// Formats an age as in Kubernetes' tables: `45s`, `5m30s`, `3h12m`, `2d4h`, `45d`, `2y10d`, `9y`. An instant
/// less than two seconds in the future is clock skew (`0s`), any later one is `<invalid>`.
#[must_use]
pub(crate) fn human_duration(from: Timestamp, now: Timestamp) -> String {
    // The age is in whole seconds, rounded towards zero like all larger units.
    let seconds = now.duration_since(from).as_secs();
    let (minutes, hours) = (seconds / 60, seconds / 3600);
    let days = hours / 24;
    match seconds {
        ..-1 => "<invalid>".to_owned(),
        -1 => "0s".to_owned(),
        0..120 => format!("{seconds}s"),
        _ if minutes < 10 => two_units(minutes, "m", seconds % 60, "s"),
        _ if minutes < 180 => format!("{minutes}m"),
        _ if hours < 8 => two_units(hours, "h", minutes % 60, "m"),
        _ if hours < 48 => format!("{hours}h"),
        _ if days < 8 => two_units(days, "d", hours % 24, "h"),
        _ if days < 365 * 2 => format!("{days}d"),
        _ if days < 365 * 8 => two_units(days / 365, "y", days % 365, "d"),
        _ => format!("{}y", days / 365),
    }
}

/// Formats two units; the smaller one is omitted when it is zero.
fn two_units(large: i64, large_unit: &str, small: i64, small_unit: &str) -> String {
    if small == 0 {
        format!("{large}{large_unit}")
    } else {
        format!("{large}{large_unit}{small}{small_unit}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: i64 = 60;
    const HOUR: i64 = 60 * MINUTE;
    const DAY: i64 = 24 * HOUR;

    #[test]
    fn ages_read_as_kubectl_prints_them() {
        let cases = [
            (-5, "<invalid>"),
            (-2, "<invalid>"),
            (-1, "0s"),
            (0, "0s"),
            (45, "45s"),
            (119, "119s"),
            (120, "2m"),
            (5 * MINUTE + 30, "5m30s"),
            (10 * MINUTE + 1, "10m"),
            (179 * MINUTE, "179m"),
            (3 * HOUR, "3h"),
            (3 * HOUR + 12 * MINUTE, "3h12m"),
            (8 * HOUR + 59 * MINUTE, "8h"),
            (47 * HOUR, "47h"),
            (2 * DAY, "2d"),
            (2 * DAY + 4 * HOUR, "2d4h"),
            (8 * DAY + HOUR, "8d"),
            (45 * DAY, "45d"),
            (2 * 365 * DAY - HOUR, "729d"),
            (2 * 365 * DAY, "2y"),
            ((2 * 365 + 10) * DAY, "2y10d"),
            ((8 * 365 + 10) * DAY, "8y"),
        ];
        let now = Timestamp::from_second(2_000_000_000).unwrap();
        for (age, text) in cases {
            let from = Timestamp::from_second(2_000_000_000 - age).unwrap();
            assert_eq!(human_duration(from, now), text, "{age}");
        }
    }
}
