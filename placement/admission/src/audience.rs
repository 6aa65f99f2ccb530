//! Audiences of the answers of a webhook. A caller without a certificate may be a kube-apiserver, or any Pod
//! that reaches the port; the user in the review is only a claim. So without a required certificate, a
//! refusal names only the rule, and no objects other than the one in the review.

use berth_admission::Denial;
use berth_apimachinery::FieldError;

/// The receiver of an answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Audience {
    /// A caller that is known: a user whose request is served here, or a kube-apiserver with a certificate.
    #[default]
    Known,
    /// Any caller that reaches the port.
    Anyone,
}

/// Text in place of facts about other objects.
const DETAIL: &str =
    "does not fit the current state of other objects; create a SchedulingReview of the object to see why";

impl Audience {
    /// Whether answers may show names and states of other objects.
    pub(super) fn is_known(self) -> bool {
        self == Self::Known
    }

    /// Returns `denial` without facts about other objects, unless the audience may know them.
    pub(super) fn redact(self, denial: Denial) -> Denial {
        match denial {
            denial if self.is_known() => denial,
            Denial::Invalid(errors) => Denial::Invalid(self.fields(errors)),
            Denial::Forbidden(_) => Denial::Forbidden(format!("it {DETAIL}")),
            // The server has no state of other objects yet, so the status discloses none.
            Denial::Status(status) if status.code >= 500 => Denial::Status(status),
            Denial::Status(_) => Denial::Forbidden(format!("it {DETAIL}")),
        }
    }

    /// Returns the text of the reasons for this audience.
    pub(super) fn reasons(self, reasons: String) -> String {
        if self.is_known() {
            reasons
        } else {
            "create a SchedulingReview of the object to see why".to_owned()
        }
    }

    /// Returns the errors of fields for this audience. The values in the errors are from the object in the
    /// review.
    pub(super) fn fields(self, mut errors: Vec<FieldError>) -> Vec<FieldError> {
        if !self.is_known() {
            errors
                .iter_mut()
                .for_each(|error| DETAIL.clone_into(&mut error.detail));
        }
        errors
    }
}

#[cfg(test)]
mod tests {
    use berth_apimachinery::Status;

    use super::*;

    #[test]
    fn anyone_hears_which_field_is_wrong_and_not_what_other_objects_are_like() {
        let error = || FieldError::invalid("spec.seedName", "aws", "4 shoots are on the seed, which takes 3");
        assert_eq!(
            Audience::Known.redact(Denial::Invalid(vec![error()])),
            Denial::Invalid(vec![error()])
        );
        let Denial::Invalid(errors) = Audience::Anyone.redact(Denial::Invalid(vec![error()])) else {
            panic!("another kind of refusal");
        };
        assert_eq!(
            errors[0].to_string(),
            format!("spec.seedName: Invalid value: \"aws\": {DETAIL}")
        );
    }

    #[test]
    fn anyone_hears_that_there_is_no_answer_yet() {
        let behind = Denial::Status(Box::new(Status::unavailable("gardener: still waiting", 1)));
        assert_eq!(Audience::Anyone.redact(behind.clone()), behind);
        let named = Denial::Status(Box::new(Status::failure(403, "Forbidden", "used by shoots a/b")));
        assert_eq!(
            Audience::Anyone.redact(named),
            Denial::Forbidden(format!("it {DETAIL}"))
        );
    }
}
