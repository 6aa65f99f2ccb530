//! Answers in protobuf. The toys' messages are the JSON of their metadata and the JSON of the whole object.

use futures::StreamExt as _;

use super::*;

const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";
const WATCH: &str = "application/vnd.kubernetes.protobuf;stream=watch";

/// Fields of a message, by their numbers.
fn fields(mut bytes: &[u8]) -> Vec<(u8, &[u8])> {
    let mut found = Vec::new();
    while let Some((key, rest)) = bytes.split_first() {
        assert_eq!(key & 7, 2, "every field here has bytes");
        let (mut length, mut shift, mut rest) = (0_usize, 0, rest);
        loop {
            length |= usize::from(rest[0] & 0x7f) << shift;
            shift += 7;
            let more = rest[0] & 0x80 > 0;
            rest = &rest[1..];
            if !more {
                break;
            }
        }
        found.push((key >> 3, &rest[..length]));
        bytes = &rest[length..];
    }
    found
}

/// The apiVersion, the kind and the message of an envelope.
fn opened(bytes: &[u8]) -> (String, Vec<(u8, &[u8])>) {
    let envelope = fields(bytes.strip_prefix(b"k8s\0").expect("it begins with the magic"));
    assert_eq!(&envelope[2..], [(3, b"".as_slice()), (4, b"".as_slice())]);
    let named = fields(envelope[0].1).into_iter();
    let named: Vec<_> = named.map(|(_, text)| String::from_utf8_lossy(text)).collect();
    (named.join(" "), fields(envelope[1].1))
}

fn json(bytes: &[u8]) -> Value {
    serde_json::from_slice(bytes).unwrap()
}

async fn gadget(client: &Client, name: &str) -> Value {
    let body = json!({"apiVersion": "toys.example.com/v1", "kind": "Gadget", "metadata": {"name": name}});
    client.post(GADGETS, &body).await.expect(201)
}

#[tokio::test]
async fn objects_are_answered_as_messages_where_their_kind_has_one() {
    let client = Client::new();
    let made = gadget(&client, "a").await;
    let path = format!("{GADGETS}/a");
    let answer = client.get_as(&path, PROTOBUF).await;
    assert_eq!((answer.code, answer.header("content-type")), (200, PROTOBUF));
    let (named, message) = opened(&answer.bytes);
    assert_eq!(named, "toys.example.com/v1 Gadget");
    assert_eq!(json(message[0].1), made["metadata"]);
    assert_eq!(json(message[1].1), made);

    let body = json!({"apiVersion": "toys.example.com/v1", "kind": "Gadget", "metadata": {"name": "b"}});
    let headers = [("accept", PROTOBUF)];
    let answer = client
        .send("POST", GADGETS, &headers, body.to_string().as_bytes())
        .await;
    assert_eq!((answer.code, answer.header("content-type")), (201, PROTOBUF));
    let answer = client.send("DELETE", &path, &headers, b"").await;
    assert_eq!(opened(&answer.bytes).0, "v1 Status");

    client.widget("w").await;
    client
        .get_as(&at("w"), PROTOBUF)
        .await
        .refusal(406, "NotAcceptable");
    let either = client
        .get_as(&at("w"), "application/vnd.kubernetes.protobuf,application/json")
        .await;
    assert_eq!(either.expect(200)["kind"], "Widget");
}

#[tokio::test]
async fn refusals_are_messages_where_the_kind_has_them() {
    let client = Client::new();
    let answer = client.get_as(&format!("{GADGETS}/none"), PROTOBUF).await;
    assert_eq!((answer.code, answer.header("content-type")), (404, PROTOBUF));
    let (named, message) = opened(&answer.bytes);
    assert_eq!(
        (named.as_str(), json(message[1].1)["reason"].as_str()),
        ("v1 Status", Some("NotFound"))
    );
    client
        .get_as(&at("none"), PROTOBUF)
        .await
        .refusal(406, "NotAcceptable");
    let either = "application/vnd.kubernetes.protobuf,application/json";
    client.get_as(&at("none"), either).await.refusal(404, "NotFound");
}

#[tokio::test]
async fn a_list_is_the_messages_of_its_objects() {
    let client = Client::new();
    for name in ["a", "b", "c"] {
        gadget(&client, name).await;
    }
    let answer = client.get_as(&format!("{GADGETS}?limit=2"), PROTOBUF).await;
    assert_eq!((answer.code, answer.header("content-type")), (200, PROTOBUF));
    assert_eq!(answer.header("content-length"), answer.bytes.len().to_string());
    let (named, list) = opened(&answer.bytes);
    assert_eq!(named, "toys.example.com/v1 GadgetList");
    let metadata = json(fields(list[0].1)[1].1);
    assert_eq!(metadata["remainingItemCount"], 1);
    assert_eq!(list.len(), 3);
    let item = fields(list[2].1);
    assert_eq!(json(item[1].1), client.get(&format!("{GADGETS}/b")).await.json());

    let partial = "application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";
    let answer = client.get_as(GADGETS, partial).await;
    let (named, list) = opened(&answer.bytes);
    assert_eq!(
        (named.as_str(), list.len()),
        ("meta.k8s.io/v1 PartialObjectMetadataList", 4)
    );
    let item = fields(list[1].1);
    assert_eq!((item.len(), json(item[0].1)["name"].as_str()), (1, Some("a")));
    let rows = "application/vnd.kubernetes.protobuf;as=Table;g=meta.k8s.io;v=v1";
    client.get_as(GADGETS, rows).await.expect(406);
}

#[tokio::test]
async fn a_watch_is_frames_of_messages() {
    let client = Client::new();
    gadget(&client, "a").await;
    let query = "watch=true&resourceVersion=0&sendInitialEvents=true&resourceVersionMatch=NotOlderThan\
                 &allowWatchBookmarks=true";
    let response = client
        .open(&format!("{GADGETS}?{query}"), &[("accept", WATCH)])
        .await;
    assert_eq!(response.headers()["content-type"], WATCH);
    let mut body = response.into_body().into_data_stream();
    let first = body.next().await.unwrap().unwrap();
    let mut events = events(&first);
    let (kind, object) = events.remove(0);
    let (named, message) = opened(object);
    assert_eq!(
        (kind.as_str(), named.as_str()),
        ("ADDED", "toys.example.com/v1 Gadget")
    );
    assert_eq!(
        json(message[1].1),
        client.get(&format!("{GADGETS}/a")).await.json()
    );
    let (kind, object) = events.remove(0);
    assert_eq!(kind, "BOOKMARK");
    let bookmark = json(opened(object).1[0].1);
    assert_eq!(bookmark["annotations"]["k8s.io/initial-events-end"], "true");

    client.delete(&format!("{GADGETS}/a")).await.expect(200);
    let second = body.next().await.unwrap().unwrap();
    assert_eq!(self::events(&second)[0].0, "DELETED");

    let expired = client
        .open(
            &format!("{GADGETS}?watch=true&resourceVersion=1"),
            &[("accept", WATCH)],
        )
        .await;
    let bytes = expired.into_body().collect().await.unwrap().to_bytes();
    let (kind, object) = self::events(&bytes).remove(0);
    let (named, message) = opened(object);
    assert_eq!((kind.as_str(), named.as_str()), ("ERROR", "v1 Status"));
    assert_eq!(json(message[1].1)["code"], 410);
}

/// The types and the objects of the frames in `bytes`.
fn events(mut bytes: &[u8]) -> Vec<(String, &[u8])> {
    let mut found = Vec::new();
    while let Some((length, rest)) = bytes.split_first_chunk() {
        let (frame, rest) = rest.split_at(u32::from_be_bytes(*length) as usize);
        let event = fields(frame);
        let object = fields(event[1].1)[0].1;
        found.push((String::from_utf8_lossy(event[0].1).into_owned(), object));
        bytes = rest;
    }
    found
}

#[tokio::test]
async fn items_of_lists_say_their_kind_but_for_kubernetes_own_kinds() {
    let client = Client::new();
    let made = gadget(&client, "a").await;
    let list = client.get(GADGETS).await.expect(200);
    assert_eq!(list["kind"], "GadgetList");
    let mut item = made;
    item.as_object_mut()
        .unwrap()
        .retain(|field, _| field != "apiVersion" && field != "kind");
    assert_eq!(list["items"], json!([item]));
    assert_eq!(
        client.get(GADGETS).await.header("content-length"),
        client.get(GADGETS).await.bytes.len().to_string()
    );
    client.widget("w").await;
    let list = client.get(WIDGETS).await.expect(200);
    assert_eq!(list["items"][0]["kind"], "Widget");
    let rows = "application/json;as=Table;v=v1;g=meta.k8s.io";
    let table = client
        .get_as(&format!("{GADGETS}?includeObject=Object"), rows)
        .await
        .expect(200);
    assert_eq!(table["rows"][0]["object"]["kind"], "Gadget");
}
