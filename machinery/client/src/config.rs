//! kubeconfigs, and kube's configuration and client made of one: the one way everything here gets to a
//! server.

use std::path::Path;

use anyhow::{Context, Result, anyhow};
use kube::config::{KubeConfigOptions, Kubeconfig, KubeconfigError};
use kube::{Client, Config};

/// The kubeconfig at `path`, or the one that kubectl would read: what KUBECONFIG names, or `~/.kube/config`.
///
/// # Errors
/// When there is none, or it cannot be read.
pub fn kubeconfig(path: Option<&Path>) -> Result<Kubeconfig> {
    let (read, from) = match path {
        Some(path) => (Kubeconfig::read_from(path), "--kubeconfig"),
        None => (
            Kubeconfig::read(),
            match std::env::var_os("KUBECONFIG") {
                Some(_) => "KUBECONFIG",
                None => "the default",
            },
        ),
    };
    read.map_err(|problem| match problem {
        KubeconfigError::ReadConfig(cause, path) => anyhow!(
            "the kubeconfig {} ({from}) cannot be read: {cause}; --kubeconfig names another",
            path.display()
        ),
        other => anyhow::Error::new(other).context(format!("reading the kubeconfig ({from})")),
    })
}

/// The configuration that [`kubeconfig`] stands for, in its current context or the one that is named.
///
/// # Errors
/// When there is no kubeconfig, or it does not make a configuration.
pub async fn config(path: Option<&Path>, context: Option<&str>) -> Result<Config> {
    let options = KubeConfigOptions {
        context: context.map(str::to_owned),
        ..KubeConfigOptions::default()
    };
    let config = Config::from_custom_kubeconfig(kubeconfig(path)?, &options).await;
    config.with_context(|| match path {
        Some(path) => format!("using the kubeconfig {}", path.display()),
        None => "using the kubeconfig".to_owned(),
    })
}

/// A client that sends each request once: callers retry what is worth retrying. Nothing is sent yet.
///
/// # Errors
/// When the configuration cannot be used.
pub fn connect(mut config: Config) -> Result<Client> {
    config.default_retry = false;
    Client::try_from(config).context("making a client")
}
