//! Functions of semantic versions.

use std::cmp::Ordering;
use std::sync::Arc;

use super::{Function, Outcome, function, strings};
use crate::error::Error;
use crate::meter::Meter;
use crate::value::{Semver, Value};

pub(super) const FUNCTIONS: &[Function] = &[
    function("semver", &["(string) Semver"], semver),
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
    function("semver", &["(string, bool) Semver"], semver),
    function("isSemver", &["(string, bool) bool"], |meter, args| {
        Ok(Value::Bool(read(meter, args)?.is_ok()))
    }),
];

/// Normalizes a version: removes a leading `v` and leading zeros, and adds missing minor and patch numbers as
/// 0. `None` when numbers are missing before a suffix, as in `1.0-rc`.
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

/// Parses the version in the first argument, normalized if the second argument requests it.
fn read(meter: &mut Meter, args: &[Value<'_>]) -> Result<Result<Semver, Error>, Error> {
    let text = strings::text(args, 0)?;
    meter.charge_bytes(text.len())?;
    let version = match args.get(1) {
        Some(Value::Bool(true)) => normalized(text).and_then(|text| Semver::read(&text)),
        Some(Value::Bool(false)) | None => Semver::read(text),
        Some(_) => return Err(Error::no_such_overload()),
    };
    Ok(version.ok_or_else(|| Error::failed(format!("{:?} is not a semantic version", &**text))))
}

fn semver<'a>(meter: &mut Meter, args: &[Value<'a>]) -> Outcome<'a> {
    Ok(Value::Semver(Arc::new(read(meter, args)??)))
}

fn order(meter: &mut Meter, args: &[Value<'_>]) -> Result<Ordering, Error> {
    meter.charge(1)?;
    match args {
        [Value::Semver(one), Value::Semver(other)] => Ok(one.precedence(other)),
        _ => Err(Error::no_such_overload()),
    }
}

fn part<'a>(meter: &mut Meter, args: &[Value<'a>], index: usize) -> Outcome<'a> {
    meter.charge(1)?;
    match args {
        [Value::Semver(version)] => Ok(Value::Int(
            i64::try_from(version.numbers[index]).unwrap_or(i64::MAX),
        )),
        _ => Err(Error::no_such_overload()),
    }
}
