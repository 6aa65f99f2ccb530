//! Variables that expressions read about a write.

use berth_admission::client::{self, VersionedWrite};
use berth_cel::{ReviewSubject, Value};
use serde_json::{Map, Value as Json};

/// Variables about one write, with objects in the version that the constraints of a policy match.
pub(crate) struct Input {
    object: Option<Json>,
    old: Option<Json>,
    request: Json,
    namespace: Json,
    resource: ReviewSubject,
}

impl Input {
    pub(crate) fn new(
        write: &VersionedWrite<'_>,
        version: &str,
        object: Option<&Json>,
        namespace: Option<&Json>,
    ) -> Self {
        let convert = |value: Option<&Json>| value.map(|value| write.in_version(version, value));
        let attributes = write.request;
        let mut resource = ReviewSubject::resource(attributes.resource.group, attributes.resource.resource);
        if let ReviewSubject::Resource {
            subresource,
            namespace,
            name,
            ..
        } = &mut resource
        {
            *subresource = attributes.subresource.into();
            *namespace = attributes.namespace_attribute().into();
            *name = attributes.name.into();
        }
        Self {
            object: convert(object),
            old: convert(attributes.old),
            request: request(write, version),
            namespace: namespace.map_or(Json::Null, without_managers),
            resource,
        }
    }

    pub(crate) fn object(&self) -> Option<&Json> {
        self.object.as_ref()
    }

    pub(crate) fn set_object(&mut self, object: Json) {
        self.object = Some(object);
    }

    /// Values of the variables in the order of [`berth_cel::AdmissionVariable`], for all expressions but
    /// match conditions. `params` is `None` for a policy without a `paramKind`, and `Some(None)` for an
    /// evaluation without a parameter.
    pub(crate) fn values<'a>(&'a self, params: Option<Option<&'a Json>>) -> Vec<Value<'a>> {
        self.values_with(Some(&self.namespace), params)
    }

    /// Values of the variables for match conditions: those of [`Input::values`], except that
    /// `namespaceObject` is null.
    pub(crate) fn condition_values<'a>(&'a self, params: Option<Option<&'a Json>>) -> Vec<Value<'a>> {
        self.values_with(None, params)
    }

    fn values_with<'a>(
        &'a self,
        namespace: Option<&'a Json>,
        params: Option<Option<&'a Json>>,
    ) -> Vec<Value<'a>> {
        let or_null = |value: Option<&'a Json>| value.map_or(Value::Null, Value::from);
        let mut values = vec![
            or_null(self.object.as_ref()),
            or_null(self.old.as_ref()),
            Value::from(&self.request),
            or_null(namespace),
            Value::authorizer(),
            Value::authorizer_of(self.resource.clone()),
            Value::Unavailable("variables are read one by one"),
        ];
        values.extend(params.map(or_null));
        values
    }
}

/// The variable `request`: an AdmissionRequest without objects and `uid`. As in kube-apiserver, optional
/// fields that are empty (such as `subResource` and `userInfo.uid`) are absent.
fn request(write: &VersionedWrite<'_>, version: &str) -> Json {
    let request = client::request("", &VersionedWrite { ..*write }, version, None);
    let Json::Object(mut fields) = request else {
        return Json::Object(Map::new());
    };
    for field in ["object", "oldObject", "uid"] {
        fields.remove(field);
    }
    Json::Object(fields)
}

fn without_managers(namespace: &Json) -> Json {
    let mut namespace = namespace.clone();
    if let Some(metadata) = namespace["metadata"].as_object_mut() {
        metadata.remove("managedFields");
    }
    namespace
}
