//! Documents of the API groups of a server, as the crate `berth-openapi` renders them.

use berth_openapi::{
    AGGREGATED_DISCOVERY, Discovery, OPENAPI_V2_PROTOBUF, OpenApiV2, ResourceDoc, SubresourceDoc,
};

use super::{Document, Documents, Form};
use crate::resource::{Backing, Group, Resource};
use crate::yaml;

impl Documents {
    /// Renders discovery and OpenAPI of `groups`. `title` and `version` (such as `v1.2.3`) are the name and
    /// the version of the server.
    #[must_use]
    pub fn of_groups(title: &str, version: &str, groups: &[Group]) -> Self {
        let resources: Vec<ResourceDoc> = groups
            .iter()
            .flat_map(|group| &group.resources)
            .map(resource_document)
            .collect();
        (&berth_openapi::Documents::new(title, version, &resources)).into()
    }
}

impl From<&berth_openapi::Documents> for Documents {
    fn from(rendered: &berth_openapi::Documents) -> Self {
        let mut documents: Vec<Document> = rendered
            .discovery_paths()
            .filter_map(|path| {
                rendered
                    .discovery(path)
                    .map(|discovery| of_discovery(path, discovery))
            })
            .collect();
        documents.push(of_openapi_v2(rendered.openapi_v2()));
        documents.push(plain("/openapi/v3", rendered.openapi_v3_index(), None));
        documents.extend(rendered.openapi_v3_paths().filter_map(|path| {
            let document = rendered.openapi_v3(path)?;
            Some(plain(
                &format!("/openapi/v3/{path}"),
                document,
                Some(document.hash().to_owned()),
            ))
        }));
        Self::new(documents)
    }
}

fn resource_document(resource: &Resource) -> ResourceDoc {
    let subresources = resource.subresources.iter().map(|subresource| SubresourceDoc {
        name: subresource.name,
        group: subresource.group,
        version: subresource.version,
        kind: subresource.kind,
        verbs: subresource.verbs,
        apply: subresource.handler.part().is_some(),
        schema: subresource.schema.clone(),
    });
    ResourceDoc {
        kind: resource.kind.clone(),
        status: resource.has_status(),
        apply: matches!(resource.backing, Backing::Stored(_)),
        subresources: subresources.collect(),
    }
}

fn of_discovery(path: &str, discovery: &Discovery) -> Document {
    let mut forms = Vec::new();
    for (document, public) in [
        (Some(&discovery.plain), false),
        (discovery.aggregated.as_ref(), true),
    ] {
        let Some(document) = document else { continue };
        forms.push(form(document, public));
        forms.extend(in_yaml(document, public));
    }
    Document {
        path: path.to_owned(),
        forms,
        hash: None,
    }
}

fn of_openapi_v2(document: &OpenApiV2) -> Document {
    let protobuf = OPENAPI_V2_PROTOBUF
        .iter()
        .fold(form(&document.protobuf, false), |form, name| form.also_as(name));
    Document {
        path: "/openapi/v2".to_owned(),
        forms: vec![form(&document.json, false), protobuf],
        hash: None,
    }
}

fn plain(path: &str, document: &berth_openapi::Document, hash: Option<String>) -> Document {
    Document {
        path: path.to_owned(),
        forms: vec![form(document, false)],
        hash,
    }
}

/// Renders a discovery document as YAML; `None` without the feature `yaml`, and for all other documents.
fn in_yaml(document: &berth_openapi::Document, public: bool) -> Option<Form> {
    let content_type = match document.content_type {
        _ if !yaml::SUPPORTED => return None,
        "application/json" => "application/yaml",
        AGGREGATED_DISCOVERY => "application/yaml;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList",
        _ => return None,
    };
    let value = serde_json::from_slice(&document.body).ok()?;
    let etag = format!("\"{}.yaml\"", document.hash());
    Some(Form::new(
        content_type,
        Some(&etag),
        public,
        yaml::write(&value).ok()?,
    ))
}

fn form(document: &berth_openapi::Document, public: bool) -> Form {
    Form::new(
        document.content_type,
        Some(&document.etag),
        public,
        document.body.clone(),
    )
}
