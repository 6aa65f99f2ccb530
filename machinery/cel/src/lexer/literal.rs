//! Lexing of literals: numbers, strings and bytes.

use super::Token;

/// Lexes the number at the start of `rest`, and returns the token and its length.
pub(super) fn number(rest: &str) -> Result<(Token, usize), String> {
    let hexadecimal = rest.strip_prefix("0x").or_else(|| rest.strip_prefix("0X"));
    if let Some(digits) = hexadecimal {
        let length = digits
            .find(|digit: char| !digit.is_ascii_hexdigit())
            .unwrap_or(digits.len());
        if length == 0 {
            return Err("Syntax error: a hexadecimal number needs digits".to_owned());
        }
        return integer_token(&digits[..length], 16, &digits[length..], 2 + length);
    }
    let digits = |from: usize| {
        let tail = &rest[from..];
        from + tail
            .find(|digit: char| !digit.is_ascii_digit())
            .unwrap_or(tail.len())
    };
    let integer = digits(0);
    let mut end = integer;
    if rest[end..].starts_with('.') && rest[end + 1..].starts_with(|digit: char| digit.is_ascii_digit()) {
        end = digits(end + 1);
    }
    if let Some(exponent) = rest[end..].strip_prefix(['e', 'E']) {
        let sign = usize::from(exponent.starts_with(['+', '-']));
        if exponent[sign..].starts_with(|digit: char| digit.is_ascii_digit()) {
            end = digits(end + 1 + sign);
        }
    }
    if end == integer {
        return integer_token(&rest[..end], 10, &rest[end..], end);
    }
    let double: f64 = rest[..end]
        .parse()
        .map_err(|_| "invalid double literal".to_owned())?;
    if double.is_finite() {
        Ok((Token::Double(double), end))
    } else {
        Err("invalid double literal".to_owned())
    }
}

fn integer_token(digits: &str, radix: u32, after: &str, length: usize) -> Result<(Token, usize), String> {
    let value = u64::from_str_radix(digits, radix);
    if after.starts_with(['u', 'U']) {
        let value = value.map_err(|_| "invalid uint literal".to_owned())?;
        return Ok((Token::Uint(value), length + 1));
    }
    // The largest int plus one is accepted here, since a minus may precede the literal.
    match value {
        Ok(value) if value <= 1 << 63 => Ok((Token::Int(value), length)),
        _ => Err("invalid int literal".to_owned()),
    }
}

/// Lexes the string or bytes at the start of `rest`, and returns the token and its length; `None` when
/// `rest` starts with another token.
pub(super) fn quoted(rest: &str) -> Result<Option<(Token, usize)>, String> {
    // At most two letters precede a quote.
    let quote = rest.bytes().take(3).position(|byte| matches!(byte, b'"' | b'\''));
    let Some(prefix) = quote.and_then(|length| rest.get(..length)) else {
        return Ok(None);
    };
    let (bytes, raw) = match prefix.to_ascii_lowercase().as_str() {
        "" => (false, false),
        "r" => (false, true),
        "b" => (true, false),
        "br" | "rb" => (true, true),
        _ => return Ok(None),
    };
    let body = &rest[prefix.len()..];
    let mark = &body[..1];
    let triple = body.starts_with(&mark.repeat(3));
    let quote = if triple { mark.repeat(3) } else { mark.to_owned() };
    let content = &body[quote.len()..];
    let Some(length) = closing_quote(content, &quote, raw) else {
        return Err("Syntax error: a string is not closed".to_owned());
    };
    let decoded = unescaped(&content[..length], bytes, raw)?;
    let total = prefix.len() + 2 * quote.len() + length;
    let token = if bytes {
        Token::Bytes(decoded)
    } else {
        Token::String(
            String::from_utf8(decoded).map_err(|_| "Syntax error: a string is not UTF-8".to_owned())?,
        )
    };
    Ok(Some((token, total)))
}

/// Returns the position of the closing `quote` in `content`.
fn closing_quote(content: &str, quote: &str, raw: bool) -> Option<usize> {
    let mut escaped = false;
    for (at, character) in content.char_indices() {
        if escaped {
            escaped = false;
        } else if character == '\\' && !raw {
            escaped = true;
        } else if content[at..].starts_with(quote) {
            return Some(at);
        } else if matches!(character, '\n' | '\r') && quote.len() == 1 {
            return None;
        }
    }
    None
}

/// Normalizes the line ends of the content, and decodes its escapes unless it is `raw`.
fn unescaped(content: &str, bytes: bool, raw: bool) -> Result<Vec<u8>, String> {
    let content = content.replace("\r\n", "\n").replace('\r', "\n");
    if raw {
        return Ok(content.into_bytes());
    }
    let mut decoded = Vec::with_capacity(content.len());
    let mut characters = content.chars();
    while let Some(character) = characters.next() {
        if character != '\\' {
            push(&mut decoded, character);
            continue;
        }
        let escape = characters.next().ok_or("Syntax error: unfinished escape")?;
        match escape {
            'a' => decoded.push(7),
            'b' => decoded.push(8),
            'f' => decoded.push(12),
            'n' => decoded.push(b'\n'),
            'r' => decoded.push(b'\r'),
            't' => decoded.push(b'\t'),
            'v' => decoded.push(11),
            '\\' | '\'' | '"' | '`' | '?' => push(&mut decoded, escape),
            'x' | 'X' => push_code(&mut decoded, &mut characters, 2, 0, 16, bytes)?,
            'u' if !bytes => push_code(&mut decoded, &mut characters, 4, 0, 16, false)?,
            'U' if !bytes => push_code(&mut decoded, &mut characters, 8, 0, 16, false)?,
            '0'..='3' => {
                let first = escape.to_digit(8).unwrap_or_default();
                push_code(&mut decoded, &mut characters, 2, first, 8, bytes)?;
            }
            _ => return Err(format!("Syntax error: unable to unescape string: \\{escape}")),
        }
    }
    Ok(decoded)
}

fn push(decoded: &mut Vec<u8>, character: char) {
    decoded.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
}

/// Decodes a character or byte that is escaped as a number in base `radix`: `value` is the number so far, and
/// `digits` digits follow.
fn push_code(
    decoded: &mut Vec<u8>,
    characters: &mut std::str::Chars<'_>,
    digits: usize,
    mut value: u32,
    radix: u32,
    byte: bool,
) -> Result<(), String> {
    for _ in 0..digits {
        let digit = characters.next().and_then(|next| next.to_digit(radix));
        value = value * radix + digit.ok_or("Syntax error: unable to unescape string: invalid digits")?;
    }
    if byte {
        decoded.push(u8::try_from(value).map_err(|_| "Syntax error: an escaped byte is above 255")?);
    } else {
        push(
            decoded,
            char::from_u32(value).ok_or("Syntax error: invalid unicode code point")?,
        );
    }
    Ok(())
}
