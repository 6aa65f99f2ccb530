//! Authentication: request headers of a trusted front proxy, client certificates, bearer tokens, or
//! anonymous.
//!
//! The methods are tried in this order; the first that identifies the user is used. If none does, and one of
//! them rejected the client's credentials, the answer is 401. Only a client without credentials is anonymous;
//! where front proxies are configured, it must not name a user in headers either. Trust in front proxies and
//! trust in client certificates are separate: with a certificate of the client CA, `X-Remote-User` is never
//! used (docs/reference.md, "Identity").

mod certificate;
mod connection;
pub mod delegated;
mod headers;
pub mod impersonate;
pub mod token_review;
mod trust;
mod x509;

use std::sync::Arc;

use async_trait::async_trait;
use berth_admission::UserInfo;
use berth_apimachinery::Timestamp;
use http::HeaderMap;
use http::header::AUTHORIZATION;

pub use connection::{Connection, PeerCertificateError};
pub use trust::{CaPool, RequestHeaderTrust, Trust, TrustError, TrustState};

use connection::Verdict;

use crate::delegation::DelegationError;

/// User of requests without credentials.
pub const ANONYMOUS: &str = "system:anonymous";
/// Group of all authenticated users.
pub const AUTHENTICATED: &str = "system:authenticated";
/// Group of all unauthenticated users.
pub const UNAUTHENTICATED: &str = "system:unauthenticated";

/// Authenticator of bearer tokens.
#[async_trait]
pub trait TokenAuthenticator: Send + Sync + 'static {
    /// Returns the user of the token; `None` when it is not valid.
    ///
    /// # Errors
    /// When the token could not be checked. The request is then rejected.
    async fn authenticate(&self, token: &str) -> Result<Option<UserInfo>, DelegationError>;
}

/// The authentication methods of a server.
#[derive(Clone)]
pub struct Authentication {
    /// The trusted CAs.
    pub trust: Arc<Trust>,
    /// Authenticator of bearer tokens; without one, every token is rejected.
    pub tokens: Option<Arc<dyn TokenAuthenticator>>,
    /// Whether requests without credentials are admitted as `system:anonymous`.
    pub anonymous: bool,
}

/// The authenticated user, and the expiry of the certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuthenticatedUser {
    /// The user, with the group `system:authenticated` unless the user is `system:anonymous` or is in the
    /// group `system:unauthenticated`.
    pub user: UserInfo,
    /// Expiry of the client certificate that identified the user, in seconds since 1970; `None` for other
    /// methods.
    pub certificate_expires: Option<i64>,
}

impl Authentication {
    /// Identifies users by client certificates of a CA in `ca`, without tokens, front proxies or anonymous
    /// users.
    #[must_use]
    pub fn by_certificates(ca: CaPool) -> Self {
        Self {
            trust: Arc::new(Trust::new(ca, None)),
            tokens: None,
            anonymous: false,
        }
    }

    /// Whether the peer presented a valid certificate of a CA that is trusted, for users or for front
    /// proxies.
    pub(crate) fn trusts_peer(&self, connection: &Connection, now: Timestamp) -> bool {
        let verdict = connection.verdict(&self.trust.current(), now);
        verdict.is_some_and(|verdict| verdict.client.is_ok() || verdict.front_proxy.is_ok())
    }

    /// Authenticates the request, and removes credentials and identity headers from `headers`.
    ///
    /// # Errors
    /// The reason of each method that rejected the credentials, for the log; the client gets 401.
    pub async fn authenticate(
        &self,
        connection: &Connection,
        headers: &mut HeaderMap,
        now: Timestamp,
    ) -> Result<AuthenticatedUser, Vec<String>> {
        let trust = self.trust.current();
        let verdict = connection.verdict(&trust, now);
        let mut refusals = Vec::new();
        let mut found = authenticate_by_certificate(verdict.as_deref(), &trust, headers, &mut refusals);
        // A peer that names a user without the right to do so is not anonymous: the request is forged, or a
        // proxy is misconfigured.
        if verdict.is_none()
            && let Some(trust) = &trust.request_header
            && !matches!(headers::user(headers, trust), Ok(None))
        {
            refusals.push("a user is named in headers, without the certificate of a front proxy".to_owned());
        }
        if found.is_none() {
            found = self.authenticate_by_token(headers, &mut refusals).await;
        }
        headers::strip(headers, trust.request_header.as_ref());
        match found {
            Some(found) => Ok(found),
            None if refusals.is_empty() && self.anonymous => Ok(anonymous()),
            None if refusals.is_empty() => Err(vec!["no credentials were sent".to_owned()]),
            None => Err(refusals),
        }
    }

    async fn authenticate_by_token(
        &self,
        headers: &HeaderMap,
        refusals: &mut Vec<String>,
    ) -> Option<AuthenticatedUser> {
        let token = match bearer_token(headers) {
            Ok(token) => token?,
            Err(problem) => {
                refusals.push(problem);
                return None;
            }
        };
        let Some(tokens) = &self.tokens else {
            refusals.push("bearer tokens are not configured".to_owned());
            return None;
        };
        match tokens.authenticate(token).await {
            Ok(Some(user)) => Some(authenticated_user(user, None)),
            Ok(None) => {
                refusals.push("invalid bearer token".to_owned());
                None
            }
            Err(problem) => {
                refusals.push(format!("the bearer token could not be checked: {problem}"));
                None
            }
        }
    }
}

/// Identifies the user by front-proxy headers, or otherwise by the user's own certificate.
fn authenticate_by_certificate(
    verdict: Option<&Verdict>,
    trust: &TrustState,
    headers: &HeaderMap,
    refusals: &mut Vec<String>,
) -> Option<AuthenticatedUser> {
    let verdict = verdict?;
    match (&verdict.front_proxy, &trust.request_header) {
        (Ok(()), Some(request_header)) => match headers::user(headers, request_header) {
            Ok(Some(user)) => return Some(authenticated_user(user, None)),
            Ok(None) => {}
            // The request is on behalf of a user, so the proxy's own identity must not be used.
            Err(problem) => {
                refusals.push(problem);
                return None;
            }
        },
        (Err(problem), Some(_)) => refusals.push(format!("as a front proxy: {problem}")),
        _ => {}
    }
    match &verdict.client {
        Ok(identity) => Some(authenticated_user(
            identity.user.clone(),
            Some(identity.not_after),
        )),
        Err(problem) => {
            refusals.push(format!("as a client: {problem}"));
            None
        }
    }
}

/// Returns the token of an `Authorization: Bearer` header; an empty token counts as absent.
fn bearer_token(headers: &HeaderMap) -> Result<Option<&str>, String> {
    let Some(value) = headers.get(AUTHORIZATION) else {
        return Ok(None);
    };
    let text = headers::text(&AUTHORIZATION, value.as_bytes())?.trim();
    match text.split_once(' ') {
        Some((scheme, token)) if scheme.eq_ignore_ascii_case("bearer") => {
            let token = token.trim();
            Ok((!token.is_empty()).then_some(token))
        }
        _ => Ok(None),
    }
}

/// Returns the authenticated `user`, with the group of all authenticated users.
fn authenticated_user(mut user: UserInfo, certificate_expires: Option<i64>) -> AuthenticatedUser {
    let has_group = user.name == ANONYMOUS || user.is_in(AUTHENTICATED) || user.is_in(UNAUTHENTICATED);
    if !has_group {
        user.groups.push(AUTHENTICATED.to_owned());
    }
    AuthenticatedUser {
        user,
        certificate_expires,
    }
}

fn anonymous() -> AuthenticatedUser {
    let user = UserInfo {
        name: ANONYMOUS.to_owned(),
        groups: vec![UNAUTHENTICATED.to_owned()],
        ..UserInfo::default()
    };
    AuthenticatedUser {
        user,
        certificate_expires: None,
    }
}

#[cfg(test)]
mod tests;
