//! Readability of the page: no text is hidden, cut off, or expressed only by a colour.

use std::collections::BTreeSet;

use serde_json::json;

use crate::harness::{Console, DECISIONS_SHOWN, loaded};
use crate::views::VIEWS;
use crate::webdriver::Browser;

#[test]
#[ignore = "needs chromium and chromedriver: make console"]
fn a_cluster_that_fits_and_is_not_picked_is_not_shown_as_refused() {
    let server = loaded();
    let console = Console::start(&server, &[]);
    let browser = Browser::start();
    browser.go(&console.url);
    browser.go(&console.view("request?namespace=story-1&name=placement.ocm"));
    browser.eventually("document.querySelectorAll('#everyone tbody tr').length > 2");
    let states = browser.run(
        "return [...document.querySelectorAll('#everyone tbody tr .state')]
            .filter((one) => one.innerText === 'not picked').map((one) => one.className)",
    );
    let states = states.as_array().unwrap();
    assert!(
        !states.is_empty() && states.iter().all(|one| *one == "state calm"),
        "{states:?}"
    );
    let titles = browser
        .run("return [...document.querySelectorAll('#everyone th')].map((one) => one.innerText.trim())");
    assert!(
        titles.as_array().unwrap().iter().all(|title| *title != ""),
        "{titles}"
    );
    // A score of zero has no box.
    let boxes = browser.run(
        "return [...document.querySelectorAll('.scores .parts > *')].filter((one) =>
            one.getBoundingClientRect().width > 0 && !parseFloat(one.style.width)).length",
    );
    assert_eq!(boxes, json!(0));
}

#[test]
#[ignore = "needs chromium and chromedriver: make console"]
fn a_request_with_fewer_clusters_than_it_asks_for_says_so_in_the_list_and_on_its_page() {
    let server = loaded();
    let more = json!({"spec": {"numberOfClusters": 9}}).to_string();
    let words = [
        "-n",
        "story-1",
        "patch",
        "placement",
        "placement",
        "--type=merge",
        "-p",
        &more,
    ];
    server.kubectl_args(&words).succeeds();
    let console = Console::start(&server, &[]);
    let browser = Browser::start();
    browser.go(&console.url);
    browser.go(&console.view("requests?namespace=story-1"));
    browser.eventually("document.querySelector('tbody')?.innerText.includes(' of 9')");
    browser.go(&console.view("request?namespace=story-1&name=placement.ocm"));
    browser.eventually(
        "document.querySelector('.verdict .state.warn')?.innerText.match(/^placed on [1-8] of 9 clusters$/)",
    );
}

#[test]
#[ignore = "needs chromium and chromedriver: make console"]
fn the_clusters_that_each_filter_refuses_add_up_to_all_of_them() {
    let server = loaded();
    let console = Console::start(&server, &[]);
    let browser = Browser::start();
    browser.go(&console.url);
    browser.go(&console.view("request?namespace=garden-dev&name=overlap.gardener"));
    browser.eventually(
        "document.querySelectorAll('.funnel li').length > 2
         && document.querySelectorAll('#everyone tbody tr').length > 3",
    );
    let numbers = browser.run(
        "const left = [...document.querySelectorAll('.funnel .left')];
         const gone = left.map((one) => Number((one.querySelector('small')?.innerText ?? '0').replace(/[^0-9]/g, '')));
         return [Number(left[0].querySelector('b').innerText), gone.reduce((sum, one) => sum + one, 0),
                 document.querySelectorAll('#everyone tbody tr:not(.space)').length]",
    );
    assert_eq!(numbers[0], numbers[1], "nothing fits: all are refused, each once");
    assert_eq!(numbers[0], numbers[2]);
}

#[test]
#[ignore = "needs chromium and chromedriver: make console"]
fn a_wide_window_is_used_and_rows_are_28_pixels_high() {
    let server = loaded();
    let console = Console::start(&server, &[]);
    let browser = Browser::start();
    browser.go(&console.url);
    browser.size(1920, 1080);
    for view in ["requests", "fleet"] {
        browser.go(&console.view(view));
        browser.eventually(DECISIONS_SHOWN);
        let sides = browser.run(
            "const box = document.querySelector('.table').getBoundingClientRect();
             return [box.left, innerWidth - box.right]",
        );
        for side in sides.as_array().unwrap() {
            assert!(side.as_f64().unwrap() < 60.0, "{view}: {sides}");
        }
        let rows = browser.run(
            "return [...new Set([...document.querySelectorAll('tbody tr:not(.space)')]
                .map((one) => Math.round(one.getBoundingClientRect().height)))]",
        );
        assert_eq!(rows, json!([28]), "{view}");
    }
}

#[test]
#[ignore = "needs chromium and chromedriver: make console"]
fn on_a_phone_the_reasons_are_read() {
    const SHOWN: &str =
        "one.getBoundingClientRect().right <= innerWidth && one.getBoundingClientRect().left >= 0";
    let server = loaded();
    let console = Console::start(&server, &[]);
    let browser = Browser::start();
    browser.go(&console.url);
    browser.size(390, 844);
    browser.go(&console.view("requests?search=overlap"));
    browser.eventually("document.querySelector('.brief p')?.innerText.includes('No Seed fits')");
    browser.eventually(&format!(
        "[...document.querySelectorAll('.brief p')].every((one) => {SHOWN})"
    ));
    browser.go(&console.view("request?namespace=garden-dev&name=overlap.gardener"));
    browser.eventually(&format!(
        "document.querySelector('.misses li')
         && [...document.querySelectorAll('.misses li, .verdict, .funnel .said')].every((one) => {SHOWN})"
    ));
}

#[test]
#[ignore = "needs chromium and chromedriver: make console"]
fn nothing_is_told_in_a_tooltip_alone_and_titles_and_commands_say_what_is_shown() {
    let server = loaded();
    let console = Console::start(&server, &[]);
    let browser = Browser::start();
    browser.go(&console.url);
    let mut titles = BTreeSet::new();
    for (name, address, shown) in VIEWS {
        browser.go(&console.view(address));
        browser.eventually(shown);
        let alone = browser.run(
            "return [...document.querySelectorAll('[title]')].map((one) => one.getAttribute('title'))
                .filter((title) => title && !document.body.innerText.includes(title))",
        );
        assert_eq!(alone, json!([]), "{name}");
        let title = browser.run("return document.title");
        assert!(
            titles.insert(title.to_string()),
            "{name}: {title} is another view's title, too"
        );
    }
    browser.go(&console.view("requests?phase=Unschedulable"));
    browser.eventually(
        "document.querySelector('.command code').innerText
            === 'kubectl get decisions,clusterdecisions -A --field-selector status.phase=Unschedulable'",
    );
}
