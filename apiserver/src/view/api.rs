//! The API of a view: its resources, its documents, and the dispatch of requests to it.

use std::sync::Arc;

use async_trait::async_trait;
use axum::body::Body;
use berth_apimachinery::{GroupResource, Status};
use bytes::Bytes;
use http::Response;

use super::kind::NarrowedKind;
use super::{ViewRules, ViewSource};
use crate::context::{Api, AuthorizedRequest, RequestCx, SubresourceApi};
use crate::decode::Codec;
use crate::documents::{Document, Documents, Form};
use crate::handlers::ApiState;
use crate::registry::{InstallError, Registry};
use crate::resource::{Backing, Group, Resource};
use crate::version::VersionInfo;

/// API of some resources in a view.
pub struct ViewApi {
    api: Arc<dyn Api>,
    rules: Arc<dyn ViewRules>,
    documents: Arc<Documents>,
}

impl ViewApi {
    /// Creates the API of `resources`, which `registry` serves, in the view of `rules`. `documents` describe
    /// the same resources (see [`documents`]).
    ///
    /// # Errors
    /// When a resource is not served, or is a duplicate.
    pub fn new(
        registry: &Arc<Registry>,
        rules: Arc<dyn ViewRules>,
        resources: &[GroupResource],
        documents: Arc<Documents>,
        codec: Option<Arc<dyn Codec>>,
    ) -> Result<Self, InstallError> {
        let groups = groups(registry, resources, |resource| {
            let served = registry.index().preferred(resource)?;
            Some(Backing::View(Arc::new(ViewSource::new(registry, &rules, served))))
        })?;
        let view_registry =
            Registry::builder(berth_admission::Chain::default(), Arc::clone(registry.clock()));
        let state = ApiState::from_registry(view_registry.build(&groups)?);
        let api = match codec {
            Some(codec) => state.with_codec(codec),
            None => state,
        };
        Ok(Self {
            api: Arc::new(api),
            rules,
            documents,
        })
    }
}

#[async_trait]
impl SubresourceApi for ViewApi {
    async fn answer(&self, outer: &RequestCx) -> Result<Response<Body>, Status> {
        let Some(inner) = &outer.info.inner else {
            return Err(Status::no_such_path());
        };
        if !inner.is_resource {
            let path = inner.path.trim_end_matches('/');
            let is_read = matches!(inner.verb, "get" | "head");
            return self.documents.answer(path, is_read, &outer.headers, &inner.query);
        }
        let user = self.rules.user().clone();
        // The annotation names the user of the request inside the view.
        outer.annotations.add_own("apiserver", "acted-as", &user.name);
        let request = RequestCx {
            info: Arc::clone(inner),
            user,
            ..outer.clone()
        };
        // A user of the proxy may use the whole API below the proxy.
        Ok(self.api.dispatch(AuthorizedRequest::new(request)).await)
    }

    async fn tidy(&self) {
        self.api.tidy().await;
    }
}

/// Creates the documents of a view of `resources`: discovery, OpenAPI, `/version`, and the probes that
/// clients request. All views of these resources can share them.
///
/// # Errors
/// When a resource is not served, or `version` cannot be rendered.
pub fn documents(
    registry: &Arc<Registry>,
    resources: &[GroupResource],
    title: &str,
    version: &VersionInfo,
) -> Result<Documents, InstallError> {
    let groups = groups(registry, resources, |resource| {
        let served = registry.index().preferred(resource)?;
        Some(served.resource.backing.clone())
    })?;
    let body =
        serde_json::to_vec_pretty(version).map_err(|problem| InstallError::Document(problem.to_string()))?;
    let mut documents = Documents::of_groups(title, &version.git_version, &groups);
    documents.add(plain_document("/version", "application/json", body.into()));
    for probe in ["/healthz", "/livez", "/readyz"] {
        documents.add(plain_document(
            probe,
            "text/plain; charset=utf-8",
            Bytes::from_static(b"ok"),
        ));
    }
    Ok(documents)
}

fn plain_document(path: &str, content_type: &'static str, body: Bytes) -> Document {
    Document {
        path: path.to_owned(),
        forms: vec![Form::new(content_type, None, false, body).also_as("*/*")],
        hash: None,
    }
}

/// Groups `resources` by API group, in the given order. Each resource has the verbs of a view, and the source
/// that `backing` returns.
fn groups(
    registry: &Registry,
    resources: &[GroupResource],
    backing: impl Fn(GroupResource) -> Option<Backing>,
) -> Result<Vec<Group>, InstallError> {
    let mut groups: Vec<Group> = Vec::new();
    for &name in resources {
        let missing = || InstallError::NotServed(name);
        let served = registry.index().preferred(name).ok_or_else(missing)?;
        let kind = Arc::new(NarrowedKind::new(&served.resource.kind));
        let resource = Resource::new(kind, backing(name).ok_or_else(missing)?);
        match groups.iter_mut().find(|group| group.name == name.group) {
            Some(group) => group.resources.push(resource),
            None => groups.push(Group {
                name: name.group,
                resources: vec![resource],
            }),
        }
    }
    Ok(groups)
}
