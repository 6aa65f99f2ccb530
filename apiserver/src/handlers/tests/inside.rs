//! In-process writes.

use berth_apimachinery::Key;
use berth_apimachinery::write::{Guard, Verb, Write};
use berth_storage::Source;

use super::*;
use crate::audit::{Audit, AuditConfig};
use crate::registry::{Author, share_guards};

const RESOURCE: GroupResource = GroupResource::new(toys::GROUP, "widgets");

fn write(verb: Verb, name: &str, subresource: &'static str, object: Value) -> Write {
    Write {
        verb,
        key: Key::new(RESOURCE, "default", name),
        subresource,
        object,
        base: None,
    }
}

fn robot() -> UserInfo {
    UserInfo {
        name: "robot".to_owned(),
        ..UserInfo::default()
    }
}

fn author(user: &UserInfo) -> Author<'_> {
    Author {
        user,
        manager: "robots",
        cause: Some("a test"),
    }
}

async fn commit(
    client: &Client,
    writes: Vec<Write>,
    guards: Vec<Guard>,
) -> Result<Vec<Arc<berth_apimachinery::Object>>, Status> {
    client
        .api
        .registry()
        .commit(author(&robot()), writes, guards, false)
        .await
        .map_err(Status::from)
}

fn ready(name: &str) -> Value {
    let mut value = widget(name);
    value["status"] = json!({"phase": "Ready"});
    value
}

#[tokio::test]
async fn later_writes_of_a_list_see_the_earlier_ones() {
    let client = Client::new();
    let writes = vec![
        write(Verb::Create, "a", "", widget("a")),
        write(Verb::Update, "a", "status", ready("a")),
        write(Verb::Create, "b", "", widget("b")),
        write(Verb::Delete, "b", "", Value::Null),
    ];
    let objects = commit(&client, writes, Vec::new()).await.unwrap();
    assert_eq!(objects.len(), 4);
    let stored = client.get(&at("a")).await.expect(200);
    assert_eq!(
        (
            &stored["status"]["phase"],
            &stored["metadata"]["annotations"]["creator"]
        ),
        (&json!("Ready"), &json!("robot"))
    );
    assert_eq!(objects[1].parse(), stored);
    let managers = stored["metadata"]["managedFields"].as_array().unwrap();
    let through: Vec<_> = managers
        .iter()
        .map(|entry| (&entry["manager"], &entry["subresource"]))
        .collect();
    assert_eq!(
        through,
        [
            (&json!("robots"), &Value::Null),
            (&json!("robots"), &json!("status"))
        ]
    );
    client.get(&at("b")).await.refusal(404, "NotFound");
}

#[tokio::test]
async fn a_refusal_anywhere_leaves_nothing_behind() {
    let client = Client::new();
    client.widget("old").await;
    let mut invalid = widget("c");
    invalid["spec"]["size"] = json!(11);
    for (last, code) in [
        (write(Verb::Create, "c", "", invalid), 422),
        (write(Verb::Create, "forbidden", "", widget("forbidden")), 403),
        (write(Verb::Create, "old", "", widget("old")), 409),
        (write(Verb::Update, "nobody", "", widget("nobody")), 404),
        (write(Verb::Update, "old", "", json!([])), 400),
        (
            write(
                Verb::Update,
                "old",
                "",
                json!({"apiVersion": "toys.example.com/v7"}),
            ),
            400,
        ),
        (
            Write {
                base: Some(Revision(1)),
                ..write(Verb::Update, "old", "", widget("old"))
            },
            409,
        ),
    ] {
        let writes = vec![write(Verb::Create, "a", "", widget("a")), last];
        assert_eq!(commit(&client, writes, Vec::new()).await.unwrap_err().code, code);
        client.get(&at("a")).await.refusal(404, "NotFound");
    }
}

#[tokio::test]
async fn guards_and_fences_are_conflicts() {
    let client = Client::new();
    client.widget("demand").await;
    let revision = client.toys.store.revision();
    let key = Key::new(RESOURCE, "default", "demand");
    let fence = Guard::Fence {
        name: "seeds/eu-1".into(),
        not_after: revision,
    };
    let guards = vec![
        Guard::Unchanged {
            key: key.clone(),
            revision,
        },
        fence.clone(),
    ];
    commit(&client, vec![write(Verb::Create, "a", "", widget("a"))], guards)
        .await
        .unwrap();
    let late = commit(
        &client,
        vec![write(Verb::Create, "b", "", widget("b"))],
        vec![fence],
    )
    .await
    .unwrap_err();
    assert_eq!((late.code, late.reason.as_str()), (409, "Conflict"));
    assert!(late.message.contains("seeds/eu-1"), "{}", late.message);
    client
        .merge(&at("demand"), &json!({"spec": {"size": 2}}))
        .await
        .expect(200);
    let moved = vec![Guard::Unchanged { key, revision }];
    let late = commit(&client, vec![write(Verb::Create, "b", "", widget("b"))], moved)
        .await
        .unwrap_err();
    assert!(
        late.message.contains("\"demand\"") && late.message.contains("has been modified"),
        "{}",
        late.message
    );
    client.get(&at("b")).await.refusal(404, "NotFound");
}

#[tokio::test]
async fn a_dry_run_inside_stores_nothing() {
    let client = Client::new();
    let writes = vec![
        write(Verb::Create, "a", "", widget("a")),
        write(Verb::Update, "a", "status", ready("a")),
    ];
    let objects = client
        .api
        .registry()
        .commit(author(&robot()), writes, Vec::new(), true)
        .await
        .unwrap();
    assert_eq!(objects[1].value()["status"]["phase"], "Ready");
    client.get(&at("a")).await.refusal(404, "NotFound");
}

#[tokio::test]
async fn handlers_can_get_and_list() {
    let client = Client::new();
    client.widget("a").await;
    let registry = client.api.registry();
    assert_eq!(
        registry
            .get(&Key::new(RESOURCE, "default", "a"))
            .await
            .unwrap()
            .meta()
            .name(),
        "a"
    );
    assert_eq!(
        registry
            .get(&Key::new(RESOURCE, "default", "b"))
            .await
            .unwrap_err()
            .code,
        404
    );
    assert_eq!(registry.list(RESOURCE).await.unwrap().items.len(), 1);
    assert_eq!(
        registry
            .list(GroupResource::new("x", "y"))
            .await
            .unwrap_err()
            .code,
        404
    );
}

#[test]
fn a_fence_goes_with_the_first_write_that_makes_something() {
    let unchanged = Guard::Unchanged {
        key: Key::new(RESOURCE, "default", "demand"),
        revision: Revision(1),
    };
    let fence = Guard::Fence {
        name: "seeds/eu-1".into(),
        not_after: Revision(1),
    };
    let shared = |verbs: &[Verb]| {
        let writes: Vec<Write> = verbs
            .iter()
            .map(|&verb| write(verb, "a", "", Value::Null))
            .collect();
        let shared = share_guards(&writes, vec![unchanged.clone(), fence.clone()]);
        let letters = |list: &Vec<Guard>| -> String {
            let letter = |guard: &Guard| if *guard == fence { 'f' } else { 'u' };
            list.iter().map(letter).collect()
        };
        shared.iter().map(letters).collect::<Vec<_>>().join(",")
    };
    use Verb::{Create, Delete, Update};
    for (verbs, expected) in [
        (&[][..], ""),
        (&[Update], "uf"),
        (&[Create, Update], "uf,"),
        (&[Update, Create, Create, Update], "u,f,,"),
        (&[Update, Delete], "uf,"),
    ] {
        assert_eq!(shared(verbs), expected, "{verbs:?}");
    }
}

#[tokio::test]
async fn writes_in_the_process_are_audited_with_their_author_and_cause() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("audit.log");
    let config = AuditConfig {
        domain: "berth.dev".to_owned(),
        ..AuditConfig::to_file(path.to_str().unwrap())
    };
    let audit = Audit::open(
        config,
        Arc::new(crate::metrics::Metrics::new()),
        &crate::testing::clock(),
    )
    .unwrap();
    let client = Client::new();
    client.api.registry().audit(audit.clone()).unwrap();
    let writes = vec![
        write(Verb::Create, "a", "", widget("a")),
        write(Verb::Update, "a", "status", ready("a")),
    ];
    commit(&client, writes, Vec::new()).await.unwrap();
    let refused = commit(
        &client,
        vec![write(Verb::Create, "a", "", widget("a"))],
        Vec::new(),
    )
    .await;
    assert_eq!(refused.unwrap_err().code, 409);
    let user = robot();
    let without = Author {
        cause: None,
        ..author(&user)
    };
    let part_of_a_request = vec![write(Verb::Create, "b", "", widget("b"))];
    let registry = client.api.registry();
    registry
        .commit(without, part_of_a_request, Vec::new(), false)
        .await
        .unwrap();
    audit.flush().await;
    let lines = std::fs::read_to_string(&path).unwrap();
    let events: Vec<Value> = lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let told: Vec<_> = events
        .iter()
        .map(|event| {
            let status = &event["responseStatus"];
            (
                event["verb"].as_str().unwrap(),
                event["requestURI"].as_str().unwrap().rsplit('/').next().unwrap(),
                status["code"].as_u64().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        told,
        [
            ("create", "widgets", 201),
            ("update", "status", 200),
            ("create", "widgets", 409)
        ]
    );
    for event in &events {
        assert_eq!(event["user"]["username"], "robot");
        assert_eq!(event["userAgent"], "robots");
        assert_eq!(event["annotations"]["audit.berth.dev/cause"], "a test");
    }
}
