//! Messages of `rbac.authorization.k8s.io/v1`.

use k8s_pb::api::rbac::v1 as rbac_v1;

use super::ToJson;
use super::fields::Fields;

impl ToJson for rbac_v1::PolicyRule {
    fn to_json(self) -> Fields {
        let mut fields = Fields::default();
        fields
            .texts("verbs", self.verbs)
            .texts("apiGroups", self.api_groups)
            .texts("resources", self.resources)
            .texts("resourceNames", self.resource_names)
            .texts("nonResourceURLs", self.non_resource_ur_ls);
        fields
    }
}

impl ToJson for rbac_v1::Role {
    fn to_json(self) -> Fields {
        let mut fields = Fields::default();
        fields
            .present("metadata", self.metadata.map(ToJson::to_json))
            .objects("rules", self.rules.into_iter().map(ToJson::to_json));
        fields
    }
}

impl ToJson for rbac_v1::ClusterRole {
    fn to_json(self) -> Fields {
        let aggregation = self.aggregation_rule.map(|rule| {
            let mut fields = Fields::default();
            fields.objects(
                "clusterRoleSelectors",
                rule.cluster_role_selectors.into_iter().map(ToJson::to_json),
            );
            fields
        });
        let mut fields = Fields::default();
        fields
            .present("metadata", self.metadata.map(ToJson::to_json))
            .objects("rules", self.rules.into_iter().map(ToJson::to_json))
            .present("aggregationRule", aggregation);
        fields
    }
}

impl ToJson for rbac_v1::Subject {
    fn to_json(self) -> Fields {
        let mut fields = Fields::default();
        fields
            .text("kind", self.kind)
            .text("apiGroup", self.api_group)
            .text("name", self.name)
            .text("namespace", self.namespace);
        fields
    }
}

impl ToJson for rbac_v1::RoleRef {
    fn to_json(self) -> Fields {
        let mut fields = Fields::default();
        fields
            .text("apiGroup", self.api_group)
            .text("kind", self.kind)
            .text("name", self.name);
        fields
    }
}

fn binding(
    metadata: Option<k8s_pb::apimachinery::pkg::apis::meta::v1::ObjectMeta>,
    subjects: Vec<rbac_v1::Subject>,
    role: Option<rbac_v1::RoleRef>,
) -> Fields {
    let mut fields = Fields::default();
    fields
        .present("metadata", metadata.map(ToJson::to_json))
        .objects("subjects", subjects.into_iter().map(ToJson::to_json))
        .object("roleRef", role.map(ToJson::to_json));
    fields
}

impl ToJson for rbac_v1::RoleBinding {
    fn to_json(self) -> Fields {
        binding(self.metadata, self.subjects, self.role_ref)
    }
}

impl ToJson for rbac_v1::ClusterRoleBinding {
    fn to_json(self) -> Fields {
        binding(self.metadata, self.subjects, self.role_ref)
    }
}
