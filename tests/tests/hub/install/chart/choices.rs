//! Objects of the chart, for every pair of options, compared with the output of `berth manifests` for the
//! same options.

use std::collections::{BTreeMap, BTreeSet};

use berth_tests::hub::installation::Installation;
use berth_tests::systems::SYSTEMS;

use super::*;

const PLACES: [&str; 3] = ["hub", "owned", "off"];

/// Options of an installation: a source for each system, the issuer of the certificate, and Berth's
/// store.
#[derive(Clone, Debug)]
struct Choice {
    places: [&'static str; SYSTEMS.len()],
    cert_manager: bool,
    etcd: bool,
    observe: bool,
}

impl Choice {
    /// All combinations with at least one system.
    fn all() -> impl Iterator<Item = Self> {
        let ways = PLACES.len().pow(6);
        (0..ways * 8).filter_map(move |number| {
            let (mut rest, switches) = (number % ways, number / ways);
            let places = SYSTEMS.map(|_| {
                let place = PLACES[rest % PLACES.len()];
                rest /= PLACES.len();
                place
            });
            let choice = Self {
                places,
                cert_manager: switches & 1 != 0,
                etcd: switches & 2 != 0,
                observe: switches & 4 != 0,
            };
            // Berth's own objects cannot be observed.
            let possible = !choice.observe || !places.contains(&"owned");
            (possible && places.iter().any(|place| *place != "off")).then_some(choice)
        })
    }

    /// Enough combinations for every pair of options: always the one with the most missing pairs.
    fn pairs() -> Vec<Self> {
        let all: Vec<(Self, BTreeSet<(String, String)>)> = Self::all()
            .map(|choice| {
                let words = choice.words();
                let pairs = words.iter().flat_map(|first| {
                    let seconds = words.iter().map(|second| (first.clone(), second.clone()));
                    seconds.collect::<Vec<_>>()
                });
                let pairs = pairs.collect();
                (choice, pairs)
            })
            .collect();
        let (mut seen, mut taken) = (BTreeSet::new(), Vec::new());
        loop {
            let new = |pairs: &BTreeSet<(String, String)>| pairs.difference(&seen).count();
            let best = all
                .iter()
                .max_by_key(|(_, pairs)| new(pairs))
                .expect("there are some");
            if new(&best.1) == 0 {
                return taken;
            }
            seen.extend(best.1.iter().cloned());
            taken.push(best.0.clone());
        }
    }

    fn words(&self) -> Vec<String> {
        let sources = SYSTEMS.iter().zip(self.places);
        let mut words: Vec<String> = sources
            .map(|(system, place)| format!("{system}={place}"))
            .collect();
        words.extend([
            format!("cert-manager={}", self.cert_manager),
            format!("etcd={}", self.etcd),
            format!("mode={}", self.mode()),
        ]);
        words
    }

    fn mode(&self) -> &'static str {
        if self.observe { "observe" } else { "decide" }
    }

    fn sources(&self, flag: &str) -> Vec<String> {
        let sources = SYSTEMS.iter().zip(self.places);
        sources
            .map(|(system, place)| format!("{flag}{system}={place}"))
            .collect()
    }

    /// The chart's values.
    fn values(&self) -> String {
        let mut values = self.sources("sources.");
        values.push(format!("certManager.enabled={}", self.cert_manager));
        values.push(format!("mode={}", self.mode()));
        // The number of `berth manifests`.
        values.push("replicas=1".to_owned());
        if self.etcd {
            values.push("storage=etcd,etcd.servers={https://etcd:2379}".to_owned());
        }
        values.join(",")
    }

    /// The flags of `berth manifests`.
    fn flags(&self) -> Vec<String> {
        let mut flags = self.sources("--source=");
        flags.push("--replicas=1".to_owned());
        if self.cert_manager {
            flags.push("--certificates=cert-manager".to_owned());
        }
        if self.etcd {
            flags.push("--etcd-servers=https://etcd:2379".to_owned());
            for (flag, file) in [
                ("cafile", "ca.crt"),
                ("certfile", "tls.crt"),
                ("keyfile", "tls.key"),
            ] {
                flags.push(format!("--serve-argument=--etcd-{flag}=/etc/berth/etcd/{file}"));
            }
        }
        flags
    }
}

/// Objects by kind and name, without the chart's own ones.
fn by_name(text: &str) -> BTreeMap<String, Value> {
    let mut all: BTreeMap<String, Value> = objects(text)
        .into_iter()
        .map(|mut object| {
            match object["kind"].as_str() {
                Some("Deployment") => without_the_charts_own(&mut object["spec"]["template"]["spec"]),
                // Rules are a set; their order has no effect.
                Some("ClusterRole") => {
                    if let Some(rules) = object["rules"].as_array_mut() {
                        rules.sort_by_key(Value::to_string);
                    }
                }
                Some("PersistentVolumeClaim") => {
                    let metadata = object["metadata"].as_object_mut().expect("an object");
                    metadata.remove("annotations");
                }
                _ => {}
            }
            (name(&object), object)
        })
        .collect();
    // Helm creates it itself.
    all.remove("Namespace /berth-system");
    all
}

fn without_the_charts_own(pod: &mut Value) {
    for list in ["/volumes", "/containers/0/volumeMounts"] {
        let list = pod.pointer_mut(list).and_then(Value::as_array_mut);
        // The Secret of etcd's certificates.
        list.expect("a list").retain(|entry| entry["name"] != "etcd");
    }
    let container = pod["containers"][0].as_object_mut().expect("a container");
    // `berth manifests` leaves it to the cluster.
    container.remove("imagePullPolicy");
}

/// Fields whose empty or false value has a meaning.
const MEANINGFUL: [&str; 7] = [
    "allowPrivilegeEscalation",
    "default",
    "emptyDir",
    "namespaceSelector",
    "selfSigned",
    "status",
    "storage",
];

/// Collects paths of parts of `value` that a server drops: nulls, false flags, empty lists and maps.
fn left_out(value: &Value, path: &str, found: &mut Vec<String>) {
    let is_nothing = match value {
        Value::Null | Value::Bool(false) => true,
        Value::Object(fields) => fields.is_empty(),
        Value::Array(items) => items.is_empty(),
        _ => false,
    };
    if is_nothing && (value.is_null() || !MEANINGFUL.iter().any(|name| path.ends_with(&format!(".{name}")))) {
        found.push(format!("{path}: {value}"));
    }
    match value {
        Value::Object(fields) => {
            let fields = fields.iter();
            fields.for_each(|(name, field)| left_out(field, &format!("{path}.{name}"), found));
        }
        Value::Array(items) => items.iter().for_each(|item| left_out(item, path, found)),
        _ => {}
    }
}

#[test]
#[ignore = "builds Helm from its Go module: `make e2e`"]
fn nothing_is_rendered_that_a_server_would_leave_out_again() {
    let mut found = Vec::new();
    for choice in Choice::pairs() {
        let values = format!(
            "{},systemDefinitions=true,serviceMonitor.enabled=true",
            choice.values()
        );
        for object in objects(&template(&values)) {
            left_out(&object, &name(&object), &mut found);
        }
    }
    assert_eq!(
        found,
        Vec::<String>::new(),
        "Argo CD would show these as drift for ever"
    );
}

#[test]
#[ignore = "builds Helm from its Go module: `make e2e`"]
fn the_chart_comes_to_what_berth_manifests_prints_for_every_pair_of_choices() {
    let choices = Choice::pairs();
    assert!((9..40).contains(&choices.len()), "{choices:?}");
    for choice in choices {
        let flags = choice.flags();
        let mut installation = Installation::new(&[]);
        installation.port = 443;
        if choice.observe {
            installation = installation.observing();
        }
        let arguments: Vec<&str> = std::iter::once("all")
            .chain(flags.iter().map(String::as_str))
            .collect();
        let (found, wanted) = (
            by_name(&template(&choice.values())),
            by_name(&installation.manifests_as_printed(&arguments)),
        );
        let names = |all: &BTreeMap<String, Value>| all.keys().cloned().collect::<Vec<_>>();
        assert_eq!(names(&found), names(&wanted), "{choice:?}");
        for (name, object) in &wanted {
            assert_eq!(&found[name], object, "{name} with {choice:?}");
        }
    }
}
