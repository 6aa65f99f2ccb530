//! A kind with a keeper: other users do not change the fields that the keeper applied.

use std::sync::LazyLock;

use berth_apimachinery::{Keeper, Key, Kind, KindInfo, Schema};
use berth_storage::{MemoryStore, Store};

use super::*;
use crate::registry::{ApplyConfiguration, Author};
use crate::resource::Resource;

const RECORD: &str = "/apis/records.example.com/v1/namespaces/default/records/a";

static INFO: KindInfo = KindInfo::new("records.example.com", &["v1"], "Record", "records");
static SCHEMA: LazyLock<Schema> = LazyLock::new(schema);

fn schema() -> Schema {
    Schema::from_value(json!({"properties": {"color": {"type": "string"}}}))
}

const KEEPER: Keeper = Keeper {
    user: "system:archive",
    manager: "archive",
};

struct Record;

impl Kind for Record {
    fn info(&self) -> &KindInfo {
        &INFO
    }

    fn schema(&self, _: &str) -> &Schema {
        &SCHEMA
    }

    fn keeper(&self) -> Option<Keeper> {
        Some(KEEPER)
    }
}

/// A client of the records, and the record `a` as the keeper applied it.
async fn kept() -> (Client, Value) {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
    let group = Group::new(INFO.group, vec![Resource::stored(Record, &store)]);
    let api = ApiState::new(&[group], Chain::default(), testing::clock()).unwrap();
    let config = json!({
        "apiVersion": "records.example.com/v1",
        "kind": "Record",
        "metadata": {"name": "a", "namespace": "default"},
        "color": "red",
    });
    let user = UserInfo {
        name: KEEPER.user.to_owned(),
        ..UserInfo::default()
    };
    let author = Author {
        user: &user,
        manager: KEEPER.manager,
        cause: None,
    };
    let configuration = ApplyConfiguration {
        key: &Key::new(INFO.resource(), "default", "a"),
        subresource: "",
        config: &config,
        base: None,
    };
    api.registry().apply_as(author, configuration).await.unwrap();
    let client = Client {
        api: Arc::new(api),
        toys: toys::Toys::new(berth_storage::Limits::default()),
    };
    (client, config)
}

#[tokio::test]
async fn kubectl_takes_over_no_field_of_the_keeper_even_if_it_applied_it_from_the_client_before() {
    let (client, mut config) = kept().await;
    let annotation = "kubectl.kubernetes.io/last-applied-configuration";
    let annotated = json!({"metadata": {"annotations": {annotation: config.to_string()}}});
    client.merge(RECORD, &annotated).await.expect(200);
    config["color"] = "blue".into();
    for query in ["fieldManager=kubectl", "fieldManager=kubectl&force=true"] {
        let path = format!("{RECORD}?{query}");
        let answer = client.patch(&path, "apply-patch+yaml", &config.to_string()).await;
        let text = answer.refusal(409, "Conflict");
        assert!(text.contains("conflict with \"archive\""), "{query}: {text}");
    }
    assert_eq!(client.get(RECORD).await.expect(200)["color"], "red");
}
