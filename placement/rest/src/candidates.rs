//! `candidates` and `clustercandidates`: every (decision, target) pair as an object, computed at each
//! read.

use std::ops::Range;
use std::sync::Arc;

use async_trait::async_trait;
use berth_apimachinery::selector::FieldSelector;
use berth_apimachinery::{Key, Object, ObjectTemplate, Revision, Status, budget};
use berth_apiserver::{Call, Computed, ListQuery, Listing, RequestInfo, heavy};
use berth_dialect_contract::Decision;
use berth_dialect_contract::report::{Entry, Places, View, Writer};
use berth_engine::{Engine, Snapshot};
use berth_scheduling::Rejection;
use berth_scheduling_api::candidate::{self, CandidateSpec};
use berth_scheduling_api::scheduling::CandidateFacts;
use berth_scheduling_api::{API_VERSION, GROUP};
use berth_storage::Name;
use uuid::Uuid;

use super::names;
use super::resolve::{DemandResolver, ResolvedDemand, behind};
use super::scheduling::decide;

/// Highest number of pairs in a list of several decisions, and of decisions in a list of one target's
/// candidates (docs/reference.md, "Candidates").
pub(super) const MAX_PAIRS: usize = 10_000;
/// Number of candidates between two checks whether the caller still waits for the answer.
const CHECK_INTERVAL: usize = 64;

/// Handler of `candidates` or `clustercandidates`.
pub(super) struct Candidates {
    /// The engine.
    pub(super) engine: Arc<Engine>,
    /// Whether the resource is `candidates` (of Decisions), and not `clustercandidates` (of
    /// ClusterDecisions).
    pub(super) namespaced: bool,
}

impl Candidates {
    fn resource(&self) -> &'static str {
        if self.namespaced {
            "candidates"
        } else {
            "clustercandidates"
        }
    }

    /// The demands whose candidates the resource lists in `namespace` (in all namespaces if empty), with a
    /// snapshot of each dialect.
    async fn demands(&self, namespace: &str) -> Result<Vec<(Snapshot, Vec<Key>)>, Status> {
        let revision = self.engine.source().revision();
        self.engine
            .caught_up(revision)
            .await
            .map_err(|error| behind(&error))?;
        let snapshots = self
            .engine
            .dialects()
            .filter(|dialect| self.engine.complete(dialect.name()).is_ok())
            .filter_map(|dialect| self.engine.snapshot(dialect.name()));
        let is_here = |snapshot: &Snapshot, demand: &Key| {
            let (place, _) = names::place(&*snapshot.dialect, demand);
            place.is_empty() != self.namespaced && (namespace.is_empty() || place == namespace)
        };
        Ok(snapshots
            .map(|snapshot| {
                let demands = snapshot.inventory.demands();
                let demands = demands
                    .into_iter()
                    .filter(|demand| is_here(&snapshot, demand))
                    .collect();
                (snapshot, demands)
            })
            .collect())
    }

    /// The name of the decision, where `fields` select the candidates of a single one, and the namespace is
    /// known.
    fn single_decision<'q>(&self, namespace: &str, fields: &'q FieldSelector) -> Option<&'q str> {
        if self.namespaced && namespace.is_empty() {
            return None;
        }
        let mut terms = fields.terms.iter().filter(|(path, ..)| path == "decision");
        match (terms.next(), terms.next()) {
            (Some((_, true, name)), None) => Some(name),
            _ => None,
        }
    }

    /// Lists the candidates of the decision `name`; none where the decision does not exist.
    async fn list_of_decision(
        &self,
        call: &Call,
        query: &ListQuery,
        name: &str,
    ) -> Result<Arc<dyn Listing>, Status> {
        let source = match DemandResolver::Decision
            .find(&self.engine, &call.namespace, name)
            .await
        {
            Ok(ResolvedDemand { snapshot, demand }) => self.candidate_source(&snapshot, &demand, call)?,
            Err(status) if status.code == 404 => None,
            Err(status) => return Err(status),
        };
        Ok(Arc::new(Rows::new(source.into_iter().collect(), query)))
    }

    /// Lists the candidates of one target in every decision of the target's system. Each decision is dropped
    /// after its candidate is rendered, since there may be thousands of decisions.
    fn list_of_target(
        &self,
        call: &Call,
        query: &ListQuery,
        demands_by_dialect: &[(Snapshot, Vec<Key>)],
        target: &str,
    ) -> Result<Arc<dyn Listing>, Status> {
        let is_of = |snapshot: &Snapshot| {
            let name = target.strip_suffix(snapshot.dialect.name());
            name.is_some_and(|name| name.ends_with('.'))
        };
        let matching: Vec<_> = demands_by_dialect
            .iter()
            .filter(|(snapshot, _)| is_of(snapshot))
            .collect();
        let count: usize = matching.iter().map(|(_, demands)| demands.len()).sum();
        if count > MAX_PAIRS {
            return Err(Status::bad_request(format!(
                "this list would contain candidates of {count} decisions, more than {MAX_PAIRS}: request those of a \
                 single namespace"
            )));
        }
        let mut candidates: Vec<(Name, Arc<Object>)> = Vec::new();
        for (snapshot, demands) in matching {
            for demand in demands {
                budget::check_needed()?;
                let Some(source) = self.candidate_source(snapshot, demand, call)? else {
                    continue;
                };
                let mut entries = source.view().entries_by_number();
                entries.retain(|&entry| source.is_selected(entry, query));
                for entry in entries {
                    let name = Name::new(&source.namespace, &source.name_of(entry));
                    candidates.push((name, source.render(entry)?));
                }
            }
        }
        candidates.sort_by(|(one, _), (other, _)| one.cmp(other));
        let objects: Vec<Arc<Object>> = candidates.into_iter().map(|(_, object)| object).collect();
        Ok(Arc::new(objects))
    }

    /// Decides `demand`, for candidates that are rendered one by one; `None` where the demand does not exist
    /// any more.
    fn candidate_source(
        &self,
        snapshot: &Snapshot,
        demand: &Key,
        call: &Call,
    ) -> Result<Option<CandidateSource>, Status> {
        let decision = decide(snapshot, demand, call.now)?;
        let Some(source) = snapshot.inventory.object(demand) else {
            return Ok(None);
        };
        let (namespace, name) = names::place(&*snapshot.dialect, demand);
        let kind = match self.namespaced {
            true => "Candidate",
            false => "ClusterCandidate",
        };
        let meta = source.meta().clone().named("", &namespace, "");
        Ok(Some(CandidateSource {
            places: Places::of(&*snapshot.inventory, &decision),
            template: ObjectTemplate::new(API_VERSION, kind, &meta, shown_at(snapshot)),
            snapshot: snapshot.clone(),
            decision,
            uid: names::identity(source.meta()),
            namespace,
            name: name.into(),
            kind,
        }))
    }
}

/// The value that `fields` require at `path`, if any.
fn required_value<'q>(fields: &'q FieldSelector, path: &str) -> Option<&'q str> {
    let mut terms = fields.terms.iter();
    terms
        .find(|(own, equal, _)| own == path && *equal)
        .map(|(.., value)| value.as_str())
}

/// A decision, from which candidates are rendered.
struct CandidateSource {
    snapshot: Snapshot,
    decision: Decision,
    places: Places,
    /// Uid of the demand.
    uid: Uuid,
    /// Common parts of the decision's candidates.
    template: ObjectTemplate,
    /// Namespace of the Decision.
    namespace: String,
    /// Name of the Decision.
    name: Arc<str>,
    kind: &'static str,
}

impl CandidateSource {
    fn view(&self) -> View<'_> {
        View {
            dialect: self.snapshot.dialect.name(),
            inventory: &*self.snapshot.inventory,
            decision: &self.decision,
            places: &self.places,
        }
    }

    /// The name of the target without the dialect. For a cluster that has no target, the name of the cluster.
    fn bare(&self, entry: Entry) -> Arc<str> {
        match entry {
            Entry::Target(candidate) if !self.snapshot.inventory.has_plain_names() => {
                self.snapshot.inventory.target_name(candidate).into()
            }
            _ => self.view().cluster_name(entry),
        }
    }

    /// Sorts `entries`, which are in the order of their numbers, by name.
    fn sort(&self, entries: &mut [Entry]) {
        // Targets are numbered by cluster name, and clusters without a target come last.
        let all_are_targets = self.decision.unknown.is_empty();
        if !(all_are_targets && self.snapshot.inventory.has_plain_names()) {
            entries.sort_by_cached_key(|&entry| names::dotted(&self.bare(entry)).into_owned());
        }
    }

    /// The name of the candidate for `entry`.
    fn name_of(&self, entry: Entry) -> String {
        names::candidate(&self.name, &self.bare(entry))
    }

    /// Whether `entry` matches the field selector. The server checks fields of metadata.
    fn is_selected(&self, entry: Entry, query: &ListQuery) -> bool {
        let view = self.view();
        query.fields.terms.iter().all(|(path, equal, value)| {
            let is = match path.as_str() {
                "decision" => **value == *self.name,
                "target" => *value == view.target_name(entry),
                "feasible" => *value == view.is_feasible(entry).to_string(),
                "outOfScope" => *value == view.is_out_of_scope(entry).to_string(),
                "picked" => *value == view.is_picked(entry).to_string(),
                _ => *equal,
            };
            is == *equal
        })
    }

    fn render(&self, entry: Entry) -> Result<Arc<Object>, Status> {
        let bare = self.bare(entry);
        let judged = self.view().candidate(entry, true);
        let name = names::candidate(&self.name, &bare);
        let uid = self.uid_of(&bare).to_string();
        let cells = candidate::cells(&name, &self.name, CandidateFacts::of(&judged));
        let rest = candidate::Candidate {
            spec: Some(self.spec(judged.target.clone())),
            status: Some(&judged),
        };
        let mut rest = serde_json::to_vec(&rest).map_err(|error| Status::internal(error.to_string()))?;
        // The opening brace becomes a comma, and the closing brace is left out.
        rest[0] = b',';
        rest.pop();
        Ok(Arc::new(
            self.template.object(&name, &uid, &rest).with_cells(cells),
        ))
    }

    /// `spec` of the candidate; `target` is empty where the cluster has no target.
    fn spec(&self, target: String) -> CandidateSpec {
        CandidateSpec {
            decision: Arc::clone(&self.name),
            target: Some(target).filter(|target| !target.is_empty()),
        }
    }

    /// The uid of the candidate with the target name `bare` ([`CandidateSource::bare`]).
    fn uid_of(&self, bare: &str) -> Uuid {
        names::uid_within(self.uid, &format!("{}/{bare}", self.kind))
    }

    /// Appends the candidate for `entry` to `out`, as JSON of the object that [`CandidateSource::render`]
    /// returns.
    fn write(&self, entry: Entry, writer: &mut Writer<'_>, out: &mut Vec<u8>) {
        let bare = self.bare(entry);
        let uid = self.uid_of(&bare);
        self.template.begin(
            &names::candidate(&self.name, &bare),
            uid.hyphenated().encode_lower(&mut Uuid::encode_buffer()),
            out,
        );
        out.extend_from_slice(b",\"spec\":");
        let spec = self.spec(self.view().target_name(entry));
        serde_json::to_writer(&mut *out, &spec).expect("texts are JSON, and memory takes them");
        out.extend_from_slice(b",\"status\":");
        writer.write(entry, out);
        out.push(b'}');
    }

    fn revision(&self) -> Revision {
        shown_at(&self.snapshot)
    }

    /// Approximate bytes in memory, without shared parts.
    fn bytes(&self) -> usize {
        let solved = &self.decision.solved;
        let numbers = solved.feasible.len() + solved.ranked.len() + solved.picked.len();
        let scores: usize = solved.scores.iter().map(|column| column.values.len()).sum();
        self.places.bytes()
            + solved.rejections.len() * size_of::<Rejection>()
            + numbers * size_of::<u32>()
            + scores * size_of::<Option<i64>>()
            + size_of_val(solved.totals.as_slice())
    }
}

/// The revision of objects that are computed from `snapshot`.
fn shown_at(snapshot: &Snapshot) -> Revision {
    Revision(snapshot.revision.0.max(1))
}

/// A list of candidates. It keeps its decisions, so that all pages are of the same decisions.
struct Rows {
    sources: Vec<CandidateSource>,
    /// The rows, sorted by namespace, then name.
    rows: Vec<Row>,
}

/// One candidate of a list.
#[derive(Clone, Copy)]
struct Row {
    /// The index of the decision in the sources of the list.
    index: u32,
    entry: Entry,
}

impl Rows {
    fn new(sources: Vec<CandidateSource>, query: &ListQuery) -> Self {
        let all_are_selected = query.fields.terms.iter().all(|(path, ..)| path == "decision");
        let mut rows = Vec::new();
        for (index, source) in (0..).zip(&sources) {
            let mut entries = source.view().entries_by_number();
            if !all_are_selected {
                entries.retain(|&entry| source.is_selected(entry, query));
            }
            source.sort(&mut entries);
            rows.extend(entries.into_iter().map(|entry| Row { index, entry }));
        }
        if sources.len() > 1 {
            rows.sort_by_cached_key(|row| {
                let source = &sources[row.index as usize];
                (source.namespace.clone(), source.name_of(row.entry))
            });
        }
        Self { sources, rows }
    }
}

impl Listing for Rows {
    fn len(&self) -> usize {
        self.rows.len()
    }

    fn revision(&self) -> Revision {
        let newest = self.sources.iter().map(CandidateSource::revision).max();
        newest.unwrap_or(Revision(1))
    }

    fn name(&self, index: usize) -> Name {
        let row = self.rows[index];
        let source = &self.sources[row.index as usize];
        Name::new(&source.namespace, &source.name_of(row.entry))
    }

    fn object(&self, index: usize) -> Result<Arc<Object>, Status> {
        let row = self.rows[index];
        self.sources[row.index as usize].render(row.entry)
    }

    fn write(&self, places: Range<usize>, out: &mut Vec<u8>) -> Result<bool, Status> {
        let mut writer: Option<(u32, Writer<'_>)> = None;
        for (index, row) in self.rows[places].iter().enumerate() {
            if index % CHECK_INTERVAL == 0 {
                budget::check_needed()?;
            }
            if index > 0 {
                out.push(b',');
            }
            let source = &self.sources[row.index as usize];
            let (_, writer) = match &mut writer {
                Some(same) if same.0 == row.index => same,
                other => other.insert((row.index, Writer::new(source.view(), true))),
            };
            source.write(row.entry, writer, out);
        }
        Ok(true)
    }

    fn bytes(&self) -> usize {
        size_of_val(self.rows.as_slice()) + self.sources.iter().map(CandidateSource::bytes).sum::<usize>()
    }
}

#[async_trait]
impl Computed for Candidates {
    /// The effort of one decision where the request selects one, else unknown, since every decision is
    /// computed.
    fn effort(&self, info: &RequestInfo) -> usize {
        let about = |decision: &str| DemandResolver::Decision.effort(&self.engine, &info.namespace, decision);
        if info.verb == "get" {
            return names::split_candidate(&info.name).map_or(0, |(decision, _)| about(decision));
        }
        let fields = info.query.first("fieldSelector").unwrap_or_default();
        let fields = FieldSelector::parse(fields).unwrap_or_default();
        self.single_decision(&info.namespace, &fields)
            .map_or(heavy::UNKNOWN, about)
    }

    async fn get(&self, call: &Call) -> Result<Arc<Object>, Status> {
        let resource = berth_apimachinery::GroupResource::new(GROUP, self.resource());
        let missing = || Status::not_found(resource, &call.name);
        let (decision, _) = names::split_candidate(&call.name).ok_or_else(missing)?;
        let found = DemandResolver::Decision
            .find(&self.engine, &call.namespace, decision)
            .await;
        let ResolvedDemand { snapshot, demand } =
            found.map_err(|status| if status.code == 404 { missing() } else { status })?;
        let source = self
            .candidate_source(&snapshot, &demand, call)?
            .ok_or_else(missing)?;
        let mut entries = source.view().entries().into_iter();
        let entry = entries
            .find(|&entry| source.name_of(entry) == call.name)
            .ok_or_else(missing)?;
        source.render(entry)
    }

    async fn list(&self, call: &Call, query: &ListQuery) -> Result<Arc<dyn Listing>, Status> {
        if let Some(name) = self.single_decision(&call.namespace, &query.fields) {
            return self.list_of_decision(call, query, name).await;
        }
        let mut demands_by_dialect = self.demands(&call.namespace).await?;
        for (snapshot, demands) in &mut demands_by_dialect {
            let is_wanted = |demand: &Key| {
                let (_, name) = names::place(&*snapshot.dialect, demand);
                let mut terms = query.fields.terms.iter().filter(|(path, ..)| path == "decision");
                terms.all(|(_, equal, value)| (*value == name) == *equal)
            };
            demands.retain(is_wanted);
        }
        if let Some(target) = required_value(&query.fields, "target") {
            return self.list_of_target(call, query, &demands_by_dialect, target);
        }
        let is_named = required_value(&query.fields, "decision").is_some();
        check_span(&demands_by_dialect, is_named)?;
        let mut sources = Vec::new();
        for (snapshot, demands) in &demands_by_dialect {
            for demand in demands {
                budget::check_needed()?;
                sources.extend(self.candidate_source(snapshot, demand, call)?);
            }
        }
        Ok(Arc::new(Rows::new(sources, query)))
    }
}

/// Checks that a list of several decisions has no more than [`MAX_PAIRS`] candidates. Decisions of one name
/// (`is_named`) may be in many namespaces.
fn check_span(demands_by_dialect: &[(Snapshot, Vec<Key>)], is_named: bool) -> Result<(), Status> {
    let decisions: usize = demands_by_dialect.iter().map(|(_, demands)| demands.len()).sum();
    let pairs =
        |(snapshot, demands): &(Snapshot, Vec<Key>)| demands.len() * snapshot.inventory.count() as usize;
    let count: usize = demands_by_dialect.iter().map(pairs).sum();
    if decisions <= 1 || count <= MAX_PAIRS {
        return Ok(());
    }
    let remedy = match is_named {
        true => "request those of a single namespace",
        false => {
            "request those of one decision with --field-selector decision=<name>, or those of a single namespace"
        }
    };
    Err(Status::bad_request(format!(
        "this list would span {count} candidates, more than {MAX_PAIRS}: {remedy}"
    )))
}
