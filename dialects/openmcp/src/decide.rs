//! Decisions on a request (docs/systems/openmcp.md, "Picking").

mod choice;

use std::sync::Arc;

use berth_dialect_contract::{Action, Ask, BindingChange, ChoiceRefusal, CurrentPlace, Decision, Outcome};
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
/// room, the second one is decided again, so that it can share the Cluster of the first.
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

    /// The binding of a request: the Clusters with the request's finalizer, and the Cluster in the request's
    /// status, if that Cluster exists. A request that is being deleted is only bound to Clusters with its
    /// finalizer.
    pub(crate) fn bound(&self, request: &Record) -> Vec<CurrentPlace> {
        let granted = request.status.cluster.as_ref();
        let state = |place: &Place| match granted {
            Some(granted) if granted.place == *place => request.status.phase,
            _ => "",
        };
        let holder = &request.requirements.holder;
        let mut places: Vec<&Place> = self.clusters_held_by(holder).collect();
        if let Some(granted) = granted
            && !request.requirements.deleting
            && self.cluster(&granted.place).is_some()
            && !self.holds(holder, &granted.place)
        {
            places.push(&granted.place);
            places.sort();
        }
        let bound = places.into_iter().map(|place| CurrentPlace {
            cluster_name: self.cluster_name_of(place),
            state: state(place),
            amount: None,
        });
        bound.collect()
    }

    /// The cluster name of the Cluster at `place`.
    pub(crate) fn cluster_name_of(&self, place: &Place) -> Arc<str> {
        match self.find(place) {
            Some((_, row)) => Arc::clone(&row.record.cluster_name),
            None => place.to_string().into(),
        }
    }
}

impl<'a> DecisionParts<'a> {
    /// Decides the request.
    fn judge(&self) -> Result<Decision, ChoiceRefusal> {
        if self.request.requirements.deleting {
            return Ok(self.release());
        }
        if self.fleet.ignores(self.request) {
            return Ok(self.without_run(Outcome::Ignored, "Ignored"));
        }
        let config = self.fleet.config.as_deref();
        let mapping = self.fleet.mapping(self.request).map(|mapping| &**mapping);
        if let Some(granted) = &self.request.status.cluster {
            return self.keep(granted, config.zip(mapping));
        }
        match (config, mapping) {
            (None, _) => Ok(self.without_run(Outcome::Invalid, "ConfigInvalid")),
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
        self.require_granted_choice(granted)?;
        let place = &granted.place;
        let run = self.run(settings);
        let Some((candidate, row)) = self.fleet.find(place) else {
            return Ok(self.recreate(granted, settings, run));
        };
        let step = if self.fleet.holds(&self.request.requirements.holder, place) {
            Step::None
        } else if row.facts.deleting {
            let message = format!(
                "cluster {place} is being deleted and no longer has the finalizer of the request; it is created again once \
                 it is gone"
            );
            return Ok(self.conflict(message, run));
        } else {
            Step::Join
        };
        if step == Step::Join && self.fleet.config.is_none() {
            return Ok(self.without_run(Outcome::Invalid, "ConfigInvalid"));
        }
        Ok(self.grant(place.clone(), step, Some(candidate), run))
    }

    /// The decision on a request whose granted Cluster does not exist or cannot be parsed.
    fn recreate(
        &self,
        granted: &GrantedCluster,
        settings: Option<(&Config, &Mapping)>,
        run: PipelineRun,
    ) -> Decision {
        let place = &granted.place;
        match (self.fleet.config.as_deref(), settings) {
            (None, _) => self.without_run(Outcome::Invalid, "ConfigInvalid"),
            _ if self.fleet.cluster(place).is_some() => self.conflict(
                format!("cluster {place} cannot be read: correct or delete it"),
                run,
            ),
            (Some(config), None) => self.unknown_purpose(config),
            (Some(_), Some(_)) => self.grant(place.clone(), Step::Recreate, None, run),
        }
    }

    /// The decision on a request without a granted Cluster: a Cluster that fits, or a new one.
    fn schedule(&self, config: &Config, mapping: &Mapping) -> Result<Decision, ChoiceRefusal> {
        let run = self.run(Some((config, mapping)));
        if let Some((candidate, place)) = self.recover(&run.0) {
            self.require_held_choice(&place)?;
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
            Some((candidate, _)) if self.fleet.holds(&self.request.requirements.holder, &place) => {
                Ok(self.grant(place, Step::None, Some(candidate), run))
            }
            _ => {
                let message = format!(
                    "a new cluster would be named {place}, but the request cannot use the cluster with this name: delete \
                     that cluster, or change the name in the template of the purpose"
                );
                Ok(self.conflict(message, run))
            }
        }
    }

    /// The Cluster that already has the finalizer of a request whose status was lost: the first one in
    /// scope, even if other filters refuse it now.
    fn recover(&self, solved: &PipelineOutcome) -> Option<(Ix, Place)> {
        let places = self.fleet.clusters_held_by(&self.request.requirements.holder);
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
        let namespace = mapping.cluster_namespace(meta.namespace());
        if !self.request.requirements.random_name {
            let name = mapping.naming.name(meta.namespace(), meta.name())?;
            return Ok(Place::new(namespace, &name));
        }
        let mut random = Random::new(self.seed());
        let mut place = Place::new(namespace, &mapping.naming.random_name(&mut random)?);
        // As in the API server, another random name is drawn if the name exists.
        for _ in 0..7 {
            if self.fleet.cluster(&place).is_none() {
                break;
            }
            place = Place::new(namespace, &mapping.naming.random_name(&mut random)?);
        }
        Ok(place)
    }

    /// The seed of random choices. It differs between requests even if callers pass equal seeds.
    fn seed(&self) -> u64 {
        let holder = self.request.requirements.holder.bytes();
        holder.fold(self.ask.seed ^ 0xcbf2_9ce4_8422_2325, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
        })
    }

    /// Runs the pipeline for the request.
    fn run(&self, settings: Option<(&Config, &Mapping)>) -> PipelineRun {
        Request::new(self.fleet, self.request, settings).solve(self.seed())
    }

    /// The decision on a request whose purpose is not configured.
    fn unknown_purpose(&self, config: &Config) -> Decision {
        let known: Vec<String> = config
            .purposes
            .keys()
            .map(|purpose| format!("\"{purpose}\""))
            .collect();
        let known = if known.is_empty() {
            "no purposes are configured".to_owned()
        } else {
            format!("the configured purposes are {}", known.join(", "))
        };
        let message = format!(
            "purpose \"{}\" is not configured; {known}",
            self.request.requirements.purpose
        );
        let run = (PipelineOutcome::default(), Vec::new());
        self.fail(Outcome::Invalid, "UnknownPurpose", message, run)
    }

    /// The decision on a request whose Cluster cannot be granted, created or read.
    fn conflict(&self, message: String, run: PipelineRun) -> Decision {
        self.fail(Outcome::Unschedulable, "ClusterConflict", message, run)
    }

    /// The decision that leaves the request Pending with this reason and message. The request keeps its binding.
    fn fail(&self, outcome: Outcome, reason: &'static str, message: String, run: PipelineRun) -> Decision {
        let mut decision = self.after_run(outcome, reason, run);
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
        self.set_detail(&mut decision, Plan::Fail { reason, message });
        decision
    }

    /// The decision that grants the Cluster at `place`; `picked` is the Cluster as a candidate, if it exists.
    fn grant(&self, place: Place, step: Step, picked: Option<Ix>, run: PipelineRun) -> Decision {
        let request = self.request;
        let name = self.fleet.cluster_name_of(&place);
        let lacks_metadata = self.fleet.find(&place).is_some_and(|(_, row)| {
            row.facts.exclusive && request.requirements.metadata.is_missing_on(&row.record.object)
        });
        let is_unchanged = step == Step::None
            && !lacks_metadata
            && request.has_finalizer
            && request.requirements.operation != Operation::Reconcile
            && request.status.grants(&place, request.requirements.generation);
        let (outcome, reason) = match step {
            _ if is_unchanged => (Outcome::Unchanged, "Kept"),
            Step::Create | Step::Recreate => (Outcome::Provision, "Created"),
            Step::Join if request.status.cluster.is_none() => (Outcome::Scheduled, "Picked"),
            Step::Join | Step::None => (Outcome::Scheduled, "Kept"),
        };
        let mut decision = self.after_run(outcome, reason, run);
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
        if step == Step::Create && self.is_new_cluster_shared() {
            decision.fences = vec![NEW_CLUSTERS.into()];
        }
        let plan = Plan::Grant {
            place,
            step,
            lacks_metadata,
        };
        self.set_detail(&mut decision, plan);
        decision
    }

    /// Whether a Cluster created for the request may be shared with other requests.
    fn is_new_cluster_shared(&self) -> bool {
        let mapping = self.fleet.mapping(self.request);
        mapping.is_some_and(|mapping| mapping.tenancy != Tenancy::Exclusive)
    }

    /// The decision on a request that is being deleted, which releases its Clusters.
    fn release(&self) -> Decision {
        let mut decision = self.without_run(Outcome::Released, "Released");
        let released = decision
            .current
            .iter()
            .map(|current| change(Action::Unbind, current, ""));
        decision.changes = released.collect();
        self.set_detail(
            &mut decision,
            Plan::Release(Release::of(self.fleet, self.request)),
        );
        decision
    }

    fn set_detail(&self, decision: &mut Decision, plan: Plan) {
        let config = self.fleet.config.as_deref();
        decision.detail = Box::new(Detail {
            plan,
            strategy: config.map(|config| config.strategy).unwrap_or_default(),
            chosen: self.ask.chosen.is_some(),
        });
    }

    /// A decision without a run of the pipeline, which keeps the binding and writes nothing.
    fn without_run(&self, outcome: Outcome, reason: &'static str) -> Decision {
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
        self.set_detail(&mut decision, Plan::Nothing);
        decision
    }

    /// A decision with the result of a run of the pipeline, which keeps the binding and writes nothing.
    fn after_run(&self, outcome: Outcome, reason: &'static str, (solved, scorers): PipelineRun) -> Decision {
        Decision {
            solved,
            amounts: Vec::new(),
            scorers,
            ..self.without_run(outcome, reason)
        }
    }
}

fn change(action: Action, current: &CurrentPlace, to: &'static str) -> BindingChange {
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
