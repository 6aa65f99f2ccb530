//! Semantic versions.

use std::cmp::Ordering;
use std::sync::Arc;

use super::{Function, Outcome, function, strings};
use crate::error::Error;
use crate::meter::Meter;
use crate::value::Value;

pub(super) const FUNCTIONS: &[Function] = &[
    function("semver", &["(string) Semver"], parsed),
    function("isSemver", &["(string) bool"], |meter, args| {
        Ok(Value::Bool(read(meter, args)?.is_ok()))
    }),
    function("isGreaterThan", &["Semver.(Semver) bool"], |meter, args| {
        Ok(Value::Bool(order(meter, args)?.is_gt()))
    }),
    function("isLessThan", &["Semver.(Semver) bool"], |meter, args| {
        Ok(Value::Bool(order(meter, args)?.is_lt()))
    }),
    function("compareTo", &["Semver.(Semver) int"], |meter, args| {
        Ok(Value::Int(order(meter, args)? as i64))
    }),
    function("major", &["Semver.() int"], |meter, args| part(meter, args, 0)),
    function("minor", &["Semver.() int"], |meter, args| part(meter, args, 1)),
    function("patch", &["Semver.() int"], |meter, args| part(meter, args, 2)),
];

pub(super) const NORMALIZED: &[Function] = &[
    function("semver", &["(string, bool) Semver"], parsed),
    function("isSemver", &["(string, bool) bool"], |meter, args| {
        Ok(Value::Bool(read(meter, args)?.is_ok()))
    }),
];

/// A semantic version. Build metadata is read and says nothing.
#[derive(Debug)]
pub struct Semver {
    numbers: [u64; 3],
    prerelease: Vec<Identifier>,
}

/// A part of a prerelease: numbers come before text.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Identifier {
    Number(u64),
    Text(String),
}

impl Semver {
    /// How two versions stand to each other.
    pub(crate) fn precedence(&self, other: &Self) -> Ordering {
        let release = self.prerelease.is_empty().cmp(&other.prerelease.is_empty());
        self.numbers
            .cmp(&other.numbers)
            .then(release)
            .then_with(|| self.prerelease.cmp(&other.prerelease))
    }

    fn read(text: &str) -> Option<Self> {
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
        let build_is_fine = build.is_none_or(|build| build.split('.').all(named));
        let prerelease: Option<Vec<Identifier>> = match prerelease {
            Some(all) => all.split('.').map(identifier).collect(),
            None => Some(Vec::new()),
        };
        let prerelease = prerelease.filter(|_| build_is_fine)?;
        Some(Self { numbers, prerelease })
    }
}

fn number(digits: &str) -> Option<u64> {
    let plain = digits.bytes().all(|digit| digit.is_ascii_digit());
    let leading = digits.len() > 1 && digits.starts_with('0');
    digits.parse().ok().filter(|_| plain && !leading)
}

fn named(part: &str) -> bool {
    !part.is_empty()
        && part
            .bytes()
            .all(|letter| letter.is_ascii_alphanumeric() || letter == b'-')
}

fn identifier(part: &str) -> Option<Identifier> {
    if part.bytes().all(|digit| digit.is_ascii_digit()) {
        return number(part).map(Identifier::Number);
    }
    named(part).then(|| Identifier::Text(part.to_owned()))
}

/// A version with what it lacks: `v` is dropped, minor and patch are 0, leading zeros go.
fn normalized(text: &str) -> Option<String> {
    let text = text.strip_prefix('v').unwrap_or(text);
    let mut parts: Vec<String> = text
        .splitn(3, '.')
        .map(|part| {
            let trimmed = part.trim_start_matches('0');
            if part.len() > 1 && !trimmed.starts_with(|digit: char| digit.is_ascii_digit()) {
                format!("0{trimmed}")
            } else if part.len() > 1 {
                trimmed.to_owned()
            } else {
                part.to_owned()
            }
        })
        .collect();
    if parts.len() < 3 {
        if parts.last().is_some_and(|last| last.contains(['+', '-'])) {
            return None;
        }
        parts.resize(3, "0".to_owned());
    }
    Some(parts.join("."))
}

/// The version the first argument is, normalized where the second asks for it.
fn read(meter: &mut Meter, args: &[Value<'_>]) -> Result<Result<Semver, Error>, Error> {
    let text = strings::text(args, 0)?;
    meter.bytes(text.len())?;
    let read = match args.get(1) {
        Some(Value::Bool(true)) => normalized(text).and_then(|text| Semver::read(&text)),
        Some(Value::Bool(false)) | None => Semver::read(text),
        Some(_) => return Err(Error::no_such_overload()),
    };
    Ok(read.ok_or_else(|| Error::failed(format!("{:?} is not a semantic version", &**text))))
}

fn parsed<'a>(meter: &mut Meter, args: &[Value<'a>]) -> Outcome<'a> {
    Ok(Value::Semver(Arc::new(read(meter, args)??)))
}

fn order(meter: &mut Meter, args: &[Value<'_>]) -> Result<Ordering, Error> {
    meter.charge(1)?;
    match args {
        [Value::Semver(one), Value::Semver(other)] => Ok(one.precedence(other)),
        _ => Err(Error::no_such_overload()),
    }
}

fn part<'a>(meter: &mut Meter, args: &[Value<'a>], place: usize) -> Outcome<'a> {
    meter.charge(1)?;
    match args {
        [Value::Semver(version)] => Ok(Value::Int(
            i64::try_from(version.numbers[place]).unwrap_or(i64::MAX),
        )),
        _ => Err(Error::no_such_overload()),
    }
}
