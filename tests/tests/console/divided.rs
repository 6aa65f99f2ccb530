//! Shares of a divided request: in the list, on the page of the request, in its history and in a plan.

use std::path::Path;

use berth_tests::{Server, eventually};

use crate::harness::Console;
use crate::webdriver::Browser;

/// Starts a server on which twelve replicas are divided among three clusters.
fn divided() -> Server {
    let server = Server::start();
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/karmada");
    for file in ["fleet.yaml", "divided.yaml"] {
        server.load(&examples.join(file));
    }
    eventually("the replicas to be divided", || {
        let words = "-n retail get decision web-deployment.karmada --ignore-not-found -o jsonpath={.status.amount.placed}";
        (server.kubectl(words).succeeds().trim() == "12").then_some(())
    });
    server
}

#[test]
#[ignore = "needs chromium and chromedriver: make console"]
fn what_is_divided_is_shown_with_its_amounts_in_lists_requests_histories_and_plans() {
    let server = divided();
    let console = Console::start(&server, &["--allow-writes"]);
    let browser = Browser::start();
    browser.go(&console.url);
    browser.go(&console.view("requests"));
    let shows = |text: &str| format!("document.querySelector('main').innerText.includes({text:?})");
    browser.eventually(&shows("12 of 12 replicas"));
    browser.eventually(&shows("frankfurt:5"));
    let request = console.view("request?namespace=retail&name=web-deployment.karmada");
    browser.go(&request);
    browser.eventually(&format!(
        "document.querySelectorAll('.amounts li').length === 3 && {} && {}",
        shows("singapore:2"),
        shows("12 of 12 replicas")
    ));
    browser.eventually(
        "[...document.querySelectorAll('#everyone th')].some((one) => one.innerText.includes('Amount'))",
    );
    server
        .kubectl("-n retail patch deployment web --type=merge -p {\"spec\":{\"replicas\":18}}")
        .succeeds();
    browser.eventually(&shows("18 of 18 replicas"));
    browser.eventually(&shows("frankfurt 5 → "));
    browser.go(&console.view("activity"));
    browser.eventually(&shows("frankfurt 5 → "));
}
