//! `-o table`: one block per demand, for people: first the picked clusters, then the released clusters, then
//! the clusters that were not picked, with reasons.
//!
//! Of many clusters that were not picked, the first [`CLUSTERS_LIMIT`] have rows, and the others are only
//! counted by reason. JSON and YAML have all clusters, unless `--reasons` omits them.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

use anstyle::Style;
use berth_apimachinery::Key;
use berth_dialect_contract::report::{self, Entry, Places, View};
use berth_dialect_contract::{
    Action, BindingChange, Decision, Dialect, Inventory, Outcome, Write as Planned, names,
};
use berth_engine::simulate::{DemandOutcome, InvalidDemand};

use super::output::SET_ASIDE;
use crate::terminal::{self, Cell, indented};
use crate::words::{self, NOT_PICKED, PICKED};

/// Highest number of clusters that were not picked and have rows.
const CLUSTERS_LIMIT: usize = 20;

const HEADINGS: [&str; 5] = ["  CLUSTER", "RANK", "SCORE", "RESULT", "REASON"];
/// Index of the column RESULT: if an amount is divided, the amounts are inserted before this column.
const RESULT: usize = 3;

/// Writer of the tables, which counts the outcomes for the summary at the end.
#[derive(Default)]
pub(super) struct Tables {
    outcomes: BTreeMap<&'static str, usize>,
}

impl Tables {
    /// Writes the block of one demand.
    pub(super) fn write(
        &mut self,
        out: &mut impl Write,
        demand_outcome: &DemandOutcome<'_>,
    ) -> io::Result<()> {
        if !self.outcomes.is_empty() {
            writeln!(out)?;
        }
        let decision = demand_outcome.decision;
        *self.outcomes.entry(decision.outcome.as_str()).or_default() += 1;
        let inventory = &*demand_outcome.snapshot.inventory;
        writeln!(out, "{}", headline(demand_outcome))?;
        let width = terminal::width();
        let message = terminal::shown(&inventory.message(decision));
        writeln!(out, "{}", indented(&message, 2, width))?;
        for text in inventory.warnings(decision) {
            let warning = indented(&format!("Warning: {}", terminal::shown(&text)), 2, width);
            writeln!(out, "{}", terminal::warning(&warning))?;
        }
        let rows = Rows::of(inventory, decision);
        if !rows.rows.is_empty() {
            let amount = inventory
                .amount(decision)
                .map(|amount| amount.name.to_uppercase());
            let mut headings = HEADINGS.to_vec();
            headings.splice(RESULT..RESULT, amount.as_deref());
            write!(out, "{}", terminal::fitted_table(&headings, &rows.rows, width))?;
        }
        for line in rows.footer {
            writeln!(out, "{}", terminal::dim(&indented(&line, 2, width)))?;
        }
        for planned in inventory.writes(decision) {
            let line = indented(&terminal::shown(&write_line(&planned)), 2, width);
            writeln!(out, "{}", terminal::dim(&line))?;
        }
        Ok(())
    }

    /// Writes the block of one object that was set aside.
    pub(super) fn write_aside(&mut self, out: &mut impl Write, aside: &InvalidDemand) -> io::Result<()> {
        if !self.outcomes.is_empty() {
            writeln!(out)?;
        }
        let outcome = Outcome::Invalid.as_str();
        *self.outcomes.entry(outcome).or_default() += 1;
        let outcome = terminal::bad(words::outcome(outcome));
        writeln!(
            out,
            "{}: {outcome}, {SET_ASIDE}",
            subject(&*aside.dialect, &aside.demand, aside.kind)
        )?;
        let message = terminal::shown(&aside.message());
        writeln!(out, "{}", indented(&message, 2, terminal::width()))
    }

    /// Writes the summary of all demands.
    pub(super) fn end(self, out: &mut impl Write) -> io::Result<()> {
        let count: usize = self.outcomes.values().sum();
        if count == 0 {
            return writeln!(out, "No objects to schedule.");
        }
        let parts: Vec<String> = self
            .outcomes
            .iter()
            .map(|(outcome, count)| format!("{count} {}", words::outcome(outcome)))
            .collect();
        let noun = if count == 1 { "object" } else { "objects" };
        writeln!(
            out,
            "\n{}",
            terminal::heading(&format!("{count} {noun}: {}", parts.join(", ")))
        )
    }
}

/// Returns the name of a demand for a headline, such as `Shoot garden-dev/web (gardener)`.
fn subject(dialect: &dyn Dialect, demand: &Key, kind: &str) -> String {
    let (namespace, _) = names::place(dialect, demand);
    let name = &demand.name;
    let full = if namespace.is_empty() || demand.namespace.is_empty() {
        name.to_string()
    } else {
        format!("{namespace}/{name}")
    };
    format!(
        "{} {}",
        terminal::heading(&terminal::shown(&format!("{kind} {full}"))),
        terminal::dim(&format!("({})", dialect.name()))
    )
}

/// Returns the name of a demand and its state, such as `Shoot garden-dev/web (gardener): no place`.
fn headline(demand_outcome: &DemandOutcome<'_>) -> String {
    let decision = demand_outcome.decision;
    let view = demand_outcome
        .snapshot
        .inventory
        .demand(&decision.demand, decision.now);
    let created = decision
        .changes
        .iter()
        .filter(|change| change.action == Action::Create);
    let picked = decision.solved.picked.len() + created.count();
    let request_state = words::request_state(
        decision.outcome.as_str(),
        picked,
        view.and_then(|view| view.wanted),
    );
    let phrase = terminal::styled(request_state.style, &request_state.phrase);
    let subject = subject(
        &*demand_outcome.snapshot.dialect,
        &decision.demand,
        demand_outcome.kind,
    );
    format!("{subject}: {phrase}")
}

/// Returns the line about a write, such as
/// `would create placementdecisions.cluster.open-cluster-management.io ns/p-decision-1`.
fn write_line(planned: &Planned) -> String {
    let key = &planned.key;
    let mut resource = key.resource.resource.to_owned();
    if !key.resource.group.is_empty() {
        resource.push('.');
        resource.push_str(key.resource.group);
    }
    let subresource = match planned.subresource {
        "" => String::new(),
        subresource => format!(" ({subresource})"),
    };
    let place = if key.namespace.is_empty() {
        key.name.to_string()
    } else {
        format!("{}/{}", key.namespace, key.name)
    };
    format!("would {} {resource} {place}{subresource}", planned.verb.as_str())
}

/// Table of the clusters of one demand.
struct Rows<'a> {
    inventory: &'a dyn Inventory,
    decision: &'a Decision,
    places: Places,
    changes: BTreeMap<&'a str, &'a BindingChange>,
    /// Whether an amount is divided among clusters: in this case, the amounts have a column.
    divides: bool,
    /// Clusters that have a row.
    shown: BTreeSet<u32>,
    rows: Vec<Vec<Cell>>,
    /// Lines about the clusters that are not shown.
    footer: Vec<String>,
}

impl<'a> Rows<'a> {
    fn of(inventory: &'a dyn Inventory, decision: &'a Decision) -> Self {
        let changes = decision.changes.iter();
        let mut rows = Self {
            inventory,
            decision,
            places: Places::of(inventory, decision),
            changes: changes.map(|change| (&*change.cluster_name, change)).collect(),
            divides: inventory.amount(decision).is_some(),
            shown: BTreeSet::new(),
            rows: Vec::new(),
            footer: Vec::new(),
        };
        rows.add_picked();
        rows.add_released();
        rows.add_not_picked();
        rows.insert_amounts();
        rows
    }

    /// Adds the picked clusters, and the clusters that the decision would create.
    fn add_picked(&mut self) {
        for &candidate in &self.decision.solved.picked {
            let name = self.inventory.cluster_name(candidate);
            let result = self.result_of(&name).unwrap_or_else(|| PICKED.to_owned());
            let reasons = self.refusals(candidate);
            self.add_row(candidate, Cell::new(result, terminal::GOOD), reasons);
        }
        let created = self
            .decision
            .changes
            .iter()
            .filter(|change| change.action == Action::Create);
        for change in created {
            self.rows.push(vec![
                Cell::plain(format!("  {}", change.cluster_name)),
                Cell::plain(""),
                Cell::plain(""),
                Cell::new(with_states(change), terminal::GOOD),
                Cell::plain(""),
            ]);
        }
    }

    /// Inserts the amounts of the clusters before the results, if an amount is divided.
    fn insert_amounts(&mut self) {
        if !self.divides {
            return;
        }
        let picked = self.decision.solved.picked.iter().enumerate();
        let mut amounts: BTreeMap<String, String> = picked
            .map(|(index, &candidate)| {
                let amount = self.decision.amount_of_pick(index).unwrap_or_default();
                (format!("  {}", self.name_of(candidate)), amount.to_string())
            })
            .collect();
        for change in &self.decision.changes {
            let name = format!("  {}", change.cluster_name);
            let cell_text = match (change.amount_from, change.amount_to) {
                (Some(from), Some(to)) if from != to => format!("{from} → {to}"),
                (Some(from), None) => format!("{from} → 0"),
                _ => continue,
            };
            amounts.insert(name, cell_text);
        }
        for row in &mut self.rows {
            let amount = amounts.remove(row[0].text()).unwrap_or_default();
            row.insert(RESULT, Cell::plain(amount));
        }
    }

    /// Adds the clusters that the decision releases, including clusters that do not exist any more.
    fn add_released(&mut self) {
        let released = self
            .decision
            .changes
            .iter()
            .filter(|change| change.action == Action::Unbind);
        for change in released {
            let result = Cell::new(with_states(change), terminal::WARNING);
            match self.inventory.candidate(&change.cluster_name) {
                Some(candidate) => {
                    let reasons = self.refusals(candidate);
                    self.add_row(candidate, result, reasons);
                }
                None => self.rows.push(vec![
                    Cell::plain(format!("  {}", change.cluster_name)),
                    Cell::plain(""),
                    Cell::plain(""),
                    result,
                    Cell::plain("there is no such cluster any more"),
                ]),
            }
        }
    }

    /// Adds the clusters that were not picked: first the feasible clusters, then the refused clusters, with
    /// the nearest to fitting first. In a long fleet, clusters out of scope are only counted.
    fn add_not_picked(&mut self) {
        let view = View {
            dialect: "",
            inventory: self.inventory,
            decision: self.decision,
            places: &self.places,
        };
        let rest: Vec<Entry> = view.entries();
        let mut rest: Vec<u32> = rest
            .into_iter()
            .filter_map(|entry| match entry {
                Entry::Target(candidate) => Some(candidate),
                Entry::Unknown(_) => None,
            })
            .filter(|candidate| !self.shown.contains(candidate))
            .collect();
        let outside = |&candidate: &u32| view.is_out_of_scope(Entry::Target(candidate));
        let shown = match rest.len() > CLUSTERS_LIMIT {
            true => rest
                .partition_point(|candidate| !outside(candidate))
                .min(CLUSTERS_LIMIT),
            false => rest.len(),
        };
        let hidden = rest.split_off(shown);
        let shown: Vec<(u32, bool)> = rest
            .iter()
            .map(|candidate| (*candidate, outside(candidate)))
            .collect();
        for (candidate, out_of_scope) in shown {
            let mut reasons = self.refusals(candidate);
            let result = if reasons.is_empty() {
                let (token, message) =
                    self.inventory
                        .not_picked(self.decision, candidate, self.places.rank(candidate));
                reasons.push(format!("{token}: {message}"));
                Cell::new(NOT_PICKED, terminal::DIM)
            } else {
                words::refusal(out_of_scope)
            };
            self.add_row(candidate, result, reasons);
        }
        for (name, plugin, reason) in &self.decision.unknown {
            self.rows.push(vec![
                Cell::plain(format!("  {name}")),
                Cell::plain(""),
                Cell::plain(""),
                words::refusal(false),
                Cell::plain(format!("{plugin}/{reason}: there is no cluster \"{name}\"")),
            ]);
        }
        if !hidden.is_empty() {
            self.add_hidden(&hidden);
        }
    }

    /// Adds a line with the number of `hidden` clusters, by reason, to the footer.
    fn add_hidden(&mut self, hidden: &[u32]) {
        let filters = self.inventory.filters();
        let mut counts: BTreeMap<(u16, &'static str), usize> = BTreeMap::new();
        let mut feasible = 0_usize;
        for &candidate in hidden {
            let refusals = self.decision.solved.rejections_of(candidate);
            feasible += usize::from(refusals.is_empty());
            let scope = self.inventory.scope();
            let outside = refusals.iter().any(|refusal| Some(refusal.plugin) == scope);
            for refusal in refusals
                .iter()
                .filter(|refusal| !outside || Some(refusal.plugin) == scope)
            {
                let token = self.inventory.token(refusal.plugin, refusal.reason);
                *counts.entry((refusal.plugin, token)).or_default() += 1;
            }
        }
        let mut parts: Vec<String> = Vec::new();
        if feasible > 0 {
            parts.push(format!("{feasible} {NOT_PICKED}"));
        }
        parts.extend(
            counts
                .into_iter()
                .map(|((plugin, token), count)| format!("{count} {}/{token}", filters[usize::from(plugin)])),
        );
        self.footer
            .push(format!("… and {} more: {}", hidden.len(), parts.join(", ")));
    }

    /// Returns the refusals of `candidate`, each as `Plugin/Reason: sentence`.
    fn refusals(&self, candidate: u32) -> Vec<String> {
        let refusals = self.decision.solved.rejections_of(candidate).iter();
        refusals
            .map(|refusal| {
                let (inventory, decision) = (self.inventory, self.decision);
                let plugin = inventory.filters()[usize::from(refusal.plugin)];
                let token = inventory.token(refusal.plugin, refusal.reason);
                let sentence = inventory.sentence(decision, candidate, refusal.plugin, refusal.reason);
                format!("{plugin}/{token}: {sentence}")
            })
            .collect()
    }

    /// Returns the system's name of the cluster, after the name of the cluster's Target where the two differ
    /// (kcp).
    fn name_of(&self, candidate: u32) -> String {
        let name = self.inventory.cluster_name(candidate);
        let target = self.inventory.target_name(candidate);
        if target == name.replace('/', ".") {
            name.to_string()
        } else {
            format!("{target} ({name})")
        }
    }

    /// Returns the change of a cluster in words, if the decision changes the cluster.
    fn result_of(&self, cluster_name: &str) -> Option<String> {
        self.changes.get(cluster_name).map(|change| with_states(change))
    }

    /// Adds a row for `candidate` with the first of `reasons`, and one more row for each further reason. A
    /// candidate that has a row already is skipped.
    fn add_row(&mut self, candidate: u32, result: Cell, reasons: Vec<String>) {
        if !self.shown.insert(candidate) {
            return;
        }
        let number = |number: Option<String>| Cell::plain(number.unwrap_or_default());
        let rank = self.places.rank(candidate).map(|rank| rank.to_string());
        let solved = &self.decision.solved;
        let row = solved.row_of(candidate);
        let parts = row.into_iter().flat_map(|row| {
            let columns = solved.scores.iter();
            columns.map(move |column| column.values[row])
        });
        let score = report::score_cell(solved.total_of(candidate), parts);
        let mut reasons = reasons.into_iter();
        self.rows.push(vec![
            Cell::plain(format!("  {}", self.name_of(candidate))),
            number(rank),
            Cell::plain(score),
            result,
            Cell::plain(reasons.next().unwrap_or_default()),
        ]);
        let blank = || Cell::new("", Style::new());
        self.rows
            .extend(reasons.map(|reason| vec![blank(), blank(), blank(), blank(), Cell::plain(reason)]));
    }
}

/// Returns a change in words, with the system's states of the binding, if it has states.
fn with_states(change: &BindingChange) -> String {
    words::action(change.action.as_str(), change.from, change.to)
}
