//! Pages of a list. All pages show the list at one revision. A continue token has this revision and the start
//! of the next page.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use berth_apimachinery::{Revision, Status};
use berth_storage::Name;
use serde::{Deserialize, Serialize};
use serde_json::json;

/// Continue token: the start of the next page. Clients do not interpret it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Token {
    /// Version of the format.
    v: String,
    /// Revision of the list; 0 means the newest when the page is read.
    rv: u64,
    /// Namespace of the last returned object.
    #[serde(default)]
    ns: String,
    /// Name of the last returned object.
    start: String,
    /// Number of the cached listing of a computed resource; 0 for a stored resource, whose list the revision
    /// identifies.
    #[serde(default)]
    listing: u64,
    /// Number of objects after the last returned object, so that they are not counted for each page; 0 if
    /// they were not counted.
    #[serde(default, rename = "left")]
    remaining: usize,
}

const FORMAT: &str = "meta.k8s.io/v1";

impl Token {
    /// Creates the token for the objects after `last` in a list at `revision`.
    pub(crate) fn after(last: &Name, revision: Revision) -> Self {
        Self {
            v: FORMAT.to_owned(),
            rv: revision.0,
            ns: last.namespace.to_string(),
            start: last.name.to_string(),
            listing: 0,
            remaining: 0,
        }
    }

    /// Returns the token with the number of the objects that follow.
    pub(crate) fn with_remaining(mut self, count: usize) -> Self {
        self.remaining = count;
        self
    }

    /// Number of objects that follow, if it is known.
    pub(crate) fn remaining(&self) -> Option<usize> {
        (self.remaining > 0).then_some(self.remaining)
    }

    /// Returns the token for the cached listing `number`.
    pub(crate) fn of_listing(mut self, number: u64) -> Self {
        self.listing = number;
        self
    }

    /// Number of the cached listing; 0 if the list has none.
    pub(crate) fn listing(&self) -> u64 {
        self.listing
    }

    /// Parses a token.
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
        if self.remaining > 0 {
            token["left"] = self.remaining.into();
        }
        URL_SAFE_NO_PAD.encode(token.to_string())
    }

    /// The revision of the list; `None` means the newest.
    pub(crate) fn revision(&self) -> Option<Revision> {
        (self.rv > 0).then_some(Revision(self.rv))
    }

    /// Name of the last returned object, after which the page begins.
    pub(crate) fn last(&self) -> Name {
        Name::new(&self.ns, &self.start)
    }

    /// Returns the error 410, with a token that continues in the current list.
    pub(crate) fn expired(mut self) -> Status {
        self.rv = 0;
        self.listing = 0;
        self.remaining = 0;
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
        let token = Token::after(&Name::new("ns", "x"), Revision(7)).with_remaining(3);
        assert_eq!(Token::parse(&token.encode()).unwrap(), token);
        assert_eq!(token.remaining(), Some(3));
        assert_eq!(token.revision(), Some(Revision(7)));
    }

    #[test]
    fn garbage_is_refused_and_an_expired_token_can_go_on() {
        for bad in ["%%%", "aGVsbG8", "", "e30"] {
            assert_eq!(Token::parse(bad).unwrap_err().code, 400, "{bad}");
        }
        let status = Token::after(&Name::new("", "x"), Revision(7))
            .with_remaining(3)
            .expired();
        assert_eq!((status.code, status.reason.as_str()), (410, "Expired"));
        let next = Token::parse(status.metadata["continue"].as_str().unwrap()).unwrap();
        assert_eq!((next.revision(), next.remaining()), (None, None));
        assert_eq!(next.last(), Name::new("", "x"));
    }
}
