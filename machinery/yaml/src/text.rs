//! Decoding of bytes to text.

use std::borrow::Cow;

use crate::Problem;

/// Decodes the text of a file: UTF-8, or UTF-16 with a byte order mark, which some shells write.
///
/// # Errors
/// When the text is in neither encoding.
pub fn decode(bytes: &[u8]) -> Result<Cow<'_, str>, Problem> {
    let utf16 = |bytes: &[u8], unit: fn([u8; 2]) -> u16| {
        let (pairs, rest) = bytes.as_chunks::<2>();
        let text = char::decode_utf16(pairs.iter().map(|pair| unit(*pair))).collect::<Result<String, _>>();
        match text {
            Ok(text) if rest.is_empty() => Ok(Cow::Owned(text)),
            _ => Err(malformed(
                1,
                "the byte order mark says UTF-16, but the text is not valid UTF-16: save it as UTF-8",
            )),
        }
    };
    match bytes {
        [0xff, 0xfe, rest @ ..] => utf16(rest, u16::from_le_bytes),
        [0xfe, 0xff, rest @ ..] => utf16(rest, u16::from_be_bytes),
        [0xef, 0xbb, 0xbf, rest @ ..] => utf8(rest).map(Cow::Borrowed),
        _ => utf8(bytes).map(Cow::Borrowed),
    }
}

fn utf8(bytes: &[u8]) -> Result<&str, Problem> {
    std::str::from_utf8(bytes).map_err(|error| {
        let before = &bytes[..error.valid_up_to()];
        let line = before.split(|byte| *byte == b'\n').count();
        malformed(line, "the text is not UTF-8: save it as UTF-8")
    })
}

/// Creates the problem of a text in an unsupported encoding.
fn malformed(line: usize, text: &str) -> Problem {
    Problem {
        line,
        column: 1,
        text: text.to_owned(),
    }
}
