//! Messages of `meta/v1`.

use k8s_pb::apimachinery::pkg::apis::meta::v1 as meta_v1;

use super::ToJson;
use super::fields::Fields;

/// Metadata. Managed fields are left out: they are not kept here.
impl ToJson for meta_v1::ObjectMeta {
    fn to_json(self) -> Fields {
        let mut fields = Fields::default();
        fields
            .text("name", self.name)
            .text("generateName", self.generate_name)
            .text("namespace", self.namespace)
            .text("uid", self.uid)
            .text("resourceVersion", self.resource_version)
            .count("generation", self.generation)
            .time("creationTimestamp", self.creation_timestamp)
            .time("deletionTimestamp", self.deletion_timestamp)
            .number("deletionGracePeriodSeconds", self.deletion_grace_period_seconds)
            .map("labels", self.labels)
            .map("annotations", self.annotations)
            .objects(
                "ownerReferences",
                self.owner_references.into_iter().map(ToJson::to_json),
            )
            .texts("finalizers", self.finalizers);
        fields
    }
}

impl ToJson for meta_v1::OwnerReference {
    fn to_json(self) -> Fields {
        let mut fields = Fields::default();
        fields
            .text("apiVersion", self.api_version)
            .text("kind", self.kind)
            .text("name", self.name)
            .text("uid", self.uid)
            .flag("controller", self.controller)
            .flag("blockOwnerDeletion", self.block_owner_deletion);
        fields
    }
}

impl ToJson for meta_v1::LabelSelector {
    fn to_json(self) -> Fields {
        let mut fields = Fields::default();
        let expressions = self.match_expressions.into_iter().map(|expression| {
            let mut fields = Fields::default();
            fields
                .text("key", expression.key)
                .text("operator", expression.operator)
                .texts("values", expression.values);
            fields
        });
        fields
            .map("matchLabels", self.match_labels)
            .objects("matchExpressions", expressions);
        fields
    }
}

impl ToJson for meta_v1::DeleteOptions {
    fn to_json(self) -> Fields {
        let preconditions = self.preconditions.map(|preconditions| {
            let mut fields = Fields::default();
            fields
                .text("uid", preconditions.uid)
                .text("resourceVersion", preconditions.resource_version);
            fields
        });
        let mut fields = Fields::default();
        fields
            .number("gracePeriodSeconds", self.grace_period_seconds)
            .object("preconditions", preconditions)
            .flag("orphanDependents", self.orphan_dependents)
            .text("propagationPolicy", self.propagation_policy)
            .texts("dryRun", self.dry_run);
        fields
    }
}
