//! Cloud profiles as decisions use them, and the lookup of the profile of a shoot.

use std::sync::Arc;

use berth_apimachinery::field::aggregate;
use berth_apimachinery::selector::Selector;
use berth_apimachinery::{Key, Object};

use super::Fleet;
use super::shoot::Requirements;
use crate::kind::cloud_profile::{CloudProfile, CloudProfileSpec};
use crate::kind::namespaced_cloud_profile::NamespacedCloudProfile;
use crate::kind::shoot::spec::{CLOUD_PROFILE, NAMESPACED_CLOUD_PROFILE};
use crate::names::{CLOUD_PROFILES, NAMESPACED_CLOUD_PROFILES};

/// The requirements of a cloud profile on seeds and shoots.
#[derive(Debug, PartialEq)]
pub(crate) struct Profile {
    /// The provider type of the profile's shoots.
    pub(crate) provider: String,
    /// The labels that seeds must have for the profile's shoots.
    pub(crate) selector: Selector,
    /// The allowed provider types of seeds; if empty, the requirements of the shoot decide.
    pub(crate) provider_types: Vec<String>,
    /// The allowed regions of the profile's shoots; empty if every region is allowed.
    pub(crate) regions: Vec<String>,
    /// Whether the profile's shoots may name the zones of their control planes.
    pub(crate) allows_zone_pinning: bool,
}

/// A NamespacedCloudProfile as decisions use it.
#[derive(Debug, PartialEq)]
pub(crate) struct NamespacedProfile {
    /// The name of the CloudProfile from which the profile is derived.
    pub(crate) parent: String,
    /// The profile that Gardener has merged from the CloudProfile and the NamespacedCloudProfile. Until it
    /// exists, shoots of the NamespacedCloudProfile use the CloudProfile.
    merged: Option<Arc<Profile>>,
}

impl Profile {
    /// Parses a CloudProfile.
    ///
    /// # Errors
    /// The reason why the object cannot be parsed.
    pub(crate) fn read(object: &Object) -> Result<Self, String> {
        let profile: CloudProfile = object.view().map_err(|error| error.to_string())?;
        Self::of(profile.spec, "spec")
    }

    /// The requirements in `spec`, which is at `path`.
    fn of(spec: CloudProfileSpec, path: &str) -> Result<Self, String> {
        let selector = spec.seed_selector.unwrap_or_default();
        let compiled = selector
            .compile(&format!("{path}.seedSelector"))
            .map_err(|errors| aggregate(&errors))?;
        let regions = spec.regions.unwrap_or_default().into_iter();
        Ok(Self {
            provider: spec.r#type,
            selector: compiled,
            provider_types: selector.provider_types,
            regions: regions.map(|region| region.name).collect(),
            allows_zone_pinning: spec.control_plane.is_some_and(|plane| plane.allow_zone_pinning),
        })
    }
}

impl NamespacedProfile {
    /// Parses a NamespacedCloudProfile.
    ///
    /// # Errors
    /// The reason why the object cannot be parsed.
    pub(crate) fn read(object: &Object) -> Result<Self, String> {
        let profile: NamespacedCloudProfile = object.view().map_err(|error| error.to_string())?;
        let merged = profile.status.and_then(|status| status.cloud_profile_spec);
        // Gardener first stores an empty merged profile.
        let merged = merged.filter(|merged| !merged.r#type.is_empty());
        let merged = merged.map(|merged| Profile::of(merged, "status.cloudProfileSpec"));
        Ok(Self {
            parent: profile.spec.parent.name,
            merged: merged.transpose()?.map(Arc::new),
        })
    }
}

impl Fleet {
    /// The profile of a shoot with these `requirements`, if it exists.
    pub(crate) fn profile_of(&self, requirements: &Requirements) -> Option<&Arc<Profile>> {
        let (kind, name) = &requirements.profile;
        self.profile(&requirements.namespace, (kind, name))
    }

    /// The profile with this kind and name for shoots in `namespace`, if it exists.
    pub(crate) fn profile(&self, namespace: &str, (kind, name): (&str, &str)) -> Option<&Arc<Profile>> {
        match kind {
            CLOUD_PROFILE => self.profiles.get(name),
            NAMESPACED_CLOUD_PROFILE => {
                let own = self.namespaced_profile(namespace, name)?;
                let parent = || self.profiles.get(own.parent.as_str());
                own.merged.as_ref().or_else(parent)
            }
            _ => None,
        }
    }

    /// The reason why the profile with this kind and name for shoots in `namespace`, or the CloudProfile that
    /// it extends, cannot be parsed. `None` if there is no such profile.
    pub(crate) fn profile_problem(&self, namespace: &str, (kind, name): (&str, &str)) -> Option<String> {
        match kind {
            CLOUD_PROFILE => self.unusable.problem(&Key::new(CLOUD_PROFILES, "", name)),
            NAMESPACED_CLOUD_PROFILE => match self.namespaced_profile(namespace, name) {
                Some(own) => {
                    let problem = self.profile_problem(namespace, (CLOUD_PROFILE, &own.parent))?;
                    Some(format!("{CLOUD_PROFILE} \"{}\": {problem}", own.parent))
                }
                None => {
                    let key = Key::new(NAMESPACED_CLOUD_PROFILES, namespace, name);
                    self.unusable.problem(&key)
                }
            },
            _ => None,
        }
    }

    /// The NamespacedCloudProfile `name` in `namespace`, if it exists.
    pub(crate) fn namespaced_profile(&self, namespace: &str, name: &str) -> Option<&Arc<NamespacedProfile>> {
        self.namespaced_profiles
            .get(&(Arc::from(namespace), Arc::from(name)))
    }

    /// The name of the CloudProfile of a shoot in `namespace` with `profile`: the profile itself, or the
    /// CloudProfile from which it is derived. `None` for a missing NamespacedCloudProfile.
    pub(crate) fn root_of<'a>(&'a self, namespace: &str, profile: &'a (String, String)) -> Option<&'a str> {
        let (kind, name) = profile;
        match kind.as_str() {
            CLOUD_PROFILE => Some(name),
            NAMESPACED_CLOUD_PROFILE => Some(&self.namespaced_profile(namespace, name)?.parent),
            _ => None,
        }
    }
}
