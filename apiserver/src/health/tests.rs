//! Answers to probes.

use http_body_util::BodyExt;

use super::*;

async fn ask(health: &Health, target: &str) -> (u16, String) {
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let (probe, check) = Probe::of_path(path).unwrap();
    match health.answer(probe, check, &Query::parse(query), &Metrics::new()) {
        Ok(response) => {
            let code = response.status().as_u16();
            let body = response.into_body().collect().await.unwrap().to_bytes();
            (code, String::from_utf8(body.to_vec()).unwrap())
        }
        Err(status) => (status.code, status.message),
    }
}

fn health() -> Health {
    let health = Health::new();
    health.add("storage", &[Probe::Readyz], || Err("file gone".to_owned()));
    health.add_informative("dialect-ocm", &[Probe::Readyz], || Err("not synced".to_owned()));
    health
}

#[tokio::test]
async fn a_failing_check_is_named_and_its_reason_withheld() {
    let (code, text) = ask(&health(), "/readyz").await;
    assert_eq!(code, 500);
    assert_eq!(
        text,
        "[+]ping ok\n[+]shutdown ok\n[-]storage failed: reason withheld\n[-]dialect-ocm failed: reason withheld\n\
         readyz check failed\n"
    );
    assert_eq!(ask(&health(), "/livez").await, (200, "ok".to_owned()));
}

#[tokio::test]
async fn excluded_and_informative_checks_do_not_decide() {
    assert_eq!(
        ask(&health(), "/readyz?exclude=storage").await,
        (200, "ok".to_owned())
    );
    let (code, text) = ask(&health(), "/readyz?verbose&exclude=storage&exclude=nope").await;
    assert_eq!(code, 200);
    assert_eq!(
        text,
        "[+]ping ok\n[+]shutdown ok\n[+]storage excluded: ok\n[-]dialect-ocm failed: reason withheld\n\
         warn: some health checks cannot be excluded: no matches for \"nope\"\nreadyz check passed\n"
    );
}

#[tokio::test]
async fn single_checks_have_paths_of_their_own() {
    assert_eq!(ask(&health(), "/readyz/ping").await, (200, "ok".to_owned()));
    assert_eq!(ask(&health(), "/readyz/dialect-ocm").await.0, 500);
    assert_eq!(ask(&health(), "/livez/storage").await.0, 404);
}

#[tokio::test]
async fn stopping_turns_readiness_off_and_nothing_else() {
    let health = Health::new();
    health.stop();
    assert_eq!(ask(&health, "/readyz").await.0, 500);
    assert_eq!(ask(&health, "/livez").await.0, 200);
    assert_eq!(ask(&health, "/healthz").await.0, 200);
}

#[test]
fn paths_are_recognized_whole() {
    assert_eq!(Probe::of_path("/readyz/a/b"), Some((Probe::Readyz, "a/b")));
    assert_eq!(Probe::of_path("/readyzz"), None);
    assert_eq!(Probe::of_path("/version"), None);
}
