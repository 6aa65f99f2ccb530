//! IP ranges: CIDRs of IPv4 and IPv6 in one form of fixed size.

use std::net::IpAddr;

/// The family of the addresses in a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Family {
    /// No family: the range is [`Range::NONE`] or [`Range::UNREADABLE`].
    Any,
    /// IPv4.
    Four,
    /// IPv6.
    Six,
}

/// An IP range, or the absence of a range. Ranges of IPv4 and IPv6 never overlap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Range {
    family: Family,
    /// The first address of the range. An IPv4 address is in the last 32 bits.
    base: u128,
    /// The length of the prefix in the 128 bits of `base`; more than 128 in [`Range::NONE`].
    bits: u8,
}

impl Range {
    /// The absence of a range, which overlaps with no range.
    pub(crate) const NONE: Self = Self {
        family: Family::Any,
        base: 0,
        bits: u8::MAX,
    };
    /// The range for a CIDR that cannot be parsed, which overlaps with every range
    /// (docs/systems/gardener.md, "Networks").
    pub(crate) const UNREADABLE: Self = Self {
        family: Family::Any,
        base: 0,
        bits: 0,
    };

    /// Parses the CIDR `text`, such as `10.9.8.0/24`. Bits of the address beyond the prefix are ignored.
    ///
    /// # Errors
    /// A sentence about the valid form of a CIDR.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let error = || "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)".to_owned();
        let (address, length) = text.split_once('/').ok_or_else(error)?;
        let address: IpAddr = address.parse().map_err(|_| error())?;
        // `parse` alone would accept "+8" and "08".
        if length.is_empty() || length.len() > 3 || (length.len() > 1 && length.starts_with('0')) {
            return Err(error());
        }
        if !length.bytes().all(|digit| digit.is_ascii_digit()) {
            return Err(error());
        }
        let length: u8 = length.parse().map_err(|_| error())?;
        let (family, base, bits) = match address {
            IpAddr::V4(four) if length <= 32 => (Family::Four, u128::from(four.to_bits()), length + 96),
            IpAddr::V6(six) if length <= 128 => (Family::Six, six.to_bits(), length),
            _ => return Err(error()),
        };
        Ok(Self {
            family,
            base: base & mask(bits),
            bits,
        })
    }

    /// The IPv4 range with this `address` and prefix `length`.
    const fn four(address: [u8; 4], length: u8) -> Self {
        Self {
            family: Family::Four,
            base: u32::from_be_bytes(address) as u128,
            bits: length + 96,
        }
    }

    /// The first reserved range with which the range overlaps, in words, with the purpose of the reserved
    /// range.
    #[must_use]
    pub(crate) fn reserved_for(self) -> Option<&'static str> {
        // A range that could not be parsed only counts as an overlap between a seed and a shoot, not with a
        // reserved range.
        let is_parsed = !matches!(self.family, Family::Any);
        let reserved = RESERVED
            .iter()
            .find(|(range, _)| is_parsed && self.overlaps(*range));
        reserved.map(|(_, purpose)| *purpose)
    }

    /// Whether the range is an IPv4 range.
    #[must_use]
    pub(crate) const fn is_ipv4(self) -> bool {
        matches!(self.family, Family::Four)
    }

    /// The range of a CIDR; [`Range::NONE`] without a CIDR, [`Range::UNREADABLE`] if it cannot be parsed.
    #[must_use]
    pub(crate) fn of(text: Option<&str>) -> Self {
        text.map_or(Self::NONE, |text| Self::parse(text).unwrap_or(Self::UNREADABLE))
    }

    /// Whether the range is [`Range::NONE`].
    #[must_use]
    pub(crate) const fn is_none(self) -> bool {
        self.bits > 128
    }

    /// The range itself, or `other` if the range is [`Range::NONE`].
    #[must_use]
    pub(crate) const fn or(self, other: Self) -> Self {
        if self.is_none() { other } else { self }
    }

    /// Whether the range and `other` overlap, so that one of them contains the other.
    #[must_use]
    pub(crate) const fn overlaps(self, other: Self) -> bool {
        if self.is_none() || other.is_none() {
            return false;
        }
        if matches!(
            (self.family, other.family),
            (Family::Four, Family::Six) | (Family::Six, Family::Four)
        ) {
            return false;
        }
        let shared = if self.bits < other.bits {
            self.bits
        } else {
            other.bits
        };
        (self.base ^ other.base) & mask(shared) == 0
    }
}

/// The ranges that Gardener reserves for address mapping inside its VPN tunnels, each with a text about its
/// purpose. No range of a seed or shoot may overlap with a reserved range.
const RESERVED: [(Range, &str); 6] = [
    (
        Range::four([240, 0, 0, 0], 8),
        "240.0.0.0/8, which is reserved for kube-apiservers",
    ),
    (
        Range::four([241, 0, 0, 0], 8),
        "241.0.0.0/8, which is reserved for mapped pods of seeds",
    ),
    (
        Range::four([242, 0, 0, 0], 8),
        "242.0.0.0/8, which is reserved for mapped nodes of shoots",
    ),
    (
        Range::four([243, 0, 0, 0], 8),
        "243.0.0.0/8, which is reserved for mapped services of shoots",
    ),
    (
        Range::four([244, 0, 0, 0], 8),
        "244.0.0.0/8, which is reserved for mapped pods of shoots",
    ),
    (
        Range {
            family: Family::Six,
            base: 0xfd8f_6d53_b97a_0001 << 64,
            bits: 96,
        },
        "fd8f:6d53:b97a:1::/96, which is reserved for the VPN",
    ),
];

/// The names of the IP families in the field `ipFamilies`.
pub(crate) const FAMILIES: [&str; 2] = ["IPv4", "IPv6"];

/// The IP families of a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Families {
    four: bool,
    six: bool,
}

impl Families {
    /// The families with these `names` from the field `ipFamilies`; IPv4 if there are no names.
    #[must_use]
    pub(crate) fn of<'a>(names: impl IntoIterator<Item = &'a str>) -> Self {
        let mut families = Self {
            four: false,
            six: false,
        };
        let mut is_empty = true;
        for name in names {
            is_empty = false;
            families.four |= name == FAMILIES[0];
            families.six |= name == FAMILIES[1];
        }
        families.four |= is_empty;
        families
    }

    /// Whether the cluster has IPv4 addresses, and thus IPv4 ranges.
    #[must_use]
    pub(crate) const fn has_ipv4(self) -> bool {
        self.four
    }

    /// Whether `range` belongs to one of the families. A range without a family is admitted.
    #[must_use]
    pub(crate) const fn admit(self, range: Range) -> bool {
        match range.family {
            Family::Any => true,
            Family::Four => self.four,
            Family::Six => self.six,
        }
    }

    /// The names of the families, for a sentence.
    #[must_use]
    pub(crate) const fn words(self) -> &'static str {
        match (self.four, self.six) {
            (true, true) => "IPv4 and IPv6",
            (false, true) => "IPv6",
            (_, false) => "IPv4",
        }
    }
}

/// The mask of the first `bits` of 128 bits.
const fn mask(bits: u8) -> u128 {
    if bits == 0 {
        0
    } else {
        u128::MAX << (128 - bits as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_overlap_when_one_contains_the_other() {
        let cases = [
            ("10.0.0.0/8", "10.1.0.0/16", true),
            ("10.1.0.0/16", "10.1.0.0/16", true),
            ("10.1.0.0/16", "10.2.0.0/16", false),
            ("0.0.0.0/0", "192.168.0.0/24", true),
            ("0.0.0.0/0", "2001:db8::/32", false),
            ("2001:db8::/32", "2001:db8:1::/48", true),
            ("2001:db8::/32", "2001:db9::/32", false),
            ("::/64", "10.20.0.0/16", false),
            ("::/0", "0.0.0.0/0", false),
            ("::/0", "2001:db8::/32", true),
            ("100.96.0.0/11", "100.64.0.0/13", false),
            ("1.2.3.4/32", "1.2.3.4/32", true),
            ("nonsense", "10.0.0.0/8", true),
        ];
        for (one, two, meet) in cases {
            let (one, two) = (Range::of(Some(one)), Range::of(Some(two)));
            assert_eq!(
                (one.overlaps(two), two.overlaps(one)),
                (meet, meet),
                "{one:?} {two:?}"
            );
        }
        assert!(!Range::NONE.overlaps(Range::UNREADABLE));
    }

    #[test]
    fn a_range_is_of_a_family_that_the_cluster_has_or_not() {
        let [four, six] = ["10.0.0.0/8", "fd00::/8"].map(|text| Range::of(Some(text)));
        let cases: [(&[&str], bool, bool, &str); 4] = [
            (&[], true, false, "IPv4"),
            (&["IPv4"], true, false, "IPv4"),
            (&["IPv6"], false, true, "IPv6"),
            (&["IPv6", "IPv4"], true, true, "IPv4 and IPv6"),
        ];
        for (names, has_ipv4, has_ipv6, words) in cases {
            let families = Families::of(names.iter().copied());
            assert_eq!(families.has_ipv4(), has_ipv4, "{names:?}");
            assert_eq!((families.admit(four), families.admit(six)), (has_ipv4, has_ipv6));
            assert!(families.admit(Range::NONE) && families.admit(Range::UNREADABLE));
            assert_eq!(families.words(), words);
        }
    }

    #[test]
    fn overlaps_with_reserved_ranges_are_found() {
        for text in [
            "240.0.0.0/8",
            "241.1.0.0/16",
            "242.0.0.0/8",
            "243.0.0.0/8",
            "244.255.0.0/16",
            "fd8f:6d53:b97a:1::/112",
            "0.0.0.0/0",
        ] {
            assert!(Range::of(Some(text)).reserved_for().is_some(), "{text}");
        }
        for text in [
            "239.0.0.0/8",
            "245.0.0.0/8",
            "10.0.0.0/8",
            "fd8f:6d53:b97a:2::/96",
        ] {
            assert_eq!(Range::of(Some(text)).reserved_for(), None, "{text}");
        }
        assert_eq!(Range::NONE.reserved_for(), None);
        assert_eq!(Range::UNREADABLE.reserved_for(), None);
    }

    #[test]
    fn invalid_cidrs_are_refused() {
        let bad = [
            "",
            "10.0.0.0",
            "10.0.0.0/33",
            "10.0.0/8",
            "10.0.0.0/-1",
            "10.0.0.0/+8",
            "10.0.0.0/08",
            "x/8",
            "::/129",
        ];
        for text in bad {
            assert!(Range::parse(text).is_err(), "{text}");
        }
        assert_eq!(Range::parse("10.1.2.3/8"), Range::parse("10.0.0.0/8"));
    }
}
