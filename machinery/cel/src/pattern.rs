//! Regular expressions in RE2's syntax, limited in size.
//!
//! The crate `regex` compiles the patterns and, like RE2, matches in linear time. Its syntax differs, so
//! patterns are rewritten first. For example, in RE2, `\d`, `\w`, `\s` and `\b` match only ASCII; brackets
//! and `&&` within a class, and a brace outside a repetition, are literal.

use regex::{Regex, RegexBuilder};

/// Highest weight of a pattern: characters times repetitions.
const MAX_WEIGHT: usize = 10_000;
/// Highest number of repetitions of one part, as in RE2.
const MAX_REPETITIONS: usize = 1000;
/// Highest length of a pattern in bytes. The weight does not limit the content of classes, and the crate
/// `regex` takes more than linear time to read it.
const MAX_LENGTH: usize = 4 * MAX_WEIGHT;
/// Highest memory, in bytes, of a compiled pattern and of the cache of a search.
const MAX_MEMORY: usize = 1 << 20;

/// A compiled regular expression.
#[derive(Debug)]
pub(crate) struct Pattern {
    regex: Regex,
    weight: usize,
}

impl Pattern {
    /// Compiles `source`.
    pub(crate) fn compile(source: &str) -> Result<Self, String> {
        let problem = |text: String| format!("error parsing regexp: {text}: `{source}`");
        if source.len() > MAX_LENGTH {
            return Err(problem("expression too large".to_owned()));
        }
        let mut rewriter = Rewriter {
            rest: source,
            output: String::with_capacity(source.len()),
            after_names: source.rfind(":]").map(|start| source.len() - start),
        };
        let weight = rewriter.sequence(0).map_err(&problem)?;
        if !rewriter.rest.is_empty() {
            return Err(problem("unexpected )".to_owned()));
        }
        if weight > MAX_WEIGHT {
            return Err(problem("expression too large".to_owned()));
        }
        let regex = RegexBuilder::new(&rewriter.output)
            .size_limit(MAX_MEMORY)
            .dfa_size_limit(MAX_MEMORY)
            .nest_limit(100)
            .build()
            .map_err(|error| {
                let text = error.to_string();
                let last = text.lines().last().unwrap_or_default();
                problem(last.trim_start_matches("error: ").to_owned())
            })?;
        Ok(Self { regex, weight })
    }

    pub(crate) fn regex(&self) -> &Regex {
        &self.regex
    }

    /// Returns the approximate length of the pattern in characters, with repetitions expanded. A class, and
    /// an escape such as `\b` or `\x41`, counts as [`CLASS_WEIGHT`] characters.
    pub(crate) fn weight(&self) -> usize {
        self.weight
    }
}

/// Weight of a class of characters, such as `.`, `[a-z]` or `\d`.
const CLASS_WEIGHT: usize = 4;
/// Highest depth of nested groups.
const MAX_GROUP_DEPTH: usize = 100;
/// Names of sets of characters within a class: `[[:alpha:]]`.
const SET_NAMES: [&str; 14] = [
    "alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph", "lower", "print", "punct", "space",
    "upper", "word", "xdigit",
];

/// Rewriter of a pattern from RE2's syntax to the syntax of the crate `regex`.
struct Rewriter<'s> {
    rest: &'s str,
    output: String,
    /// Number of bytes from the last `:]` to the end of the pattern; `None` if there is no `:]`.
    after_names: Option<usize>,
}

impl<'s> Rewriter<'s> {
    /// Rewrites the pattern up to its end or the bracket that closes the group, and returns the weight of
    /// this part.
    fn sequence(&mut self, depth: usize) -> Result<usize, String> {
        if depth > MAX_GROUP_DEPTH {
            return Err("expression nests too deeply".to_owned());
        }
        let (mut total, mut last) = (0usize, 0usize);
        while let Some(character) = self.rest.chars().next() {
            match character {
                ')' => break,
                '(' => {
                    total += last;
                    last = self.group(depth)?;
                }
                '[' => {
                    total += last;
                    self.class()?;
                    last = CLASS_WEIGHT;
                }
                '\\' if self.rest.starts_with("\\Q") => {
                    let length = self.quoted();
                    // A repetition behind the text repeats only its last character.
                    if length > 0 {
                        total += last + length - 1;
                        last = 1;
                    }
                }
                '\\' => {
                    total += last;
                    last = self.escape()?;
                }
                '{' => match repetition(self.rest) {
                    Some((length, most)) => {
                        if most > MAX_REPETITIONS {
                            return Err(format!("invalid repeat count: `{}`", &self.rest[..length]));
                        }
                        self.copy(length);
                        last = last.saturating_mul(most.max(1));
                    }
                    None => {
                        total += last;
                        last = 1;
                        self.output.push('\\');
                        self.copy(1);
                    }
                },
                _ => {
                    if !matches!(character, '*' | '+' | '?' | '|' | '^' | '$') {
                        total += last;
                        last = if character == '.' { CLASS_WEIGHT } else { 1 };
                    }
                    self.copy(character.len_utf8());
                }
            }
            if total.saturating_add(last) > 100 * MAX_WEIGHT {
                return Err("expression too large".to_owned());
            }
        }
        Ok(total + last)
    }

    /// Copies the next `length` bytes unchanged.
    fn copy(&mut self, length: usize) {
        let (copied, rest) = self.rest.split_at(length);
        self.output.push_str(copied);
        self.rest = rest;
    }

    /// Rewrites a group, and returns its weight.
    fn group(&mut self, depth: usize) -> Result<usize, String> {
        self.copy(1);
        if self.rest.starts_with('?') {
            let end = self.rest.find([':', '>', ')']).ok_or("missing closing )")?;
            let head = &self.rest[..end];
            let flags = head
                .trim_start_matches('?')
                .chars()
                .all(|flag| "imsU-".contains(flag));
            let is_named =
                (head.starts_with("?P<") || head.starts_with("?<")) && self.rest[end..].starts_with('>');
            if !(flags || is_named) || head.starts_with("?<=") || head.starts_with("?<!") {
                return Err(format!("invalid or unsupported Perl syntax: `({head}`"));
            }
            if self.rest[end..].starts_with(')') {
                self.copy(end + 1);
                return Ok(0);
            }
            self.copy(end + 1);
        }
        let weight = self.sequence(depth + 1)?;
        if !self.rest.starts_with(')') {
            return Err("missing closing )".to_owned());
        }
        self.copy(1);
        Ok(weight + 1)
    }

    /// Rewrites an escape outside of a class, and returns its weight.
    fn escape(&mut self) -> Result<usize, String> {
        let escaped = self.rest[1..]
            .chars()
            .next()
            .ok_or("trailing backslash at end of expression")?;
        let replacement = match escaped {
            'd' => "[0-9]",
            'D' => "[^0-9]",
            'w' => "[0-9A-Za-z_]",
            'W' => "[^0-9A-Za-z_]",
            's' => "[\\t\\n\\x0C\\r ]",
            'S' => "[^\\t\\n\\x0C\\r ]",
            'b' => "(?-u:\\b)",
            'B' => "\\B",
            'A' => "\\A",
            'z' => "\\z",
            'p' | 'P' => return self.unicode_class(escaped).map(|()| CLASS_WEIGHT),
            'x' => return self.escaped_character().map(|()| CLASS_WEIGHT),
            _ => return self.escaped_character().map(|()| 1),
        };
        self.output.push_str(replacement);
        self.rest = &self.rest[2..];
        Ok(CLASS_WEIGHT)
    }

    /// Rewrites an escaped character: `\.`, `\n`, `\x41`, `\x{1F600}` or `\101`. As in RE2, every sign of
    /// ASCII may be escaped.
    fn escaped_character(&mut self) -> Result<(), String> {
        let inside = &self.rest[1..];
        let escaped = inside
            .chars()
            .next()
            .ok_or("trailing backslash at end of expression")?;
        let invalid = || format!("invalid escape sequence: `\\{escaped}`");
        let digits = inside.bytes().take(3);
        let octal = digits.take_while(|digit| matches!(digit, b'0'..=b'7')).count();
        let (code, length) = match escaped {
            'a' | 'f' | 'n' | 'r' | 't' | 'v' => {
                self.copy(2);
                return Ok(());
            }
            'x' => {
                let length = hexadecimal_length(inside).ok_or_else(invalid)?;
                self.copy(1 + length);
                return Ok(());
            }
            // A single digit other than zero would refer to a group.
            '0'..='7' if escaped == '0' || octal > 1 => {
                let digits = inside.bytes().take(octal);
                let code = digits.fold(0u32, |code, digit| code * 8 + u32::from(digit - b'0'));
                (code, octal)
            }
            _ if escaped.is_ascii() && !escaped.is_ascii_alphanumeric() => (u32::from(escaped), 1),
            _ => return Err(invalid()),
        };
        self.output.push_str(&format!("\\x{{{code:X}}}"));
        self.rest = &inside[length..];
        Ok(())
    }

    /// Rewrites a class of Unicode (`\pN`, `\p{Greek}`, `\p{^Greek}`), whose braces are not a repetition.
    fn unicode_class(&mut self, escaped: char) -> Result<(), String> {
        let invalid = || format!("invalid character class range: `\\{escaped}`");
        let Some(inside) = self.rest[2..].strip_prefix('{') else {
            let name = self.rest[2..].chars().next().ok_or_else(invalid)?;
            self.copy(2 + name.len_utf8());
            return Ok(());
        };
        let end = inside.find('}').ok_or_else(invalid)?;
        match inside[..end].strip_prefix('^') {
            Some(name) => {
                let negated = if escaped == 'p' { 'P' } else { 'p' };
                self.output.push_str(&format!("\\{negated}{{{name}}}"));
                self.rest = &inside[end + 1..];
            }
            None => self.copy("\\p{".len() + end + 1),
        }
        Ok(())
    }

    /// Rewrites the literal text in `\Q...\E`, and returns the number of its characters.
    fn quoted(&mut self) -> usize {
        let rest = &self.rest[2..];
        let (literal, rest) = rest.split_once("\\E").unwrap_or((rest, ""));
        self.output.push_str(&regex::escape(literal));
        self.rest = rest;
        literal.chars().count()
    }

    /// Rewrites a class of characters in brackets.
    fn class(&mut self) -> Result<(), String> {
        self.copy(1);
        if self.rest.starts_with('^') {
            self.copy(1);
        }
        let mut first = true;
        while first || !self.rest.starts_with(']') {
            first = false;
            if self.set_in_class()? {
                continue;
            }
            self.character_in_class()?;
            // The last dash of a class is a character.
            if self.rest.starts_with('-') && !self.rest.starts_with("-]") {
                self.copy(1);
                self.character_in_class()?;
            }
        }
        self.copy(1);
        Ok(())
    }

    /// Rewrites a set of characters within a class, such as `\d`, `\pN` or `[:alpha:]`. Returns whether there
    /// is one.
    fn set_in_class(&mut self) -> Result<bool, String> {
        if let Some(name) = self.name_in_class() {
            if !SET_NAMES.contains(&name.strip_prefix('^').unwrap_or(name)) {
                return Err(format!("invalid character class range: `[:{name}:]`"));
            }
            self.copy("[::]".len() + name.len());
            return Ok(true);
        }
        let escaped = self.rest.strip_prefix('\\').and_then(|rest| rest.chars().next());
        let replacement = match escaped {
            Some('d') => "0-9",
            Some('D') => "[^0-9]",
            Some('w') => "0-9A-Za-z_",
            Some('W') => "[^0-9A-Za-z_]",
            Some('s') => "\\t\\n\\x0C\\r ",
            Some('S') => "[^\\t\\n\\x0C\\r ]",
            Some(escaped @ ('p' | 'P')) => return self.unicode_class(escaped).map(|()| true),
            _ => return Ok(false),
        };
        self.output.push_str(replacement);
        self.rest = &self.rest[2..];
        Ok(true)
    }

    /// Returns the name of the set of characters that is next within a class, such as `alpha` of `[:alpha:]`.
    fn name_in_class(&self) -> Option<&'s str> {
        let inside = self.rest.strip_prefix("[:")?;
        // A pattern of many `[:` without `:]` is not searched to its end for each of them.
        if inside.len() < self.after_names? {
            return None;
        }
        inside.split_once(":]").map(|(name, _)| name)
    }

    /// Rewrites one character within a class.
    fn character_in_class(&mut self) -> Result<(), String> {
        let character = self.rest.chars().next().ok_or("missing closing ]")?;
        match character {
            '\\' => return self.escaped_character(),
            // Signs that nest or combine classes in the crate `regex`, or that would be a range.
            '[' | ']' | '&' | '~' | '-' => {
                self.output.push('\\');
                self.copy(1);
            }
            other => self.copy(other.len_utf8()),
        }
        Ok(())
    }
}

/// Returns the length of the code point at the start of `text`, such as `x41` or `x{1F600}`; `None` when it
/// is malformed.
fn hexadecimal_length(text: &str) -> Option<usize> {
    let (digits, other) = match text.strip_prefix("x{") {
        Some(inside) => (inside.split_once('}')?.0, "x{}"),
        None => (text.get(1..3)?, "x"),
    };
    let is_number = !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    is_number.then_some(digits.len() + other.len())
}

/// Returns the length of a repetition in braces, and the higher of its bounds; `None` when the braces are not
/// a repetition.
fn repetition(rest: &str) -> Option<(usize, usize)> {
    let inside = rest.strip_prefix('{')?;
    // A pattern of many `{` is not searched to its end for each of them.
    let end = inside.find(|sign: char| !sign.is_ascii_digit() && sign != ',')?;
    let (inside, behind) = inside.split_at(end);
    behind.starts_with('}').then_some(())?;
    let (least, most) = inside.split_once(',').unwrap_or((inside, inside));
    let number = |digits: &str| {
        let is_number = !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit());
        is_number.then(|| digits.parse().unwrap_or(usize::MAX))
    };
    let least = number(least)?;
    let most = if most.is_empty() { least } else { number(most)? };
    Some((end + 2, most.max(least)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn braces_of_unicode_classes_and_code_points_are_no_repetitions() {
        for (source, matching, other) in [
            (r"^\p{Greek}+$", "αβ", "ab"),
            (r"^\P{Greek}$", "a", "α"),
            (r"^\p{^Greek}$", "a", "α"),
            (r"^\P{^Greek}$", "α", "a"),
            (r"^\pN{2}$", "12", "1"),
            (r"^\x{41}\x42$", "AB", "A"),
            (r"^\x{1F600}{2}$", "😀😀", "😀"),
            (r"^\x{2000}$", "\u{2000}", " "),
            (r"^[\p{Greek}\x{41}]{2}$", "αA", "aA"),
            (r"^[\p{^Greek}]$", "a", "α"),
        ] {
            let pattern = Pattern::compile(source).unwrap_or_else(|error| panic!("{error}"));
            assert!(pattern.regex().is_match(matching), "{source} {matching}");
            assert!(!pattern.regex().is_match(other), "{source} {other}");
            assert!(pattern.weight() < 20, "{source}: {}", pattern.weight());
        }
        for source in [r"\p{Greek", r"\p{Elvish}", r"\x{", r"[\p{Greek]"] {
            assert!(Pattern::compile(source).is_err(), "{source}");
        }
    }

    /// Compiles each pattern, and compares what it matches.
    fn compare(rows: &[(&str, &str, &str)]) {
        for (source, matching, other) in rows {
            let pattern = Pattern::compile(source).unwrap_or_else(|error| panic!("{error}"));
            assert!(pattern.regex().is_match(matching), "{source} {matching}");
            assert!(!pattern.regex().is_match(other), "{source} {other}");
        }
    }

    #[test]
    fn a_bracket_that_closes_no_group_is_an_error() {
        for source in [")", "a)b", "(a))", "a)|b"] {
            let error = Pattern::compile(source).unwrap_err();
            assert!(error.contains("unexpected )"), "{error}");
        }
    }

    #[test]
    fn every_sign_of_ascii_and_octal_numbers_may_be_escaped() {
        compare(&[
            (r"^\<a\>$", "<a>", "a"),
            (r"^\_\ \!\.$", "_ !.", "_ !a"),
            (r"^\101\12\0$", "A\n\0", "A"),
            (r"^\0601$", "01", "0601"),
            (r"^[\<\>]$", ">", "a"),
            (r"^[\60-\x37\]\^\-]$", "5", "9"),
            (r"^[\]-a]$", "^", "-"),
        ]);
        for source in [
            r"\1", r"\8", r"\12\9", r"\y", r"\E", r"\é", r"\x4", r"\x{}", r"[\1]", r"[\A]", r"[+-\w]", r"a\",
        ] {
            assert!(Pattern::compile(source).is_err(), "{source}");
        }
    }

    #[test]
    fn a_repetition_repeats_the_last_character_of_a_quoted_text() {
        compare(&[
            (r"^\Qab\E*$", "abb", "abab"),
            (r"^\Qa+\E{2}$", "a++", "a+a+"),
            (r"^a\Q\E*$", "aaa", "b"),
            (r"^\Qa.b", "a.b", "acb"),
        ]);
        let pattern = Pattern::compile(r"\Qabcdefgh\E{1000}").unwrap();
        assert_eq!(pattern.weight(), 1007);
    }

    #[test]
    fn a_dash_in_a_class_is_a_range_only_between_two_characters() {
        compare(&[
            (r"^[\w-.]+$", "a-b.c", "a b"),
            (r"^[\s-x]$", "-", "a"),
            (r"^[\pN-x]$", "-", "a"),
            (r"^[[:alpha:]-~]$", "-", "{"),
            (r"^[+--]$", ",", "/"),
            (r"^[!--/]$", "+", "."),
            (r"^[a-]$", "-", "b"),
            (r"^[-a]$", "-", "b"),
            (r"^[^-a]$", "b", "-"),
        ]);
    }

    #[test]
    fn a_name_in_a_class_is_a_known_one_between_colons() {
        compare(&[
            (r"^[[:^digit:]]$", "a", "1"),
            (r"^[[:]]$", ":]", ":"),
            (r"^[[:a]$", "[", "b"),
        ]);
        assert!(Pattern::compile("[[:letter:]]").is_err());
    }

    #[test]
    fn a_long_pattern_is_refused_even_if_it_is_light() {
        let class = |length: usize| format!("[{}]", "a".repeat(length));
        assert!(Pattern::compile(&class(100)).is_ok());
        assert!(Pattern::compile(&class(MAX_LENGTH)).is_err());
    }
}
