//! Validation of strings in named formats, such as `dns1123Label`.

use super::{Function, Outcome, function, strings};
use crate::error::Error;
use crate::meter::Meter;
use crate::value::{Moment, Url, Value};

pub(super) const FUNCTIONS: &[Function] = &[
    function("format.named", &["(string) optional(Format)"], |meter, args| {
        meter.charge(1)?;
        let name = strings::text(args, 0)?;
        let found = NAMES.iter().find(|known| **known == &**name);
        Ok(found.map_or(Value::Optional(None), |name| Value::some(Value::Format(name))))
    }),
    function("format.dns1123Label", NO_ARGUMENTS, |meter, _| {
        format_named(meter, "dns1123Label")
    }),
    function("format.dns1123Subdomain", NO_ARGUMENTS, |meter, _| {
        format_named(meter, "dns1123Subdomain")
    }),
    function("format.dns1035Label", NO_ARGUMENTS, |meter, _| {
        format_named(meter, "dns1035Label")
    }),
    function("format.qualifiedName", NO_ARGUMENTS, |meter, _| {
        format_named(meter, "qualifiedName")
    }),
    function("format.dns1123LabelPrefix", NO_ARGUMENTS, |meter, _| {
        format_named(meter, "dns1123LabelPrefix")
    }),
    function("format.dns1123SubdomainPrefix", NO_ARGUMENTS, |meter, _| {
        format_named(meter, "dns1123SubdomainPrefix")
    }),
    function("format.dns1035LabelPrefix", NO_ARGUMENTS, |meter, _| {
        format_named(meter, "dns1035LabelPrefix")
    }),
    function("format.labelValue", NO_ARGUMENTS, |meter, _| {
        format_named(meter, "labelValue")
    }),
    function("format.uri", NO_ARGUMENTS, |meter, _| format_named(meter, "uri")),
    function("format.uuid", NO_ARGUMENTS, |meter, _| {
        format_named(meter, "uuid")
    }),
    function("format.byte", NO_ARGUMENTS, |meter, _| {
        format_named(meter, "byte")
    }),
    function("format.date", NO_ARGUMENTS, |meter, _| {
        format_named(meter, "date")
    }),
    function("format.datetime", NO_ARGUMENTS, |meter, _| {
        format_named(meter, "datetime")
    }),
    function("validate", &["Format.(string) optional(list(string))"], validate),
];

const NO_ARGUMENTS: &[&str] = &["() Format"];

const NAMES: [&str; 13] = [
    "dns1123Label",
    "dns1123Subdomain",
    "dns1035Label",
    "qualifiedName",
    "dns1123LabelPrefix",
    "dns1123SubdomainPrefix",
    "dns1035LabelPrefix",
    "labelValue",
    "uri",
    "uuid",
    "byte",
    "date",
    "datetime",
];

fn format_named<'a>(meter: &mut Meter, name: &'static str) -> Outcome<'a> {
    meter.charge(1)?;
    Ok(Value::Format(name))
}

fn validate<'a>(meter: &mut Meter, args: &[Value<'a>]) -> Outcome<'a> {
    let [Value::Format(format), Value::String(text)] = args else {
        return Err(Error::no_such_overload());
    };
    meter.charge_bytes(8 * text.len())?;
    let problems = problems(format, text);
    if problems.is_empty() {
        return Ok(Value::Optional(None));
    }
    let list: Vec<Value<'a>> = problems.into_iter().map(Value::from).collect();
    Ok(Value::some(list.into()))
}

/// Returns the errors of `text` as a value of `format`.
fn problems(format: &str, text: &str) -> Vec<String> {
    // A prefix may end in a dash. As in Kubernetes, the dash and the character before it count as one letter.
    let with_letter = |text: &str| {
        let mut start = text.strip_suffix('-').unwrap_or_default().chars();
        match start.next_back() {
            Some(letter) if letter.is_ascii() => format!("{}a", start.as_str()),
            _ => text.to_owned(),
        }
    };
    match format {
        "dns1123Label" => label(text),
        "dns1123LabelPrefix" => label(&with_letter(text)),
        "dns1123Subdomain" => subdomain(text),
        "dns1123SubdomainPrefix" => subdomain(&with_letter(text)),
        "dns1035Label" => dns1035_label(text),
        "dns1035LabelPrefix" => dns1035_label(&with_letter(text)),
        "qualifiedName" => qualified_name(text),
        "labelValue" => label_value(text),
        "uri" => problem_unless(Url::read_request_uri(text).is_ok(), || {
            format!("parse {text:?}: invalid URI for request")
        }),
        "uuid" => problem_unless(is_uuid(text), || "does not match the UUID format".to_owned()),
        "byte" => problem_unless(is_base64(text), || "invalid base64".to_owned()),
        "date" => problem_unless(Moment::read(&format!("{text}T00:00:00Z")).is_some(), || {
            "invalid date".to_owned()
        }),
        _ => problem_unless(is_moment(text), || "invalid datetime".to_owned()),
    }
}

fn problem_unless(fits: bool, problem: impl FnOnce() -> String) -> Vec<String> {
    if fits { Vec::new() } else { vec![problem()] }
}

fn too_long(text: &str, most: usize) -> Option<String> {
    (text.len() > most).then(|| format!("must be no more than {most} characters"))
}

fn is_lower(letter: char) -> bool {
    letter.is_ascii_lowercase() || letter.is_ascii_digit()
}

/// Whether `text` consists of `inner` characters, and begins and ends with `outer` characters.
fn framed(text: &str, outer: fn(char) -> bool, inner: fn(char) -> bool) -> bool {
    text.starts_with(outer) && text.ends_with(outer) && text.chars().all(inner)
}

fn has_label_letters(text: &str) -> bool {
    framed(text, is_lower, |letter| is_lower(letter) || letter == '-')
}

fn label(text: &str) -> Vec<String> {
    let mut problems: Vec<String> = too_long(text, 63).into_iter().collect();
    if !has_label_letters(text) {
        problems.push(
            "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and \
             end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is \
             '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
                .to_owned(),
        );
    }
    problems
}

fn subdomain(text: &str) -> Vec<String> {
    let mut problems: Vec<String> = too_long(text, 253).into_iter().collect();
    if !text.split('.').all(has_label_letters) {
        problems.push(
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must \
             start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is \
             '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
                .to_owned(),
        );
    }
    problems
}

fn dns1035_label(text: &str) -> Vec<String> {
    let mut problems: Vec<String> = too_long(text, 63).into_iter().collect();
    if !has_label_letters(text) || !text.starts_with(|letter: char| letter.is_ascii_lowercase()) {
        problems.push(
            "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic \
             character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for \
             validation is '[a-z]([-a-z0-9]*[a-z0-9])?')"
                .to_owned(),
        );
    }
    problems
}

/// Rule for the name part of a qualified name, as in Kubernetes' messages.
const NAME_RULE: &str = "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an \
     alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is \
     '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";

fn has_name_letters(text: &str) -> bool {
    framed(
        text,
        |letter| letter.is_ascii_alphanumeric(),
        |letter| letter.is_ascii_alphanumeric() || "-_.".contains(letter),
    )
}

fn qualified_name(text: &str) -> Vec<String> {
    let (prefix, name) = match text.split_once('/') {
        Some((_, name)) if name.contains('/') => {
            let ending = "with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')";
            return vec![format!("a valid label key {NAME_RULE} {ending}")];
        }
        Some((prefix, name)) => (Some(prefix), name),
        None => (None, text),
    };
    let mut problems = Vec::new();
    match prefix {
        Some("") => problems.push("prefix part must be non-empty".to_owned()),
        Some(prefix) => problems.extend(
            subdomain(prefix)
                .into_iter()
                .map(|problem| format!("prefix part {problem}")),
        ),
        None => {}
    }
    if name.is_empty() {
        problems.push("name part must be non-empty".to_owned());
    }
    problems.extend(too_long(name, 63).map(|problem| format!("name part {problem}")));
    if !has_name_letters(name) {
        problems.push(format!("name part {NAME_RULE}"));
    }
    problems
}

fn label_value(text: &str) -> Vec<String> {
    let mut problems: Vec<String> = too_long(text, 63).into_iter().collect();
    if !text.is_empty() && !has_name_letters(text) {
        problems.push(
            "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must \
             start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for \
             validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
                .to_owned(),
        );
    }
    problems
}

fn is_uuid(text: &str) -> bool {
    let mut rest = text;
    for (index, length) in [8, 4, 4, 4, 12].into_iter().enumerate() {
        if index > 0 {
            rest = rest.strip_prefix('-').unwrap_or(rest);
        }
        match rest.get(..length) {
            Some(digits) if digits.bytes().all(|digit| digit.is_ascii_hexdigit()) => rest = &rest[length..],
            _ => return false,
        }
    }
    rest.is_empty()
}

fn is_base64(text: &str) -> bool {
    let digits = text.trim_end_matches('=');
    let padding = text.len() - digits.len();
    !text.is_empty()
        && text.len().is_multiple_of(4)
        && padding <= 2
        && digits
            .bytes()
            .all(|digit| digit.is_ascii_alphanumeric() || matches!(digit, b'+' | b'/'))
}

/// Whether `text` is a timestamp of RFC 3339, in upper or lower case.
fn is_moment(text: &str) -> bool {
    text.len() >= 4 && text.is_ascii() && Moment::read(&text.to_ascii_uppercase()).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_two_slashes_is_no_qualified_name() {
        let problems = problems("qualifiedName", "a/b/c");
        assert!(
            problems.len() == 1 && problems[0].starts_with("a valid label key must consist of"),
            "{problems:?}"
        );
        assert!(super::problems("qualifiedName", "example.com/a").is_empty());
    }

    #[test]
    fn a_prefix_may_end_in_a_dash_behind_a_character() {
        for (text, is_valid) in [
            ("a-", true),
            ("ab-", true),
            ("a", true),
            ("-", false),
            ("é-", false),
            ("", false),
        ] {
            assert_eq!(
                problems("dns1123LabelPrefix", text).is_empty(),
                is_valid,
                "{text:?}"
            );
        }
    }
}
