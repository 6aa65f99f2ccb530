//! Limits of the webhooks for one address: on concurrent reviews, and on checks of users' rights. The
//! routes need no credentials, so one caller must not use up the capacity.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;

use berth_apimachinery::Timestamp;
use parking_lot::Mutex;

/// Highest number of checks of rights that reviews from one address may cause at once. A check may be a
/// SubjectAccessReview on the hub, for the user that the review claims.
const MOST_CHECKS: i64 = 200;
/// Number of further checks of rights in each second after that.
const CHECKS_PER_SECOND: i64 = 50;

/// The reviews under way and the counted checks of rights, by address.
#[derive(Debug)]
pub(super) struct Sources {
    most: usize,
    reviews: Mutex<HashMap<IpAddr, usize>>,
    /// The counted checks of rights of each address, and the time of the last check.
    checks: Mutex<HashMap<IpAddr, (i64, Timestamp)>>,
}

/// A permit for a review. Dropping the permit returns it.
#[derive(Debug)]
pub(super) struct Permit {
    sources: Arc<Sources>,
    source: IpAddr,
}

impl Sources {
    /// A limit of `most` concurrent reviews from each address.
    pub(super) fn new(most: usize) -> Arc<Self> {
        Arc::new(Self {
            most,
            reviews: Mutex::default(),
            checks: Mutex::default(),
        })
    }

    /// Whether a review from `address` may cause `count` checks of rights at `now`. If so, the
    /// checks are counted.
    pub(super) fn may_ask(&self, address: IpAddr, count: usize, now: Timestamp) -> bool {
        let count = i64::try_from(count).unwrap_or(i64::MAX);
        let remaining = |(checks, at): (i64, Timestamp)| {
            let elapsed = now.duration_since(at).as_millis().max(0);
            let allowed = i64::try_from(elapsed).unwrap_or(i64::MAX);
            (checks - allowed.saturating_mul(CHECKS_PER_SECOND) / 1000).max(0)
        };
        let mut all = self.checks.lock();
        let source = network(address);
        let before = all.get(&source).map_or(0, |&checks| remaining(checks));
        if before.saturating_add(count) > MOST_CHECKS {
            return false;
        }
        all.insert(source, (before + count, now));
        // Addresses without counted checks are forgotten, so that the map does not grow for ever.
        if all.len() > 1024 {
            all.retain(|_, checks| remaining(*checks) > 0);
        }
        true
    }

    /// A permit for a review from `address`; `None` when the address has all its permits.
    pub(super) fn admit(self: &Arc<Self>, address: IpAddr) -> Option<Permit> {
        let source = network(address);
        let mut reviews = self.reviews.lock();
        let count = reviews.entry(source).or_default();
        if *count >= self.most {
            return None;
        }
        *count += 1;
        drop(reviews);
        Some(Permit {
            sources: Arc::clone(self),
            source,
        })
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let mut reviews = self.sources.reviews.lock();
        if let Some(count) = reviews.get_mut(&self.source) {
            *count -= 1;
            if *count == 0 {
                reviews.remove(&self.source);
            }
        }
    }
}

/// The network that counts as one address: one host has a whole /64 of IPv6 addresses.
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
        let sources = Sources::new(2);
        let (a, b): (IpAddr, IpAddr) = ("10.0.0.1".parse().unwrap(), "::ffff:10.0.0.1".parse().unwrap());
        let first = sources.admit(a).unwrap();
        let second = sources.admit(b).unwrap();
        assert!(sources.admit(a).is_none(), "a mapped address is the same host");
        assert!(sources.admit("10.0.0.2".parse().unwrap()).is_some());
        drop(first);
        assert!(sources.admit(a).is_some());
        drop(second);
        assert!(sources.reviews.lock().is_empty());
    }

    #[test]
    fn a_host_with_a_network_of_its_own_is_one_source() {
        let sources = Sources::new(1);
        let held = sources.admit("2001:db8::1".parse().unwrap());
        assert!(held.is_some() && sources.admit("2001:db8::ffff".parse().unwrap()).is_none());
        assert!(sources.admit("2001:db8:0:1::1".parse().unwrap()).is_some());
    }

    #[test]
    fn questions_about_rights_are_limited_for_each_address_and_come_back_with_time() {
        let sources = Sources::new(1);
        let (a, b): (IpAddr, IpAddr) = ("10.0.0.1".parse().unwrap(), "10.0.0.2".parse().unwrap());
        let at = |seconds| Timestamp::new(seconds, 0).unwrap();
        let most = usize::try_from(MOST_CHECKS).unwrap();
        assert!(sources.may_ask(a, most, at(0)));
        assert!(!sources.may_ask(a, 1, at(0)) && sources.may_ask(b, 1, at(0)));
        let more = usize::try_from(CHECKS_PER_SECOND).unwrap();
        assert!(!sources.may_ask(a, more + 1, at(1)) && sources.may_ask(a, more, at(1)));
        assert!(sources.may_ask(a, most, at(100)));
        assert!(!sources.may_ask(b, usize::MAX, at(100)));
    }

    #[test]
    fn addresses_that_have_stopped_asking_are_forgotten() {
        let sources = Sources::new(1);
        let at = |seconds| Timestamp::new(seconds, 0).unwrap();
        for address in 0..3000_u32 {
            assert!(sources.may_ask(IpAddr::V4(address.into()), 1, at(i64::from(address))));
        }
        assert!(sources.may_ask("10.0.0.1".parse().unwrap(), 1, at(60)));
        assert!(sources.checks.lock().len() <= 1024);
    }
}
