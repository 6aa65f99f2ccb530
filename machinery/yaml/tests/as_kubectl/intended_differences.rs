//! Intended differences between us and kubectl: unusual texts, and texts that kubectl truncates silently.

/// Reason for a difference in `text`, if it is intended.
pub(crate) fn intended_difference(text: &str) -> Option<&'static str> {
    let has = |any: &[&str]| any.iter().any(|one| text.contains(one));
    let brackets = has(&["{", "["]);
    if has(&["\u{85}", "\u{2028}", "\u{2029}"]) {
        return Some("letters that break lines in YAML 1.1 alone");
    }
    if text.split("\n...").skip(1).any(|rest| !rest.trim().is_empty()) || has(&["\n%", "---\n.."]) {
        return Some("kubectl leaves out without a word what follows the end of a document");
    }
    if after(text, "'\"]}|>-+0123456789", '#') {
        return Some("a comment without a blank before it");
    }
    if text.contains('!')
        && after(text, "!", |letter: char| {
            !letter.is_ascii_alphanumeric() && letter != ' '
        })
    {
        return Some("tags of letters that tags have not");
    }
    if has(&["!e", "!a", "!f"]) {
        return Some("a tag that goes on where a blank should be");
    }
    if names(text) {
        return Some(
            "names of anchors have letters, digits, - and _ with kubectl, and all but brackets in YAML 1.2",
        );
    }
    if brackets && has(&["?"]) {
        return Some("a question mark within brackets");
    }
    if brackets
        && (after(text, ":", |letter: char| letter != ' ' && letter != '\n') || after(text, " ,{[", ':'))
    {
        return Some("a colon within brackets that no blank follows");
    }
    if brackets && after(text, "-", |letter: char| ",]}".contains(letter)) {
        return Some("a dash alone within brackets");
    }
    if brackets && text.contains('\t') {
        return Some("a line within brackets that begins with a tab");
    }
    if brackets && text.trim_end().contains('\n') {
        return Some("a key within brackets that goes over two lines");
    }
    if text
        .lines()
        .any(|line| line.contains('\t') && line.trim().is_empty())
    {
        return Some("a line of blanks, a tab among them");
    }
    if has(&["1:"]) && has(&["'1'"]) {
        return Some("of a number and the same as a text kubectl takes one by chance");
    }
    if has(&["\n>", "\n|"]) {
        return Some("a block scalar that begins at the margin");
    }
    None
}

/// Whether an anchor or an alias has unusual letters in its name.
fn names(text: &str) -> bool {
    let mut after = text.split(['&', '*']).skip(1);
    after.any(|rest| {
        let name = rest
            .split(|letter: char| letter.is_whitespace() || ",[]{}".contains(letter))
            .next();
        name.is_some_and(|name| {
            name.is_empty()
                || !name
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
        })
    })
}

/// Whether any of `first` stands before a letter that is `second`.
fn after(text: &str, first: &str, second: impl Pattern) -> bool {
    let letters = text.chars().zip(text.chars().skip(1));
    letters
        .into_iter()
        .any(|(one, other)| first.contains(one) && second.is(other))
}

/// A letter, or a question about one.
trait Pattern {
    fn is(&self, letter: char) -> bool;
}

impl Pattern for char {
    fn is(&self, letter: char) -> bool {
        *self == letter
    }
}

impl<F: Fn(char) -> bool> Pattern for F {
    fn is(&self, letter: char) -> bool {
        self(letter)
    }
}
