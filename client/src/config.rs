//! kube's configuration and client, made of a kubeconfig.

use std::path::Path;

use anyhow::{Context, Result};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};

/// The configuration that the kubeconfig at `path` stands for, in its current context or the one that is named.
///
/// # Errors
/// When the file cannot be read, or does not make a configuration.
pub async fn config(path: &Path, context: Option<&str>) -> Result<Config> {
    let named = || format!("using the kubeconfig {}", path.display());
    let file = Kubeconfig::read_from(path).with_context(named)?;
    let options = KubeConfigOptions {
        context: context.map(str::to_owned),
        ..KubeConfigOptions::default()
    };
    Config::from_custom_kubeconfig(file, &options)
        .await
        .with_context(named)
}

/// A client that sends each request once: callers retry what is worth retrying. Nothing is sent yet.
///
/// # Errors
/// When the configuration cannot be used.
pub fn connect(mut config: Config) -> Result<Client> {
    config.default_retry = false;
    Client::try_from(config).context("making a client")
}
