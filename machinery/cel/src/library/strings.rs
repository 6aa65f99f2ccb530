//! Functions of strings. Positions count characters, never bytes.

mod format;

use super::{Function, Outcome, count, function};
use crate::error::Error;
use crate::meter::Meter;
use crate::value::{Text, Value};
use format::format;

pub(super) const STANDARD: &[Function] = &[
    function(
        "size",
        &[
            "(string) int",
            "(bytes) int",
            "(list(A)) int",
            "(map(A, B)) int",
            "string.() int",
            "bytes.() int",
            "list(A).() int",
            "map(A, B).() int",
        ],
        size,
    ),
    function("contains", &["string.(string) bool"], contains),
    function("startsWith", &["string.(string) bool"], |meter, args| {
        predicate(meter, args, |text, part| text.starts_with(part))
    }),
    function("endsWith", &["string.(string) bool"], |meter, args| {
        predicate(meter, args, |text, part| text.ends_with(part))
    }),
];

pub(super) const EXTENDED: &[Function] = &[
    function("charAt", &["string.(int) string"], char_at),
    function(
        "indexOf",
        &["string.(string) int", "string.(string, int) int"],
        index_of,
    ),
    function(
        "lastIndexOf",
        &["string.(string) int", "string.(string, int) int"],
        last_index_of,
    ),
    function("lowerAscii", &["string.() string"], |meter, args| {
        transform(meter, args, str::to_ascii_lowercase)
    }),
    function("upperAscii", &["string.() string"], |meter, args| {
        transform(meter, args, str::to_ascii_uppercase)
    }),
    function("trim", &["string.() string"], |meter, args| {
        transform(meter, args, |text| text.trim_matches(is_space).to_owned())
    }),
    function(
        "replace",
        &[
            "string.(string, string) string",
            "string.(string, string, int) string",
        ],
        replace,
    ),
    function(
        "split",
        &[
            "string.(string) list(string)",
            "string.(string, int) list(string)",
        ],
        split,
    ),
    function(
        "substring",
        &["string.(int) string", "string.(int, int) string"],
        substring,
    ),
    function(
        "join",
        &["list(string).() string", "list(string).(string) string"],
        join,
    ),
    function("format", &["string.(list(dyn)) string"], format),
    function("strings.quote", &["(string) string"], |meter, args| {
        transform(meter, args, format::quoted)
    }),
];

pub(super) const REVERSE: &[Function] = &[function("reverse", &["string.() string"], |meter, args| {
    transform(meter, args, |text| text.chars().rev().collect())
})];

/// Whether a character is Unicode white space, as in Go's `strings.TrimSpace`.
fn is_space(character: char) -> bool {
    character.is_whitespace()
}

/// Returns the text of the argument at `index`.
pub(super) fn text<'v, 'a>(args: &'v [Value<'a>], index: usize) -> Result<&'v Text<'a>, Error> {
    match args.get(index) {
        Some(Value::String(text)) => Ok(text),
        _ => Err(Error::no_such_overload()),
    }
}

/// Returns the int of the argument at `index`.
pub(super) fn number(args: &[Value<'_>], index: usize) -> Result<i64, Error> {
    match args.get(index) {
        Some(Value::Int(number)) => Ok(*number),
        _ => Err(Error::no_such_overload()),
    }
}

fn size<'a>(meter: &mut Meter, args: &[Value<'a>]) -> Outcome<'a> {
    Ok(match &args[0] {
        Value::String(text) => {
            meter.charge(1 + text.len() / 64)?;
            count(text.chars().count())
        }
        other => {
            meter.charge(1)?;
            count(other.size())
        }
    })
}

fn contains<'a>(meter: &mut Meter, args: &[Value<'a>]) -> Outcome<'a> {
    let (text, part) = (text(args, 0)?, text(args, 1)?);
    meter.charge(text.len().div_ceil(10) * part.len().div_ceil(10))?;
    meter.charge_bytes(text.len())?;
    Ok(Value::Bool(text.contains(&**part)))
}

fn predicate<'a>(meter: &mut Meter, args: &[Value<'a>], holds: fn(&str, &str) -> bool) -> Outcome<'a> {
    let (text, part) = (text(args, 0)?, text(args, 1)?);
    meter.charge_bytes(text.len())?;
    Ok(Value::Bool(holds(text, part)))
}

fn transform<'a>(meter: &mut Meter, args: &[Value<'a>], change: fn(&str) -> String) -> Outcome<'a> {
    let text = text(args, 0)?;
    meter.charge_bytes(text.len())?;
    Ok(change(text).into())
}

fn out_of_range(position: i64) -> Error {
    Error::failed(format!("index out of range: {position}"))
}

/// Returns the byte offset of the character at `position`; the end of the text for the position after the
/// last character.
fn byte_offset(text: &str, position: i64) -> Option<usize> {
    let position = usize::try_from(position).ok()?;
    let ends = std::iter::once(text.len());
    text.char_indices().map(|(at, _)| at).chain(ends).nth(position)
}

fn char_at<'a>(meter: &mut Meter, args: &[Value<'a>]) -> Outcome<'a> {
    let (text, position) = (text(args, 0)?, number(args, 1)?);
    meter.charge_bytes(text.len())?;
    let at = byte_offset(text, position).ok_or_else(|| out_of_range(position))?;
    let character = text[at..].chars().next();
    Ok(character.map(String::from).unwrap_or_default().into())
}

fn index_of<'a>(meter: &mut Meter, args: &[Value<'a>]) -> Outcome<'a> {
    let (text, part) = (text(args, 0)?, text(args, 1)?);
    meter.charge(1)?;
    meter.charge_bytes(text.len())?;
    let from = if args.len() > 2 { number(args, 2)? } else { 0 };
    if part.is_empty() {
        return Ok(Value::Int(from));
    }
    if from < 0 {
        return Err(out_of_range(from));
    }
    let found = byte_offset(text, from).and_then(|start| Some(start + text[start..].find(&**part)?));
    Ok(found.map_or(Value::Int(-1), |at| count(text[..at].chars().count())))
}

fn last_index_of<'a>(meter: &mut Meter, args: &[Value<'a>]) -> Outcome<'a> {
    let (text, part) = (text(args, 0)?, text(args, 1)?);
    meter.charge(1)?;
    meter.charge_bytes(2 * text.len())?;
    let length = text.chars().count();
    if args.len() > 2 {
        let until = number(args, 2)?;
        if part.is_empty() {
            return Ok(Value::Int(until));
        }
        let start = byte_offset(text, until).filter(|at| *at < text.len());
        let Some(start) = start else {
            return if until < 0 {
                Err(out_of_range(until))
            } else {
                Ok(Value::Int(-1))
            };
        };
        // The last occurrence that begins at or before `start`.
        let end = text.floor_char_boundary(start + part.len());
        let found = text[..end].rfind(&**part);
        return Ok(found.map_or(Value::Int(-1), |at| count(text[..at].chars().count())));
    }
    if part.is_empty() {
        return Ok(count(length));
    }
    let found = text.rfind(&**part);
    Ok(found.map_or(Value::Int(-1), |at| count(text[..at].chars().count())))
}

/// Returns the limit in the argument at `index`; `None` when the limit is absent or negative.
fn limit(args: &[Value<'_>], index: usize) -> Result<Option<usize>, Error> {
    if args.len() <= index {
        return Ok(None);
    }
    Ok(usize::try_from(number(args, index)?).ok())
}

fn replace<'a>(meter: &mut Meter, args: &[Value<'a>]) -> Outcome<'a> {
    let (text, old, new) = (text(args, 0)?, text(args, 1)?, text(args, 2)?);
    meter.charge_bytes(2 * text.len())?;
    let most = limit(args, 3)?.unwrap_or(usize::MAX);
    let found = if old.is_empty() {
        text.chars().count() + 1
    } else {
        text.matches(&**old).count()
    };
    // The result is charged before it is created.
    let length = text
        .len()
        .saturating_add(found.min(most).saturating_mul(new.len()));
    meter.charge_bytes(length.saturating_sub(text.len()))?;
    Ok(text.replacen(&**old, new, most).into())
}

fn split<'a>(meter: &mut Meter, args: &[Value<'a>]) -> Outcome<'a> {
    let (text, separator) = (text(args, 0)?, text(args, 1)?);
    meter.charge_bytes(2 * text.len())?;
    let most = limit(args, 2)?.unwrap_or(usize::MAX);
    if most == 0 {
        return Ok(Vec::new().into());
    }
    let parts: Vec<&str> = if separator.is_empty() {
        characters(text, most)
    } else {
        text.splitn(most, &**separator).collect()
    };
    // Each element of the list is charged in addition to the text.
    meter.charge(parts.len())?;
    Ok(parts.into_iter().map(Value::from).collect::<Vec<_>>().into())
}

/// Splits `text` into characters, at most `most` parts; the last part contains the rest.
fn characters(text: &str, most: usize) -> Vec<&str> {
    let starts: Vec<usize> = text.char_indices().map(|(at, _)| at).take(most).collect();
    let ends = starts.iter().skip(1).copied().chain([text.len()]);
    starts
        .iter()
        .zip(ends)
        .map(|(start, end)| &text[*start..end])
        .collect()
}

fn substring<'a>(meter: &mut Meter, args: &[Value<'a>]) -> Outcome<'a> {
    let (text, start) = (text(args, 0)?, number(args, 1)?);
    meter.charge_bytes(text.len())?;
    let from = byte_offset(text, start).ok_or_else(|| out_of_range(start))?;
    if args.len() == 2 {
        return Ok(text[from..].into());
    }
    let end = number(args, 2)?;
    let until = byte_offset(text, end).ok_or_else(|| out_of_range(end))?;
    let part = text.get(from..until);
    part.map(Value::from)
        .ok_or_else(|| Error::failed(format!("invalid substring range. start: {start}, end: {end}")))
}

fn join<'a>(meter: &mut Meter, args: &[Value<'a>]) -> Outcome<'a> {
    let Value::List(list) = &args[0] else {
        return Err(Error::no_such_overload());
    };
    let separator = if args.len() > 1 { &**text(args, 1)? } else { "" };
    let mut joined = String::new();
    for (index, element) in list.iter().enumerate() {
        let Value::String(part) = &element else {
            return Err(Error::failed(format!(
                "join: invalid input: {}",
                element.type_name()
            )));
        };
        meter.charge(1)?;
        meter.charge_bytes(2 * (part.len() + separator.len()))?;
        if index > 0 {
            joined.push_str(separator);
        }
        joined.push_str(part);
    }
    Ok(joined.into())
}
