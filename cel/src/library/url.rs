//! URLs, as Go's `net/url` reads the URI of a request: absolute, or an absolute path.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{Function, Outcome, function, strings};
use crate::error::Error;
use crate::meter::Meter;
use crate::value::{Key, Map, Text, Value};

pub(super) const FUNCTIONS: &[Function] = &[
    function("url", &["(string) URL"], |meter, args| {
        let text = strings::text(args, 0)?;
        meter.bytes(text.len())?;
        let url = Url::read(text);
        Ok(Value::Url(Arc::new(url.map_err(|problem| {
            Error::failed(format!(
                "URL parse error during conversion from string: {problem}"
            ))
        })?)))
    }),
    function("isURL", &["(string) bool"], |meter, args| {
        let text = strings::text(args, 0)?;
        meter.bytes(text.len())?;
        Ok(Value::Bool(Url::request(text).is_ok()))
    }),
    function("getScheme", PART, |meter, args| {
        part(meter, args, |url| url.scheme.clone())
    }),
    function("getHost", PART, |meter, args| {
        part(meter, args, |url| url.host.clone())
    }),
    function("getHostname", PART, |meter, args| {
        part(meter, args, |url| url.split_host().0)
    }),
    function("getPort", PART, |meter, args| {
        part(meter, args, |url| url.split_host().1)
    }),
    function("getEscapedPath", PART, |meter, args| {
        part(meter, args, Url::escaped_path)
    }),
    function("getQuery", &["URL.() map(string, list(string))"], query),
];

const PART: &[&str] = &["URL.() string"];

/// A URL.
#[derive(Debug, PartialEq, Eq)]
pub struct Url {
    scheme: String,
    host: String,
    path: String,
    query: String,
    /// What is left: what stands before the host and behind the query, and what has no path.
    rest: String,
}

impl Url {
    /// Reads a URL with its fragment.
    fn read(text: &str) -> Result<Self, String> {
        Self::request(text)?;
        match text.split_once('#') {
            Some((url, fragment)) => {
                let mut url = Self::request(url)?;
                url.rest.push('#');
                url.rest.push_str(fragment);
                Ok(url)
            }
            None => Self::request(text),
        }
    }

    /// Reads the URI of a request.
    pub(super) fn request(text: &str) -> Result<Self, String> {
        let wrong = |why: &str| format!("parse {text:?}: {why}");
        if text.bytes().any(|byte| byte < b' ' || byte == 0x7f) {
            return Err(wrong("net/url: invalid control character in URL"));
        }
        if text.is_empty() {
            return Err(wrong("empty url"));
        }
        let (scheme, rest) = scheme(text).map_err(wrong)?;
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let mut url = Self {
            scheme: scheme.to_ascii_lowercase(),
            host: String::new(),
            path: String::new(),
            query: query.to_owned(),
            rest: String::new(),
        };
        if text == "*" {
            url.path.push('*');
            return Ok(url);
        }
        if !rest.starts_with('/') {
            if scheme.is_empty() {
                return Err(wrong("invalid URI for request"));
            }
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
                return Err(wrong("net/url: invalid userinfo"));
            }
            user.clone_into(&mut url.rest);
            url.host = hosted(host).map_err(|why| wrong(&why))?;
        }
        if unescaped(path, false).is_none() {
            return Err(wrong("invalid URL escape"));
        }
        path.clone_into(&mut url.path);
        Ok(url)
    }

    /// The host without its port, and the port.
    fn split_host(&self) -> (String, String) {
        let (host, port) = match self.host.rsplit_once(':') {
            Some((host, port)) if port.bytes().all(|digit| digit.is_ascii_digit()) => (host, port),
            _ => (&self.host[..], ""),
        };
        let inside = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
        (inside.unwrap_or(host).to_owned(), port.to_owned())
    }

    /// The path as it was written, if every sign in it may stand there; else with the others escaped.
    fn escaped_path(&self) -> String {
        let fine = |byte: u8| is_path(byte) || b"!'()*[]%".contains(&byte);
        if self.path.bytes().all(fine) {
            return self.path.clone();
        }
        let plain = unescaped(&self.path, false).unwrap_or_default();
        let mut made = String::new();
        for byte in plain {
            if is_path(byte) {
                made.push(char::from(byte));
            } else {
                made.push_str(&format!("%{byte:02X}"));
            }
        }
        made
    }
}

fn is_path(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-_.~$&+,/:;=@".contains(&byte)
}

fn is_user(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._:~!$&'()*+,;=%@".contains(&byte)
}

/// The scheme, if there is one, and what follows.
fn scheme(text: &str) -> Result<(&str, &str), &'static str> {
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

/// The host, if it is one.
fn hosted(host: &str) -> Result<String, String> {
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
    let fine =
        |byte: u8| byte.is_ascii_alphanumeric() || byte >= 0x80 || b"-_.~!$&'()*+,;=:[]<>\"%".contains(&byte);
    if let Some(wrong) = host.bytes().find(|byte| !fine(*byte)) {
        return Err(format!("invalid character {:?} in host name", char::from(wrong)));
    }
    let plain = unescaped(host, false).ok_or("invalid URL escape")?;
    String::from_utf8(plain).map_err(|_| "invalid URL escape".to_owned())
}

/// `text` with `%41` and the like read.
fn unescaped(text: &str, plus_is_space: bool) -> Option<Vec<u8>> {
    let mut made = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        match byte {
            b'%' => {
                let mut digit = || char::from(bytes.next()?).to_digit(16);
                let (high, low) = (digit()?, digit()?);
                made.push(u8::try_from(high * 16 + low).ok()?);
            }
            b'+' if plus_is_space => made.push(b' '),
            other => made.push(other),
        }
    }
    Some(made)
}

fn part<'a>(meter: &mut Meter, args: &[Value<'a>], read: fn(&Url) -> String) -> Outcome<'a> {
    meter.charge(1)?;
    match args {
        [Value::Url(url)] => {
            meter.bytes(url.path.len() + url.host.len())?;
            Ok(read(url).into())
        }
        _ => Err(Error::no_such_overload()),
    }
}

fn query<'a>(meter: &mut Meter, args: &[Value<'a>]) -> Outcome<'a> {
    let [Value::Url(url)] = args else {
        return Err(Error::no_such_overload());
    };
    meter.bytes(4 * url.query.len())?;
    let mut all: BTreeMap<Key<'a>, Vec<Value<'a>>> = BTreeMap::new();
    let decoded =
        |text: &str| unescaped(text, true).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    for pair in url
        .query
        .split('&')
        .filter(|pair| !pair.is_empty() && !pair.contains(';'))
    {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        if let (Some(key), Some(value)) = (decoded(key), decoded(value)) {
            meter.charge(2)?;
            let key = Key::String(Text::Shared(key.into()));
            all.entry(key).or_default().push(value.into());
        }
    }
    let map = all
        .into_iter()
        .map(|(key, values)| (key, values.into()))
        .collect();
    Ok(Value::Map(Map::Values(Arc::new(map))))
}
