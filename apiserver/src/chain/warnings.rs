//! `Warning` headers: `299 - "text"`, one for each text.

use http::HeaderValue;

/// Highest total length of all texts, in characters. If the texts are longer, each text is truncated.
const TOTAL_LIMIT: usize = 4096;
/// Length of a truncated text, in characters.
const TRUNCATED_LENGTH: usize = 256;

/// Returns the header values for `texts`. The last texts are omitted if the texts, each truncated, together
/// exceed [`TOTAL_LIMIT`].
pub(super) fn headers(texts: &[String]) -> Vec<HeaderValue> {
    let is_truncated = texts.iter().map(|text| text.chars().count()).sum::<usize>() > TOTAL_LIMIT;
    let longest = if is_truncated {
        TRUNCATED_LENGTH
    } else {
        usize::MAX
    };
    let mut remaining = TOTAL_LIMIT;
    let mut values = Vec::new();
    for text in texts {
        let text: String = text.chars().take(longest).collect();
        let length = text.chars().count();
        if length > remaining {
            break;
        }
        remaining -= length;
        // Header values may not contain control characters, which `quoted` replaces with spaces.
        values.extend(HeaderValue::from_bytes(quoted(&text).as_bytes()));
    }
    values
}

/// Returns the header value for `text`: quotes and backslashes are escaped, control characters become spaces.
fn quoted(text: &str) -> String {
    let mut value = String::with_capacity(text.len() + 10);
    value.push_str("299 - \"");
    for letter in text.chars() {
        match letter {
            '"' | '\\' => {
                value.push('\\');
                value.push(letter);
            }
            letter if letter.is_control() => value.push(' '),
            letter => value.push(letter),
        }
    }
    value.push('"');
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_quoted() {
        let values = headers(&["unknown field \"spec.x\"".to_owned(), "two\nlines".to_owned()]);
        assert_eq!(values[0].as_bytes(), br#"299 - "unknown field \"spec.x\"""#);
        assert_eq!(values[1].as_bytes(), br#"299 - "two lines""#);
    }

    #[test]
    fn too_much_text_is_cut() {
        let values = headers(&vec!["x".repeat(1000); 30]);
        assert_eq!(values.len(), TOTAL_LIMIT / TRUNCATED_LENGTH);
        assert_eq!(values[0].len(), TRUNCATED_LENGTH + "299 - \"\"".len());
    }
}
