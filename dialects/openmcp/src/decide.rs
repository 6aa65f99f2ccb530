//! Decisions on a request (docs/systems/openmcp.md, "Picking").

mod choice;

use std::sync::Arc;

use berth_dialect_contract::{Action, Ask, BindingChange, ChoiceRefusal, Current, Decision, Outcome};
use berth_scheduling::{Ix, PipelineOutcome, Random};

use crate::code::Plugin;
use crate::config::{Config, Mapping, Tenancy};
use crate::detail::{Detail, Plan, Step};
use crate::fleet::{Fleet, GrantedCluster, Operation, Place, Record};
use crate::names::{GRANTED, PENDING};
use crate::naming::NamingError;
use crate::release::Release;
use crate::request::Request;

/// The fence of decisions that create a Cluster for several requests. If two concurrent requests find no
/// room, the second one is decided again, and shares the Cluster of the first.
const NEW_CLUSTERS: &str = "openmcp/new-clusters";

/// The parts of a decision that do not depend on its outcome.
struct DecisionParts<'a> {
    fleet: &'a Fleet,
    request: &'a Record,
    ask: &'a Ask<'a>,
}

/// The result of a run of the pipeline, with the names of its scorers.
type PipelineRun = (PipelineOutcome, Vec<Arc<str>>);

impl Fleet {
    /// Decides the request in `ask`.
    pub(crate) fn decide_request(&self, ask: &Ask<'_>) -> Option<Result<Decision, ChoiceRefusal>> {
        let request = self.request(ask.demand)?;
        let parts = DecisionParts {
            fleet: self,
            request,
            ask,
        };
        Some(parts.judge())
    }

    /// The binding of a request: the Clusters with its finalizer, and the Cluster in its status, if that
    /// Cluster exists. A request that is being deleted is only bound to Clusters with its finalizer.
    pub(crate) fn bound(&self, request: &Record) -> Vec<Current> {
        let granted = request.status.cluster.as_ref();
        let state = |place: &Place| match granted {
            Some(granted) if granted.place == *place => request.status.phase,
            _ => "",
        };
        let holder = &request.wants.holder;
        let mut places: Vec<&Place> = self.held_by(holder).collect();
        if let Some(granted) = granted
            && !request.wants.deleting
            && self.cluster(&granted.place).is_some()
            && !self.holds(holder, &granted.place)
        {
            places.push(&granted.place);
            places.sort();
        }
        let bound = places.into_iter().map(|place| Current {
            cluster_name: self.name_of(place),
            state: state(place),
            amount: None,
        });
        bound.collect()
    }

    /// The cluster name of the Cluster at `place`.
    pub(crate) fn name_of(&self, place: &Place) -> Arc<str> {
        match self.find(place) {
            Some((_, row)) => Arc::clone(&row.record.cluster_name),
            None => place.to_string().into(),
        }
    }
}

impl<'a> DecisionParts<'a> {
    fn judge(&self) -> Result<Decision, ChoiceRefusal> {
        if self.request.wants.deleting {
            return Ok(self.release());
        }
        if self.fleet.ignores(self.request) {
            return Ok(self.without_a_run(Outcome::Ignored, "Ignored"));
        }
        let config = self.fleet.config.as_deref();
        let mapping = self.fleet.mapping(self.request).map(|mapping| &**mapping);
        if let Some(granted) = &self.request.status.cluster {
            return self.keep(granted, config.zip(mapping));
        }
        match (config, mapping) {
            (None, _) => Ok(self.without_a_run(Outcome::Invalid, "ConfigInvalid")),
            (Some(config), None) => Ok(self.unknown_purpose(config)),
            (Some(config), Some(mapping)) => self.schedule(config, mapping),
        }
    }

    /// The decision on a request with a granted Cluster, which it keeps: a lost finalizer is restored, and a
    /// lost Cluster is recreated.
    fn keep(
        &self,
        granted: &GrantedCluster,
        settings: Option<(&Config, &Mapping)>,
    ) -> Result<Decision, ChoiceRefusal> {
        self.must_be_kept(granted)?;
        let place = &granted.place;
        let run = self.run(settings);
        let Some((candidate, row)) = self.fleet.find(place) else {
            return Ok(self.remake(granted, settings, run));
        };
        let step = if self.fleet.holds(&self.request.wants.holder, place) {
            Step::None
        } else if row.facts.deleting {
            let message = format!(
                "cluster {place} is being deleted and no longer held for the request; it is made again once it is gone"
            );
            return Ok(self.conflict(message, run));
        } else {
            Step::Join
        };
        if step == Step::Join && self.fleet.config.is_none() {
            return Ok(self.without_a_run(Outcome::Invalid, "ConfigInvalid"));
        }
        Ok(self.grant(place.clone(), step, Some(candidate), run))
    }

    /// The decision on a request whose granted Cluster does not exist or cannot be parsed.
    fn remake(
        &self,
        granted: &GrantedCluster,
        settings: Option<(&Config, &Mapping)>,
        run: PipelineRun,
    ) -> Decision {
        let place = &granted.place;
        match (self.fleet.config.as_deref(), settings) {
            (None, _) => self.without_a_run(Outcome::Invalid, "ConfigInvalid"),
            _ if self.fleet.cluster(place).is_some() => {
                self.conflict(format!("cluster {place} cannot be read: mend it first"), run)
            }
            (Some(config), None) => self.unknown_purpose(config),
            (Some(_), Some(_)) => self.grant(place.clone(), Step::Recreate, None, run),
        }
    }

    fn schedule(&self, config: &Config, mapping: &Mapping) -> Result<Decision, ChoiceRefusal> {
        let run = self.run(Some((config, mapping)));
        if let Some((candidate, place)) = self.recover(&run.0) {
            self.must_be(&place)?;
            return Ok(self.grant(place, Step::None, Some(candidate), run));
        }
        let picked = match self.ask.chosen {
            Some(names) => Some(self.choose(names, &run.0)?),
            None => run.0.ranked.first().copied(),
        };
        if let Some(candidate) = picked {
            let place = self.fleet.row(candidate).place().clone();
            return Ok(self.grant(place, Step::Join, Some(candidate), run));
        }
        let place = match self.new_place(mapping) {
            Ok(place) => place,
            Err(error) => return Ok(self.fail(Outcome::Invalid, "ConfigInvalid", error.to_string(), run)),
        };
        if self.fleet.cluster(&place).is_none() {
            return Ok(self.grant(place, Step::Create, None, run));
        }
        match self.fleet.find(&place) {
            Some((candidate, _)) if self.fleet.holds(&self.request.wants.holder, &place) => {
                Ok(self.grant(place, Step::None, Some(candidate), run))
            }
            _ => {
                let message = format!(
                    "a new cluster would be named {place}, and there is one of that name that the request cannot use"
                );
                Ok(self.conflict(message, run))
            }
        }
    }

    /// The Cluster that already has the finalizer of a request whose status was lost: the first one in
    /// scope, even if other filters refuse it now.
    fn recover(&self, solved: &PipelineOutcome) -> Option<(Ix, Place)> {
        let places = self.fleet.held_by(&self.request.wants.holder);
        places
            .filter_map(|place| Some((self.fleet.find(place)?.0, place.clone())))
            .find(|(candidate, _)| {
                let refusals = solved.rejections_of(*candidate);
                !refusals
                    .iter()
                    .map(Plugin::of_rejection)
                    .any(Plugin::selects_scope)
            })
    }

    /// The place of a new Cluster.
    fn new_place(&self, mapping: &Mapping) -> Result<Place, NamingError> {
        let meta = self.request.object.meta();
        let home = mapping.home(meta.namespace());
        if !self.request.wants.random {
            let name = mapping.naming.name(meta.namespace(), meta.name())?;
            return Ok(Place::new(home, &name));
        }
        let mut random = Random::new(self.seed());
        let mut place = Place::new(home, &mapping.naming.random(&mut random)?);
        // As in the API server, another random name is drawn if the name exists.
        for _ in 0..7 {
            if self.fleet.cluster(&place).is_none() {
                break;
            }
            place = Place::new(home, &mapping.naming.random(&mut random)?);
        }
        Ok(place)
    }

    /// The seed of random choices. It differs between requests even if callers pass equal seeds.
    fn seed(&self) -> u64 {
        let holder = self.request.wants.holder.bytes();
        holder.fold(self.ask.seed ^ 0xcbf2_9ce4_8422_2325, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
        })
    }

    fn run(&self, settings: Option<(&Config, &Mapping)>) -> PipelineRun {
        Request::new(self.fleet, self.request, settings).solve(self.seed())
    }

    fn unknown_purpose(&self, config: &Config) -> Decision {
        let known: Vec<String> = config
            .purposes
            .keys()
            .map(|purpose| format!("\"{purpose}\""))
            .collect();
        let known = if known.is_empty() {
            "no purposes are configured".to_owned()
        } else {
            format!("configured are {}", known.join(", "))
        };
        let message = format!(
            "purpose \"{}\" is not configured; {known}",
            self.request.wants.purpose
        );
        let run = (PipelineOutcome::default(), Vec::new());
        self.fail(Outcome::Invalid, "UnknownPurpose", message, run)
    }

    fn conflict(&self, message: String, run: PipelineRun) -> Decision {
        self.fail(Outcome::Unschedulable, "ClusterConflict", message, run)
    }

    fn fail(&self, outcome: Outcome, reason: &'static str, message: String, run: PipelineRun) -> Decision {
        let mut decision = self.after_a_run(outcome, reason, run);
        let current = decision.current.iter();
        let granted = self.request.status.cluster.as_ref();
        let kept = current.map(|current| {
            let is_granted = granted.is_some_and(|granted| *granted.cluster_name == *current.cluster_name);
            change(
                Action::Keep,
                current,
                if is_granted { PENDING } else { current.state },
            )
        });
        decision.changes = kept.collect();
        self.plan(&mut decision, Plan::Fail { reason, message });
        decision
    }

    fn grant(&self, place: Place, step: Step, picked: Option<Ix>, run: PipelineRun) -> Decision {
        let request = self.request;
        let name = self.fleet.name_of(&place);
        let lacks = self.fleet.find(&place).is_some_and(|(_, row)| {
            row.facts.exclusive && request.wants.metadata.is_missing_on(&row.record.object)
        });
        let idle = step == Step::None
            && !lacks
            && request.finalized
            && request.wants.operation != Operation::Reconcile
            && request.status.grants(&place, request.wants.generation);
        let (outcome, reason) = match step {
            _ if idle => (Outcome::Unchanged, "Kept"),
            Step::Create | Step::Recreate => (Outcome::Provision, "Created"),
            Step::Join if request.status.cluster.is_none() => (Outcome::Scheduled, "Picked"),
            Step::Join | Step::None => (Outcome::Scheduled, "Kept"),
        };
        let mut decision = self.after_a_run(outcome, reason, run);
        decision.solved.picked = picked.into_iter().collect();
        let mut known = false;
        let mut changes: Vec<BindingChange> = decision
            .current
            .iter()
            .map(|current| {
                let is_this = *current.cluster_name == *name;
                known |= is_this;
                change(
                    Action::Keep,
                    current,
                    if is_this { GRANTED } else { current.state },
                )
            })
            .collect();
        if !known {
            let action = match step {
                Step::Create | Step::Recreate => Action::Create,
                Step::Join | Step::None => Action::Bind,
            };
            changes.push(BindingChange {
                action,
                cluster_name: name,
                from: "",
                to: GRANTED,
                amount_from: None,
                amount_to: None,
            });
        }
        decision.changes = changes;
        if step == Step::Create && self.shares() {
            decision.fences = vec![NEW_CLUSTERS.into()];
        }
        self.plan(&mut decision, Plan::Grant { place, step, lacks });
        decision
    }

    /// Whether a Cluster created for the request would be shared with others.
    fn shares(&self) -> bool {
        let mapping = self.fleet.mapping(self.request);
        mapping.is_some_and(|mapping| mapping.tenancy != Tenancy::Exclusive)
    }

    fn release(&self) -> Decision {
        let mut decision = self.without_a_run(Outcome::Released, "Released");
        let released = decision
            .current
            .iter()
            .map(|current| change(Action::Unbind, current, ""));
        decision.changes = released.collect();
        self.plan(
            &mut decision,
            Plan::Release(Release::of(self.fleet, self.request)),
        );
        decision
    }

    fn plan(&self, decision: &mut Decision, plan: Plan) {
        let config = self.fleet.config.as_deref();
        decision.detail = Box::new(Detail {
            plan,
            strategy: config.map(|config| config.strategy).unwrap_or_default(),
            chosen: self.ask.chosen.is_some(),
        });
    }

    fn without_a_run(&self, outcome: Outcome, reason: &'static str) -> Decision {
        let current = self.fleet.bound(self.request);
        let mut decision = Decision {
            demand: self.ask.demand.clone(),
            demand_revision: self.request.object.revision(),
            outcome,
            reason,
            solved: PipelineOutcome::default(),
            amounts: Vec::new(),
            scorers: Vec::new(),
            unknown: Vec::new(),
            changes: current
                .iter()
                .map(|current| change(Action::Keep, current, current.state))
                .collect(),
            current,
            // The finalizer on a Cluster guards its capacity, so no fence is needed.
            fences: Vec::new(),
            due_at: None,
            now: self.ask.now,
            detail: Box::new(()),
        };
        self.plan(&mut decision, Plan::Nothing);
        decision
    }

    fn after_a_run(
        &self,
        outcome: Outcome,
        reason: &'static str,
        (solved, scorers): PipelineRun,
    ) -> Decision {
        Decision {
            solved,
            amounts: Vec::new(),
            scorers,
            ..self.without_a_run(outcome, reason)
        }
    }
}

fn change(action: Action, current: &Current, to: &'static str) -> BindingChange {
    BindingChange {
        action,
        cluster_name: Arc::clone(&current.cluster_name),
        from: current.state,
        to,
        amount_from: None,
        amount_to: None,
    }
}

#[cfg(test)]
mod tests;
