//! Projects as decisions use them: the default and the allowed tolerations of the shoots of a project.

use std::collections::HashSet;
use std::sync::Arc;

use berth_apimachinery::{FieldError, Object, Timestamp};
use serde::Deserialize;
use serde_json::Value;

use super::Fleet;
use super::shoot::Requirements;
use crate::kind::project;
use crate::kind::shoot::spec::Toleration;
use crate::names::{GARDEN_NAMESPACE, PROJECT_PREFIX, PROTECTED_TAINT};

/// The data of a Project that decisions use.
pub(crate) struct Project {
    /// The Project itself.
    pub(crate) object: Arc<Object>,
    /// The name of the project.
    pub(crate) name: Arc<str>,
    /// The namespace of the project's shoots.
    pub(crate) namespace: Arc<str>,
    /// The default and the allowed tolerations of the project's shoots.
    pub(crate) tolerations: project::ProjectTolerations,
    /// Whether the object could be parsed. A Project that could not be parsed still has its namespace, and
    /// allows no tolerations.
    pub(crate) is_readable: bool,
    /// The claim of the project on its namespace.
    pub(super) claim: Claim,
}

/// The claim of a project on its namespace: the creation time and the name of the project. Of several
/// projects with one namespace, the project with the smallest claim has the namespace. A project from a file
/// has no creation time, and comes last.
pub(crate) type Claim = (Timestamp, Arc<str>);

impl Project {
    /// Parses a Project.
    ///
    /// # Errors
    /// The reason why the object cannot be parsed.
    pub(crate) fn read(object: &Arc<Object>) -> Result<Self, String> {
        let project: project::Project = object.view().map_err(|error| error.to_string())?;
        Ok(Self::of(object, project))
    }

    /// The data of a Project that cannot be parsed: only name and namespace.
    pub(crate) fn unreadable(object: &Arc<Object>) -> Self {
        let namespace = object.value().pointer("/spec/namespace");
        let mut project = project::Project::default();
        project.spec.namespace = namespace.and_then(Value::as_str).map(str::to_owned);
        Self {
            is_readable: false,
            ..Self::of(object, project)
        }
    }

    fn of(object: &Arc<Object>, project: project::Project) -> Self {
        let meta = object.meta();
        let name: Arc<str> = meta.name().into();
        Self {
            object: Arc::clone(object),
            namespace: project.namespace(&name).into(),
            claim: (
                meta.creation_timestamp().unwrap_or(Timestamp::MAX),
                Arc::clone(&name),
            ),
            name,
            tolerations: project.spec.tolerations.unwrap_or_default(),
            is_readable: true,
        }
    }

    /// Whether `other`, another version of the project, has an equal namespace, claim and tolerations.
    pub(crate) fn has_same_settings(&self, other: &Self) -> bool {
        (&self.namespace, &self.tolerations, &self.claim)
            == (&other.namespace, &other.tolerations, &other.claim)
    }
}

/// The error of the raw Project `new`, which is created or replaces `old`, if it has a new namespace that
/// belongs to another Project.
pub(crate) fn namespace_errors(fleet: &Fleet, old: Option<&Value>, new: &Value) -> Vec<FieldError> {
    let name = new.pointer("/metadata/name").and_then(Value::as_str);
    let name = name.unwrap_or_default();
    // The kind refuses a Project that cannot be parsed, with the exact field.
    let namespace = |value: &Value| {
        let project = project::Project::deserialize(value).ok();
        project.map(|project| project.namespace(name))
    };
    let Some(new_namespace) = namespace(new) else {
        return Vec::new();
    };
    if old
        .and_then(namespace)
        .is_some_and(|before| before == new_namespace)
    {
        return Vec::new();
    }
    let owner = fleet
        .project_of(&new_namespace)
        .filter(|other| *other.name != *name);
    let owner = owner.map(|other| {
        let detail = format!(
            "the namespace belongs to Project \"{}\": choose another namespace",
            other.name
        );
        FieldError::invalid("spec.namespace", new_namespace, detail)
    });
    owner.into_iter().collect()
}

impl Fleet {
    /// The project to which `namespace` belongs: of several projects with this namespace, the oldest.
    pub(crate) fn project_of(&self, namespace: &str) -> Option<&Arc<Project>> {
        let (_, name) = self.claims.get(namespace)?.get_min()?;
        self.projects.get(name)
    }

    /// The name of the project to which `namespace` belongs. Without such a project, the name of the
    /// namespace without the prefix that Gardener gives the namespaces of projects.
    pub(crate) fn project_name<'a>(&'a self, namespace: &'a str) -> &'a str {
        match self.project_of(namespace) {
            Some(project) => &project.name,
            None => namespace.strip_prefix(PROJECT_PREFIX).unwrap_or(namespace),
        }
    }

    /// Whether shoots in `namespace` may have `toleration`. The configuration or the project of the namespace
    /// must allow the toleration. Without a project, every toleration is allowed, except for that of
    /// protected seeds, which the configuration must allow. In the namespace of the garden, the toleration of
    /// protected seeds is always allowed.
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

    /// The default tolerations of a shoot by the configuration and by its project, without defaults for keys
    /// of the shoot's own tolerations. Of several defaults for one key, only the last is included: it is the
    /// one that counts, and a shoot may not have two equal tolerations.
    pub(crate) fn default_tolerations<'a>(&'a self, requirements: &Requirements) -> Vec<&'a Toleration> {
        let of_configuration = self.config.tolerations.defaults.iter();
        let project = self.project_of(&requirements.namespace);
        let of_project = project.map_or(&[][..], |project| &project.tolerations.defaults);
        let own = requirements.tolerations.iter();
        let mut named: HashSet<&str> = own.map(|own| own.key.as_str()).collect();
        let mut defaults: Vec<&Toleration> = of_configuration
            .chain(of_project)
            .rev()
            .filter(|default| named.insert(&default.key))
            .collect();
        defaults.reverse();
        defaults
    }

    /// The tolerations of a shoot that apply: first its own tolerations, then defaults.
    ///
    /// Of the own tolerations of a shoot without a seed, only allowed tolerations apply. All of them apply if
    /// `is_checked`, since the tolerations of a shoot with a seed were checked when it got the seed, and if
    /// the namespace of the shoot belongs to no project.
    pub(crate) fn tolerations_of<'a>(
        &'a self,
        requirements: &'a Requirements,
        is_checked: bool,
    ) -> Vec<&'a Toleration> {
        // Without a project, all tolerations apply: they were checked when the shoot was stored.
        let is_checked = is_checked || self.project_of(&requirements.namespace).is_none();
        let applies = |own: &&Toleration| is_checked || self.may_tolerate(&requirements.namespace, own);
        let own = requirements.tolerations.iter().filter(applies);
        own.chain(self.default_tolerations(requirements)).collect()
    }
}
