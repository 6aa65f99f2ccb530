//! Random sequences of valid and invalid requests, which create, change, read and delete an object.

use std::ops::{Deref, DerefMut};

use berth_tests::differential;
use http::Method;
use serde_json::{Value, json};

use crate::differential::kinds::{KINDS, Kind};
use crate::differential::request::{JSON, Request};

/// The media types of patches.
const MERGE: &str = "application/merge-patch+json";
const OPERATIONS: &str = "application/json-patch+json";
const STRATEGIC: &str = "application/strategic-merge-patch+json";
const APPLY: &str = "application/apply-patch+yaml";
const YAML: &str = "application/yaml";
const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io";
const METADATA: &str = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io";
const METADATA_LIST: &str = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io";

/// Most requests after the first one in a sequence.
const LONGEST: usize = 7;

/// The sequence with this number.
pub(crate) fn sequence(seed: u64, number: u64) -> Vec<Request> {
    let mut draw = Draw(differential::Draw::new(seed, number));
    // By number, so that a short run has all kinds.
    let kind = &KINDS[usize::try_from(number).unwrap_or_default() % KINDS.len()];
    let mut requests = vec![draw.create(kind)];
    for _ in 0..2 + draw.below(LONGEST - 1) {
        requests.push(draw.request(kind));
    }
    requests
}

/// The sequence with this number, of several managers that apply, update and patch one object.
pub(crate) fn managers(seed: u64, number: u64) -> Vec<Request> {
    let mut draw = Draw(differential::Draw::new(seed, number));
    let kind = &KINDS[usize::try_from(number).unwrap_or_default() % KINDS.len()];
    let mut requests = vec![draw.apply(kind)];
    for _ in 0..3 + draw.below(LONGEST - 1) {
        let managed = match draw.below(8) {
            0 => draw.managed_patch(kind),
            1 => draw.status(kind),
            2 => Request::new(Method::GET, format!("{}/$ID", kind.path)),
            _ => draw.apply(kind),
        };
        let elsewhere = draw.below(3) == 0;
        requests.push(match kind.another_version() {
            Some((version, other)) if elsewhere => managed.in_version(version, other),
            _ => managed,
        });
    }
    requests
}

struct Draw(differential::Draw);

impl Deref for Draw {
    type Target = differential::Draw;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl DerefMut for Draw {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.0
    }
}

impl Draw {
    fn create(&mut self, kind: &Kind) -> Request {
        let mut object = kind.object();
        if !self.often() {
            self.spoil(&mut object);
        }
        let query = self.write_options();
        let post = Request::new(Method::POST, format!("{}{query}", kind.path));
        match self.below(24) {
            0 => post.with(JSON, self.bad_body(&object)),
            1 => post.with(YAML, object.to_string()),
            2 => post.with("text/plain", object.to_string()),
            _ => post.with(JSON, object.to_string()),
        }
    }

    fn request(&mut self, kind: &Kind) -> Request {
        match self.below(20) {
            0 => self.create(kind),
            1..=3 => self.read(kind),
            4..=6 => self.list(kind),
            7..=9 => self.update(kind),
            10..=14 => self.patch(kind),
            15 => self.status(kind),
            16..=17 => self.delete(kind),
            18 => self.watch(kind),
            _ => self.delete_many(kind),
        }
    }

    fn read(&mut self, kind: &Kind) -> Request {
        let query = self.one(&[
            "",
            "",
            "",
            "?resourceVersion=0",
            "?resourceVersion=$RV",
            "?resourceVersion=x",
            "?pretty=true",
        ]);
        let several = self.several();
        let accept = self.one(&[
            JSON,
            JSON,
            TABLE,
            METADATA,
            METADATA_LIST,
            "application/json;as=Nope;v=v1;g=meta.k8s.io",
            several,
        ]);
        Request::new(Method::GET, format!("{}/$ID{query}", kind.path)).accepting(accept)
    }

    /// A list of only the sequence's own objects: others run in parallel.
    fn list(&mut self, kind: &Kind) -> Request {
        let label = self.one(&[
            "run%3D$ID",
            "run%3D$ID,tier%3Da",
            "run%3D$ID,tier!%3Da",
            "run%20in%20($ID),tier%20notin%20(b,c)",
            "run%3D$ID,!tier",
            "run%3D$ID,tier%20in%20()",
            "run%3D$ID,tier%3D%3Da%3Db",
            "run%3D$ID,,",
            "run%3D$ID,tier%3E1",
        ]);
        let more = self.one(&[
            "",
            "",
            "",
            "&limit=1",
            "&limit=x",
            "&limit=-1",
            "&limit=1&continue=$CONTINUE",
            "&continue=garbage",
            "&fieldSelector=metadata.name%3D$ID",
            "&fieldSelector=metadata.name!%3D$ID",
            "&fieldSelector=spec.nope%3D1",
            "&fieldSelector=metadata.name",
            "&resourceVersion=0",
            "&resourceVersion=$FIRST&resourceVersionMatch=NotOlderThan",
            "&resourceVersionMatch=Exact",
            "&resourceVersion=1&resourceVersionMatch=Nope",
            "&timeoutSeconds=x",
        ]);
        let several = self.several();
        let accept = self.one(&[JSON, JSON, JSON, TABLE, METADATA_LIST, several]);
        Request::new(Method::GET, format!("{}?labelSelector={label}{more}", kind.path)).accepting(accept)
    }

    /// YAML, alone or with other media types.
    fn several(&mut self) -> &'static str {
        self.one(&[
            YAML,
            "application/yaml, application/json",
            "application/json, application/yaml",
            "application/yaml;q=0.5, application/json;q=0.9",
            "application/json;q=0.5, application/yaml;q=0.9",
            "*/*;q=0.8, application/yaml;q=0.5",
            "application/yaml;q=0.5, */*;q=0.8",
            "application/yaml, */*",
            "application/*, application/yaml",
            "text/html, application/yaml",
            "application/yaml;stream=watch, application/json",
        ])
    }

    fn watch(&mut self, kind: &Kind) -> Request {
        let several = self.several();
        let accept = self.one(&[JSON, JSON, several]);
        let more = self.one(&[
            "",
            "&fieldSelector=metadata.name%3D$ID",
            "&allowWatchBookmarks=false",
        ]);
        Request::new(
            Method::GET,
            format!(
                "{}?watch=true&labelSelector=run%3D$ID&resourceVersion=$FIRST&timeoutSeconds=1{more}",
                kind.path
            ),
        )
        .accepting(accept)
    }

    fn update(&mut self, kind: &Kind) -> Request {
        let mut object = kind.object();
        let change = kind.change(self.below(64));
        merge(&mut object, &change);
        match self.below(8) {
            0 => {}
            1 => object["metadata"]["resourceVersion"] = json!("1"),
            2 => object["metadata"]["uid"] = json!("5a7ae1e6-0000-4000-8000-000000000001"),
            3 => object["metadata"]["resourceVersion"] = json!("x"),
            _ => object["metadata"]["resourceVersion"] = json!("$RV"),
        }
        if !self.often() {
            self.spoil(&mut object);
        }
        let query = self.write_options();
        let name = self.one(&["$ID", "$ID", "$ID", "$ID", "$ID", "other"]);
        let put = Request::new(Method::PUT, format!("{}/{name}{query}", kind.path));
        match self.below(16) {
            0 => put.with(JSON, self.bad_body(&object)),
            1 => put.with(YAML, object.to_string()),
            _ => put.with(JSON, object.to_string()),
        }
    }

    fn patch(&mut self, kind: &Kind) -> Request {
        let query = self.write_options();
        let name = self.one(&["$ID", "$ID", "$ID", "$ID", "$ID", "$ID", "none"]);
        let patch = Request::new(Method::PATCH, format!("{}/{name}{query}", kind.path));
        match self.below(10) {
            0..=3 => patch.with(MERGE, self.merge_patch(kind)),
            4..=7 => patch.with(OPERATIONS, self.operations()),
            8 => patch.with(STRATEGIC, self.merge_patch(kind)),
            _ => patch.with(
                self.one(&[JSON, "application/nope", MERGE, OPERATIONS]),
                self.one(&["{", "[]", "null", "\"a\"", "[1]", "{}"]),
            ),
        }
    }

    /// A manager's intent: the object, with some of its possible changes.
    fn apply(&mut self, kind: &Kind) -> Request {
        let mut object = kind.object();
        if !self.often() {
            object["metadata"]["labels"] = json!({"run": "$ID", "tier": self.one(&["a", "b", "c"])});
        }
        if self.below(2) == 0 {
            merge(&mut object, &self.addition(kind));
        }
        // An owner of only the map.
        if self.below(8) == 0 && object.get("spec").is_some() {
            object["spec"] = json!({});
        }
        let manager = self.one(&["one", "two", "three"]);
        let force = self.one(&["", "", "&force=true", "&force=false", "&dryRun=All"]);
        let path = format!("{}/$ID?fieldManager={manager}{force}", kind.path);
        Request::new(Method::PATCH, path).with(APPLY, object.to_string())
    }

    fn managed_patch(&mut self, kind: &Kind) -> Request {
        let manager = self.one(&["one", "four"]);
        let path = format!("{}/$ID?fieldManager={manager}", kind.path);
        Request::new(Method::PATCH, path).with(MERGE, self.addition(kind).to_string())
    }

    /// A change that leaves no map empty: Go's types drop empty maps of Kubernetes' own kinds, together
    /// with their owners.
    fn addition(&mut self, kind: &Kind) -> Value {
        let change = kind.change(self.below(64));
        if change.to_string().contains("null") {
            return json!({"metadata": {"labels": {"tier": "d"}}});
        }
        change
    }

    fn merge_patch(&mut self, kind: &Kind) -> String {
        if self.often() {
            return kind.change(self.below(64)).to_string();
        }
        self.one(&[
            r#"{"metadata":{"labels":{"tier":"b"}}}"#,
            r#"{"metadata":{"labels":{"tier":null}}}"#,
            r#"{"metadata":{"labels":{"tier":"not a value"}}}"#,
            r#"{"metadata":{"annotations":{"x/y":"z"}}}"#,
            r#"{"metadata":{"annotations":{"bad key!":"z"}}}"#,
            r#"{"metadata":{"finalizers":["example.com/hold"]}}"#,
            r#"{"metadata":{"finalizers":null}}"#,
            r#"{"metadata":{"name":"other"}}"#,
            r#"{"metadata":{"namespace":"other"}}"#,
            r#"{"metadata":{"resourceVersion":"$RV"}}"#,
            r#"{"metadata":{"resourceVersion":"1"}}"#,
            r#"{"metadata":{"creationTimestamp":null}}"#,
            r#"{"metadata":{"deletionTimestamp":"2001-02-03T04:05:06Z"}}"#,
            r#"{"metadata":{"uid":"abc"}}"#,
            r#"{"kind":"Nope"}"#,
            r#"{"apiVersion":"nope/v1"}"#,
            r#"{"metadata":{"ownerReferences":[{"apiVersion":"nope.example/v1","kind":"Owner","name":"a","uid":"u"}]}}"#,
            r#"{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap"}]}}"#,
            r#"{"metadata":{"ownerReferences":[{"apiVersion":"nope.example/v1","kind":"Owner","name":"a","uid":"u"},{"apiVersion":"nope.example/v1","kind":"Owner","name":"b","uid":"u"}]}}"#,
            "{}",
        ])
        .to_owned()
    }

    fn operations(&mut self) -> String {
        self.one(&[
            r#"[{"op":"add","path":"/metadata/labels/x","value":"y"}]"#,
            r#"[{"op":"replace","path":"/metadata/labels/tier","value":"c"}]"#,
            r#"[{"op":"remove","path":"/metadata/labels/tier"}]"#,
            r#"[{"op":"remove","path":"/metadata/labels/missing"}]"#,
            r#"[{"op":"test","path":"/metadata/labels/tier","value":"a"},{"op":"remove","path":"/metadata/labels/tier"}]"#,
            r#"[{"op":"test","path":"/metadata/labels/tier","value":"zz"}]"#,
            r#"[{"op":"test","path":"/metadata/annotations","value":null},{"op":"add","path":"/metadata/annotations","value":{"a":"b"}}]"#,
            r#"[{"op":"copy","from":"/metadata/labels/tier","path":"/metadata/labels/copied"}]"#,
            r#"[{"op":"move","from":"/metadata/labels/tier","path":"/metadata/labels/moved"}]"#,
            r#"[{"op":"add","path":"/metadata/finalizers","value":["example.com/hold"]}]"#,
            r#"[{"op":"add","path":"/metadata/labels/a~1b","value":"c"}]"#,
            r#"[{"op":"replace","path":"/metadata/name","value":"other"}]"#,
            r#"[{"op":"nope","path":"/metadata/labels/x"}]"#,
            r#"[{"op":"add","path":"/metadata/labels/x","value":"y","nope":1}]"#,
            r#"[{"op":"add","path":"/metadata/labels/x","value":"y","value":"z"}]"#,
            r#"[{"op":"add","path":"/metadata/labels/x","value":5}]"#,
            "[]",
        ])
        .to_owned()
    }

    fn status(&mut self, kind: &Kind) -> Request {
        let path = format!("{}/$ID/status", kind.path);
        if !kind.status {
            return self.read(kind);
        }
        match self.below(5) {
            0 => Request::new(Method::GET, path),
            1 => {
                let mut object = kind.object();
                object["metadata"]["resourceVersion"] = json!("$RV");
                object["status"] = serde_json::from_str(kind.example_status).expect("a status is JSON");
                object["metadata"]["labels"]["tier"] = json!("ignored");
                Request::new(Method::PUT, path).with(JSON, object.to_string())
            }
            2 => Request::new(Method::PATCH, path).with(MERGE, kind.change(0).to_string()),
            3 => Request::new(Method::PATCH, path).with(MERGE, r#"{"status":{"conditions":5}}"#),
            _ => Request::new(Method::PATCH, path)
                .with(MERGE, format!("{{\"status\":{}}}", kind.example_status)),
        }
    }

    fn delete(&mut self, kind: &Kind) -> Request {
        let path = format!("{}/$ID", kind.path);
        let body = self.one(&[
            "",
            "",
            "",
            "{}",
            r#"{"kind":"DeleteOptions","apiVersion":"v1","preconditions":{"uid":"$UID"}}"#,
            r#"{"kind":"DeleteOptions","apiVersion":"v1","preconditions":{"uid":"wrong"}}"#,
            r#"{"preconditions":{"resourceVersion":"$RV"}}"#,
            r#"{"preconditions":{"resourceVersion":"1"}}"#,
            r#"{"propagationPolicy":"Foreground","dryRun":["All"]}"#,
            r#"{"propagationPolicy":"Background","gracePeriodSeconds":0}"#,
            r#"{"propagationPolicy":"Nope"}"#,
            r#"{"dryRun":["All"]}"#,
            r#"{"dryRun":["Some"]}"#,
            r#"{"propagationPolicy":5}"#,
            "{",
        ]);
        if body.is_empty() {
            let query = self.one(&[
                "",
                "",
                "",
                "?dryRun=All",
                "?propagationPolicy=Orphan&dryRun=All",
                "?uid=wrong",
                "?resourceVersion=1",
                "?gracePeriodSeconds=x",
            ]);
            return Request::new(Method::DELETE, format!("{path}{query}"));
        }
        Request::new(Method::DELETE, path).with(JSON, body)
    }

    fn delete_many(&mut self, kind: &Kind) -> Request {
        let query = self.one(&[
            "",
            "",
            "&dryRun=All",
            ",tier%3Dzz",
            "&fieldSelector=metadata.name%3Dnone",
        ]);
        Request::new(
            Method::DELETE,
            format!("{}?labelSelector=run%3D$ID{query}", kind.path),
        )
    }

    fn write_options(&mut self) -> &'static str {
        self.one(&[
            "",
            "",
            "",
            "",
            "",
            "",
            "?dryRun=All",
            "?dryRun=Nope",
            "?dryRun=",
            "?fieldValidation=Strict",
            "?fieldValidation=Warn",
            "?fieldValidation=Ignore",
            "?fieldValidation=Nope",
            "?fieldManager=me",
            "?pretty=x",
        ])
    }

    /// Makes one part of an object unusual or invalid.
    fn spoil(&mut self, object: &mut Value) {
        let metadata = self.one(&[
            r#"{"name":null}"#,
            r#"{"name":"UPPER"}"#,
            r#"{"name":"a..b"}"#,
            r#"{"name":5}"#,
            r#"{"name":null,"generateName":"$ID-"}"#,
            r#"{"namespace":"other"}"#,
            r#"{"labels":{"run":"$ID","bad label!":"x"}}"#,
            r#"{"labels":{"run":"$ID","a":5}}"#,
            r#"{"labels":{"run":"$ID","a":null}}"#,
            r#"{"labels":["a"]}"#,
            r#"{"annotations":{"a":"b","c/d":"e"}}"#,
            r#"{"annotations":{"a":true}}"#,
            r#"{"finalizers":["example.com/hold"]}"#,
            r#"{"finalizers":["example.com/hold","example.com/hold"]}"#,
            r#"{"finalizers":["bad finalizer"]}"#,
            r#"{"finalizers":[]}"#,
            r#"{"ownerReferences":[{"apiVersion":"nope.example/v1","kind":"Owner","name":"a","uid":"u-1"}]}"#,
            r#"{"ownerReferences":[{"apiVersion":"nope.example/v1","kind":"Owner","name":"a","uid":"u-1","controller":true},{"apiVersion":"nope.example/v1","kind":"Owner","name":"b","uid":"u-2","controller":true}]}"#,
            r#"{"ownerReferences":[{"kind":"ConfigMap"}]}"#,
            r#"{"ownerReferences":[{"apiVersion":"nope.example/v1","kind":"Owner","name":"a","uid":"u-1"},{"apiVersion":"nope.example/v1","kind":"Owner","name":"b","uid":"u-1"}]}"#,
            r#"{"uid":"5a7ae1e6-0000-4000-8000-000000000001"}"#,
            r#"{"creationTimestamp":"2001-02-03T04:05:06Z","generation":7}"#,
            r#"{"creationTimestamp":"yesterday"}"#,
            r#"{"deletionTimestamp":"2001-02-03T04:05:06Z"}"#,
            r#"{"selfLink":"/x"}"#,
            r#"{"nope":"x"}"#,
        ]);
        match self.below(6) {
            0 => self.spoil_leaf(object),
            1 => object["nope"] = json!("x"),
            2 => {
                let (key, value) = self.one::<(&str, &str)>(&[
                    &("kind", "Nope"),
                    &("kind", ""),
                    &("apiVersion", "nope/v1"),
                    &("apiVersion", ""),
                ]);
                object[*key] = json!(value);
            }
            _ => merge(
                &mut object["metadata"],
                &serde_json::from_str(metadata).expect("a mistake is JSON"),
            ),
        }
    }

    /// Replaces a value outside of the metadata by one of another type.
    fn spoil_leaf(&mut self, object: &mut Value) {
        let mut leaves = Vec::new();
        collect_leaves(object, "", &mut leaves);
        leaves.retain(|leaf| !leaf.starts_with("/metadata") && leaf != "/kind" && leaf != "/apiVersion");
        if leaves.is_empty() {
            return;
        }
        let leaf = leaves.swap_remove(self.below(leaves.len()));
        let wrong = self.one(&["5", "\"text\"", "true", "[]", "{}", "null", "1.5"]);
        if let Some(place) = object.pointer_mut(&leaf) {
            *place = serde_json::from_str(wrong).expect("a value is JSON");
        }
    }

    fn bad_body(&mut self, object: &Value) -> String {
        let text = object.to_string();
        match self.below(6) {
            0 => String::new(),
            1 => text[..text.len() / 2].to_owned(),
            2 => format!("[{text}]"),
            3 => "null".to_owned(),
            4 => format!("{text}{text}"),
            _ => text.replacen('{', "{\"kind\":\"Twice\",", 1),
        }
    }
}

/// Collects the paths of all values except non-empty maps.
fn collect_leaves(value: &Value, path: &str, into: &mut Vec<String>) {
    match value {
        Value::Object(map) if !map.is_empty() => {
            for (key, value) in map {
                collect_leaves(
                    value,
                    &format!("{path}/{}", key.replace('~', "~0").replace('/', "~1")),
                    into,
                );
            }
        }
        Value::Array(items) => {
            into.push(path.to_owned());
            for (index, item) in items.iter().enumerate() {
                collect_leaves(item, &format!("{path}/{index}"), into);
            }
        }
        _ => into.push(path.to_owned()),
    }
}

/// Applies a merge patch (RFC 7386).
fn merge(object: &mut Value, patch: &Value) {
    let Value::Object(patch) = patch else {
        *object = patch.clone();
        return;
    };
    if !object.is_object() {
        *object = json!({});
    }
    for (key, value) in patch {
        if value.is_null() {
            object.as_object_mut().map(|map| map.remove(key));
        } else {
            merge(&mut object[key], value);
        }
    }
}
