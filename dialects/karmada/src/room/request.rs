//! The resources that one replica requests.

use std::sync::Arc;

use berth_apimachinery::quantity::Quantity;

use super::Amount;
use crate::kind::binding::ReplicaRequirements;

/// The resources that one replica requests, in the order of names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Request {
    /// The names of the resources, with the quantities in the binding.
    exact: Vec<(Arc<str>, Quantity)>,
    /// The quantities of `exact` as amounts, in the same order.
    amounts: Vec<Amount>,
}

impl Request {
    /// Parses the request in `requirements`.
    ///
    /// # Errors
    /// An amount is not a quantity.
    pub(crate) fn read(requirements: &ReplicaRequirements) -> Result<Self, String> {
        let mut request = Self::default();
        for (name, text) in &requirements.resource_request {
            let quantity = text
                .parse()
                .map_err(|error| format!("spec.replicaRequirements.resourceRequest[{name}]: {error}"))?;
            request.exact.push((name.as_str().into(), quantity));
            request.amounts.push(Amount::of(quantity));
        }
        Ok(request)
    }

    /// The resources that are requested with an amount above zero.
    pub(crate) fn nonzero(&self) -> impl Iterator<Item = (&Arc<str>, Amount)> {
        let all = self.exact.iter().zip(&self.amounts);
        all.filter(|(_, amount)| amount.units > 0)
            .map(|((name, _), amount)| (name, *amount))
    }

    /// The quantities in the binding, in the order of the names of resources.
    pub(crate) fn exact(&self) -> &[(Arc<str>, Quantity)] {
        &self.exact
    }
}
