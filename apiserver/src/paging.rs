//! Pages of a list: every page shows the revision of the first, and a token has the start of the next
//! one.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use berth_apimachinery::{Revision, Status};
use berth_storage::Name;
use serde::{Deserialize, Serialize};
use serde_json::json;

/// Start of the next page. Opaque to clients.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Token {
    /// The format.
    v: String,
    /// The revision of the list; 0 means the newest when the page is read.
    rv: u64,
    /// The namespace of the last object given.
    #[serde(default)]
    ns: String,
    /// The name of the last object given.
    start: String,
    /// The number of the kept listing of a computed resource; 0 for stored ones, whose revision is enough.
    #[serde(default)]
    listing: u64,
    /// Number of objects that follow in the list at `rv`, so that they are not counted for each page; 0
    /// where they were not counted.
    #[serde(default)]
    left: usize,
}

const FORMAT: &str = "meta.k8s.io/v1";

impl Token {
    /// The token for the objects after `last` in a list at `revision`.
    pub(crate) fn after(last: &Name, revision: Revision) -> Self {
        Self {
            v: FORMAT.to_owned(),
            rv: revision.0,
            ns: last.namespace.to_string(),
            start: last.name.to_string(),
            listing: 0,
            left: 0,
        }
    }

    /// Returns the token, known to be followed by `left` objects.
    pub(crate) fn leaving(mut self, left: usize) -> Self {
        self.left = left;
        self
    }

    /// Number of objects that follow, where that is known.
    pub(crate) fn left(&self) -> Option<usize> {
        (self.left > 0).then_some(self.left)
    }

    /// Returns the token for the kept listing `number`.
    pub(crate) fn of_listing(mut self, number: u64) -> Self {
        self.listing = number;
        self
    }

    /// The number of the kept listing, 0 for none.
    pub(crate) fn listing(&self) -> u64 {
        self.listing
    }

    /// Reads a token.
    ///
    /// # Errors
    /// 400 when the token is invalid.
    pub(crate) fn parse(text: &str) -> Result<Self, Status> {
        let refuse = |problem: String| Status::bad_request(format!("continue key is not valid: {problem}"));
        let bytes = URL_SAFE_NO_PAD
            .decode(text.trim_end_matches('='))
            .map_err(|problem| refuse(problem.to_string()))?;
        let token: Self = serde_json::from_slice(&bytes).map_err(|problem| refuse(problem.to_string()))?;
        if token.v != FORMAT {
            return Err(refuse(format!("unknown version {:?}", token.v)));
        }
        if token.start.is_empty() {
            return Err(refuse("it names no object to begin after".to_owned()));
        }
        Ok(token)
    }

    pub(crate) fn encode(&self) -> String {
        let mut token = json!({"v": self.v, "rv": self.rv, "ns": self.ns, "start": self.start});
        if self.listing > 0 {
            token["listing"] = self.listing.into();
        }
        if self.left > 0 {
            token["left"] = self.left.into();
        }
        URL_SAFE_NO_PAD.encode(token.to_string())
    }

    /// The revision of the list; `None` means the newest.
    pub(crate) fn revision(&self) -> Option<Revision> {
        (self.rv > 0).then_some(Revision(self.rv))
    }

    /// The object that the page begins after.
    pub(crate) fn last(&self) -> Name {
        Name::new(&self.ns, &self.start)
    }

    /// 410, with a token that continues in the current list.
    pub(crate) fn expired(mut self) -> Status {
        self.rv = 0;
        self.listing = 0;
        self.left = 0;
        let mut status = Status::expired(
            "The provided continue parameter is too old to display a consistent list result. Start the list again, or \
             use the continue token in this answer's metadata to go on from the next key in the list as it is now; \
             objects may then have changed, come or gone between the pages",
        );
        status
            .metadata
            .insert("continue".to_owned(), self.encode().into());
        status
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_survive_the_way_to_the_client_and_back() {
        let token = Token::after(&Name::new("ns", "x"), Revision(7)).leaving(3);
        assert_eq!(Token::parse(&token.encode()).unwrap(), token);
        assert_eq!(token.left(), Some(3));
        assert_eq!(token.revision(), Some(Revision(7)));
    }

    #[test]
    fn garbage_is_refused_and_an_expired_token_can_go_on() {
        for bad in ["%%%", "aGVsbG8", "", "e30"] {
            assert_eq!(Token::parse(bad).unwrap_err().code, 400, "{bad}");
        }
        let status = Token::after(&Name::new("", "x"), Revision(7))
            .leaving(3)
            .expired();
        assert_eq!((status.code, status.reason.as_str()), (410, "Expired"));
        let next = Token::parse(status.metadata["continue"].as_str().unwrap()).unwrap();
        assert_eq!((next.revision(), next.left()), (None, None));
        assert_eq!(next.last(), Name::new("", "x"));
    }
}
