//! Messages of `authorization.k8s.io/v1` and `authentication.k8s.io/v1`. The server sets the status of
//! a review, so a client's status is ignored.

use k8s_pb::api::authentication::v1 as authentication_v1;
use k8s_pb::api::authorization::v1 as authorization_v1;

use super::ToJson;
use super::fields::Fields;

fn requirement(key: Option<String>, operator: Option<String>, values: Vec<String>) -> Fields {
    let mut fields = Fields::default();
    fields
        .text("key", key)
        .text("operator", operator)
        .texts("values", values);
    fields
}

fn selector(raw: Option<String>, requirements: impl Iterator<Item = Fields>) -> Fields {
    let mut fields = Fields::default();
    fields
        .text("rawSelector", raw)
        .objects("requirements", requirements);
    fields
}

impl ToJson for authorization_v1::ResourceAttributes {
    fn to_json(self) -> Fields {
        let fields_of = self.field_selector.map(|selector| {
            let requirements = selector.requirements.into_iter();
            let parts = requirements.map(|part| requirement(part.key, part.operator, part.values));
            self::selector(selector.raw_selector, parts)
        });
        let labels_of = self.label_selector.map(|selector| {
            let requirements = selector.requirements.into_iter();
            let parts = requirements.map(|part| requirement(part.key, part.operator, part.values));
            self::selector(selector.raw_selector, parts)
        });
        let mut fields = Fields::default();
        fields
            .text("namespace", self.namespace)
            .text("verb", self.verb)
            .text("group", self.group)
            .text("version", self.version)
            .text("resource", self.resource)
            .text("subresource", self.subresource)
            .text("name", self.name)
            .object("fieldSelector", fields_of)
            .object("labelSelector", labels_of);
        fields
    }
}

impl ToJson for authorization_v1::NonResourceAttributes {
    fn to_json(self) -> Fields {
        let mut fields = Fields::default();
        fields.text("path", self.path).text("verb", self.verb);
        fields
    }
}

impl ToJson for authorization_v1::SelfSubjectAccessReview {
    fn to_json(self) -> Fields {
        let spec = self.spec.map(|spec| {
            let mut fields = Fields::default();
            fields
                .present(
                    "resourceAttributes",
                    spec.resource_attributes.map(ToJson::to_json),
                )
                .present(
                    "nonResourceAttributes",
                    spec.non_resource_attributes.map(ToJson::to_json),
                );
            fields
        });
        let mut fields = Fields::default();
        fields
            .present("metadata", self.metadata.map(ToJson::to_json))
            .present("spec", spec);
        fields
    }
}

impl ToJson for authorization_v1::SubjectAccessReviewSpec {
    fn to_json(self) -> Fields {
        let extra = self
            .extra
            .into_iter()
            .map(|(key, values)| (key, values.items.into()));
        let mut fields = Fields::default();
        fields
            .present(
                "resourceAttributes",
                self.resource_attributes.map(ToJson::to_json),
            )
            .present(
                "nonResourceAttributes",
                self.non_resource_attributes.map(ToJson::to_json),
            )
            .text("user", self.user)
            .texts("groups", self.groups)
            .values("extra", extra)
            .text("uid", self.uid);
        fields
    }
}

impl ToJson for authorization_v1::SubjectAccessReview {
    fn to_json(self) -> Fields {
        let mut fields = Fields::default();
        fields
            .present("metadata", self.metadata.map(ToJson::to_json))
            .present("spec", self.spec.map(ToJson::to_json));
        fields
    }
}

impl ToJson for authorization_v1::LocalSubjectAccessReview {
    fn to_json(self) -> Fields {
        let mut fields = Fields::default();
        fields
            .present("metadata", self.metadata.map(ToJson::to_json))
            .present("spec", self.spec.map(ToJson::to_json));
        fields
    }
}

impl ToJson for authorization_v1::SelfSubjectRulesReview {
    fn to_json(self) -> Fields {
        let spec = self.spec.map(|spec| {
            let mut fields = Fields::default();
            fields.text("namespace", spec.namespace);
            fields
        });
        let mut fields = Fields::default();
        fields
            .present("metadata", self.metadata.map(ToJson::to_json))
            .present("spec", spec);
        fields
    }
}

impl ToJson for authentication_v1::SelfSubjectReview {
    fn to_json(self) -> Fields {
        let mut fields = Fields::default();
        fields.present("metadata", self.metadata.map(ToJson::to_json));
        fields
    }
}
