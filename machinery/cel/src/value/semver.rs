//! Semantic versions.

use std::cmp::Ordering;

/// A semantic version. Build metadata is parsed and ignored.
#[derive(Debug)]
pub struct Semver {
    pub(crate) numbers: [u64; 3],
    prerelease: Vec<Identifier>,
}

/// Part of a prerelease. Numbers precede text.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Identifier {
    Number(u64),
    Text(String),
}

impl Semver {
    /// Compares the precedence of two versions.
    pub(crate) fn precedence(&self, other: &Self) -> Ordering {
        let release = self.prerelease.is_empty().cmp(&other.prerelease.is_empty());
        self.numbers
            .cmp(&other.numbers)
            .then(release)
            .then_with(|| self.prerelease.cmp(&other.prerelease))
    }

    /// Parses a semantic version.
    pub(crate) fn read(text: &str) -> Option<Self> {
        let (text, build) = match text.split_once('+') {
            Some((text, build)) => (text, Some(build)),
            None => (text, None),
        };
        let (numbers, prerelease) = match text.split_once('-') {
            Some((numbers, prerelease)) => (numbers, Some(prerelease)),
            None => (text, None),
        };
        let mut parts = numbers.splitn(3, '.').map(number);
        let numbers = [parts.next()??, parts.next()??, parts.next()??];
        let build_is_valid = build.is_none_or(|build| build.split('.').all(is_identifier));
        let prerelease: Option<Vec<Identifier>> = match prerelease {
            Some(all) => all.split('.').map(identifier).collect(),
            None => Some(Vec::new()),
        };
        let prerelease = prerelease.filter(|_| build_is_valid)?;
        Some(Self { numbers, prerelease })
    }
}

fn number(digits: &str) -> Option<u64> {
    let only_digits = digits.bytes().all(|digit| digit.is_ascii_digit());
    let has_leading_zero = digits.len() > 1 && digits.starts_with('0');
    digits.parse().ok().filter(|_| only_digits && !has_leading_zero)
}

fn is_identifier(part: &str) -> bool {
    !part.is_empty()
        && part
            .bytes()
            .all(|letter| letter.is_ascii_alphanumeric() || letter == b'-')
}

fn identifier(part: &str) -> Option<Identifier> {
    if part.bytes().all(|digit| digit.is_ascii_digit()) {
        return number(part).map(Identifier::Number);
    }
    is_identifier(part).then(|| Identifier::Text(part.to_owned()))
}
