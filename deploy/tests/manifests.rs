//! The files in `manifests/` are what the code renders, and what Kubernetes understands.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use berth_deploy::{
    Installation, Service, Set, api_service, cluster_roles, objects, registration_rights, server_rights,
};
use berth_deploy::{all_objects, cert_manager, chart, hub, manifests, observe, owned_etcd};
use berth_scheduling_api::GROUP;
use k8s_openapi::api::admissionregistration::v1::{
    MutatingWebhookConfiguration, ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding,
    ValidatingWebhookConfiguration,
};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, PersistentVolumeClaim, Secret, ServiceAccount};
use k8s_openapi::api::networking::v1::NetworkPolicy;
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding, Role, RoleBinding};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use k8s_openapi::kube_aggregator::pkg::apis::apiregistration::v1::APIService;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_owned()
}

/// The files that people wrote.
const WRITTEN: &str = "kustomization.yaml";

#[test]
fn the_committed_files_are_what_the_code_renders() {
    let update = std::env::var_os("UPDATE_EXPECT").is_some_and(|value| value == "1");
    let mut stale = Vec::new();
    let rendered = manifests();
    let mut folders = BTreeSet::new();
    for manifest in &rendered {
        let (path, text) = (root().join(&manifest.file), manifest.text().expect("it is YAML"));
        folders.insert(path.parent().expect("files are in folders").to_owned());
        if update {
            std::fs::write(&path, &text).expect("the file can be written");
        }
        match std::fs::read_to_string(&path) {
            Ok(committed) if committed == text => {}
            Ok(committed) => stale.push(format!(
                "{}: {}",
                manifest.file,
                first_difference(&committed, &text)
            )),
            Err(problem) => stale.push(format!("{}: {problem}", manifest.file)),
        }
    }
    for entry in folders
        .iter()
        .flat_map(|folder| std::fs::read_dir(folder).expect("the folder can be read"))
    {
        let path = entry.expect("entries can be read").path();
        let known = rendered
            .iter()
            .any(|manifest| path == root().join(&manifest.file));
        if !known && !path.ends_with(WRITTEN) {
            stale.push(format!("{}: nothing renders it, remove it", path.display()));
        }
    }
    for (file, text) in chart().expect("it is YAML") {
        let path = root().join("helm/berth").join(&file);
        if update {
            std::fs::create_dir_all(path.parent().expect("files are in folders"))
                .expect("folders can be made");
            std::fs::write(&path, &text).expect("the file can be written");
        }
        match std::fs::read_to_string(&path) {
            Ok(committed) if committed == text => {}
            Ok(committed) => stale.push(format!("{file}: {}", first_difference(&committed, &text))),
            Err(problem) => stale.push(format!("{file}: {problem}")),
        }
    }
    assert!(
        stale.is_empty(),
        "deploy is not what the code renders. If the change is meant, render the files again and commit \
         them:\n  UPDATE_EXPECT=1 cargo test -p berth-deploy --test manifests\n{}",
        stale.join("\n")
    );
}

/// First difference of two texts, with the line of each.
fn first_difference(committed: &str, rendered: &str) -> String {
    let (mut old, mut new) = (committed.lines(), rendered.lines());
    for number in 1.. {
        match (old.next(), new.next()) {
            (None, None) => break,
            (left, right) if left == right => {}
            (left, right) => {
                let shown = |line: Option<&str>| line.unwrap_or("<end of file>").to_owned();
                return format!(
                    "line {number}\n  committed: {}\n  rendered:  {}",
                    shown(left),
                    shown(right)
                );
            }
        }
    }
    "only the ends of lines differ".to_owned()
}

#[test]
fn the_yaml_reads_back_as_the_objects_it_was_made_of() {
    for manifest in manifests() {
        let text = manifest.text().expect("it is YAML");
        let read: Vec<Value> = serde_saphyr::from_multiple(&text)
            .unwrap_or_else(|problem| panic!("{}: {problem}", manifest.file));
        assert_eq!(read, manifest.objects, "{}", manifest.file);
    }
}

/// Reading an object as Kubernetes' own type drops what that type does not know.
fn survives<T: DeserializeOwned + Serialize>(object: &Value) {
    let typed = T::deserialize(object).unwrap_or_else(|problem| panic!("{problem}: {object}"));
    assert_eq!(comparable(json!(typed)), comparable(object.clone()));
}

/// The bounds of schemas are written as whole numbers and read as fractions.
fn comparable(value: Value) -> Value {
    match value {
        Value::Object(fields) => fields
            .into_iter()
            .map(|(name, field)| match (name.as_str(), field.as_f64()) {
                ("minimum" | "maximum", Some(bound)) => (name, json!(bound)),
                _ => (name, comparable(field)),
            })
            .collect(),
        Value::Array(elements) => elements.into_iter().map(comparable).collect(),
        other => other,
    }
}

#[test]
fn kubernetes_knows_every_field() {
    let all = [hub(), owned_etcd(), cert_manager(), Installation::default()];
    for object in all.iter().flat_map(all_objects) {
        match object["kind"].as_str().expect("objects have kinds") {
            "APIService" => survives::<APIService>(&object),
            "ClusterRole" => survives::<ClusterRole>(&object),
            "ConfigMap" => survives::<ConfigMap>(&object),
            "ClusterRoleBinding" => survives::<ClusterRoleBinding>(&object),
            "CustomResourceDefinition" => defines(&object),
            "Deployment" => survives::<Deployment>(&object),
            "MutatingWebhookConfiguration" => survives::<MutatingWebhookConfiguration>(&object),
            "Namespace" => survives::<Namespace>(&object),
            "NetworkPolicy" => survives::<NetworkPolicy>(&object),
            "PersistentVolumeClaim" => survives::<PersistentVolumeClaim>(&object),
            "PodDisruptionBudget" => survives::<PodDisruptionBudget>(&object),
            "Role" => survives::<Role>(&object),
            "RoleBinding" => survives::<RoleBinding>(&object),
            "Secret" => survives::<Secret>(&object),
            "Service" => survives::<k8s_openapi::api::core::v1::Service>(&object),
            "ServiceAccount" => survives::<ServiceAccount>(&object),
            "ValidatingWebhookConfiguration" => survives::<ValidatingWebhookConfiguration>(&object),
            "ValidatingAdmissionPolicy" => survives::<ValidatingAdmissionPolicy>(&object),
            "ValidatingAdmissionPolicyBinding" => survives::<ValidatingAdmissionPolicyBinding>(&object),
            // cert-manager's own kinds.
            "Certificate" | "Issuer" => assert_eq!(object["apiVersion"], "cert-manager.io/v1"),
            kind => panic!("{kind} is not looked at"),
        }
    }
    let systems = berth_deploy::system_definitions(hub().hub_dialects());
    let published = berth_deploy::published_definitions();
    systems.iter().chain(&published).for_each(defines);
}

/// Bounds are written as whole numbers and read as fractions, so definitions do not compare.
fn defines(definition: &Value) {
    let typed = CustomResourceDefinition::deserialize(definition);
    assert!(typed.is_ok(), "{}: {typed:?}", definition["metadata"]["name"]);
}

#[test]
fn berth_itself_writes_nothing_on_a_hub_and_reads_no_secrets() {
    for object in server_rights(&hub()) {
        for rule in object["rules"].as_array().into_iter().flatten() {
            assert!(
                !rule.to_string().contains("secrets") && !rule.to_string().contains('*'),
                "{rule}"
            );
        }
    }
}

/// The rules of all roles of an installation.
fn rules(installation: &Installation) -> Vec<Value> {
    let roles = objects(installation, Set::Rbac);
    let rules = roles.iter().filter_map(|role| role["rules"].as_array());
    rules.flatten().cloned().collect()
}

#[test]
fn without_kcp_nobody_reads_or_writes_what_stands_in_namespaces() {
    // What policies may have as parameters, which are watched where a policy names them (docs/security.md,
    // "Parameters of admission policies").
    let parameters = json!({"apiGroups": [""], "resources": ["configmaps"], "verbs": ["list", "watch"]});
    for installation in [hub(), owned_etcd()] {
        for rule in rules(&installation)
            .into_iter()
            .filter(|rule| *rule != parameters)
        {
            let resources = rule["resources"].to_string();
            for kind in ["\"secrets", "\"configmaps", "\"serviceaccounts", "\"deployments"] {
                let is_own = rule["resourceNames"] == json!(["berth-ca"]);
                assert!(is_own || !resources.contains(kind), "{rule}");
            }
        }
    }
    let with_kcp = rules(&Installation::on_hub());
    assert!(
        with_kcp
            .iter()
            .any(|rule| rule["resources"].to_string().contains("\"secrets"))
    );
}

#[test]
fn every_server_has_limits_and_rules_for_what_leaves_it() {
    for installation in [hub(), owned_etcd(), cert_manager(), Installation::default()] {
        let all = all_objects(&installation);
        let of = |kind: &str| {
            all.iter()
                .find(|object| object["kind"] == kind)
                .expect("it is there")
        };
        let container = &of("Deployment")["spec"]["template"]["spec"]["containers"][0];
        for limit in ["cpu", "memory"] {
            assert!(container["resources"]["limits"][limit].is_string(), "{limit}");
        }
        let policy = &of("NetworkPolicy")["spec"];
        assert_eq!(policy["policyTypes"], json!(["Ingress", "Egress"]));
        assert!(policy["egress"][1]["ports"].is_array());
    }
}

#[test]
fn what_registers_berth_is_patched_by_name_and_the_one_secret_is_too() {
    for object in registration_rights(&hub()) {
        for rule in object["rules"].as_array().into_iter().flatten() {
            let writes = rule["verbs"]
                .as_array()
                .expect("a list")
                .iter()
                .any(|verb| verb != "get" && verb != "list" && verb != "watch");
            let named = rule["resourceNames"]
                .as_array()
                .is_some_and(|names| !names.is_empty());
            assert!(!writes || named, "{rule}");
            assert!(
                !rule["resources"].to_string().contains("secrets") || named,
                "{rule}"
            );
        }
    }
    let text = json!(registration_rights(&hub())).to_string();
    assert!(
        !text.contains("core.gardener.cloud"),
        "an APIService that is Gardener's own is none of Berth's business"
    );
    assert!(
        !json!(objects(&hub(), Set::Rbac))
            .to_string()
            .contains("berth:self-registration")
    );
    let own = Installation {
        self_register: true,
        ..hub()
    };
    assert!(
        json!(objects(&own, Set::Rbac))
            .to_string()
            .contains("berth:self-registration")
    );
    assert!(
        !json!(all_objects(&own))
            .to_string()
            .contains("WebhookConfiguration\""),
        "Berth creates them"
    );
}

#[test]
fn an_observer_is_registered_by_its_manifests_in_any_case() {
    let own = Installation {
        self_register: true,
        ..observe()
    };
    assert_eq!(all_objects(&own), all_objects(&observe()));
}

#[test]
fn the_service_is_a_parameter_and_the_priority_is_below_the_systems() {
    let service = Service {
        name: "placement".to_owned(),
        namespace: "control".to_owned(),
        port: 7443,
    };
    let object = api_service(&service);
    assert_eq!(object["metadata"]["name"], "v1alpha1.scheduling.berth.dev");
    assert_eq!(
        object["spec"]["service"],
        json!({"name": "placement", "namespace": "control", "port": 7443})
    );
    assert_eq!(object["spec"]["groupPriorityMinimum"], 1000);
    assert!(object["spec"].get("caBundle").is_none());
    assert!(object["spec"].get("insecureSkipTLSVerify").is_none());
}

#[test]
fn roles_name_only_resources_the_virtual_group_has() {
    let all = berth_scheduling_api::kinds();
    let served: BTreeSet<&str> = all.iter().map(|kind| kind.info().plural).collect();
    for role in cluster_roles(&Installation::default()) {
        let rules = role["rules"].as_array().expect("a role has rules");
        let own = rules.iter().filter(|rule| rule["apiGroups"][0] == GROUP);
        for resource in own.flat_map(|rule| rule["resources"].as_array().expect("a list")) {
            let name = resource.as_str().expect("a name");
            let plural = name.split('/').next().unwrap_or_default();
            assert!(served.contains(plural), "{}: {name}", role["metadata"]["name"]);
        }
    }
}

#[test]
fn an_observer_ships_no_right_to_bind_anything_of_a_systems() {
    let beyond_own = |installation: &Installation| {
        let roles = cluster_roles(installation);
        let rules = roles.iter().flat_map(|role| role["rules"].as_array().unwrap());
        let writes = rules.filter(|rule| {
            let verbs = rule["verbs"].as_array();
            let reads = |verb: &Value| ["get", "list", "watch"].iter().any(|read| verb == read);
            rule["apiGroups"] != json!([GROUP]) && verbs.is_some_and(|verbs| !verbs.iter().all(reads))
        });
        writes.count()
    };
    assert_eq!(beyond_own(&observe()), 0);
    assert!(beyond_own(&hub()) > 0);
}

#[test]
fn only_reading_decisions_comes_with_view() {
    let roles = cluster_roles(&Installation::default());
    let names: Vec<&str> = roles
        .iter()
        .filter_map(|role| role["metadata"]["name"].as_str())
        .collect();
    assert_eq!(
        names,
        [
            "berth:decision-viewer",
            "berth:explainer",
            "berth:binder",
            "berth:target-viewer",
            "berth:metrics-reader"
        ]
    );
    for role in &roles {
        let labels = &role["metadata"]["labels"];
        if role["metadata"]["name"] == "berth:decision-viewer" {
            let expected = json!({"rbac.authorization.k8s.io/aggregate-to-view": "true"});
            assert_eq!(labels, &expected);
        } else {
            assert!(labels.is_null(), "{role}");
        }
    }
}

#[test]
fn the_chart_is_of_this_version() {
    let text = std::fs::read_to_string(root().join("helm/berth/Chart.yaml")).expect("the chart is there");
    let chart: Value = serde_saphyr::from_str(&text).expect("it is YAML");
    assert_eq!(chart["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(chart["appVersion"], env!("CARGO_PKG_VERSION"));
}

#[test]
fn who_observes_writes_its_lock_its_ca_and_its_own_cabundle_and_asks_who_may_what() {
    let objects = all_objects(&berth_deploy::observe());
    let kinds: BTreeSet<&str> = objects
        .iter()
        .filter_map(|object| object["kind"].as_str())
        .collect();
    assert!(!kinds.iter().any(|kind| kind.contains("Webhook")), "{kinds:?}");
    let services: Vec<&Value> = objects
        .iter()
        .filter(|object| object["kind"] == "APIService")
        .collect();
    assert_eq!(
        services.len(),
        1,
        "a group of another API server is never registered"
    );
    assert_eq!(services[0]["spec"]["group"], "scheduling.berth.dev");
    let account = json!([{"kind": "ServiceAccount", "name": "berth", "namespace": "berth-system"}]);
    let bound: BTreeSet<String> = objects
        .iter()
        .filter(|object| {
            object["kind"]
                .as_str()
                .is_some_and(|kind| kind.ends_with("Binding"))
        })
        .filter(|object| !object["subjects"].is_null())
        .map(|object| {
            assert_eq!(object["subjects"], account, "nobody else is given anything");
            object["roleRef"]["name"].as_str().unwrap_or_default().to_owned()
        })
        .collect();
    let mut written = BTreeSet::new();
    for role in &objects {
        let name = role["metadata"]["name"].as_str().unwrap_or_default();
        if !bound.contains(name) {
            continue;
        }
        for rule in role["rules"].as_array().into_iter().flatten() {
            let verbs: Vec<&str> = rule["verbs"]
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(Value::as_str)
                .collect();
            if verbs.iter().any(|verb| !["get", "list", "watch"].contains(verb)) {
                written.insert(format!("{name}: {} {}", rule["resources"], verbs.join(",")));
            }
            assert!(
                !rule["resources"].to_string().contains("secrets")
                    || rule["resourceNames"] == json!(["berth-ca"]),
                "{rule}"
            );
        }
    }
    let wanted = [
        "berth:ca: [\"configmaps\"] get,list,watch,patch",
        "berth:ca: [\"secrets\"] get,list,watch,update",
        "berth:locks: [\"leases\"] get,create,update",
        "berth:registration: [\"apiservices\"] get,list,watch,patch",
    ];
    assert_eq!(written, wanted.map(str::to_owned).into());
    let others: Vec<&String> = bound.iter().filter(|name| !name.starts_with("berth:")).collect();
    assert_eq!(
        others,
        [
            "extension-apiserver-authentication-reader",
            "system:auth-delegator"
        ]
    );
}

#[test]
fn no_write_of_a_hub_waits_for_berth() {
    let text = json!(all_objects(&hub())).to_string();
    assert!(text.contains("\"failurePolicy\":\"Ignore\""));
    let webhooks = all_objects(&hub());
    let webhooks = webhooks.iter().filter(|object| {
        object["kind"]
            .as_str()
            .is_some_and(|kind| kind.contains("Webhook"))
    });
    for webhook in webhooks.flat_map(|object| object["webhooks"].as_array().cloned().unwrap_or_default()) {
        assert_eq!(webhook["failurePolicy"], "Ignore", "{webhook}");
    }
}
