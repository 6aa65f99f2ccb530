//! A cloud profile as scheduling sees it.

use meta::Object;
use meta::field::aggregate;
use meta::selector::Selector;

use crate::kind::cloud_profile::CloudProfile;

/// A cloud profile's say about seeds and shoots.
#[derive(Debug, PartialEq)]
pub(crate) struct Profile {
    /// The provider type of its shoots.
    pub(crate) provider: String,
    /// The labels seeds must have.
    pub(crate) selector: Selector,
    /// The provider types seeds may have; empty leaves it to the shoot.
    pub(crate) provider_types: Vec<String>,
}

impl Profile {
    /// Reads a CloudProfile.
    ///
    /// # Errors
    /// Why it cannot be read.
    pub(crate) fn read(object: &Object) -> Result<Self, String> {
        let profile: CloudProfile = object.view().map_err(|error| error.to_string())?;
        let selector = profile.spec.seed_selector.unwrap_or_default();
        let compiled = selector
            .compile("spec.seedSelector")
            .map_err(|errors| aggregate(&errors))?;
        Ok(Self {
            provider: profile.spec.r#type,
            selector: compiled,
            provider_types: selector.provider_types,
        })
    }
}
