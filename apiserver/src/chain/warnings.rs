//! `Warning` headers: `299 - "text"`, one for each text.

use http::HeaderValue;

/// Total length of all texts, in characters, above which each text is truncated.
const TOTAL: usize = 4096;
/// Length of a truncated text.
const CUT: usize = 256;

/// The header values for `texts`; later texts are omitted when the total length is reached.
pub(super) fn headers(texts: &[String]) -> Vec<HeaderValue> {
    let cut = texts.iter().map(|text| text.chars().count()).sum::<usize>() > TOTAL;
    let mut remaining = TOTAL;
    let mut values = Vec::new();
    for text in texts {
        let text: String = text.chars().take(if cut { CUT } else { usize::MAX }).collect();
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
        assert_eq!(values.len(), TOTAL / CUT);
        assert_eq!(values[0].len(), CUT + "299 - \"\"".len());
    }
}
