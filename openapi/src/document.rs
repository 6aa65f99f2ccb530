//! Rendered documents: body, media type and ETag, computed once.

use bytes::Bytes;
use serde_json::Value;
use sha2::{Digest, Sha512};

/// A rendered document.
#[derive(Clone, Debug)]
pub struct Document {
    /// Value of the header `Content-Type`.
    pub content_type: &'static str,
    /// Body of the document.
    pub body: Bytes,
    /// Value of the header `ETag`: the SHA-512 of the body in upper-case hexadecimal, in quotes.
    pub etag: String,
}

impl Document {
    pub(crate) fn json(value: &Value) -> Self {
        Self::typed_json("application/json", value)
    }

    pub(crate) fn typed_json(content_type: &'static str, value: &Value) -> Self {
        Self::new(content_type, value.to_string().into_bytes())
    }

    pub(crate) fn new(content_type: &'static str, body: Vec<u8>) -> Self {
        let etag = format!("\"{}\"", hex(&Sha512::digest(&body)));
        Self {
            content_type,
            body: body.into(),
            etag,
        }
    }

    /// Returns the hash in the ETag, without quotes.
    #[must_use]
    pub fn hash(&self) -> &str {
        self.etag.trim_matches('"')
    }

    /// Whether an `If-None-Match` header has this document's ETag, or `*`: the answer is then 304 without a
    /// body.
    #[must_use]
    pub fn matches(&self, if_none_match: &str) -> bool {
        if_none_match
            .split(',')
            .map(|tag| tag.trim().trim_start_matches("W/"))
            .any(|tag| tag == self.etag || tag == "*")
    }
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes
        .iter()
        .fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
            write!(text, "{byte:02X}").expect("writing to a string cannot fail");
            text
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_quoted_sha512() {
        let document = Document::new("text/plain", b"abc".to_vec());
        assert!(document.etag.starts_with("\"DDAF35A193617ABACC417349AE204131"));
        assert_eq!(document.hash().len(), 128);
    }

    #[test]
    fn if_none_match_takes_lists_and_weak_tags() {
        let document = Document::new("text/plain", b"abc".to_vec());
        let tag = &document.etag;
        assert!(document.matches(tag) && document.matches("*"));
        assert!(document.matches(&format!("\"x\", W/{tag}")));
        assert!(!document.matches("\"x\""));
    }
}
