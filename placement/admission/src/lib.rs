//! The admission chains of the server: for objects that are served here, and for the webhooks that a hub
//! calls (docs/admission.md, "Guards" and "Admission").
//!
//! The rules of one system are plugins of its dialect. This crate has the plugins that need the
//! engine's snapshot or the program's own kinds, each for every dialect that requests it through the
//! contract. Start reading at [`Parts`], which builds the chains; a [`ReviewServer`] answers the webhooks.
//!
//! ```
//! use berth_placement_admission::{MUTATE_PATH, VALIDATE_PATH};
//!
//! // The paths in a webhook configuration on a hub.
//! assert_eq!([MUTATE_PATH, VALIDATE_PATH], ["/admission/mutate", "/admission/validate"]);
//! ```

mod address_limits;
mod audience;
mod authority;
mod auto_bind;
mod bound_on_create;
mod completion;
mod config_maps;
mod configurations;
mod consistency;
mod entrusted;
mod forecast;
mod forewarn;
mod in_force;
mod in_use;
mod knowledge;
mod owners;
mod parameters;
mod placed_on_create;
mod reserved;
mod responsible;
mod review_server;
mod stored_policies;
mod surroundings;

use std::sync::Arc;

use berth_admission::{Chain, Observer, Plugin};
use berth_apimachinery::Kind;
use berth_apiserver::Authorizer;
use berth_dialect_contract::Dialect;
use berth_engine::{Catalog, Engine};
use berth_storage::Source;

pub use audience::Audience;
pub use auto_bind::AutoBind;
pub use config_maps::{CONFIG_MAPS, LABEL as CONFIG_LABEL};
pub use in_force::Rules;
pub use review_server::{MUTATE_PATH, PATHS, ReviewServer, VALIDATE_PATH, routes};
pub use stored_policies::StoredPolicies;
pub use surroundings::Surroundings;

use berth_kubernetes::garbage::Protection;
use berth_kubernetes::namespaces::NamespaceLifecycle;
use berth_kubernetes::quota::ResourceQuotas;
use berth_kubernetes::rbac::{EscalationGuard, Rbac};
use bound_on_create::Precondition;
use entrusted::EntrustedPlugin;
use knowledge::Knowledge;

/// The components from which the admission chains are built.
pub struct Parts {
    /// The engine, which has the snapshots.
    pub engine: Arc<Engine>,
    /// The RBAC objects that are served here, for the check that users grant only rights that they have.
    pub rbac: Arc<Rbac>,
    /// The authorizer of API requests, for rights that a write needs in addition.
    pub authorizer: Arc<dyn Authorizer>,
    /// Groups whose members pass guards.
    pub break_glass: Vec<String>,
    /// Observer of the results, for metrics.
    pub observer: Arc<dyn Observer>,
    /// The kinds that are served here, as kinds of owners and as resources that a SchedulerConfiguration may
    /// name. Empty behind a hub, which checks owner references and may serve any resource.
    pub owners: Vec<Arc<dyn Kind>>,
    /// The admission policies that are stored here; `None` where a hub stores them.
    pub policies: Option<Arc<StoredPolicies>>,
}

impl Parts {
    /// Builds the chain for the objects that are served here; `source` has their namespaces.
    #[must_use]
    pub fn in_process(&self, source: &Arc<dyn Source>) -> Chain {
        let mut plugins: Vec<Arc<dyn Plugin>> = vec![
            Arc::new(NamespaceLifecycle::new(Arc::clone(source))),
            Arc::new(EscalationGuard::new(Arc::clone(&self.rbac))),
        ];
        if !self.owners.is_empty() {
            plugins.push(Arc::new(owners::OwnerReferences::new(&self.owners)));
        }
        if let Some(policies) = &self.policies {
            plugins.push(Arc::new(parameters::Parameters::of(policies)));
        }
        // Objects that are stored here follow the rules of their API under every scheduler; only guards
        // depend on the scheduler that decides.
        let rules = self.rules();
        plugins.extend(dialect_plugins(&rules, Plugin::is_guard));
        plugins.push(Arc::new(completion::Completion::new(Knowledge::new(
            &self.engine,
        ))));
        let engine_plugins = self
            .engine_plugins(Precondition::Guards, Audience::Known)
            .into_iter();
        plugins.extend(engine_plugins.map(|plugin| match plugin.is_guard() {
            true => EntrustedPlugin::of_all(&rules, plugin),
            false => plugin,
        }));
        plugins.push(Arc::new(configurations::Configurations::with_warnings_only(
            self.dialects(),
            self.owners.iter().map(|kind| kind.info().resource()).collect(),
        )));
        self.chain(plugins)
            .with_final_plugin(Arc::new(ResourceQuotas::new(Arc::clone(source))))
    }

    /// Builds the chain of the webhooks, which a hub calls about its own objects. `catalog` has the kinds of
    /// these objects, and `audience` receives the answers. The hub itself checks the namespace life cycle and
    /// RBAC.
    #[must_use]
    pub fn webhooks(&self, catalog: &Arc<Catalog>, audience: Audience) -> Chain {
        let rules = self.rules();
        let mut plugins = dialect_plugins(&rules, |_| true);
        let forewarn = forewarn::PlacementWarnings::new(
            Knowledge::new(&self.engine).for_audience(audience),
            Arc::clone(catalog),
        );
        let mut engine_plugins: Vec<Arc<dyn Plugin>> = vec![Arc::new(forewarn)];
        engine_plugins.extend(self.engine_plugins(Precondition::None, audience));
        plugins.extend(
            engine_plugins
                .into_iter()
                .map(|plugin| EntrustedPlugin::of_all(&rules, plugin)),
        );
        plugins.push(Arc::new(configurations::Configurations::with_validation(
            self.dialects(),
        )));
        self.chain(plugins)
    }

    /// Returns the protection of objects in use from the garbage collector and the namespace controller.
    #[must_use]
    pub fn protection(&self) -> Arc<dyn Protection> {
        Arc::new(in_use::InUseProtection::new(Knowledge::new(&self.engine)))
    }

    /// Returns the rules of each dialect, which follow the configuration of the dialect.
    #[must_use]
    pub fn rules(&self) -> Vec<Arc<Rules>> {
        let dialects = self.engine.dialects();
        dialects
            .map(|dialect| Rules::new(dialect, &self.engine))
            .collect()
    }

    fn engine_plugins(&self, precondition: Precondition, audience: Audience) -> Vec<Arc<dyn Plugin>> {
        let knowledge = || Knowledge::new(&self.engine).for_audience(audience);
        vec![
            Arc::new(bound_on_create::BoundOnCreate::new(knowledge(), precondition)),
            Arc::new(in_use::InUseProtection::new(knowledge())),
            Arc::new(reserved::ReservedObjects::new(knowledge())),
            Arc::new(consistency::ConsistencyCheck::new(knowledge())),
            Arc::new(config_maps::ConfigMaps::new(self.dialects())),
        ]
    }

    fn dialects(&self) -> Vec<Arc<dyn Dialect>> {
        self.engine.dialects().cloned().collect()
    }

    fn chain(&self, plugins: Vec<Arc<dyn Plugin>>) -> Chain {
        Chain::new(plugins)
            .observed_by(Arc::clone(&self.observer))
            .with_break_glass(self.break_glass.clone())
            .with_right_checker(Arc::new(authority::PluginAuthorizer::of(&self.authorizer)))
    }
}

/// Returns the plugins of the dialects of `rules`. Plugins for which `is_limited` is true are limited to the
/// objects that Berth decides.
fn dialect_plugins(rules: &[Arc<Rules>], is_limited: impl Fn(&dyn Plugin) -> bool) -> Vec<Arc<dyn Plugin>> {
    let mut plugins = Vec::new();
    for rules in rules {
        plugins.extend(
            rules
                .plugins()
                .into_iter()
                .map(|plugin| match is_limited(&*plugin) {
                    true => EntrustedPlugin::of(rules, plugin),
                    false => plugin,
                }),
        );
    }
    plugins
}
