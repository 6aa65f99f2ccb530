//! Functions that match regular expressions.

use super::{Function, Outcome, function, strings};
use crate::error::Error;
use crate::meter::Meter;
use crate::pattern::Pattern;
use crate::value::Value;

pub(super) const STANDARD: &[Function] = &[function(
    "matches",
    &["string.(string) bool", "(string, string) bool"],
    |meter, args| {
        let (text, pattern) = (strings::text(args, 0)?, strings::text(args, 1)?);
        let pattern_length = pattern.len();
        let pattern = meter.pattern(pattern)?;
        charge(meter, text.len(), pattern_length, &pattern)?;
        Ok(Value::Bool(pattern.regex().is_match(text)))
    },
)];

pub(super) const FUNCTIONS: &[Function] = &[
    function("find", &["string.(string) string"], |meter, args| {
        let (text, pattern) = (strings::text(args, 0)?, strings::text(args, 1)?);
        let pattern_length = pattern.len();
        let pattern = meter.pattern(pattern)?;
        charge(meter, text.len(), pattern_length, &pattern)?;
        let found = pattern.regex().find(text);
        Ok(found.map(|found| found.as_str()).unwrap_or_default().into())
    }),
    function(
        "findAll",
        &[
            "string.(string) list(string)",
            "string.(string, int) list(string)",
        ],
        find_all,
    ),
];

/// Charges a search: a tenth of the length of the text times a quarter of the length of the pattern, as in
/// cel-go, and more for a pattern whose compiled form is large.
fn charge(
    meter: &mut Meter,
    text_length: usize,
    pattern_length: usize,
    pattern: &Pattern,
) -> Result<(), Error> {
    let states =
        pattern_length.div_ceil(4) + pattern.weight().saturating_sub(pattern_length.saturating_mul(4));
    meter.charge((text_length + 1).div_ceil(10).saturating_mul(states))
}

fn find_all<'a>(meter: &mut Meter, args: &[Value<'a>]) -> Outcome<'a> {
    let (text, pattern) = (strings::text(args, 0)?, strings::text(args, 1)?);
    let most = match args.get(2) {
        Some(_) => usize::try_from(strings::number(args, 2)?).unwrap_or(usize::MAX),
        None => usize::MAX,
    };
    let pattern_length = pattern.len();
    let pattern = meter.pattern(pattern)?;
    charge(meter, text.len(), pattern_length, &pattern)?;
    let mut all = Vec::new();
    let mut previous_end = None;
    for found in pattern.regex().find_iter(text).take(most) {
        // Each match is charged in addition to the search of the whole text.
        meter.charge(1)?;
        meter.charge_bytes(found.len())?;
        // As in Go, an empty match directly after another match is ignored.
        if found.is_empty() && previous_end == Some(found.start()) {
            continue;
        }
        previous_end = Some(found.end());
        all.push(Value::from(found.as_str()));
    }
    Ok(all.into())
}
