//! Consultation of admission policies and of the hub's webhooks, after the plugins.

use std::sync::Arc;
use std::time::Instant;

use berth_apimachinery::Status;
use serde_json::Value;

use super::{Chain, Phase};
use crate::client::{Policies, PolicyNotes, Rounds, VersionedWrite};

impl Chain {
    /// Adds `policies`, which are consulted after the plugins and after the policies that were added before.
    #[must_use]
    pub fn with_policies(mut self, policies: Arc<dyn Policies>) -> Self {
        self.policies.push(policies);
        self
    }

    /// Whether a policy or webhook may match `write`.
    #[must_use]
    pub fn consults(&self, write: &VersionedWrite<'_>) -> bool {
        self.matching(write).next().is_some()
    }

    /// Cost to this server of consulting the policies about `write`: see [`Policies::effort`].
    #[must_use]
    pub fn effort(&self, write: &VersionedWrite<'_>) -> usize {
        let all = self.policies.iter().map(|policies| policies.effort(write));
        all.fold(0, usize::saturating_add)
    }

    fn matching(&self, write: &VersionedWrite<'_>) -> impl Iterator<Item = &dyn Policies> {
        let all = self.policies.iter().map(|policies| &**policies);
        all.filter(|policies| policies.concern(write))
    }

    /// Lets policies and webhooks change `object`, which is null on delete. If one changes it, the plugins
    /// run again, and then the policies and webhooks with `reinvocationPolicy: IfNeeded` whose result a later
    /// change may affect. Returns the names of the webhook configurations, and the keys of the policies, that
    /// changed the object.
    ///
    /// # Errors
    /// The first refusal, as the client sees it.
    pub async fn mutate_by_policies(
        &self,
        write: &VersionedWrite<'_>,
        object: &mut Value,
        notes: &mut PolicyNotes,
    ) -> Result<Vec<Arc<str>>, Status> {
        let matching: Vec<&dyn Policies> = self.matching(write).collect();
        if matching.is_empty() {
            return Ok(Vec::new());
        }
        let mut rounds = Rounds::default();
        if !object.is_null() {
            write.fill_defaults(object);
        }
        self.run_round(&matching, write, object, &mut rounds, notes)
            .await?;
        if !rounds.changed() {
            return Ok(Vec::new());
        }
        self.plugins_for(write.request)
            .mutate(object, &mut notes.warnings)?;
        if rounds.begin_second_round(object) {
            self.run_round(&matching, write, object, &mut rounds, notes)
                .await?;
        }
        Ok(rounds.into_changers())
    }

    /// Runs one round of the matching policies and webhooks.
    async fn run_round(
        &self,
        matching: &[&dyn Policies],
        write: &VersionedWrite<'_>,
        object: &mut Value,
        rounds: &mut Rounds,
        notes: &mut PolicyNotes,
    ) -> Result<(), Status> {
        for policies in matching {
            let start = Instant::now();
            let result = policies.mutate(write, object, rounds, notes).await;
            let (name, took) = (policies.names().0, start.elapsed());
            self.report_pass(Some(name), Phase::Mutate, write.request, result.is_err(), took);
            result?;
        }
        rounds.end_round(object);
        Ok(())
    }

    /// Lets policies and webhooks validate the final object, after all plugins have allowed it; `object` is
    /// `None` on delete.
    ///
    /// # Errors
    /// The first refusal, as the client sees it.
    pub async fn validate_by_policies(
        &self,
        write: &VersionedWrite<'_>,
        object: Option<&Value>,
        notes: &mut PolicyNotes,
    ) -> Result<(), Status> {
        let matching: Vec<&dyn Policies> = self.matching(write).collect();
        for policies in matching {
            let start = Instant::now();
            let result = policies.validate(write, object, notes).await;
            let (name, took) = (policies.names().1, start.elapsed());
            self.report_pass(Some(name), Phase::Validate, write.request, result.is_err(), took);
            result?;
        }
        Ok(())
    }
}
