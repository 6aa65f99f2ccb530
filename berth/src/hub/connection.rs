//! Clients of the hub, from kubeconfig files or the Pod's service account.

use std::path::Path;

use anyhow::{Context, Result};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};

use super::HubArgs;

/// The clients of a hub. They may have different identities.
#[derive(Clone)]
pub struct Clients {
    /// For objects.
    pub objects: Client,
    /// For whose token something is, and whom the hub believes.
    pub authentication: Client,
    /// For who may do what.
    pub authorization: Client,
}

impl Clients {
    /// Makes the clients. Nothing is sent yet.
    ///
    /// # Errors
    /// When a kubeconfig cannot be used, or there is none and this is no Pod.
    pub async fn connect(args: &HubArgs) -> Result<Self> {
        let objects = client(args.kubeconfig.as_deref()).await?;
        let other = async |file: Option<&Path>| match file {
            Some(file) => client(Some(file)).await,
            None => Ok(objects.clone()),
        };
        Ok(Self {
            authentication: other(args.authentication_kubeconfig.as_deref()).await?,
            authorization: other(args.authorization_kubeconfig.as_deref()).await?,
            objects,
        })
    }
}

async fn client(file: Option<&Path>) -> Result<Client> {
    let mut config = match file {
        Some(path) => {
            let named = || format!("using the kubeconfig {}", path.display());
            let file = Kubeconfig::read_from(path).with_context(named)?;
            Config::from_custom_kubeconfig(file, &KubeConfigOptions::default())
                .await
                .with_context(named)?
        }
        None => Config::incluster()
            .context("no --kubeconfig is given, and this is no Pod with a service account to use instead")?,
    };
    // Whoever asks knows best what is worth asking again.
    config.default_retry = false;
    Client::try_from(config).context("making a client for the hub")
}
