//! What others say of a write, beside yes and no, on its way to the client and the audit log.

use admission::Chain;
use admission::client::{Heard, Subject};
use meta::Status;
use serde_json::{Map, Value};

use crate::annotations::Annotations;
use crate::call::Warnings;
use crate::registry::system;
use crate::served::Served;

/// A chain that consults others, and who listens.
pub(crate) struct Consulting<'a> {
    pub(crate) chain: &'a Chain,
    pub(crate) warnings: &'a Warnings,
    pub(crate) annotations: &'a Annotations,
}

impl Consulting<'_> {
    /// Has others change `value`; null on delete.
    pub(crate) async fn change(&self, subject: &Subject<'_>, value: &mut Value) -> Result<(), Status> {
        let mut heard = Heard::default();
        let result = self.chain.mutate_by_policies(subject, value, &mut heard).await;
        self.pass_on(heard);
        result
    }

    /// Has others judge the final object; `None` on delete.
    pub(crate) async fn judge(&self, subject: &Subject<'_>, object: Option<&Value>) -> Result<(), Status> {
        let mut heard = Heard::default();
        let result = self.chain.validate_by_policies(subject, object, &mut heard).await;
        self.pass_on(heard);
        result
    }

    fn pass_on(&self, heard: Heard) {
        heard
            .warnings
            .into_iter()
            .for_each(|text| self.warnings.add(text));
        for (key, value) in heard.annotations {
            self.annotations.add(key, value);
        }
    }
}

/// What nobody but the server sets on a new object, to be put back when others have changed it.
pub(super) struct Seal(Value);

impl Seal {
    /// Of `value`, as the server made it.
    pub(super) fn of(value: &Value) -> Self {
        let kept = ["metadata", "status"].into_iter();
        let kept = kept.filter_map(|field| Some((field.to_owned(), value.get(field)?.clone())));
        Self(Value::Object(kept.collect::<Map<_, _>>()))
    }

    /// Puts it back.
    pub(super) fn restore(&self, value: &mut Value, served: &Served) {
        system::on_update(value, &self.0);
        if served.info().status {
            system::keep_status(value, &self.0);
        }
    }
}
