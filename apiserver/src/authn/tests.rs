//! Credentials and their users: every combination of CA and purpose.

use super::*;
use crate::testing::{Ca, TestCertificate, now};

struct Fleet {
    clients: Ca,
    proxies: Ca,
    strangers: Ca,
    authentication: Authentication,
}

/// Trusts one CA for clients and another for front proxies named `front-proxy`.
fn fleet() -> Fleet {
    let clients = Ca::new("clients");
    let proxies = Ca::new("proxies");
    let request_header = RequestHeaderTrust::new(proxies.pool(), vec!["front-proxy".to_owned()]);
    let trust = Arc::new(Trust::new(clients.pool(), Some(request_header)));
    let authentication = Authentication {
        trust,
        tokens: Some(Arc::new(OneToken)),
        anonymous: true,
    };
    Fleet {
        clients,
        proxies,
        strangers: Ca::new("strangers"),
        authentication,
    }
}

struct OneToken;

#[async_trait]
impl TokenAuthenticator for OneToken {
    async fn authenticate(&self, token: &str) -> Result<Option<UserInfo>, DelegationError> {
        match token {
            "good" => Ok(Some(UserInfo {
                name: "robot".to_owned(),
                ..UserInfo::default()
            })),
            "broken" => Err(DelegationError::Other("no route to the token service".to_owned())),
            _ => Ok(None),
        }
    }
}

fn connection(pair: Option<&TestCertificate>) -> Connection {
    let certificates = pair.map(|pair| pair.certificate.clone()).into_iter().collect();
    Connection::new("192.0.2.1:1000".parse().unwrap(), certificates)
}

fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
    pairs
        .iter()
        .map(|(name, value)| (http::HeaderName::from_static(name), value.parse().unwrap()))
        .collect()
}

async fn attempt(
    fleet: &Fleet,
    pair: Option<&TestCertificate>,
    pairs: &[(&'static str, &str)],
) -> Result<UserInfo, Vec<String>> {
    let found = fleet
        .authentication
        .authenticate(&connection(pair), &mut headers(pairs), now())
        .await;
    found.map(|found| found.user)
}

#[tokio::test]
async fn a_client_certificate_names_user_and_groups() {
    let fleet = fleet();
    let pair = fleet.clients.client("alice", &["dev", "ops"]);
    let user = attempt(&fleet, Some(&pair), &[]).await.unwrap();
    assert_eq!(user.name, "alice");
    assert_eq!(user.groups, ["dev", "ops", AUTHENTICATED]);
    assert!(user.extra["authentication.kubernetes.io/credential-id"][0].starts_with("X509SHA256="));
}

#[tokio::test]
async fn a_front_proxy_names_any_user_and_gets_no_identity_of_its_own() {
    let fleet = fleet();
    let pair = fleet.proxies.client("front-proxy", &["system:masters"]);
    let named = [("x-remote-user", "alice"), ("x-remote-extra-a%2fb", "c")];
    let user = attempt(&fleet, Some(&pair), &named).await.unwrap();
    assert_eq!(
        (user.name.as_str(), user.groups.as_slice()),
        ("alice", &[AUTHENTICATED.to_owned()][..])
    );
    assert_eq!(user.extra["a/b"], ["c"]);
    let refusals = attempt(&fleet, Some(&pair), &[]).await.unwrap_err();
    assert!(refusals[0].starts_with("as a client:"), "{refusals:?}");
}

#[tokio::test]
async fn a_front_proxy_whose_user_header_cannot_be_read_is_not_taken_for_the_user() {
    let ca = Ca::new("clients and proxies");
    let request_header = RequestHeaderTrust::new(ca.pool(), vec!["front-proxy".to_owned()]);
    let authentication = Authentication {
        trust: Arc::new(Trust::new(ca.pool(), Some(request_header))),
        tokens: None,
        anonymous: true,
    };
    let pair = ca.client("front-proxy", &["system:masters"]);
    let mut named = HeaderMap::new();
    named.insert("x-remote-user", http::HeaderValue::from_bytes(b"\xff").unwrap());
    let found = authentication
        .authenticate(&connection(Some(&pair)), &mut named, now())
        .await;
    assert_eq!(found.unwrap_err(), ["header x-remote-user is not UTF-8"]);
}

#[tokio::test]
async fn remote_user_headers_count_only_from_the_right_ca_and_name() {
    let fleet = fleet();
    let named = [("x-remote-user", "root"), ("x-remote-group", "system:masters")];
    let stranger = fleet.strangers.client("front-proxy", &[]);
    assert!(attempt(&fleet, Some(&stranger), &named).await.is_err());
    let misnamed = fleet.proxies.client("someone-else", &[]);
    assert!(attempt(&fleet, Some(&misnamed), &named).await.is_err());
    // A client certificate authenticates its own user, and the headers beside it are ignored.
    let client = fleet.clients.client("front-proxy", &["dev"]);
    let user = attempt(&fleet, Some(&client), &named).await.unwrap();
    assert_eq!(
        (user.name.as_str(), user.is_in("system:masters")),
        ("front-proxy", false)
    );
    // Headers that name a user without any certificate are not anonymous either.
    let refusals = attempt(&fleet, None, &named).await.unwrap_err();
    assert!(
        refusals[0].contains("without the certificate of a front proxy"),
        "{refusals:?}"
    );
}

#[tokio::test]
async fn a_server_certificate_is_no_client_certificate() {
    let fleet = fleet();
    let refusals = attempt(&fleet, Some(&fleet.clients.server()), &[])
        .await
        .unwrap_err();
    assert!(
        refusals.iter().any(|refusal| refusal.contains("as a client")),
        "{refusals:?}"
    );
}

#[tokio::test]
async fn tokens_are_judged_and_unknown_ones_refused() {
    let fleet = fleet();
    let bearer = |token: &'static str| [("authorization", token)];
    assert_eq!(
        attempt(&fleet, None, &bearer("Bearer good")).await.unwrap().name,
        "robot"
    );
    assert_eq!(
        attempt(&fleet, None, &bearer("bearer good")).await.unwrap().name,
        "robot"
    );
    assert_eq!(
        attempt(&fleet, None, &bearer("Bearer bad")).await.unwrap_err(),
        ["invalid bearer token"]
    );
    assert!(attempt(&fleet, None, &bearer("Bearer broken")).await.unwrap_err()[0].contains("no route"));
    assert_eq!(
        attempt(&fleet, None, &bearer("Basic abc")).await.unwrap().name,
        ANONYMOUS
    );
    // A valid token is enough beside a certificate of an unknown CA.
    let stranger = fleet.strangers.client("x", &[]);
    assert_eq!(
        attempt(&fleet, Some(&stranger), &bearer("Bearer good"))
            .await
            .unwrap()
            .name,
        "robot"
    );
}

#[tokio::test]
async fn anonymous_requests_can_be_switched_off() {
    let mut fleet = fleet();
    assert_eq!(
        attempt(&fleet, None, &[]).await.unwrap().groups,
        [UNAUTHENTICATED]
    );
    fleet.authentication.anonymous = false;
    assert!(attempt(&fleet, None, &[]).await.is_err());
}

#[tokio::test]
async fn rotated_cas_are_noticed_on_open_connections() {
    let fleet = fleet();
    let pair = fleet.clients.client("alice", &[]);
    let connection = connection(Some(&pair));
    let trust = &fleet.authentication.trust;
    let mut none = HeaderMap::new();
    assert!(
        fleet
            .authentication
            .authenticate(&connection, &mut none, now())
            .await
            .is_ok()
    );
    trust.replace(&fleet.strangers.pool(), None);
    assert!(
        fleet
            .authentication
            .authenticate(&connection, &mut none, now())
            .await
            .is_err()
    );
    trust.replace(&fleet.clients.pool(), None);
    assert!(
        fleet
            .authentication
            .authenticate(&connection, &mut none, now())
            .await
            .is_ok()
    );
}

#[tokio::test]
async fn a_certificate_that_runs_out_on_an_open_connection_is_refused() {
    let fleet = fleet();
    let pair = fleet.clients.client_until("alice", &[], 2027);
    let connection = connection(Some(&pair));
    let mut none = HeaderMap::new();
    let found = fleet
        .authentication
        .authenticate(&connection, &mut none, now())
        .await
        .unwrap();
    assert_eq!(
        found.certificate_expires,
        Some("2027-01-01T00:00:00Z".parse::<Timestamp>().unwrap().as_second())
    );
    let later = "2027-01-02T00:00:00Z".parse().unwrap();
    assert!(
        fleet
            .authentication
            .authenticate(&connection, &mut none, later)
            .await
            .is_err()
    );
}

#[tokio::test]
async fn credentials_never_reach_the_handlers() {
    let fleet = fleet();
    let mut map = headers(&[
        ("authorization", "Bearer good"),
        ("x-remote-user", "root"),
        ("accept", "*/*"),
    ]);
    fleet
        .authentication
        .authenticate(&connection(None), &mut map, now())
        .await
        .unwrap();
    assert_eq!(map.len(), 1);
}

#[test]
fn what_is_no_ca_is_refused_with_its_position() {
    assert!(matches!(CaPool::from_pem(b""), Err(TrustError::Empty)));
    let broken = CertificateDer::from(vec![1, 2, 3]);
    let good = Ca::new("a").certificate;
    let problem = CaPool::from_certificates(&[good, broken]).unwrap_err();
    assert!(
        problem
            .to_string()
            .starts_with("certificate 2 cannot be used as a CA"),
        "{problem}"
    );
}

use rustls::pki_types::CertificateDer;

#[tokio::test]
async fn certificates_of_a_ca_that_has_expired_name_nobody() {
    let (old, new) = (Ca::until("clients", 2027), Ca::new("clients, the next"));
    let both = [old.certificate.clone(), new.certificate.clone()];
    let trust = Arc::new(Trust::new(CaPool::from_certificates(&both).unwrap(), None));
    let authentication = Authentication {
        trust,
        tokens: None,
        anonymous: false,
    };
    let (old, new) = (old.client("alice", &[]), new.client("bob", &[]));
    // One connection each, so that the cached verdict must be renewed when the CA expires.
    let (alice, bob) = (connection(Some(&old)), connection(Some(&new)));
    for (now, alice_is_known) in [("2026-12-31T23:59:59Z", true), ("2027-01-01T00:00:01Z", false)] {
        let now = now.parse().unwrap();
        let mut none = headers(&[]);
        let found = authentication.authenticate(&alice, &mut none, now).await;
        assert_eq!(found.is_ok(), alice_is_known, "{now}");
        let found = authentication.authenticate(&bob, &mut none, now).await;
        assert_eq!(found.unwrap().user.name, "bob");
    }
}

#[test]
fn one_ca_for_users_and_front_proxies_needs_these_to_be_named() {
    let (clients, proxies) = (Ca::new("clients"), Ca::new("proxies"));
    let both = [proxies.certificate.clone(), clients.certificate.clone()];
    let both = CaPool::from_certificates(&both).unwrap();
    let trust = |ca: &CaPool, names: &[&str]| {
        let names = names.iter().map(|&name| name.to_owned()).collect();
        RequestHeaderTrust::new(ca.clone(), names).check_separate_from(&clients.pool())
    };
    assert!(trust(&proxies.pool(), &[]).is_ok());
    assert!(matches!(trust(&both, &[]), Err(TrustError::Overlap)));
    assert!(trust(&both, &["front-proxy"]).is_ok());
}
