//! Consultation of external rules after Berth's own: admission policies, and the hub's webhooks.

use std::sync::Arc;
use std::time::Instant;

use berth_apimachinery::Status;
use serde_json::Value;

use super::{Chain, Phase};
use crate::client::{Policies, PolicyNotes, Rounds, Subject};

impl Chain {
    /// Adds `policies`, which are consulted after the plugins of each pass and after earlier added policies.
    #[must_use]
    pub fn with_policies(mut self, policies: Arc<dyn Policies>) -> Self {
        self.policies.push(policies);
        self
    }

    /// Whether policies or webhooks may concern `subject`.
    #[must_use]
    pub fn consults(&self, subject: &Subject<'_>) -> bool {
        self.matching(subject).next().is_some()
    }

    /// Cost to this server of consulting the policies about `subject`: see [`Policies::effort`].
    #[must_use]
    pub fn effort(&self, subject: &Subject<'_>) -> usize {
        let all = self.policies.iter().map(|policies| policies.effort(subject));
        all.fold(0, usize::saturating_add)
    }

    fn matching(&self, subject: &Subject<'_>) -> impl Iterator<Item = &dyn Policies> {
        let all = self.policies.iter().map(|policies| &**policies);
        all.filter(|policies| policies.concern(subject))
    }

    /// Lets policies and webhooks change `object`, after the plugins; `object` is null on delete. The plugins
    /// run again over these changes, and then the earlier policies and webhooks with `reinvocationPolicy:
    /// IfNeeded`. Returns the names of the webhook configurations, and the keys of the policies, that changed
    /// the object.
    ///
    /// # Errors
    /// The first refusal, as the client sees it.
    pub async fn mutate_by_policies(
        &self,
        subject: &Subject<'_>,
        object: &mut Value,
        notes: &mut PolicyNotes,
    ) -> Result<Vec<Arc<str>>, Status> {
        let matching: Vec<&dyn Policies> = self.matching(subject).collect();
        if matching.is_empty() {
            return Ok(Vec::new());
        }
        let mut rounds = Rounds::default();
        if !object.is_null() {
            subject.default(object);
        }
        self.round(&matching, subject, object, &mut rounds, notes).await?;
        if !rounds.changed() {
            return Ok(Vec::new());
        }
        self.mutate(subject.request, object, &mut notes.warnings)?;
        if rounds.again(object) {
            self.round(&matching, subject, object, &mut rounds, notes).await?;
        }
        Ok(rounds.into_changers())
    }

    /// Runs one round of all policies and webhooks.
    async fn round(
        &self,
        matching: &[&dyn Policies],
        subject: &Subject<'_>,
        object: &mut Value,
        rounds: &mut Rounds,
        notes: &mut PolicyNotes,
    ) -> Result<(), Status> {
        for policies in matching {
            let start = Instant::now();
            let result = policies.mutate(subject, object, rounds, notes).await;
            let (name, took) = (policies.names().0, start.elapsed());
            self.report_pass(Some(name), Phase::Mutate, subject.request, result.is_err(), took);
            result?;
        }
        rounds.ended(object);
        Ok(())
    }

    /// Lets policies and webhooks judge the final object, which all plugins allow; `object` is `None` on
    /// delete.
    ///
    /// # Errors
    /// The first refusal, as the client sees it.
    pub async fn validate_by_policies(
        &self,
        subject: &Subject<'_>,
        object: Option<&Value>,
        notes: &mut PolicyNotes,
    ) -> Result<(), Status> {
        let matching: Vec<&dyn Policies> = self.matching(subject).collect();
        for policies in matching {
            let start = Instant::now();
            let result = policies.validate(subject, object, notes).await;
            let (name, took) = (policies.names().1, start.elapsed());
            self.report_pass(
                Some(name),
                Phase::Validate,
                subject.request,
                result.is_err(),
                took,
            );
            result?;
        }
        Ok(())
    }
}
