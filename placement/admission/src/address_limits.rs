//! Limits of the webhooks for each address: on concurrent reviews, and on checks of users' rights. Callers
//! without credentials are served, too, so no single caller may use up the capacity.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;

use berth_apimachinery::Timestamp;
use parking_lot::Mutex;

/// Highest number of checks of rights that reviews from one address may cause at once. A check may be a
/// SubjectAccessReview on the hub, for the user that the review claims.
const MAX_CHECKS: i64 = 200;
/// Number by which the counted checks of rights of an address decrease in each second.
const CHECKS_PER_SECOND: i64 = 50;

/// Counts of concurrent reviews and of checks of rights, by address.
#[derive(Debug)]
pub(super) struct AddressLimits {
    max_reviews: usize,
    /// The number of concurrent reviews from each address.
    reviews: Mutex<HashMap<IpAddr, usize>>,
    /// The counted checks of rights of each address, in thousandths, and the time of the last check. Whole
    /// checks would lose the fractions by which they decrease between two checks.
    checks: Mutex<HashMap<IpAddr, (i64, Timestamp)>>,
}

/// A permit for one review, which counts as concurrent until the permit is dropped.
#[derive(Debug)]
pub(super) struct Permit {
    limits: Arc<AddressLimits>,
    source: IpAddr,
}

impl AddressLimits {
    /// Creates the limits, with at most `max_reviews` concurrent reviews from each address.
    pub(super) fn new(max_reviews: usize) -> Arc<Self> {
        Arc::new(Self {
            max_reviews,
            reviews: Mutex::default(),
            checks: Mutex::default(),
        })
    }

    /// Counts `count` checks of rights at `now`, unless they exceed the limit of `address`. Returns whether
    /// they were counted.
    pub(super) fn count_checks(&self, address: IpAddr, count: usize, now: Timestamp) -> bool {
        let count = i64::try_from(count).unwrap_or(i64::MAX).saturating_mul(1000);
        let remaining = |(checks, at): (i64, Timestamp)| {
            let elapsed = now.duration_since(at).as_micros().max(0);
            let elapsed = i64::try_from(elapsed).unwrap_or(i64::MAX);
            (checks - elapsed.saturating_mul(CHECKS_PER_SECOND) / 1000).max(0)
        };
        let mut all = self.checks.lock();
        let source = network(address);
        let before = all.get(&source).map_or(0, |&checks| remaining(checks));
        if before.saturating_add(count) > MAX_CHECKS * 1000 {
            return false;
        }
        all.insert(source, (before + count, now));
        // The map does not grow for ever: addresses whose count has decreased to zero are removed.
        if all.len() > 1024 {
            all.retain(|_, checks| remaining(*checks) > 0);
        }
        true
    }

    /// Returns a permit for a review from `address`; `None` if the address has reached the limit.
    pub(super) fn admit(self: &Arc<Self>, address: IpAddr) -> Option<Permit> {
        let source = network(address);
        let mut reviews = self.reviews.lock();
        let count = reviews.entry(source).or_default();
        if *count >= self.max_reviews {
            return None;
        }
        *count += 1;
        drop(reviews);
        Some(Permit {
            limits: Arc::clone(self),
            source,
        })
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let mut reviews = self.limits.reviews.lock();
        if let Some(count) = reviews.get_mut(&self.source) {
            *count -= 1;
            if *count == 0 {
                reviews.remove(&self.source);
            }
        }
    }
}

/// Returns the network of `address` that counts as one address, since one host has a whole /64 of IPv6
/// addresses.
pub(super) fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => {
            let bits = u128::from(address) & (u128::MAX << 64);
            IpAddr::V6(Ipv6Addr::from(bits))
        }
        v4 => v4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_source_has_its_own_places_and_gets_them_back() {
        let limits = AddressLimits::new(2);
        let (a, b): (IpAddr, IpAddr) = ("10.0.0.1".parse().unwrap(), "::ffff:10.0.0.1".parse().unwrap());
        let first = limits.admit(a).unwrap();
        let second = limits.admit(b).unwrap();
        assert!(limits.admit(a).is_none(), "a mapped address is the same host");
        assert!(limits.admit("10.0.0.2".parse().unwrap()).is_some());
        drop(first);
        assert!(limits.admit(a).is_some());
        drop(second);
        assert!(limits.reviews.lock().is_empty());
    }

    #[test]
    fn a_host_with_a_network_of_its_own_is_one_source() {
        let limits = AddressLimits::new(1);
        let held = limits.admit("2001:db8::1".parse().unwrap());
        assert!(held.is_some() && limits.admit("2001:db8::ffff".parse().unwrap()).is_none());
        assert!(limits.admit("2001:db8:0:1::1".parse().unwrap()).is_some());
    }

    #[test]
    fn questions_about_rights_are_limited_for_each_address_and_come_back_with_time() {
        let limits = AddressLimits::new(1);
        let (a, b): (IpAddr, IpAddr) = ("10.0.0.1".parse().unwrap(), "10.0.0.2".parse().unwrap());
        let at = |seconds| Timestamp::new(seconds, 0).unwrap();
        let most = usize::try_from(MAX_CHECKS).unwrap();
        assert!(limits.count_checks(a, most, at(0)));
        assert!(!limits.count_checks(a, 1, at(0)) && limits.count_checks(b, 1, at(0)));
        let more = usize::try_from(CHECKS_PER_SECOND).unwrap();
        assert!(!limits.count_checks(a, more + 1, at(1)) && limits.count_checks(a, more, at(1)));
        assert!(limits.count_checks(a, most, at(100)));
        assert!(!limits.count_checks(b, usize::MAX, at(100)));
    }

    #[test]
    fn frequent_checks_lose_no_part_of_the_decrease() {
        let limits = AddressLimits::new(1);
        let address: IpAddr = "10.0.0.1".parse().unwrap();
        let at = |micros| Timestamp::from_microsecond(micros).unwrap();
        let most = usize::try_from(MAX_CHECKS).unwrap();
        assert!(limits.count_checks(address, most - 100, at(0)));
        for number in 1..=100 {
            assert!(limits.count_checks(address, 1, at(number * 10_500)));
        }
        // In 1.05 seconds the count has decreased by 52.
        assert!(!limits.count_checks(address, 53, at(1_050_000)));
        assert!(limits.count_checks(address, 52, at(1_050_000)));
    }

    #[test]
    fn addresses_that_have_stopped_asking_are_forgotten() {
        let limits = AddressLimits::new(1);
        let at = |seconds| Timestamp::new(seconds, 0).unwrap();
        for address in 0..3000_u32 {
            assert!(limits.count_checks(IpAddr::V4(address.into()), 1, at(i64::from(address))));
        }
        assert!(limits.count_checks("10.0.0.1".parse().unwrap(), 1, at(60)));
        assert!(limits.checks.lock().len() <= 1024);
    }
}
