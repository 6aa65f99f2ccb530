//! Projects as scheduling uses them: the default and the allowed tolerations of their shoots.

use std::sync::Arc;

use berth_apimachinery::{FieldError, Object, Timestamp};
use serde::Deserialize;
use serde_json::Value;

use super::Fleet;
use super::shoot::Requirements;
use crate::kind::project;
use crate::kind::shoot::spec::Toleration;
use crate::names::{GARDEN_NAMESPACE, PROJECT_PREFIX, PROTECTED_TAINT};

/// The settings of a project for its shoots.
pub(crate) struct Project {
    pub(crate) object: Arc<Object>,
    /// The name of the project.
    pub(crate) name: Arc<str>,
    /// The namespace of the project's shoots.
    pub(crate) namespace: Arc<str>,
    /// The default and the allowed tolerations of the project's shoots.
    pub(crate) tolerations: project::ProjectTolerations,
    /// Whether the object could be parsed. If not, the project keeps its namespace, and allows no toleration
    /// there.
    pub(crate) is_readable: bool,
    /// The project's claim to the namespace.
    pub(super) claim: Claim,
}

/// The claim of a project to its namespace: the creation time of the project and its name. The smallest
/// claim wins; a project without a creation time, from a file, comes last.
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

    /// A Project that cannot be parsed, with its namespace.
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

    /// Whether `other` has equal settings for the same shoots.
    pub(crate) fn has_same_settings(&self, other: &Self) -> bool {
        (&self.namespace, &self.tolerations, &self.claim)
            == (&other.namespace, &other.tolerations, &other.claim)
    }
}

/// Validates the raw Project `new`, which is created or replaces `old`: its namespace must not belong to
/// another Project.
pub(crate) fn judge(fleet: &Fleet, old: Option<&Value>, new: &Value) -> Vec<FieldError> {
    let name = new.pointer("/metadata/name").and_then(Value::as_str);
    let name = name.unwrap_or_default();
    // The kind refuses an object that cannot be parsed, with the exact field.
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
        let detail = format!("the namespace is that of Project \"{}\"", other.name);
        FieldError::invalid("spec.namespace", new_namespace, detail)
    });
    owner.into_iter().collect()
}

impl Fleet {
    /// The project that owns `namespace`; of several projects, the oldest.
    pub(crate) fn project_of(&self, namespace: &str) -> Option<&Arc<Project>> {
        let (_, name) = self.grounds.get(namespace)?.get_min()?;
        self.projects.get(name)
    }

    /// The name of the project that owns `namespace`. If there is none, the name that follows from the name
    /// of the namespace.
    pub(crate) fn project_name<'a>(&'a self, namespace: &'a str) -> &'a str {
        match self.project_of(namespace) {
            Some(project) => &project.name,
            None => namespace.strip_prefix(PROJECT_PREFIX).unwrap_or(namespace),
        }
    }

    /// Whether shoots in `namespace` may have `toleration`: the configuration or their project allows it; or
    /// they have no project, and the taint is not the taint of protected seeds. Shoots in the garden's
    /// namespace may always tolerate protected seeds.
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

    /// The default tolerations of a shoot from the configuration and the project, without those whose keys
    /// its own tolerations have.
    pub(crate) fn default_tolerations<'a>(&'a self, wants: &Requirements) -> Vec<&'a Toleration> {
        let of_configuration = self.config.tolerations.defaults.iter();
        let project = self.project_of(&wants.namespace);
        let of_project = project
            .into_iter()
            .flat_map(|project| &project.tolerations.defaults);
        let named = |key: &str| wants.tolerations.iter().any(|own| own.key == key);
        of_configuration
            .chain(of_project)
            .filter(|default| !named(&default.key))
            .collect()
    }

    /// The tolerations of a shoot that count, its own first.
    ///
    /// A shoot without a seed has the allowed ones among its own tolerations. A shoot with a seed
    /// (`is_judged`) was checked when it got the seed, and has all its own tolerations.
    pub(crate) fn tolerations_of<'a>(
        &'a self,
        wants: &'a Requirements,
        is_judged: bool,
    ) -> Vec<&'a Toleration> {
        // Without a project all tolerations count: the shoot was checked when it was stored.
        let is_judged = is_judged || self.project_of(&wants.namespace).is_none();
        let counts = |own: &&Toleration| is_judged || self.may_tolerate(&wants.namespace, own);
        let own = wants.tolerations.iter().filter(counts);
        own.chain(self.default_tolerations(wants)).collect()
    }
}
