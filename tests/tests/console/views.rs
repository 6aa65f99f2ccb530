//! Every view: shown, light and dark, without markup of what the API holds, and so that everybody can use it.

use std::path::Path;

use serde_json::json;

use crate::harness::{Console, DECISIONS_SHOWN, loaded};
use crate::webdriver::Browser;

/// A cluster of whose texts any would run if it became markup.
const HOSTILE: &str = r#"
apiVersion: cluster.open-cluster-management.io/v1
kind: ManagedCluster
metadata:
  name: hostile
  annotations: {note: "<script>window.harmed=1</script>"}
spec:
  hubAcceptsClient: true
  taints:
  - {key: hostile.example/x, value: "y", effect: NoSelect, timeAdded: "2021-10-28T09:00:00Z"}
status:
  conditions:
  - type: ManagedClusterConditionAvailable
    status: "False"
    reason: Down
    message: "<img src=x onerror='window.harmed=1'><script>window.harmed=1</script>"
    lastTransitionTime: "2021-10-28T09:00:00Z"
  clusterClaims:
  - {name: region.open-cluster-management.io, value: "<img src=x onerror='window.harmed=1'>"}
  - {name: platform.open-cluster-management.io, value: "\"><svg onload='window.harmed=1'>"}
---
apiVersion: v1
kind: Namespace
metadata: {name: a-hostile}
---
apiVersion: cluster.open-cluster-management.io/v1beta1
kind: Placement
metadata: {name: hostile, namespace: a-hostile}
spec: {}
"#;

/// Nothing of the page runs what the API holds.
const UNHARMED: &str =
    "return window.harmed === undefined && !document.querySelector('img, svg, main script')";

/// The views, their addresses below the console's, and what is on screen when they are shown.
const VIEWS: [(&str, &str, &str); 5] = [
    ("decisions", "decisions", DECISIONS_SHOWN),
    (
        "fleet",
        "fleet",
        "document.querySelectorAll('tbody tr').length > 3 && !document.querySelector('tbody a')",
    ),
    (
        "decision",
        "decision?namespace=garden-dev&name=overlap.gardener",
        "document.querySelector('.verdict') && document.querySelectorAll('tbody tr').length > 3",
    ),
    (
        "whatif",
        "whatif?namespace=garden-dev&name=overlap.gardener",
        "document.querySelector('textarea')?.value.includes('overlap') && document.querySelector('.verdict')",
    ),
    (
        "timeline",
        "timeline?namespace=story-1&name=placement.ocm",
        "document.querySelector('.step')?.innerText.includes('+ cluster1') && document.querySelector('main').innerText.includes('are remembered')",
    ),
];

#[test]
#[ignore = "needs chromium and chromedriver: make console"]
fn every_view_is_shown_light_and_dark_and_no_text_becomes_markup() {
    let server = loaded();
    let console = Console::start(&server, &[]);
    let browser = Browser::start();
    let pictures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/console");
    browser.go(&console.url);
    browser.eventually(DECISIONS_SHOWN);
    for scheme in ["light", "dark"] {
        browser.scheme(scheme);
        for (name, address, shown) in VIEWS {
            browser.go(&console.view(address));
            browser.eventually(shown);
            browser.picture(&pictures.join(format!("{name}-{scheme}.png")));
        }
    }
    server.load(&server.file("hostile.yaml", HOSTILE));
    browser.go(&console.view("fleet?search=hostile"));
    browser.eventually("document.querySelector('main').innerText.includes(\"<img src=x onerror='\")");
    assert_eq!(browser.run(UNHARMED), json!(true));
    for view in ["decision", "whatif"] {
        browser.go(&console.view(&format!("{view}?namespace=a-hostile&name=hostile.ocm")));
        browser.eventually("document.querySelector('.verdict') && document.querySelector('main').innerText.includes('hostile')");
        assert_eq!(browser.run(UNHARMED), json!(true), "{view}");
    }
    // The token is not in the address any more.
    assert_eq!(
        browser.run("return location.href.includes('token')"),
        json!(false)
    );
}

#[test]
#[ignore = "needs chromium and chromedriver: make console"]
fn a_decision_says_what_would_have_to_change() {
    const ASK: &str = "document.querySelector('.advice button')";
    let server = loaded();
    server.load(&server.file("hostile.yaml", HOSTILE));
    let console = Console::start(&server, &[]);
    let browser = Browser::start();
    browser.go(&console.url);
    browser.eventually(DECISIONS_SHOWN);
    browser.go(&console.view("decision?namespace=garden-dev&name=web.gardener"));
    browser.eventually(ASK);
    browser.run(&format!("{ASK}.click()"));
    browser.eventually(
        "[...document.querySelectorAll('.advice li')].some((set) =>
            set.innerText.includes('tolerate the taint seed.gardener.cloud/protected')
            && set.innerText.includes('kubectl patch shoots.core.gardener.cloud web -n garden-dev'))",
    );
    browser.run(include_str!("vendor/axe.min.js"));
    assert_eq!(browser.run(AUDIT), json!([]));
    browser.go(&console.view("decision?namespace=a-hostile&name=hostile.ocm"));
    browser.eventually(ASK);
    browser.run(&format!("{ASK}.click()"));
    browser.eventually("document.querySelector('.advised')");
    assert_eq!(browser.run(UNHARMED), json!(true));
}

/// What axe-core finds that shuts people out.
const AUDIT: &str = "return axe.run(document, {resultTypes: ['violations']}).then((found) => found.violations
    .filter((one) => one.impact === 'serious' || one.impact === 'critical')
    .map((one) => `${one.id}: ${one.help}: ${one.nodes.map((node) => node.html + ' ' + node.failureSummary).slice(0, 3).join(' | ')}`))";

#[test]
#[ignore = "needs chromium and chromedriver: make console"]
fn axe_core_finds_nothing_serious_in_any_view_light_or_dark_wide_or_narrow() {
    let server = loaded();
    let console = Console::start(&server, &[]);
    let browser = Browser::start();
    browser.go(&console.url);
    browser.run(include_str!("vendor/axe.min.js"));
    for (scheme, width) in [("light", 1280), ("dark", 1280), ("light", 360)] {
        browser.scheme(scheme);
        browser.size(width, 860);
        for (name, address, shown) in VIEWS {
            browser.go(&console.view(address));
            browser.eventually(shown);
            assert_eq!(browser.run(AUDIT), json!([]), "{name}, {scheme}, {width} wide");
        }
    }
}

#[test]
#[ignore = "needs chromium and chromedriver: make console"]
fn a_narrow_window_shows_every_view_without_scrolling_sideways() {
    let server = loaded();
    let console = Console::start(&server, &[]);
    let browser = Browser::start();
    browser.go(&console.url);
    browser.size(360, 740);
    for (name, address, shown) in VIEWS {
        browser.go(&console.view(address));
        browser.eventually(shown);
        let over = browser.run(
            "return [...document.querySelectorAll('body, nav, main, header, form, .kubectl, .table')]
                .filter((one) => one.getBoundingClientRect().right > innerWidth + 1)
                .map((one) => one.className || one.tagName)",
        );
        assert_eq!(over, json!([]), "{name}");
        assert_eq!(
            browser.run("return document.documentElement.scrollWidth <= innerWidth"),
            json!(true),
            "{name}"
        );
    }
}

#[test]
#[ignore = "needs chromium and chromedriver: make console"]
fn everything_is_reached_by_keyboard_and_the_focus_is_seen() {
    const TAB: &str = "\u{e004}";
    const ENTER: &str = "\u{e007}";
    let server = loaded();
    let console = Console::start(&server, &[]);
    let browser = Browser::start();
    browser.go(&console.url);
    browser.eventually(DECISIONS_SHOWN);
    let mut seen = Vec::new();
    for _ in 0..20 {
        browser.press(TAB);
        let focused = browser.run(
            "const one = document.activeElement;
             return [one.tagName, getComputedStyle(one).outlineStyle, one.closest('tbody') ? 'row' : '']",
        );
        assert_ne!(focused[1], json!("none"), "the focus is not seen on {focused}");
        seen.push(focused[0].as_str().unwrap_or_default().to_owned());
        if focused[2] == json!("row") {
            break;
        }
    }
    for wanted in ["A", "INPUT", "SELECT", "DIV"] {
        assert!(
            seen.iter().any(|one| one == wanted),
            "{wanted} is not reached: {seen:?}"
        );
    }
    browser.press(ENTER);
    browser.eventually("location.hash.startsWith('#/decision?') && document.querySelector('.verdict')");
}

#[test]
#[ignore = "needs chromium and chromedriver: make console"]
fn the_timeline_is_offered_grows_by_itself_and_shows_what_came_and_went() {
    let server = loaded();
    let console = Console::start(&server, &[]);
    let browser = Browser::start();
    browser.go(&console.url);
    browser.eventually(DECISIONS_SHOWN);
    browser.go(&console.view("decision?namespace=story-1&name=placement.ocm"));
    browser.eventually(
        "[...document.querySelectorAll('.actions button')].some((one) => one.innerText === 'History')",
    );
    browser.run("[...document.querySelectorAll('.actions button')].find((one) => one.innerText === 'History').click()");
    browser.eventually(
        "location.hash.startsWith('#/timeline?') && document.querySelectorAll('.step').length === 1",
    );
    let taint = json!({"spec": {"taints": [{"key": "drain", "effect": "NoSelect"}]}}).to_string();
    let words = [
        "patch",
        "managedcluster",
        "cluster1",
        "--type=merge",
        "-p",
        &taint,
    ];
    server.kubectl_args(&words).ok();
    browser.eventually(
        "document.querySelectorAll('.step').length === 2
         && document.querySelector('.step').innerText.includes('ManagedCluster cluster1 was updated with kubectl-patch')
         && document.querySelector('.step .left').innerText.includes('cluster1')",
    );
    browser.go(&console.view("timeline?namespace=story-1&name=nothing.ocm"));
    browser.eventually("document.querySelector('main').innerText.includes('No change of it is remembered.')");
}

#[test]
fn the_checker_of_accessibility_is_the_one_whose_sum_is_written_down() {
    let sum = sha256(include_bytes!("vendor/axe.min.js"));
    assert!(include_str!("vendor/README.md").contains(&sum), "{sum}");
}

fn sha256(bytes: &[u8]) -> String {
    use sha2::Digest;
    let sum = sha2::Sha256::digest(bytes);
    sum.iter().map(|byte| format!("{byte:02x}")).collect()
}
