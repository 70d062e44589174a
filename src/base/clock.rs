//! The only place that reads the clock, and the one that waits for it.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Milliseconds since the Unix epoch, as Delta counts time. May be negative.
pub type TimestampMs = i64;

/// The current wall-clock time.
#[allow(clippy::disallowed_methods)]
pub fn now_ms() -> TimestampMs {
    system_time_to_ms(SystemTime::now())
}

/// A monotonic reading, for ages and durations.
#[allow(clippy::disallowed_methods)]
pub fn monotonic() -> Instant {
    Instant::now()
}

/// Lets time pass.
pub fn sleep(duration: Duration) {
    std::thread::sleep(duration);
}

/// A time as RFC 3339 in UTC with milliseconds.
pub fn rfc3339(ms: TimestampMs) -> String {
    match jiff::Timestamp::from_millisecond(ms) {
        Ok(time) => format!("{time:.3}"),
        Err(_) => format!("{ms} ms"),
    }
}

/// `time` in milliseconds since the epoch, rounded down; saturates at the ends of `i64`.
pub fn system_time_to_ms(time: SystemTime) -> TimestampMs {
    match time.duration_since(UNIX_EPOCH) {
        Ok(after) => i64::try_from(after.as_millis()).unwrap_or(i64::MAX),
        Err(before) => {
            let nanos = before.duration().as_nanos();
            i64::try_from(nanos.div_ceil(1_000_000)).map_or(i64::MIN, |ms| -ms)
        }
    }
}

/// The inverse of [`system_time_to_ms`]; times that `SystemTime` cannot hold become the epoch.
pub fn ms_to_system_time(ms: TimestampMs) -> SystemTime {
    let magnitude = Duration::from_millis(ms.unsigned_abs());
    let time = if ms >= 0 {
        UNIX_EPOCH.checked_add(magnitude)
    } else {
        UNIX_EPOCH.checked_sub(magnitude)
    };
    time.unwrap_or(UNIX_EPOCH)
}
