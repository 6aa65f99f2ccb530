//! Garbage: for any input, the answer is a `Status` and never a 5xx.

use super::*;

/// A small deterministic generator, so that failures can be reproduced.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % limit as u64).unwrap()
    }

    fn pick<'a, T: ?Sized>(&mut self, list: &[&'a T]) -> &'a T {
        list[self.below(list.len())]
    }

    /// `text` with a few bytes changed, doubled, cut or moved.
    fn mutate(&mut self, text: &[u8]) -> Vec<u8> {
        let mut bytes = text.to_vec();
        for _ in 0..1 + self.below(4) {
            if bytes.is_empty() {
                break;
            }
            let at = self.below(bytes.len());
            match self.below(5) {
                0 => bytes[at] = u8::try_from(self.below(256)).unwrap(),
                1 => bytes.truncate(at),
                2 => bytes.insert(
                    at,
                    *self.pick(&[&b'"', &b'{', &b'[', &b'\\', &0, &0xff, &b'9', &b'-']),
                ),
                3 => drop(bytes.remove(at)),
                _ => {
                    let end = at + self.below(bytes.len() - at);
                    let piece = bytes[at..end].to_vec();
                    let to = self.below(bytes.len());
                    bytes.splice(to..to, piece);
                }
            }
        }
        bytes
    }
}

const BODIES: [&str; 9] = [
    r#"{"apiVersion":"toys.example.com/v1","kind":"Widget","metadata":{"name":"a","labels":{"a":"b"},"finalizers":["x/y"]},"spec":{"color":"red","size":1}}"#,
    r#"{"apiVersion":"toys.example.com/v1","kind":"Gadget","metadata":{"generateName":"g-"},"parts":[{"name":"a","count":1}]}"#,
    r#"{"metadata":{"name":"a","ownerReferences":[{"apiVersion":"v1","kind":"K","name":"n","uid":"u"}],"resourceVersion":"103"},"spec":{}}"#,
    r#"{"kind":"DeleteOptions","apiVersion":"v1","propagationPolicy":"Foreground","preconditions":{"uid":"u"}}"#,
    r#"[{"op":"test","path":"/spec/size","value":1},{"op":"copy","from":"/spec","path":"/spec/a"},{"op":"move","from":"/spec/a","path":"/b"}]"#,
    r#"{"spec":{"size":2,"color":null},"metadata":{"labels":{"x":null}}}"#,
    r#"{"parts":[{"$patch":"delete","name":"a"},{"name":"b"}],"$retainKeys":["parts"]}"#,
    "apiVersion: toys.example.com/v1\nkind: Widget\nmetadata: &a {name: y}\nspec:\n  size: 2\n  again: *a\n",
    "",
];

const TYPES: [&str; 8] = [
    "application/json",
    "application/yaml",
    "application/vnd.kubernetes.protobuf",
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
    "application/apply-patch+yaml",
    "text/\u{fc}",
];

const QUERIES: [&str; 12] = [
    "",
    "limit=1",
    "continue=eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MTAzLCJzdGFydCI6ImEifQ",
    "labelSelector=a%3Db",
    "fieldSelector=metadata.name%3Da",
    "resourceVersion=0&resourceVersionMatch=NotOlderThan",
    "dryRun=All&fieldValidation=Strict&fieldManager=m",
    "watch=1&timeoutSeconds=1&allowWatchBookmarks=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan",
    "pretty=true&includeObject=Object",
    "propagationPolicy=Orphan&orphanDependents=1&gracePeriodSeconds=-1",
    "limit=-1&timeoutSeconds=99999999999999999999",
    "force=true&labelSelector=%00",
];

const ACCEPTS: [&str; 5] = [
    "application/json",
    "application/json;as=Table;v=v1;g=meta.k8s.io",
    "application/yaml;q=0.9,*/*;q=0.1",
    "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io,application/json",
    "a;b=c;q=x,,;",
];

fn paths() -> Vec<String> {
    let ends = [
        "widgets",
        "widgets/a",
        "widgets/a/status",
        "widgets/a/paint",
        "widgets/a/report",
        "shadows",
        "shadows/a",
    ];
    let mut paths: Vec<String> = ends
        .iter()
        .map(|end| format!("/apis/toys.example.com/v1/namespaces/default/{end}"))
        .collect();
    paths.extend(
        ["gadgets", "gadgets/g", "reviews", "reviews/r1", "widgets", "x"]
            .map(|end| format!("/apis/toys.example.com/v1beta1/{end}")),
    );
    paths
}

#[tokio::test(start_paused = true)]
async fn mutated_requests_never_panic_and_never_fail_the_server() {
    let client = Client::new();
    let paths = paths();
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let mut answered = std::collections::BTreeMap::new();
    for _ in 0..10_000 {
        let path = &paths[random.below(paths.len())];
        let on_object = path.split('/').count() > if path.contains("/namespaces/") { 7 } else { 5 };
        let method = match (random.below(8), on_object) {
            (0, _) => random.pick(&["PUT", "POST", "DELETE", "PATCH", "OPTIONS"]),
            (_, true) => random.pick(&["GET", "PUT", "PATCH", "PATCH", "PATCH", "DELETE"]),
            (_, false) => random.pick(&["GET", "POST", "POST", "POST", "DELETE"]),
        };
        let mut query = random.pick(&QUERIES).as_bytes().to_vec();
        if random.below(4) == 0 {
            query = random.mutate(&query);
        }
        query.retain(|byte| byte.is_ascii_graphic() && !matches!(byte, b'"' | b'<' | b'>' | b'#'));
        let uri = format!("{path}?{}", String::from_utf8(query).unwrap());
        let body = random.pick(&BODIES);
        let body = if random.below(3) == 0 {
            body.as_bytes().to_vec()
        } else {
            random.mutate(body.as_bytes())
        };
        let content_type = match (random.below(4), method) {
            (0, _) => random.pick(&TYPES),
            (_, "PATCH") => random.pick(&TYPES[3..6]),
            _ => random.pick(&TYPES[..2]),
        };
        let accept = if random.below(3) == 0 {
            random.pick(&ACCEPTS)
        } else {
            ""
        };
        let headers = [("content-type", content_type), ("accept", accept)];
        let answer = client.send(method, &uri, &headers, &body).await;
        *answered.entry(answer.code).or_insert(0) += 1;
        let what = || {
            format!(
                "{method} {uri} {headers:?} {}: {}",
                String::from_utf8_lossy(&body),
                answer.text()
            )
        };
        // A resource version from the future is the only input that the server must time out on.
        assert!(
            answer.code < 500 || answer.json()["reason"] == "Timeout",
            "{}",
            what()
        );
        if answer.code >= 400 {
            assert_eq!(answer.json()["kind"], "Status", "{}", what());
        }
    }
    assert!(
        answered[&200] > 100 && answered[&201] > 30 && answered[&422] > 100 && answered[&400] > 100,
        "{answered:?}"
    );
}
