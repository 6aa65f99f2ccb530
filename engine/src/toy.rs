//! A toy dialect for the engine's own tests: toys go into the emptiest box that has room.

mod painter;

use std::any::Any;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use dialect_contract::{
    Action, Affected, Ask, Backoff, BindingChange, Current, Decision, DemandKind, DemandView, Dialect, Due,
    Edit, Follower, Inventory, Outcome, Pace, Phase, Placed, Refused, Remedy, TargetView, Unusable, Whose,
    Write, WriteVerb,
};
use meta::{Change, FieldError, GroupResource, Key, Kind, Object, Timestamp};
use scheduling::{Ix, Reason, Rejection, Solved};
use serde_json::{Value, json};

pub(crate) use painter::{COLORS, Painter};

pub(crate) const TOYS: GroupResource = GroupResource::new("toys.example", "toys");
pub(crate) const BOXES: GroupResource = GroupResource::new("toys.example", "boxes");

pub(crate) struct Toys;

impl Dialect for Toys {
    fn name(&self) -> &'static str {
        "toy"
    }
    fn kinds(&self) -> Vec<Arc<dyn Kind>> {
        Vec::new()
    }
    fn reads(&self) -> Vec<GroupResource> {
        vec![TOYS, BOXES]
    }
    fn demands(&self) -> &'static [DemandKind] {
        &[DemandKind {
            resource: TOYS,
            kind: "Toy",
            version: "v1",
            namespaced: true,
        }]
    }
    fn target(&self) -> GroupResource {
        BOXES
    }
    fn followers(&self, spec: Option<&Value>) -> Vec<Arc<dyn Follower>> {
        let prefix = spec.and_then(|spec| spec["prefix"].as_str()).unwrap_or_default();
        let prefix = prefix.to_owned();
        vec![Arc::new(Painter { prefix })]
    }
    fn validate_config(&self, spec: &Value, path: &str) -> Vec<FieldError> {
        let wrong =
            |value: &Value| FieldError::type_invalid(format!("{path}.prefix"), value.clone(), "no text");
        let prefix = spec.get("prefix").filter(|prefix| !prefix.is_string());
        prefix.map(wrong).into_iter().collect()
    }
    fn inventory(&self) -> Arc<dyn Inventory> {
        Arc::new(Shelf::default())
    }
}

#[derive(Clone, Default)]
pub(crate) struct Shelf {
    toys: BTreeMap<Key, Arc<Object>>,
    boxes: BTreeMap<Arc<str>, Arc<Object>>,
}

fn bound(toy: &Object) -> Option<Arc<str>> {
    toy.value()["spec"]["box"].as_str().map(Arc::from)
}

impl Shelf {
    fn used(&self, name: &str) -> i64 {
        self.toys
            .values()
            .filter(|toy| bound(toy).as_deref() == Some(name))
            .count() as i64
    }

    /// A toy is due again when its wish changes, and all are when one leaves its box.
    fn fold_toy(&mut self, change: &Change) -> Due {
        let old = match &change.new {
            Some(toy) => self.toys.insert(change.key.clone(), Arc::clone(toy)),
            None => self.toys.remove(&change.key),
        };
        let wish = |toy: &Object| {
            let mut spec = toy.value()["spec"].clone();
            spec.as_object_mut().map(|spec| spec.remove("box"));
            spec
        };
        let held = old.as_ref().and_then(|toy| bound(toy));
        let decide = match (&old, &change.new) {
            (_, None) if held.is_some() => Affected::All,
            (Some(old), Some(new)) if wish(old) == wish(new) => Affected::None,
            _ => Affected::Some(vec![change.key.clone()]),
        };
        Due {
            decide,
            demands: Affected::Some(vec![change.key.clone()]),
            targets: None,
        }
    }

    fn room(&self, candidate: Ix) -> bool {
        let (name, shelf) = self.boxes.iter().nth(candidate as usize).expect("a known box");
        self.used(name) < shelf.value()["spec"]["capacity"].as_i64().unwrap_or(0)
    }

    fn has_lid(&self, candidate: Ix) -> bool {
        let (_, shelf) = self.boxes.iter().nth(candidate as usize).expect("a known box");
        shelf.value()["spec"]["lid"].is_string()
    }

    fn pick(&self, ask: &Ask<'_>, solved: &mut Solved) -> Result<(), Refused> {
        for candidate in 0..self.count() {
            let refusals = [(0, self.room(candidate)), (1, !self.has_lid(candidate))];
            let refused = refusals.into_iter().filter(|(_, passes)| !passes);
            let before = solved.rejections.len();
            solved.rejections.extend(refused.map(|(plugin, _)| Rejection {
                candidate,
                plugin,
                reason: Reason { code: 0, detail: 0 },
            }));
            if solved.rejections.len() == before {
                solved.feasible.push(candidate);
            }
        }
        solved.ranked = solved.feasible.clone();
        solved
            .ranked
            .sort_by_key(|&candidate| (self.used(&self.cluster_name(candidate)), candidate));
        match ask.chosen {
            None => solved.picked.extend(solved.ranked.first()),
            Some(names) => {
                let known = names.iter().filter_map(|name| self.candidate(name));
                solved.picked = known
                    .filter(|candidate| solved.feasible.contains(candidate))
                    .collect();
                if solved.picked.len() < names.len() {
                    let error = FieldError::invalid("spec.targets[0]", names[0].as_str(), "unknown or full");
                    return Err(Refused { errors: vec![error] });
                }
            }
        }
        Ok(())
    }
}

impl Inventory for Shelf {
    fn fork(&self) -> Arc<dyn Inventory> {
        Arc::new(self.clone())
    }
    fn fold(&mut self, change: &Change) -> Due {
        if change.key.resource == TOYS {
            return self.fold_toy(change);
        }
        let old = match &change.new {
            Some(shelf) => self.boxes.insert(Arc::clone(&change.key.name), Arc::clone(shelf)),
            None => self.boxes.remove(&change.key.name),
        };
        let spec = |shelf: &Option<Arc<Object>>| shelf.as_ref().map(|shelf| shelf.value()["spec"].clone());
        let same = spec(&old) == spec(&change.new);
        Due {
            decide: if same { Affected::None } else { Affected::All },
            demands: Affected::None,
            targets: Some(vec![Arc::clone(&change.key.name)]),
        }
    }
    fn pace(&self) -> Pace {
        Pace {
            unplaced: Some(Backoff {
                first: Duration::from_secs(15),
                most: Duration::from_mins(1),
            }),
            ..Pace::default()
        }
    }
    fn unusable(&self) -> Vec<Unusable> {
        Vec::new()
    }
    fn count(&self) -> Ix {
        self.boxes.len() as Ix
    }
    fn cluster_name(&self, candidate: Ix) -> Arc<str> {
        self.boxes
            .keys()
            .nth(candidate as usize)
            .cloned()
            .expect("a known box")
    }
    fn candidate(&self, cluster_name: &str) -> Option<Ix> {
        self.boxes
            .keys()
            .position(|name| **name == *cluster_name)
            .map(|place| place as Ix)
    }
    fn target(&self, candidate: Ix, _now: Timestamp) -> TargetView {
        let name = self.cluster_name(candidate);
        TargetView {
            object: Arc::clone(&self.boxes[&name]),
            cluster_name: name,
            ready: "True",
            ready_reason: "Open",
            ready_message: String::new(),
            cordoned: false,
            taints: Vec::new(),
            capacity: Vec::new(),
            region: String::new(),
            provider: String::new(),
            labels: BTreeMap::new(),
            due_at: None,
        }
    }
    fn demands(&self) -> Vec<Key> {
        self.toys.keys().cloned().collect()
    }
    fn object(&self, demand: &Key) -> Option<Arc<Object>> {
        self.toys.get(demand).cloned()
    }
    fn demand(&self, demand: &Key, _now: Timestamp) -> Option<DemandView> {
        let object = self.object(demand)?;
        let placed: Vec<Placed> = bound(&object)
            .map(|cluster_name| Placed {
                cluster_name,
                ..Placed::default()
            })
            .into_iter()
            .collect();
        let phase = if placed.is_empty() {
            Phase::Pending
        } else {
            Phase::Bound
        };
        Some(DemandView {
            object,
            kind: "Toy",
            phase,
            placed,
            wanted: Some(1),
        })
    }
    fn decide(&self, ask: &Ask<'_>) -> Option<Result<Decision, Refused>> {
        let toy = self.object(ask.demand)?;
        let mut solved = Solved::default();
        let mut changes = Vec::new();
        let current: Vec<Current> = bound(&toy)
            .map(|cluster_name| Current {
                cluster_name,
                state: "",
            })
            .into_iter()
            .collect();
        let mut outcome = Outcome::Unchanged;
        if current.is_empty() {
            if let Err(refused) = self.pick(ask, &mut solved) {
                return Some(Err(refused));
            }
            outcome = if solved.picked.is_empty() {
                Outcome::Unschedulable
            } else {
                Outcome::Scheduled
            };
            changes.extend(solved.picked.iter().map(|&candidate| BindingChange {
                action: Action::Bind,
                cluster_name: self.cluster_name(candidate),
                from: "",
                to: "",
            }));
        }
        let fences = changes
            .iter()
            .map(|change| format!("toy/boxes/{}", change.cluster_name).into())
            .collect();
        Some(Ok(Decision {
            demand: ask.demand.clone(),
            demand_revision: toy.revision(),
            outcome,
            reason: "Picked",
            solved,
            scorers: Vec::new(),
            unknown: Vec::new(),
            current,
            changes,
            fences,
            due_at: toy.value()["spec"]["lookAfter"].as_i64().and_then(|seconds| {
                ask.now
                    .checked_add(Duration::from_secs(seconds.unsigned_abs()))
                    .ok()
            }),
            now: ask.now,
            detail: Box::new(()) as Box<dyn Any + Send + Sync>,
        }))
    }
    fn filters(&self) -> &'static [&'static str] {
        &["Room", "Lid"]
    }
    fn token(&self, _: u16, _: Reason) -> &'static str {
        "Full"
    }
    fn sentence(&self, _: &Decision, _: Ix, _: u16, _: Reason) -> String {
        "the box is full".to_owned()
    }
    fn not_picked(&self, _: &Decision, _: Ix, _: Option<usize>) -> (&'static str, String) {
        ("Fuller", "another box is emptier".to_owned())
    }
    fn message(&self, decision: &Decision) -> String {
        format!(
            "{} of {} boxes have room",
            decision.solved.feasible.len(),
            self.count()
        )
    }
    fn conditions(&self, _: &Decision) -> Vec<Value> {
        Vec::new()
    }
    fn remedies(&self, decision: &Decision, candidate: Ix, refusal: Option<&Rejection>) -> Vec<Remedy> {
        let name = self.cluster_name(candidate);
        if refusal.is_none() {
            return Vec::new();
        }
        if &*name == "sealed" {
            return vec![Remedy::none("it is glued shut")];
        }
        let key = Key::new(BOXES, "", &name);
        if refusal.is_some_and(|refusal| refusal.plugin == 1) {
            let patch = json!({"spec": {"lid": null}});
            let edit = Edit::Merge { key, patch };
            return vec![Remedy::new(Whose::Target, "take the lid off", edit)];
        }
        // What helps nobody: the search must not tell of it.
        let toy = decision.demand.clone();
        let shrunk = Edit::of(toy, &self.toys[&decision.demand], |toy| {
            toy["spec"]["small"] = true.into()
        });
        let capacity = self.used(&name) + 1;
        vec![
            Remedy::new(Whose::Request, "make the toy small", shrunk),
            Remedy::new(
                Whose::Target,
                format!("widen box {name} to {capacity}"),
                Edit::Merge {
                    key,
                    patch: json!({"spec": {"capacity": capacity}}),
                },
            ),
        ]
    }
    fn writes(&self, decision: &Decision) -> Vec<Write> {
        let Some(change) = decision.changes.first() else {
            return Vec::new();
        };
        let toy = &self.toys[&decision.demand];
        let mut object = toy.parse();
        object["spec"]["box"] = json!(*change.cluster_name);
        vec![Write {
            verb: WriteVerb::Update,
            key: decision.demand.clone(),
            subresource: "",
            object,
            base: Some(toy.revision()),
        }]
    }
}

/// A toy (or, with `spec.capacity`, a box) as JSON.
pub(crate) fn object(kind: &str, namespace: &str, name: &str, spec: Value) -> Value {
    let mut metadata = json!({"name": name, "uid": format!("uid-{name}")});
    if !namespace.is_empty() {
        metadata["namespace"] = namespace.into();
    }
    json!({"apiVersion": "toys.example/v1", "kind": kind, "metadata": metadata, "spec": spec})
}
