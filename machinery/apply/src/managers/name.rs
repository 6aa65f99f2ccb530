//! Validation of managers' names.

use berth_apimachinery::FieldError;

/// Highest length of a manager's name, in bytes.
pub const NAME_LIMIT: usize = 128;
/// Highest length of a subresource, in characters.
pub(crate) const SUBRESOURCE_LIMIT: usize = 256;

/// Returns the errors of a manager's name at `path`: it is too long, or has invisible characters.
#[must_use]
pub fn problems(path: &str, name: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if name.len() > NAME_LIMIT {
        errors.push(FieldError::too_long(path, NAME_LIMIT));
    }
    let mut letters = name.char_indices();
    if let Some((position, bad)) = letters.find(|(_, letter)| !is_printable(*letter)) {
        let detail = format!(
            "invalid character U+{:04X} (at position {position})",
            u32::from(bad)
        );
        errors.push(FieldError::invalid(path, name, detail));
    }
    errors
}

/// Whether a character is visible: a letter, mark, number, punctuation mark or symbol, or the ASCII space.
#[must_use]
pub fn is_printable(letter: char) -> bool {
    if matches!(letter, ' ' | '\\' | '"' | '\'') {
        return true;
    }
    // `escape_debug` escapes a combining mark at the beginning of a text, so the text begins with a letter.
    let mut text = String::from("a");
    text.push(letter);
    !letter.is_whitespace() && text.escape_debug().nth(1) != Some('\\')
}
