//! Every view: content, light and dark colours, escaping of the API's texts, and accessibility.

use std::path::Path;

use serde_json::json;

use crate::harness::{Console, DECISIONS_SHOWN, loaded};
use crate::webdriver::Browser;

/// A cluster whose texts would all run as scripts if they became markup.
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

/// Condition that none of these texts ran.
const UNHARMED: &str =
    "return window.harmed === undefined && !document.querySelector('img, svg, main script')";

/// The views, with their paths below the console's URL and a condition that they are on screen.
pub(crate) const VIEWS: [(&str, &str, &str); 8] = [
    (
        "overview",
        "overview",
        "document.querySelectorAll('.numbers a').length === 6 && document.querySelectorAll('.map canvas').length > 2
         && document.querySelector('.causes li') && document.querySelector('.recent li')",
    ),
    ("requests", "requests", DECISIONS_SHOWN),
    (
        "request",
        "request?namespace=garden-dev&name=overlap.gardener",
        "document.querySelectorAll('.funnel li').length > 2 && document.querySelector('.misses li')
         && document.querySelectorAll('tbody tr').length > 3 && document.querySelector('.advice li')",
    ),
    (
        "fleet",
        "fleet?map=yes",
        "document.querySelectorAll('tbody a').length > 3 && document.querySelector('.map canvas')",
    ),
    (
        "cluster",
        "cluster?name=aws-eu1.gardener",
        "document.querySelector('.verdict') && document.querySelectorAll('.plain li').length > 1",
    ),
    (
        "try",
        "try?namespace=garden-dev&name=overlap.gardener",
        "document.querySelector('.form input') && document.querySelector('.funnel li')",
    ),
    ("activity", "activity", "document.querySelectorAll('.recent li').length > 3"),
    (
        "agreement",
        "agreement",
        "document.querySelector('main').innerText.includes('Berth decides here by itself')",
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
    for (width, schemes) in [(1280, ["light", "dark"].as_slice()), (390, &["light"])] {
        browser.size(width, 860);
        for scheme in schemes {
            browser.scheme(scheme);
            for (name, address, shown) in VIEWS {
                browser.go(&console.view(address));
                browser.eventually(shown);
                let narrow = if width < 700 { "-narrow" } else { "" };
                browser.picture(&pictures.join(format!("{name}-{scheme}{narrow}.png")));
            }
        }
    }
    browser.size(1280, 860);
    server.load(&server.file("hostile.yaml", HOSTILE));
    for view in [
        "fleet?search=hostile",
        "cluster?name=hostile.ocm",
        "request?namespace=a-hostile&name=hostile.ocm",
        "try?namespace=a-hostile&name=hostile.ocm",
        "overview",
    ] {
        browser.go(&console.view(view));
        browser.eventually("document.querySelector('main').innerText.includes('hostile')");
        assert_eq!(browser.run(UNHARMED), json!(true), "{view}");
    }
    browser.go(&console.view("cluster?name=hostile.ocm"));
    browser.eventually("document.querySelector('main').innerText.includes(\"<img src=x onerror='\")");
    // The address no longer contains the token.
    assert_eq!(
        browser.run("return location.href.includes('token')"),
        json!(false)
    );
}

#[test]
#[ignore = "needs chromium and chromedriver: make console"]
fn a_link_opens_in_a_new_tab_and_the_row_stays() {
    let server = loaded();
    let console = Console::start(&server, &[]);
    let browser = Browser::start();
    browser.go(&console.url);
    browser.go(&console.view("requests"));
    browser.eventually(DECISIONS_SHOWN);
    // Another tab of the same run requests the token from this one, since its session has none.
    browser.run("window.open(location.pathname + '#/fleet', '_blank', 'noopener')");
    browser.in_the_other_tab(|| {
        browser.eventually("location.hash === '#/fleet' && document.querySelectorAll('tbody a').length > 3");
    });
    assert_eq!(browser.run("return location.hash"), json!("#/requests"));
}

#[test]
#[ignore = "needs chromium and chromedriver: make console"]
fn keys_find_anything_and_walk_through_rows() {
    let server = loaded();
    let console = Console::start(&server, &[]);
    let browser = Browser::start();
    browser.go(&console.url);
    browser.go(&console.view("requests"));
    browser.eventually(DECISIONS_SHOWN);
    browser.press("j");
    browser.press("j");
    browser.eventually("document.querySelector('tr.at')?.rowIndex === 2");
    browser.press("k");
    browser.eventually("document.querySelector('tr.at')?.rowIndex === 1");
    browser.press("\u{e007}");
    browser.eventually("location.hash.startsWith('#/request?') && document.querySelector('.verdict')");
    browser.go(&console.view("requests"));
    browser.eventually(DECISIONS_SHOWN);
    browser.press("/");
    browser.eventually("document.activeElement.closest('.palette')");
    browser.press("aws-eu1");
    browser.eventually("document.querySelector('.palette li b')?.innerText === 'aws-eu1'");
    browser.press("\u{e007}");
    browser.eventually(
        "location.hash === '#/cluster?name=aws-eu1.gardener' && document.title.startsWith('aws-eu1')",
    );
    browser.press("?");
    browser.eventually("document.querySelector('.palette')?.innerText.includes('next and previous row')");
    browser.press("\u{e00c}");
    browser.eventually("!document.querySelector('.palette')");
}

#[test]
#[ignore = "needs chromium and chromedriver: make console"]
fn a_change_is_tried_while_typing_and_the_cluster_it_would_get_is_named() {
    let server = loaded();
    let console = Console::start(&server, &[]);
    let browser = Browser::start();
    browser.go(&console.url);
    browser.go(&console.view("try?namespace=story-1&name=placement.ocm"));
    browser.eventually("document.querySelector('.form input')");
    browser.run(
        "const field = [...document.querySelectorAll('.field')].find((one) => one.innerText.startsWith('numberOfClusters')).querySelector('input');
         field.value = '4';
         field.dispatchEvent(new Event('input', {bubbles: true}));",
    );
    browser.eventually(
        "document.querySelectorAll('.pair h3').length === 2
         && document.querySelectorAll('.pair h3')[1].innerText.includes('on 4 clusters')
         && document.querySelector('main').innerText.includes('cluster4')",
    );
    browser.eventually(
        "[...document.querySelectorAll('button')].some((one) => one.innerText === 'copy as kubectl patch')",
    );
    assert_eq!(browser.run(UNHARMED), json!(true));
}

#[test]
#[ignore = "needs chromium and chromedriver: make console"]
fn a_decision_says_what_would_have_to_change() {
    const ASK: &str =
        "[...document.querySelectorAll('button')].find((one) => one.innerText.startsWith('How could'))";
    let server = loaded();
    server.load(&server.file("hostile.yaml", HOSTILE));
    let console = Console::start(&server, &[]);
    let browser = Browser::start();
    browser.go(&console.url);
    browser.go(&console.view("request?namespace=garden-dev&name=web.gardener"));
    browser.eventually(ASK);
    browser.run(&format!("{ASK}.click()"));
    browser.eventually(
        "[...document.querySelectorAll('.advice li')].some((set) =>
            set.innerText.includes('tolerate the taint seed.gardener.cloud/protected')
            && set.innerText.includes('kubectl patch shoots.core.gardener.cloud web -n garden-dev'))",
    );
    browser.run(include_str!("vendor/axe.min.js"));
    assert_eq!(browser.run(AUDIT), json!([]));
    // What has no place is asked about at once.
    browser.go(&console.view("request?namespace=a-hostile&name=hostile.ocm"));
    browser.eventually("[...document.querySelectorAll('h2')].some((one) => one.innerText.startsWith('What would change it'))");
    assert_eq!(browser.run(UNHARMED), json!(true));
}

/// The severe findings of axe-core.
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
            "return [...document.querySelectorAll('body, nav, main, header, form, .command, .table, .card')]
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
    browser.go(&console.view("requests"));
    browser.eventually(DECISIONS_SHOWN);
    let mut seen = Vec::new();
    for _ in 0..60 {
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
    for wanted in ["A", "INPUT", "BUTTON", "DIV"] {
        assert!(
            seen.iter().any(|one| one == wanted),
            "{wanted} is not reached: {seen:?}"
        );
    }
    browser.press(ENTER);
    browser.eventually("location.hash.startsWith('#/request?') && document.querySelector('.verdict')");
}

#[test]
#[ignore = "needs chromium and chromedriver: make console"]
fn the_history_of_a_request_grows_by_itself_and_shows_what_came_and_went() {
    let server = loaded();
    let console = Console::start(&server, &[]);
    let browser = Browser::start();
    browser.go(&console.url);
    // The path of earlier versions works, too.
    browser.go(&console.view("timeline?namespace=story-1&name=placement.ocm"));
    browser.eventually("document.querySelectorAll('li.step').length === 1");
    let taint = json!({"spec": {"taints": [{"key": "drain", "effect": "NoSelect"}]}}).to_string();
    let words = [
        "patch",
        "managedcluster",
        "cluster1",
        "--type=merge",
        "-p",
        &taint,
    ];
    server.kubectl_args(&words).succeeds();
    browser.eventually(
        "document.querySelectorAll('li.step').length === 2
         && document.querySelector('li.step').innerText.includes('ManagedCluster cluster1 was updated with kubectl-patch')
         && document.querySelector('li.step .went').innerText.includes('cluster1')",
    );
    browser.go(&console.view("request?namespace=story-1&name=nothing.ocm"));
    browser.eventually(
        "document.querySelector('main').innerText.includes('There is no request story-1/nothing.ocm')",
    );
    // A missing request can be neither decided again nor changed.
    assert_eq!(
        browser.run("return document.querySelectorAll('.actions *, .advice').length"),
        json!(0)
    );
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
