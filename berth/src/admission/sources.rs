//! How many reviews one address may have under way: the routes need no credentials, so nobody may take all there is.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;

use parking_lot::Mutex;

/// The reviews under way, by source.
#[derive(Debug)]
pub(super) struct Sources {
    most: usize,
    held: Mutex<HashMap<IpAddr, usize>>,
}

/// A place, given back when dropped.
#[derive(Debug)]
pub(super) struct Place {
    sources: Arc<Sources>,
    source: IpAddr,
}

impl Sources {
    /// At most `most` at once from each address.
    pub(super) fn new(most: usize) -> Arc<Self> {
        Arc::new(Self {
            most,
            held: Mutex::default(),
        })
    }

    /// A place for a review from `address`, unless it has them all.
    pub(super) fn admit(self: &Arc<Self>, address: IpAddr) -> Option<Place> {
        let source = network(address);
        let mut held = self.held.lock();
        let count = held.entry(source).or_default();
        if *count >= self.most {
            return None;
        }
        *count += 1;
        drop(held);
        Some(Place {
            sources: Arc::clone(self),
            source,
        })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut held = self.sources.held.lock();
        if let Some(count) = held.get_mut(&self.source) {
            *count -= 1;
            if *count == 0 {
                held.remove(&self.source);
            }
        }
    }
}

/// One host has a whole /64 of IPv6 addresses.
fn network(address: IpAddr) -> IpAddr {
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
        assert!(sources.held.lock().is_empty());
    }

    #[test]
    fn a_host_with_a_network_of_its_own_is_one_source() {
        let sources = Sources::new(1);
        let held = sources.admit("2001:db8::1".parse().unwrap());
        assert!(held.is_some() && sources.admit("2001:db8::ffff".parse().unwrap()).is_none());
        assert!(sources.admit("2001:db8:0:1::1".parse().unwrap()).is_some());
    }
}
