//! Pages of other origins, and foreign names that resolve to this machine.

use std::io::{BufRead, BufReader, Write};
use std::net::{Ipv4Addr, TcpListener};

use serde_json::json;

use crate::harness::{Console, loaded};
use crate::webdriver::Browser;

/// Serves a foreign site until the test ends: an empty page without a policy.
fn site() -> String {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    let port = listener.local_addr().expect("an address").port();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { continue };
            std::thread::spawn(move || {
                let mut lines = BufReader::new(stream.try_clone()?).lines();
                while lines
                    .next()
                    .is_some_and(|line| line.is_ok_and(|line| !line.is_empty()))
                {}
                let page = "<!doctype html><title>elsewhere</title><body>elsewhere</body>";
                write!(
                    stream,
                    "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{page}",
                    page.len()
                )
            });
        }
    });
    format!("http://127.0.0.1:{port}/")
}

/// Result of a foreign page's fetch of `path`: a status, `opaque`, or `refused`.
fn fetched(browser: &Browser, path: &str, options: &str) -> serde_json::Value {
    browser.run(&format!(
        "return fetch({path:?}, {options}).then((answer) => answer.type === 'opaque' ? 'opaque' : answer.status, () => 'refused')"
    ))
}

#[test]
#[ignore = "needs chromium and chromedriver: make console"]
fn a_page_of_another_origin_gets_nothing_from_the_console() {
    let server = loaded();
    let console = Console::start(&server, &["--allow-writes"]);
    let browser = Browser::start();
    let targets = format!(
        "{}/cluster/apis/scheduling.berth.dev/v1alpha1/targets",
        console.origin()
    );
    let binding = format!(
        "{}/cluster/apis/scheduling.berth.dev/v1alpha1/namespaces/garden-dev/decisions/web.gardener/binding",
        console.origin()
    );
    let token = console.token();
    browser.go(&site());
    // The site's own requests work, so the browser is not the reason of the refusals below.
    assert_eq!(fetched(&browser, "/", "{}"), json!(200));
    // The preflight is refused even with the token, which the site cannot know.
    let with_token = format!("{{headers: {{'x-berth-console-token': {token:?}}}}}");
    assert_eq!(fetched(&browser, &targets, &with_token), json!("refused"));
    assert_eq!(fetched(&browser, &targets, "{}"), json!("refused"));
    assert_eq!(
        fetched(&browser, console.origin(), "{mode: 'no-cors'}"),
        json!("refused")
    );
    let post = "{method: 'POST', mode: 'no-cors', headers: {'content-type': 'text/plain'}, body: '{}'}";
    assert_eq!(fetched(&browser, &binding, post), json!("refused"));
    // The console's scripts do not run on the site either.
    let script = browser.run(&format!(
        "return new Promise((told) => {{
            const script = document.createElement('script');
            script.src = '{}/app.js';
            script.onload = () => told('ran');
            script.onerror = () => told('refused');
            document.body.append(script);
        }})",
        console.origin()
    ));
    assert_eq!(script, json!("refused"));
    // A form needs no preflight; its request is refused and has no effect.
    browser.run(&format!(
        "const form = document.createElement('form');
         form.method = 'POST'; form.enctype = 'text/plain'; form.action = {binding:?};
         document.body.append(form); form.submit();"
    ));
    browser.eventually("document.body.innerText.includes('Forbidden')");
}

#[test]
#[ignore = "needs chromium and chromedriver: make console"]
fn the_console_is_shown_in_no_frame_of_another_page() {
    let server = loaded();
    let console = Console::start(&server, &[]);
    let browser = Browser::start();
    browser.go(&site());
    let framed = browser.run(&format!(
        "return new Promise((told) => {{
            const frame = document.createElement('iframe');
            frame.src = {:?};
            frame.onload = () => {{
                try {{ told(frame.contentDocument === null ? 'error page' : 'blank'); }} catch (problem) {{ told('error page'); }}
            }};
            document.body.append(frame);
            setTimeout(() => told('nothing'), 5000);
        }})",
        console.url
    ));
    assert_ne!(framed, json!("blank"));
    // The frame does not contain the console, whose requests would carry the token.
    assert_eq!(browser.run("return frames.length"), json!(1));
    assert_eq!(
        browser.run("try { return frames[0].document.title } catch (problem) { return 'out of reach' }"),
        json!("out of reach")
    );
}

#[test]
#[ignore = "needs chromium and chromedriver: make console"]
fn a_name_pointed_at_this_machine_gets_a_refusal_that_says_how_to_allow_it() {
    let server = loaded();
    let console = Console::start(&server, &[]);
    let browser = Browser::start();
    // Browsers resolve every name below localhost to this machine, as with DNS rebinding.
    let rebound = console.url.replace("127.0.0.1", "rebound.localhost");
    browser.go(&rebound);
    browser.eventually("document.body.innerText.includes('--allow-host')");
    // For the browser, it has the same origin, and it knows the token; only the name stops it.
    let token = console.token();
    assert_eq!(
        fetched(
            &browser,
            "/cluster/apis/scheduling.berth.dev/v1alpha1/targets",
            &format!("{{headers: {{'x-berth-console-token': {token:?}}}}}")
        ),
        json!(403)
    );
    // When its name is allowed, it is answered.
    let port = berth_tests::ports::free();
    let host = format!("rebound.localhost:{port}");
    let allowed = Console::start(&server, &["--port", &port.to_string(), "--allow-host", &host]);
    browser.go(&allowed.url.replace("127.0.0.1", "rebound.localhost"));
    browser.eventually("document.querySelectorAll('.numbers a').length === 6");
}
