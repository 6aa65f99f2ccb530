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
        let mut rewriter = Rewriter {
            rest: source,
            output: String::with_capacity(source.len()),
        };
        let weight = rewriter.sequence(0).map_err(&problem)?;
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

/// Rewriter of a pattern from RE2's syntax to the syntax of the crate `regex`.
struct Rewriter<'s> {
    rest: &'s str,
    output: String,
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
            'Q' => return Ok(self.quoted()),
            'p' | 'P' | 'x' => return self.code_point(escaped).map(|()| CLASS_WEIGHT),
            'C' | 'Z' | 'G' | 'R' | 'X' | 'k' | 'u' | 'U' | '1'..='9' | '<' | '>' => {
                return Err(format!("invalid escape sequence: `\\{escaped}`"));
            }
            _ => {
                self.copy(1 + escaped.len_utf8());
                return Ok(1);
            }
        };
        self.output.push_str(replacement);
        self.rest = &self.rest[2..];
        Ok(CLASS_WEIGHT)
    }

    /// Rewrites a class of Unicode (`\pN`, `\p{Greek}`, `\p{^Greek}`) or a code point (`\x41`, `\x{1F600}`),
    /// whose braces are not a repetition.
    fn code_point(&mut self, escaped: char) -> Result<(), String> {
        let Some(inside) = self.rest[2..].strip_prefix('{') else {
            self.copy(2);
            return Ok(());
        };
        let end = inside
            .find('}')
            .ok_or_else(|| format!("invalid escape sequence: `\\{escaped}{{`"))?;
        match inside[..end].strip_prefix('^') {
            Some(name) if escaped != 'x' => {
                let negated = if escaped == 'p' { 'P' } else { 'p' };
                self.output.push_str(&format!("\\{negated}{{{name}}}"));
                self.rest = &inside[end + 1..];
            }
            _ => self.copy("\\p{".len() + end + 1),
        }
        Ok(())
    }

    /// Rewrites the literal text in `\Q...\E`, and returns its length as the weight.
    fn quoted(&mut self) -> usize {
        let rest = &self.rest[2..];
        let end = rest.find("\\E");
        let literal = &rest[..end.unwrap_or(rest.len())];
        self.output.push_str("(?:");
        self.output.push_str(&regex::escape(literal));
        self.output.push(')');
        self.rest = end.map_or("", |end| &rest[end + 2..]);
        literal.len()
    }

    /// Rewrites a class of characters in brackets.
    fn class(&mut self) -> Result<(), String> {
        self.copy(1);
        if self.rest.starts_with('^') {
            self.copy(1);
        }
        let mut first = true;
        loop {
            let character = self.rest.chars().next().ok_or("missing closing ]")?;
            match character {
                ']' if !first => {
                    self.copy(1);
                    return Ok(());
                }
                '[' if self.rest.starts_with("[:") && self.rest.contains(":]") => {
                    let end = self.rest.find(":]").map_or(1, |end| end + 2);
                    self.copy(end);
                }
                '\\' => self.class_escape()?,
                // Signs that combine classes in the crate `regex`.
                '[' | ']' | '&' | '~' => {
                    self.output.push('\\');
                    self.copy(1);
                }
                '-' if self.rest.starts_with("--") => {
                    self.output.push('\\');
                    self.copy(1);
                }
                other => self.copy(other.len_utf8()),
            }
            first = false;
        }
    }

    /// Rewrites an escape within a class.
    fn class_escape(&mut self) -> Result<(), String> {
        let escaped = self.rest[1..].chars().next().ok_or("missing closing ]")?;
        let replacement = match escaped {
            'd' => "0-9",
            'D' => "[^0-9]",
            'w' => "0-9A-Za-z_",
            'W' => "[^0-9A-Za-z_]",
            's' => "\\t\\n\\x0C\\r ",
            'S' => "[^\\t\\n\\x0C\\r ]",
            'b' | 'B' => return Err(format!("invalid escape sequence: `\\{escaped}`")),
            'p' | 'P' | 'x' => return self.code_point(escaped),
            _ => {
                self.copy(1 + escaped.len_utf8());
                return Ok(());
            }
        };
        self.output.push_str(replacement);
        self.rest = &self.rest[2..];
        Ok(())
    }
}

/// Returns the length of a repetition in braces, and the higher of its bounds; `None` when the braces are not
/// a repetition.
fn repetition(rest: &str) -> Option<(usize, usize)> {
    let end = rest.find('}')?;
    let inside = &rest[1..end];
    let (least, most) = inside.split_once(',').unwrap_or((inside, inside));
    let number = |digits: &str| {
        let is_number = !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit());
        is_number.then(|| digits.parse().unwrap_or(usize::MAX))
    };
    let least = number(least)?;
    let most = if most.is_empty() { least } else { number(most)? };
    Some((end + 1, most.max(least)))
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
}
