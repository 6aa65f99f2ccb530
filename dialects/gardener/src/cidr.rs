//! IP ranges: CIDRs of both families, small enough to be a column.

use std::net::IpAddr;

/// The addresses that a range is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Family {
    Any,
    Four,
    Six,
}

/// A range, or the absence of one. Ranges of different families never meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Range {
    family: Family,
    /// IPv4 addresses are the last 32 bits.
    base: u128,
    /// 0 to 128; [`Range::NONE`] has more.
    bits: u8,
}

impl Range {
    /// No range: meets nothing.
    pub(crate) const NONE: Self = Self {
        family: Family::Any,
        base: 0,
        bits: u8::MAX,
    };
    /// What an unreadable CIDR counts as: meets everything (docs/systems/gardener.md, "Networks").
    pub(crate) const UNREADABLE: Self = Self {
        family: Family::Any,
        base: 0,
        bits: 0,
    };

    /// Reads `address/bits`. Bits of the address beyond the prefix are ignored.
    ///
    /// # Errors
    /// A sentence that says what a CIDR looks like.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let wrong = || "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)".to_owned();
        let (address, length) = text.split_once('/').ok_or_else(wrong)?;
        let address: IpAddr = address.parse().map_err(|_| wrong())?;
        // `parse` alone would take "+8" and "08".
        if length.is_empty() || length.len() > 3 || (length.len() > 1 && length.starts_with('0')) {
            return Err(wrong());
        }
        if !length.bytes().all(|digit| digit.is_ascii_digit()) {
            return Err(wrong());
        }
        let length: u8 = length.parse().map_err(|_| wrong())?;
        let (family, base, bits) = match address {
            IpAddr::V4(four) if length <= 32 => (Family::Four, u128::from(four.to_bits()), length + 96),
            IpAddr::V6(six) if length <= 128 => (Family::Six, six.to_bits(), length),
            _ => return Err(wrong()),
        };
        Ok(Self {
            family,
            base: base & mask(bits),
            bits,
        })
    }

    /// The range of an optional CIDR; an unreadable one meets everything.
    #[must_use]
    pub(crate) fn of(text: Option<&str>) -> Self {
        text.map_or(Self::NONE, |text| Self::parse(text).unwrap_or(Self::UNREADABLE))
    }

    /// Whether there is no range.
    #[must_use]
    pub(crate) const fn is_none(self) -> bool {
        self.bits > 128
    }

    /// This range, or `other` where there is none.
    #[must_use]
    pub(crate) const fn or(self, other: Self) -> Self {
        if self.is_none() { other } else { self }
    }

    /// Whether one contains the other: two prefixes meet in no other way.
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
    fn what_is_no_cidr_is_refused() {
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
