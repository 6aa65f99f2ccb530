//! A project as scheduling sees it: which taints its shoots put up with, and may.

use std::sync::Arc;

use meta::Object;

use super::Fleet;
use super::shoot::Wants;
use crate::kind::project;
use crate::kind::shoot::spec::Toleration;
use crate::names::{GARDEN_NAMESPACE, PROJECT_PREFIX, PROTECTED_TAINT};

/// A project's say about its shoots.
pub(crate) struct Project {
    pub(crate) object: Arc<Object>,
    /// Its name.
    pub(crate) name: Arc<str>,
    /// The namespace its shoots are in.
    pub(crate) namespace: Arc<str>,
    /// Tolerations of its shoots: those by default where they do not say, and those they may have.
    pub(crate) tolerations: project::ProjectTolerations,
}

impl Project {
    /// Reads a Project.
    ///
    /// # Errors
    /// Why it cannot be read.
    pub(crate) fn read(object: &Arc<Object>) -> Result<Self, String> {
        let project: project::Project = object.view().map_err(|error| error.to_string())?;
        let name = object.meta().name();
        Ok(Self {
            object: Arc::clone(object),
            name: name.into(),
            namespace: project.namespace(name).into(),
            tolerations: project.spec.tolerations.unwrap_or_default(),
        })
    }

    /// Whether `other` says the same of the same shoots.
    pub(crate) fn says_as(&self, other: &Self) -> bool {
        self.namespace == other.namespace && self.tolerations == other.tolerations
    }
}

impl Fleet {
    /// The project whose `namespace` is; of several that say so, the first by name.
    pub(crate) fn project_of(&self, namespace: &str) -> Option<&Arc<Project>> {
        self.projects.get(self.grounds.get(namespace)?.get_min()?)
    }

    /// The name of the project whose `namespace` is: without one, the one it would have by the name of its namespace.
    pub(crate) fn project_name<'a>(&'a self, namespace: &'a str) -> &'a str {
        match self.project_of(namespace) {
            Some(project) => &project.name,
            None => namespace.strip_prefix(PROJECT_PREFIX).unwrap_or(namespace),
        }
    }

    /// Whether shoots in `namespace` may have `toleration`: the configuration or their project allows it, or there is no
    /// project that could, and the taint is not the one that protects seeds.
    pub(crate) fn may_tolerate(&self, namespace: &str, toleration: &Toleration) -> bool {
        let protects = toleration.key == PROTECTED_TAINT;
        if protects && namespace == GARDEN_NAMESPACE {
            return true;
        }
        let allows = |list: &[Toleration]| list.iter().any(|allowed| allowed.allows(toleration));
        allows(&self.config.tolerations.whitelist)
            || match self.project_of(namespace) {
                Some(project) => allows(&project.tolerations.whitelist),
                None => !protects,
            }
    }

    /// Tolerations that the configuration and the project give to a shoot by default: those of the
    /// keys that it does not name.
    pub(crate) fn default_tolerations<'a>(&'a self, wants: &Wants) -> Vec<&'a Toleration> {
        let everywhere = self.config.tolerations.defaults.iter();
        let project = self.project_of(&wants.namespace);
        let here = project
            .into_iter()
            .flat_map(|project| &project.tolerations.defaults);
        let named = |key: &str| wants.tolerations.iter().any(|own| own.key == key);
        everywhere
            .chain(here)
            .filter(|default| !named(&default.key))
            .collect()
    }

    /// The tolerations of a shoot that count, its own first.
    ///
    /// One without a seed has those it may have. One that got its seed was judged then: it keeps its own.
    pub(crate) fn tolerations_of<'a>(&'a self, wants: &'a Wants, is_judged: bool) -> Vec<&'a Toleration> {
        // Without a project there is nobody to ask: whoever stored the shoot has judged it.
        let is_judged = is_judged || self.project_of(&wants.namespace).is_none();
        let counts = |own: &&Toleration| is_judged || self.may_tolerate(&wants.namespace, own);
        let own = wants.tolerations.iter().filter(counts);
        own.chain(self.default_tolerations(wants)).collect()
    }
}
