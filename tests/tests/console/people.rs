//! Common problems of users: an unreachable server, and missing rights.

use berth_tests::ports;
use serde_json::Value;

use crate::harness::{Console, DECISIONS_SHOWN, loaded, loaded_at};
use crate::webdriver::Browser;

#[test]
#[ignore = "needs chromium and chromedriver: make console"]
fn a_server_that_goes_away_is_said_to_and_when_it_is_back_the_page_follows_it_again() {
    let port = ports::free();
    let mut server = loaded_at(port);
    let console = Console::start(&server, &[]);
    let browser = Browser::start();
    browser.go(&console.url);
    browser.go(&console.view("requests"));
    browser.eventually(DECISIONS_SHOWN);
    server.crash();
    browser.eventually("document.querySelector('.problem')?.innerText.includes('did not answer')");
    let rows: Value = browser.run("return document.querySelectorAll('tbody a').length");
    assert!(rows.as_u64().is_some_and(|rows| rows > 3), "{rows}");
    server.restart_at(port);
    browser.eventually(&format!(
        "!document.querySelector('.problem') && {DECISIONS_SHOWN}"
    ));
    // Changes from now on are visible.
    server.load(&server.file("late.yaml", LATE));
    browser.eventually("document.body.innerText.includes('came-late')");
}

/// A request that is created only after the server's restart.
const LATE: &str = "
apiVersion: v1
kind: Namespace
metadata: {name: a-late}
---
apiVersion: cluster.open-cluster-management.io/v1beta1
kind: Placement
metadata: {name: came-late, namespace: a-late}
spec: {}
";

/// The rights to read the fleet, without decisions.
const FLEET_ONLY: &str = "
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: fleet-only}
rules:
- apiGroups: [scheduling.berth.dev]
  resources: [targets]
  verbs: [get, list, watch]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: fleet-only}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: fleet-only}
subjects:
- {apiGroup: rbac.authorization.k8s.io, kind: User, name: ann}
";

#[test]
#[ignore = "needs chromium and chromedriver: make console"]
fn somebody_with_few_rights_sees_what_they_may_and_is_told_of_the_rest() {
    let server = loaded();
    server.kubectl("apply -f -").input(FLEET_ONLY).succeeds();
    let ann = server.kubeconfig_for("ann", &[]);
    let console = Console::of(&ann, &["--allow-writes"]);
    let browser = Browser::start();
    browser.go(&console.url);
    browser.go(&console.view("requests"));
    browser.eventually(
        "document.querySelector('.problem[role=alert]')?.innerText.includes('cannot list resource')",
    );
    browser.go(&console.view("fleet"));
    browser.eventually(
        "document.querySelectorAll('tbody a').length > 3 && !document.querySelector('.problem[role=alert]')",
    );
    browser.go(&console.view("request?namespace=garden-dev&name=web.gardener"));
    browser.eventually("document.querySelector('.problem')?.innerText.includes('cannot get resource')");
}

/// The rights of a developer: in one namespace, with an explanation.
const ONE_NAMESPACE: &str = "
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: dev-views, namespace: garden-dev}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: 'berth:decision-viewer'}
subjects:
- {apiGroup: rbac.authorization.k8s.io, kind: User, name: dev}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: dev-explains, namespace: garden-dev}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: 'berth:explainer'}
subjects:
- {apiGroup: rbac.authorization.k8s.io, kind: User, name: dev}
";

#[test]
#[ignore = "needs chromium and chromedriver: make console"]
fn somebody_with_rights_in_one_namespace_sees_its_requests_and_chooses_the_namespace() {
    let server = loaded();
    server.kubectl("apply -f -").input(ONE_NAMESPACE).succeeds();
    let dev = server.kubeconfig_for("dev", &[]);
    let console = Console::of(&dev, &[]);
    let browser = Browser::start();
    browser.go(&console.url);
    browser.go(&console.view("requests"));
    browser.eventually(
        "document.querySelector('.problem[role=status]')?.innerText.includes('berth:decision-viewer')",
    );
    browser.run(
        "const field = document.querySelector('.scope input');
         field.value = 'garden-dev';
         field.dispatchEvent(new Event('change', {bubbles: true}));",
    );
    browser.eventually(DECISIONS_SHOWN);
    browser.go(&console.view("request?namespace=garden-dev&name=web.gardener"));
    browser.eventually("document.querySelector('.funnel li')");
}
