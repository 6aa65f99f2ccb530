//! Messages of `coordination.k8s.io/v1`.

use k8s_pb::api::coordination::v1 as coordination_v1;

use super::ToJson;
use super::fields::Fields;

impl ToJson for coordination_v1::Lease {
    fn to_json(self) -> Fields {
        let spec = self.spec.map(|spec| {
            let mut fields = Fields::default();
            fields
                .text("holderIdentity", spec.holder_identity)
                .number("leaseDurationSeconds", spec.lease_duration_seconds)
                .micro_time("acquireTime", spec.acquire_time)
                .micro_time("renewTime", spec.renew_time)
                .number("leaseTransitions", spec.lease_transitions)
                .text("strategy", spec.strategy)
                .text("preferredHolder", spec.preferred_holder);
            fields
        });
        let mut fields = Fields::default();
        fields
            .present("metadata", self.metadata.map(ToJson::to_json))
            .object("spec", spec);
        fields
    }
}
