//! Clients of the hub, from kubeconfig files or the Pod's service account.

use std::path::{Path, PathBuf};

use kube::{Client, Config};

use crate::error::HubError;

/// Kubeconfig files for the clients of a hub. A client uses its own file, otherwise the file for objects, and
/// without either the Pod's service account.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Kubeconfigs {
    /// File for objects, and for all requests without a file of their own.
    pub objects: Option<PathBuf>,
    /// File for TokenReviews and the ConfigMap extension-apiserver-authentication.
    pub authentication: Option<PathBuf>,
    /// File for SubjectAccessReviews.
    pub authorization: Option<PathBuf>,
}

impl Kubeconfigs {
    /// Returns kubeconfig files with the file at `path` for all requests.
    #[must_use]
    pub fn one(path: PathBuf) -> Self {
        Self {
            objects: Some(path),
            ..Self::default()
        }
    }
}

/// Clients of a hub, which may have different identities.
#[derive(Clone)]
pub struct Clients {
    /// Client for objects.
    pub objects: Client,
    /// Client for token reviews, and for the CAs that the hub trusts.
    pub authentication: Client,
    /// Client for access reviews.
    pub authorization: Client,
}

impl Clients {
    /// Creates the clients without sending a request.
    ///
    /// # Errors
    /// When a kubeconfig is invalid, or when there is none for objects and the process does not run in a Pod.
    pub async fn connect(files: &Kubeconfigs) -> Result<Self, HubError> {
        let objects = client(files.objects.as_deref()).await?;
        let separate = async |file: Option<&Path>| match file {
            Some(file) => client(Some(file)).await,
            None => Ok(objects.clone()),
        };
        Ok(Self {
            authentication: separate(files.authentication.as_deref()).await?,
            authorization: separate(files.authorization.as_deref()).await?,
            objects,
        })
    }
}

async fn client(file: Option<&Path>) -> Result<Client, HubError> {
    let config = match file {
        Some(path) => berth_client::config(Some(path), None).await?,
        None => Config::incluster()
            .map_err(|problem| HubError::NoKubeconfig(berth_client::root_cause(&problem)))?,
    };
    Ok(berth_client::connect(config)?)
}
