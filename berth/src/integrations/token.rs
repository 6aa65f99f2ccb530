//! Check of callers by a client certificate, or by the bearer token of a file.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use berth_apimachinery::{Clock, Status};
use berth_apiserver::authn::{CaPool, Connection};
use http::HeaderMap;
use http::header::AUTHORIZATION;
use sha2::{Digest, Sha256};

/// Lowest number of bytes of a token, since a shorter token could be guessed.
const MIN_TOKEN_LENGTH: usize = 16;

/// Credentials of the callers that get answers. The token or a client certificate is enough.
pub struct CallerCredentials {
    /// The file with the token, if callers may present a token.
    pub token: Option<TokenFile>,
    /// The CA of client certificates, if callers may present a certificate.
    pub client_ca: Option<CaPool>,
    /// The clock for the validity of certificates.
    pub clock: Arc<dyn Clock>,
}

impl CallerCredentials {
    /// Checks the credentials of a request with `headers` that came over `peer`.
    ///
    /// # Errors
    /// 401 without valid credentials, 403 for a wrong token, 503 when the token cannot be read.
    pub(super) async fn check(&self, headers: &HeaderMap, peer: &Connection) -> Result<(), Status> {
        let by_certificate = self
            .client_ca
            .as_ref()
            .map(|ca| peer.certified_by(ca, self.clock.now()));
        match (by_certificate, &self.token) {
            (Some(Ok(())), _) => Ok(()),
            (_, Some(token)) => token.check(headers).await,
            (Some(Err(problem)), None) => Err(Status::failure(401, "Unauthorized", problem.to_string())),
            (None, None) => Err(Status::unauthorized()),
        }
    }
}

/// A file with a bearer token. The file is read at each request, so it may be replaced at any time.
#[derive(Clone, Debug)]
pub struct TokenFile(PathBuf);

impl TokenFile {
    /// Checks that the file at `path` has a token.
    ///
    /// # Errors
    /// When the file cannot be read, or its token is too short.
    pub fn open(path: &Path) -> Result<Self> {
        let text = std::fs::read_to_string(path).with_context(|| format!("reading {}", path.display()))?;
        if text.trim().len() < MIN_TOKEN_LENGTH {
            bail!(
                "{}: the token needs at least {MIN_TOKEN_LENGTH} characters; create one with `openssl rand -hex 32`",
                path.display()
            );
        }
        Ok(Self(path.to_owned()))
    }

    /// Checks that `headers` have the token.
    ///
    /// # Errors
    /// 401 without a token, 403 with another token, 503 when the file cannot be read or has no valid token.
    pub(super) async fn check(&self, headers: &HeaderMap) -> Result<(), Status> {
        let header = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok());
        let Some(presented) = header.and_then(|text| text.strip_prefix("Bearer ")) else {
            return Err(Status::unauthorized());
        };
        let text = tokio::fs::read_to_string(&self.0).await.map_err(|error| {
            tracing::warn!(file = %self.0.display(), %error, "cannot read --integrations-token-file; requests with a token get 503 until it can be read");
            Status::unavailable("the server cannot read its --integrations-token-file", 5)
        })?;
        let token = text.trim();
        if token.len() < MIN_TOKEN_LENGTH {
            return Err(Status::unavailable(
                "the token in the server's --integrations-token-file is too short",
                5,
            ));
        }
        // Digests are compared, so that the time of the comparison does not depend on the token.
        if Sha256::digest(presented.trim()) == Sha256::digest(token) {
            return Ok(());
        }
        Err(Status::failure(
            403,
            "Forbidden",
            "the bearer token does not match --integrations-token-file",
        ))
    }
}
