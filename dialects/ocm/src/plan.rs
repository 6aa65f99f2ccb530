//! Content of the PlacementDecisions: the selected clusters, divided into groups and objects
//! (docs/systems/ocm.md, "Groups").

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use berth_apimachinery::Key;
use berth_scheduling::Ix;

use crate::columns::Columns;
use crate::fleet::{Fleet, decision_key};
use crate::kind::{DecisionGroupStatus, GroupSize};
use crate::names::{DECISIONS_PER_OBJECT, GROUP_INDEX_LABEL, GROUP_NAME_LABEL, PLACEMENT_LABEL};
use crate::policy::Groups;
use crate::record::{DecisionRecord, PlacementRecord};

/// Content of a placement's PlacementDecisions.
#[derive(Debug)]
pub(crate) struct Plan {
    /// The PlacementDecisions, in the order of their numbers.
    pub(crate) decisions: Vec<PlannedDecision>,
    /// The PlacementDecisions that are no longer needed.
    pub(crate) surplus: Vec<Arc<DecisionRecord>>,
    /// The groups as the status lists them.
    pub(crate) groups: Vec<DecisionGroupStatus>,
    /// Number of clusters that are selected.
    pub(crate) selected: usize,
}

/// The planned content of one PlacementDecision.
#[derive(Debug)]
pub(crate) struct PlannedDecision {
    /// The key of the PlacementDecision.
    pub(crate) key: Key,
    /// The index of the decision group.
    pub(crate) group: usize,
    /// The name of the decision group.
    pub(crate) group_name: Arc<str>,
    /// The clusters to be listed, by name.
    pub(crate) clusters: Vec<Arc<str>>,
    /// The stored object; `None` if the PlacementDecision will be created.
    pub(crate) stored: Option<Arc<DecisionRecord>>,
    /// Whether labels or owner of the stored object change.
    pub(crate) metadata_changes: bool,
    /// Whether the list of clusters changes.
    pub(crate) list_changes: bool,
}

/// A group of selected clusters: its name and its members in name order.
type Group = (Arc<str>, Vec<Ix>);

impl Plan {
    /// Plans the PlacementDecisions for the clusters in `picked`; `own` are the stored ones.
    pub(crate) fn for_selection(
        fleet: &Fleet,
        columns: &Columns,
        record: &PlacementRecord,
        placement: &Key,
        own: &[&Arc<DecisionRecord>],
        picked: &[Ix],
    ) -> Self {
        let whole = Groups {
            size: GroupSize::Percent(100),
            named: Vec::new(),
        };
        let groups = divide(columns, record.policy.groups.as_ref().unwrap_or(&whole), picked);
        let mut plan = Self {
            decisions: Vec::new(),
            surplus: Vec::new(),
            groups: Vec::new(),
            selected: picked.len(),
        };
        for (index, (name, members)) in groups.into_iter().enumerate() {
            plan.add_group(fleet, columns, record, placement, index, &name, &members);
        }
        let names: BTreeSet<&str> = plan.decisions.iter().map(|planned| &*planned.key.name).collect();
        let unneeded = own
            .iter()
            .filter(|decision| !names.contains(decision.object.meta().name()));
        plan.surplus = unneeded.map(|decision| Arc::clone(decision)).collect();
        plan
    }

    /// Plans the removal of the clusters for which `stays` is false from the PlacementDecisions in `own`.
    /// Clusters do not move between groups, and labels do not change.
    pub(crate) fn retain(
        record: &PlacementRecord,
        placement: &Key,
        own: &[&Arc<DecisionRecord>],
        stays: impl Fn(&str) -> bool,
    ) -> Self {
        let decisions: Vec<PlannedDecision> = own
            .iter()
            .map(|stored| PlannedDecision::retain(stored, placement, &stays))
            .collect();
        let mut groups = record.status.decision_groups.clone();
        let counts: BTreeMap<&str, usize> = decisions
            .iter()
            .map(|planned| (&*planned.key.name, planned.clusters.len()))
            .collect();
        for group in &mut groups {
            let names: BTreeSet<&str> = group.decisions.iter().map(String::as_str).collect();
            let clusters = names.iter().filter_map(|name| counts.get(name)).sum();
            group.cluster_count = status_number(clusters);
        }
        let selected: BTreeSet<&Arc<str>> = decisions.iter().flat_map(|planned| &planned.clusters).collect();
        Self {
            surplus: Vec::new(),
            groups,
            selected: selected.len(),
            decisions,
        }
    }

    #[expect(
        clippy::too_many_arguments,
        reason = "one step of a loop, split off for length"
    )]
    fn add_group(
        &mut self,
        fleet: &Fleet,
        columns: &Columns,
        record: &PlacementRecord,
        placement: &Key,
        index: usize,
        name: &Arc<str>,
        members: &[Ix],
    ) {
        let mut names = Vec::new();
        let empty: [&[Ix]; 1] = [&[]];
        let pieces = members.chunks(DECISIONS_PER_OBJECT);
        for piece in pieces.chain(empty.into_iter().filter(|_| members.is_empty())) {
            let decision_name: Arc<str> =
                format!("{}-decision-{}", placement.name, self.decisions.len() + 1).into();
            let key = decision_key(&placement.namespace, &decision_name);
            let clusters: Vec<Arc<str>> = piece
                .iter()
                .map(|&candidate| Arc::clone(&columns.row(candidate).name))
                .collect();
            let stored = fleet.decisions.get(&key).cloned();
            let mut planned = PlannedDecision {
                group: index,
                group_name: Arc::clone(name),
                metadata_changes: false,
                list_changes: false,
                key,
                clusters,
                stored,
            };
            planned.compare(record, placement);
            names.push(decision_name.to_string());
            self.decisions.push(planned);
        }
        self.groups.push(DecisionGroupStatus {
            decision_group_index: status_number(index),
            decision_group_name: name.to_string(),
            decisions: names,
            cluster_count: status_number(members.len()),
        });
    }

    /// Whether any PlacementDecision is created, changed or deleted.
    pub(crate) fn writes(&self) -> bool {
        !self.surplus.is_empty()
            || self
                .decisions
                .iter()
                .any(|planned| planned.stored.is_none() || planned.metadata_changes || planned.list_changes)
    }
}

/// Converts a count to the type of status fields.
fn status_number(count: usize) -> i32 {
    i32::try_from(count).unwrap_or(i32::MAX)
}

impl PlannedDecision {
    /// Plans the removal of the clusters for which `stays` is false from the stored object.
    fn retain(stored: &Arc<DecisionRecord>, placement: &Key, stays: impl Fn(&str) -> bool) -> Self {
        let meta = stored.object.meta();
        let label = |name| meta.labels().get(name).unwrap_or_default();
        let listed = stored.clusters.iter().map(|cluster| &cluster.name);
        let clusters: Vec<Arc<str>> = listed.filter(|name| stays(name)).cloned().collect();
        Self {
            key: decision_key(&placement.namespace, &meta.name().into()),
            group: label(GROUP_INDEX_LABEL).parse().unwrap_or_default(),
            group_name: label(GROUP_NAME_LABEL).into(),
            list_changes: clusters.len() != stored.clusters.len(),
            clusters,
            stored: Some(Arc::clone(stored)),
            metadata_changes: false,
        }
    }

    /// The labels that the PlacementDecision must have.
    pub(crate) fn labels(&self, placement: &str) -> [(&'static str, String); 3] {
        [
            (PLACEMENT_LABEL, placement.to_owned()),
            (GROUP_INDEX_LABEL, self.group.to_string()),
            (GROUP_NAME_LABEL, self.group_name.to_string()),
        ]
    }

    /// Sets `metadata_changes` and `list_changes` by comparing the plan with the stored object. Without a
    /// stored object, only a list with clusters is a change.
    fn compare(&mut self, record: &PlacementRecord, placement: &Key) {
        let Some(stored) = &self.stored else {
            self.list_changes = !self.clusters.is_empty();
            return;
        };
        let meta = stored.object.meta();
        let has_labels = self
            .labels(&placement.name)
            .iter()
            .all(|(key, value)| meta.labels().get(key) == Some(value));
        let uid = record.object.meta().uid();
        let has_owner = uid.is_empty()
            || meta
                .owner_references()
                .iter()
                .any(|owner| owner.uid == uid && owner.controller == Some(true));
        self.metadata_changes = !has_labels || !has_owner;
        let listed = stored.clusters.iter().map(|cluster| &cluster.name);
        self.list_changes = !listed.eq(&self.clusters);
    }
}

/// Divides `picked` into groups. A named group has its matching clusters, except clusters of earlier groups;
/// the remaining clusters form groups without a name. Each group is cut, in name order, into pieces of the
/// requested size. Rank order would not be stable: after the first decision, Steady ranks the selected
/// clusters higher, so that a second decision would divide them differently.
fn divide(columns: &Columns, groups: &Groups, picked: &[Ix]) -> Vec<Group> {
    let size = groups.size.clusters_per_group(picked.len());
    // Candidates are numbered in name order.
    let mut rest = picked.to_vec();
    rest.sort_unstable();
    let mut divided = Vec::new();
    let mut cut = |name: &Arc<str>, members: &[Ix]| {
        divided.extend(
            members
                .chunks(size)
                .map(|piece| (Arc::clone(name), piece.to_vec())),
        );
    };
    for group in &groups.named {
        let (matching, left): (Vec<Ix>, Vec<Ix>) = rest.into_iter().partition(|&candidate| {
            let row = columns.row(candidate);
            group.labels.matches(row.labels()) && group.claims.matches(&row.claims)
        });
        cut(&group.name, &matching);
        rest = left;
    }
    cut(&Arc::from(""), &rest);
    if divided.is_empty() {
        divided.push((Arc::from(""), Vec::new()));
    }
    divided
}
