//! Negotiation: tables, partial metadata, YAML, indentation, compression.

use std::io::Read;

use super::*;

const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;g=meta.k8s.io,\
                     application/json";
const METADATA_LIST: &str = "application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,\
                             application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json";

#[tokio::test]
async fn tables_show_the_kinds_own_columns() {
    let client = Client::new();
    client.widget("a").await;
    client.widget("b").await;
    let table = client
        .get_as(&format!("{WIDGETS}?limit=1"), TABLE)
        .await
        .expect(200);
    assert_eq!(
        (&table["kind"], &table["apiVersion"]),
        (&json!("Table"), &json!("meta.k8s.io/v1"))
    );
    let columns = table["columnDefinitions"].as_array().unwrap();
    let titles: Vec<&str> = columns
        .iter()
        .map(|column| column["name"].as_str().unwrap())
        .collect();
    assert_eq!(
        (titles, &columns[0]["format"]),
        (vec!["Name", "Color", "Age"], &json!("name"))
    );
    assert_eq!(table["rows"][0]["cells"], json!(["a", "red", "0s"]));
    let object = &table["rows"][0]["object"];
    assert_eq!(
        (&object["kind"], &object["metadata"]["name"]),
        (&json!("PartialObjectMetadata"), &json!("a"))
    );
    assert_eq!(object.get("spec"), None);
    assert_eq!(
        (
            &table["metadata"]["resourceVersion"],
            &table["metadata"]["remainingItemCount"]
        ),
        (&json!("102"), &json!(1))
    );

    let one = client.get_as(&at("a"), TABLE).await.expect(200);
    assert_eq!(one["rows"].as_array().unwrap().len(), 1);
    let with = async |include: &str| {
        client
            .get_as(&format!("{}?includeObject={include}", at("a")), TABLE)
            .await
    };
    assert_eq!(with("None").await.expect(200)["rows"][0]["object"], Value::Null);
    assert_eq!(
        with("Object").await.expect(200)["rows"][0]["object"]["spec"]["size"],
        1
    );
    with("Everything").await.refusal(400, "BadRequest");
    let beta = client
        .get_as(WIDGETS, "application/json;as=Table;v=v1beta1;g=meta.k8s.io")
        .await
        .expect(200);
    assert_eq!(beta["apiVersion"], "meta.k8s.io/v1beta1");
}

#[tokio::test]
async fn metadata_clients_get_metadata_even_when_they_ask_for_protobuf_first() {
    let client = Client::new();
    client.widget("a").await;
    let list = client.get_as(WIDGETS, METADATA_LIST).await.expect(200);
    assert_eq!(
        (&list["kind"], &list["apiVersion"]),
        (&json!("PartialObjectMetadataList"), &json!("meta.k8s.io/v1"))
    );
    let item = &list["items"][0];
    assert_eq!(
        (&item["kind"], item.get("spec")),
        (&json!("PartialObjectMetadata"), None)
    );
    assert_eq!(item["metadata"], client.get(&at("a")).await.json()["metadata"]);
    let single = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
    assert_eq!(
        client.get_as(&at("a"), single).await.expect(200)["kind"],
        "PartialObjectMetadata"
    );
    client.get_as(WIDGETS, single).await.refusal(406, "NotAcceptable");
}

#[tokio::test]
async fn what_cannot_be_served_is_not_acceptable_and_nothing_is_done() {
    let client = Client::new();
    let message = client
        .get_as(WIDGETS, "text/csv")
        .await
        .refusal(406, "NotAcceptable");
    assert!(
        message.starts_with("only the following media types are accepted: application/json"),
        "{message}"
    );
    let body = widget("a").to_string();
    client
        .send("POST", WIDGETS, &[("accept", "text/csv")], body.as_bytes())
        .await
        .refusal(406, "NotAcceptable");
    client.get(&at("a")).await.refusal(404, "NotFound");
}

#[tokio::test]
async fn yaml_and_indented_json_are_for_people() {
    let client = Client::new();
    let made = client.widget("a").await;
    for path in [at("a"), WIDGETS.to_owned()] {
        let plain = client.get(&path).await.json();
        let yaml = client.get_as(&path, "application/yaml").await;
        assert_eq!(yaml.header("content-type"), "application/yaml");
        assert_eq!(
            crate::decode::read_yaml(&yaml.bytes).unwrap().value,
            plain,
            "{}",
            yaml.text()
        );
        let pretty = client
            .send("GET", &path, &[("user-agent", "curl/8.1")], b"")
            .await;
        assert!(pretty.text().contains("\n  \"apiVersion\""));
        assert_eq!(pretty.json(), plain);
    }
    assert!(
        client
            .get_as(&format!("{WIDGETS}?pretty=true"), TABLE)
            .await
            .text()
            .starts_with("{\n")
    );
    assert_eq!(made["metadata"]["name"], "a");
}

#[tokio::test]
async fn the_status_of_a_deletion_is_yaml_where_that_was_asked_for() {
    let client = Client::new();
    client.widget("a").await;
    let accept = [("accept", "application/yaml")];
    let answer = client.send("DELETE", &at("a"), &accept, b"").await;
    assert_eq!(answer.header("content-type"), "application/yaml");
    let status = crate::decode::read_yaml(&answer.bytes).unwrap().value;
    assert_eq!(
        (status["kind"].as_str(), status["status"].as_str()),
        (Some("Status"), Some("Success"))
    );
    assert_eq!(status["details"]["name"], "a");
}

#[tokio::test]
async fn large_lists_are_compressed_when_asked_and_exact_in_length_when_not() {
    let client = Client::new();
    for index in 0..40 {
        let mut body = widget(&format!("w{index:02}"));
        body["spec"]["notes"] = json!("note ".repeat(2000));
        client.post(WIDGETS, &body).await.expect(201);
    }
    let plain = client.get(WIDGETS).await;
    assert_eq!(plain.header("content-length"), plain.bytes.len().to_string());
    assert_eq!(plain.header("content-encoding"), "");
    for accept in ["application/json", TABLE, METADATA_LIST] {
        let headers = [("accept", accept), ("accept-encoding", "gzip")];
        let small = client
            .send("GET", &format!("{WIDGETS}?limit=1"), &headers, b"")
            .await;
        assert_eq!(small.header("content-encoding"), "");
    }
    for _ in 0..2 {
        let zipped = client
            .send("GET", WIDGETS, &[("accept-encoding", "gzip")], b"")
            .await;
        assert_eq!(
            (zipped.header("content-encoding"), zipped.header("vary")),
            ("gzip", "Accept-Encoding")
        );
        assert!(zipped.bytes.len() < plain.bytes.len() / 10);
        let mut text = Vec::new();
        flate2::read::GzDecoder::new(&zipped.bytes[..])
            .read_to_end(&mut text)
            .unwrap();
        assert_eq!(text, plain.bytes);
    }
    client.delete(&at("w00")).await.expect(200);
    let zipped = client
        .send("GET", WIDGETS, &[("accept-encoding", "gzip")], b"")
        .await;
    let mut text = String::new();
    flate2::read::GzDecoder::new(&zipped.bytes[..])
        .read_to_string(&mut text)
        .unwrap();
    assert!(!text.contains("\"w00\""), "another revision is another body");
}
