//! Requests of one replica.

use std::sync::Arc;

use berth_apimachinery::quantity::Quantity;

use super::Amount;
use crate::kind::binding::ReplicaRequirements;

/// Request of one replica, by resource in the order of names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Request {
    exact: Vec<(Arc<str>, Quantity)>,
    amounts: Vec<Amount>,
}

impl Request {
    /// Parses the request in `requirements`.
    ///
    /// # Errors
    /// When an amount is not a quantity.
    pub(crate) fn read(requirements: &ReplicaRequirements) -> Result<Self, String> {
        let mut request = Self::default();
        for (name, text) in &requirements.resource_request {
            let quantity = text
                .get()
                .map_err(|error| format!("spec.replicaRequirements.resourceRequest[{name}]: {error}"))?;
            request.exact.push((name.as_str().into(), quantity));
            request.amounts.push(Amount::of(quantity));
        }
        Ok(request)
    }

    /// The resources with a request above zero.
    pub(crate) fn nonzero(&self) -> impl Iterator<Item = (&Arc<str>, Amount)> {
        let all = self.exact.iter().zip(&self.amounts);
        all.filter(|(_, amount)| amount.units > 0)
            .map(|((name, _), amount)| (name, *amount))
    }

    /// The amounts in the object, by name.
    pub(crate) fn exact(&self) -> &[(Arc<str>, Quantity)] {
        &self.exact
    }
}
