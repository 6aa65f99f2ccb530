//! URLs, parsed as by Go's `net/url`.

/// A URL.
#[derive(Debug, PartialEq, Eq)]
pub struct Url {
    pub(crate) scheme: String,
    pub(crate) host: String,
    pub(crate) path: String,
    pub(crate) query: String,
    /// The other parts of the URL: the user info and the fragment, or the opaque part of a URL without a
    /// path.
    pub(crate) rest: String,
}

impl Url {
    /// Parses a URL with its fragment. As in Kubernetes, the whole text must also be valid as the URI of a
    /// request, which has no fragment.
    pub(crate) fn read(text: &str) -> Result<Self, String> {
        // `#` and the text after it count as part of the host, path or query here. They are refused after a
        // host, and an invalid escape among them is refused after a path.
        let request_uri = Self::read_request_uri(text)?;
        let Some((before, fragment)) = text.split_once('#') else {
            return Ok(request_uri);
        };
        let mut url = Self::read_request_uri(before)?;
        url.rest.push('#');
        url.rest.push_str(fragment);
        Ok(url)
    }

    /// Parses the URI of a request: an absolute URL, or an absolute path.
    pub(crate) fn read_request_uri(text: &str) -> Result<Self, String> {
        let parse_error = |why: &str| format!("parse {text:?}: {why}");
        if text.bytes().any(|byte| byte < b' ' || byte == 0x7f) {
            return Err(parse_error("net/url: invalid control character in URL"));
        }
        if text.is_empty() {
            return Err(parse_error("empty url"));
        }
        let (scheme, rest) = split_scheme(text).map_err(parse_error)?;
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let mut url = Self {
            scheme: scheme.to_ascii_lowercase(),
            host: String::new(),
            path: String::new(),
            query: query.to_owned(),
            rest: String::new(),
        };
        // The URI of a request about the server as a whole, as in `OPTIONS *`.
        if text == "*" {
            url.path.push('*');
            return Ok(url);
        }
        if !rest.starts_with('/') {
            if scheme.is_empty() {
                return Err(parse_error("invalid URI for request"));
            }
            // The opaque part, as in `mailto:name@example.com`.
            rest.clone_into(&mut url.rest);
            return Ok(url);
        }
        let mut path = rest;
        if !scheme.is_empty()
            && let Some(authority) = rest.strip_prefix("//")
        {
            let end = authority.find('/').unwrap_or(authority.len());
            let (authority, after) = authority.split_at(end);
            path = after;
            let (user, host) = authority.rsplit_once('@').unwrap_or(("", authority));
            if !user.bytes().all(is_user) {
                return Err(parse_error("net/url: invalid userinfo"));
            }
            user.clone_into(&mut url.rest);
            url.host = parse_host(host).map_err(|why| parse_error(&why))?;
        }
        if unescaped(path, false).is_none() {
            return Err(parse_error("invalid URL escape"));
        }
        path.clone_into(&mut url.path);
        Ok(url)
    }

    /// Splits the host into the name and the port.
    pub(crate) fn split_host(&self) -> (String, String) {
        let (host, port) = match self.host.rsplit_once(':') {
            Some((host, port)) if port.bytes().all(|digit| digit.is_ascii_digit()) => (host, port),
            _ => (&self.host[..], ""),
        };
        let inside = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
        (inside.unwrap_or(host).to_owned(), port.to_owned())
    }

    /// Returns the path as it was written if all characters are allowed. Otherwise returns the decoded path,
    /// escaped again; then `!'()*[]` are escaped, too.
    pub(crate) fn escaped_path(&self) -> String {
        let is_allowed = |byte: u8| is_path(byte) || b"!'()*[]%".contains(&byte);
        if self.path.bytes().all(is_allowed) {
            return self.path.clone();
        }
        let decoded = unescaped(&self.path, false).unwrap_or_default();
        let mut output = String::new();
        for byte in decoded {
            if is_path(byte) {
                output.push(char::from(byte));
            } else {
                output.push_str(&format!("%{byte:02X}"));
            }
        }
        output
    }
}

/// Whether `byte` needs no escape in a path.
fn is_path(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-_.~$&+,/:;=@".contains(&byte)
}

/// Whether `byte` is allowed in the user info.
fn is_user(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._:~!$&'()*+,;=%@".contains(&byte)
}

/// Splits the scheme, if there is one, from the rest.
fn split_scheme(text: &str) -> Result<(&str, &str), &'static str> {
    for (at, letter) in text.char_indices() {
        match letter {
            'a'..='z' | 'A'..='Z' => {}
            '0'..='9' | '+' | '-' | '.' if at > 0 => {}
            ':' if at == 0 => return Err("missing protocol scheme"),
            ':' => return Ok((&text[..at], &text[at + 1..])),
            _ => break,
        }
    }
    Ok(("", text))
}

/// Checks and unescapes the host.
fn parse_host(host: &str) -> Result<String, String> {
    let port = if host.starts_with('[') {
        let end = host.rfind(']').ok_or("missing ']' in host")?;
        &host[end + 1..]
    } else {
        host.rfind(':').map_or("", |colon| &host[colon..])
    };
    let digits = port.strip_prefix(':').unwrap_or(port);
    if !(port.is_empty() || (port.starts_with(':') && digits.bytes().all(|digit| digit.is_ascii_digit()))) {
        return Err(format!("invalid port {port:?} after host"));
    }
    let is_allowed =
        |byte: u8| byte.is_ascii_alphanumeric() || byte >= 0x80 || b"-_.~!$&'()*+,;=:[]<>\"%".contains(&byte);
    if let Some(invalid) = host.bytes().find(|byte| !is_allowed(*byte)) {
        return Err(format!(
            "invalid character {:?} in host name",
            char::from(invalid)
        ));
    }
    let decoded = unescaped(host, false).ok_or("invalid URL escape")?;
    String::from_utf8(decoded).map_err(|_| "invalid URL escape".to_owned())
}

/// Decodes percent escapes such as `%41` in `text`; `None` when an escape is invalid.
pub(crate) fn unescaped(text: &str, plus_is_space: bool) -> Option<Vec<u8>> {
    let mut output = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        match byte {
            b'%' => {
                let mut digit = || char::from(bytes.next()?).to_digit(16);
                let (high, low) = (digit()?, digit()?);
                output.push(u8::try_from(high * 16 + low).ok()?);
            }
            b'+' if plus_is_space => output.push(b' '),
            other => output.push(other),
        }
    }
    Some(output)
}
