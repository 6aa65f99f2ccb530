//! Kubeconfigs, and the configuration and client of the crate `kube` from a kubeconfig.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use kube::config::{KubeConfigOptions, Kubeconfig, KubeconfigError};
use kube::{Client, Config};

use crate::{Error, Result, root_cause};

/// Highest number of contexts in a message.
const MAX_CONTEXTS: usize = 10;

/// Source of a kubeconfig.
#[derive(Clone, Debug)]
enum Origin {
    /// A file that the user names.
    File(PathBuf),
    /// The files that the variable KUBECONFIG lists, at least one.
    Variable(OsString),
    /// The file `~/.kube/config`.
    Home,
}

impl Origin {
    /// Returns `path` as the source, or otherwise the source that kubectl would use.
    fn of(path: Option<&Path>) -> Self {
        match (path, std::env::var_os("KUBECONFIG")) {
            (Some(path), _) => Self::File(path.to_owned()),
            (None, Some(value)) if paths(&value).next().is_some() => Self::Variable(value),
            (None, _) => Self::Home,
        }
    }

    fn read(&self) -> Result<Kubeconfig, KubeconfigError> {
        match self {
            Self::File(path) => Kubeconfig::read_from(path),
            Self::Home => Kubeconfig::read(),
            Self::Variable(value) => {
                // Of several files, only the existing files are read, as in kubectl.
                let existing: Vec<PathBuf> = paths(value).filter(|path| path.exists()).collect();
                match existing.as_slice() {
                    [] => Kubeconfig::read(),
                    existing => existing.iter().try_fold(Kubeconfig::default(), |merged, path| {
                        merged.merge(Kubeconfig::read_from(path)?)
                    }),
                }
            }
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => write!(f, "kubeconfig {}", path.display()),
            Self::Variable(value) => write!(f, "kubeconfig {} (from $KUBECONFIG)", value.display()),
            Self::Home => f.write_str("kubeconfig ~/.kube/config"),
        }
    }
}

/// Returns the files in a value of KUBECONFIG.
fn paths(value: &OsStr) -> impl Iterator<Item = PathBuf> {
    std::env::split_paths(value).filter(|path| !path.as_os_str().is_empty())
}

/// Returns the kubeconfig at `path`, or the kubeconfig that kubectl would read: the files of KUBECONFIG, or
/// `~/.kube/config`.
///
/// # Errors
/// When there is no kubeconfig, or it cannot be read.
pub fn kubeconfig(path: Option<&Path>) -> Result<Kubeconfig> {
    let origin = Origin::of(path);
    origin.read().map_err(|problem| read_error(&origin, problem))
}

fn read_error(origin: &Origin, problem: KubeconfigError) -> Error {
    let text = match problem {
        KubeconfigError::ReadConfig(cause, _) if cause.kind() == io::ErrorKind::NotFound => match origin {
            Origin::Home => format!("{origin} not found; pass --kubeconfig FILE, or set KUBECONFIG"),
            _ => format!("{origin} not found; pass --kubeconfig FILE"),
        },
        KubeconfigError::ReadConfig(cause, path) => {
            format!(
                "{origin} cannot be read: {}: {cause}; pass --kubeconfig FILE to use another file",
                path.display()
            )
        }
        other => return unusable(origin, &other),
    };
    Error::Kubeconfig(text)
}

/// Creates the error of a kubeconfig without usable content.
fn unusable(origin: &Origin, problem: &KubeconfigError) -> Error {
    Error::Kubeconfig(format!("{origin}: {}", root_cause(problem)))
}

/// Returns the files to which the cluster and the user of `context` refer, each with the name of the field.
fn files<'a>(kubeconfig: &'a Kubeconfig, context: &str) -> Vec<(&'static str, &'a str)> {
    let entry = kubeconfig.contexts.iter().find(|one| one.name == context);
    let Some(context) = entry.and_then(|one| one.context.as_ref()) else {
        return Vec::new();
    };
    let cluster = kubeconfig.clusters.iter().find(|one| one.name == context.cluster);
    let user = kubeconfig
        .auth_infos
        .iter()
        .find(|one| Some(&one.name) == context.user.as_ref());
    let mut files = Vec::new();
    if let Some(cluster) = cluster.and_then(|one| one.cluster.as_ref())
        && cluster.certificate_authority_data.is_none()
    {
        files.push(("certificate-authority", &cluster.certificate_authority));
    }
    if let Some(user) = user.and_then(|one| one.auth_info.as_ref()) {
        if user.client_certificate_data.is_none() {
            files.push(("client-certificate", &user.client_certificate));
        }
        if user.client_key_data.is_none() {
            files.push(("client-key", &user.client_key));
        }
        files.push(("tokenFile", &user.token_file));
    }
    let fields = files.into_iter();
    fields
        .filter_map(|(field, path)| Some((field, path.as_deref().filter(|path| !path.is_empty())?)))
        .collect()
}

/// Returns the configuration for `context`, or for the current context, in the kubeconfig of [`kubeconfig`].
///
/// # Errors
/// When there is no kubeconfig, or it is invalid.
pub async fn config(path: Option<&Path>, context: Option<&str>) -> Result<Config> {
    config_with_context(path, context).await.map(|(config, _)| config)
}

/// Returns the configuration of [`config`], with the name of the context.
pub(crate) async fn config_with_context(
    path: Option<&Path>,
    context: Option<&str>,
) -> Result<(Config, Option<String>)> {
    config_of(&Origin::of(path), context).await
}

/// Returns the configuration of kubectl's kubeconfig, as [`config`] does, or in a Pod without a kubeconfig the
/// configuration of the service account. A kubeconfig that cannot be used is an error, since the service
/// account may belong to another cluster.
///
/// # Errors
/// As [`config`], if the process is not in a Pod with a service account.
pub async fn config_or_service_account() -> Result<Config> {
    or_service_account(&Origin::of(None)).await
}

async fn or_service_account(origin: &Origin) -> Result<Config> {
    match origin.read() {
        Err(problem) if is_not_found(&problem) => {
            Config::incluster().map_err(|_not_in_pod| read_error(origin, problem))
        }
        _ => config_of(origin, None).await.map(|(config, _)| config),
    }
}

/// Whether `problem` says that there is no kubeconfig.
fn is_not_found(problem: &KubeconfigError) -> bool {
    match problem {
        KubeconfigError::ReadConfig(cause, _) => cause.kind() == io::ErrorKind::NotFound,
        KubeconfigError::FindPath => true,
        _ => false,
    }
}

/// Returns the configuration for `context`, or for the current context, in the kubeconfig of `origin`, with
/// the name of the context.
async fn config_of(origin: &Origin, context: Option<&str>) -> Result<(Config, Option<String>)> {
    let kubeconfig = origin.read().map_err(|problem| read_error(origin, problem))?;
    let context = context_name(origin, &kubeconfig, context)?.to_owned();
    for (field, path) in files(&kubeconfig, &context) {
        if let Err(cause) = std::fs::File::open(path) {
            let text = format!("{origin}: {field}: {path} cannot be read: {cause}");
            return Err(Error::Kubeconfig(text));
        }
    }
    let options = KubeConfigOptions {
        context: Some(context.clone()),
        ..KubeConfigOptions::default()
    };
    let config = Config::from_custom_kubeconfig(kubeconfig, &options).await;
    let mut config = config.map_err(|problem| unusable(origin, &problem))?;
    // As in kubectl, an empty namespace is no namespace.
    if config.default_namespace.is_empty() {
        "default".clone_into(&mut config.default_namespace);
    }
    Ok((config, Some(context)))
}

/// Returns the `requested` context, or the current context.
fn context_name<'a>(
    origin: &Origin,
    kubeconfig: &'a Kubeconfig,
    requested: Option<&'a str>,
) -> Result<&'a str> {
    let known: Vec<&str> = kubeconfig.contexts.iter().map(|context| &*context.name).collect();
    let list = match known.get(MAX_CONTEXTS..) {
        None | Some([]) => known.join(", "),
        Some(more) => format!("{} and {} more", known[..MAX_CONTEXTS].join(", "), more.len()),
    };
    let current = kubeconfig
        .current_context
        .as_deref()
        .filter(|name| !name.is_empty());
    let problem = match requested.or(current) {
        _ if known.is_empty() => format!("{origin} has no contexts"),
        None => format!("{origin} has no current context; pass --context with one of {list}"),
        Some(name) if !known.contains(&name) => {
            format!("{origin} has no context \"{name}\"; it has {list}")
        }
        Some(name) => return Ok(name),
    };
    Err(Error::Kubeconfig(problem))
}

/// Creates a client that sends each request once and leaves retries to the caller. No request is sent yet.
///
/// # Errors
/// When the configuration cannot be used.
pub fn connect(mut config: Config) -> Result<Client> {
    config.default_retry = false;
    Client::try_from(config).map_err(|problem| Error::Unusable(root_cause(&problem)))
}

#[cfg(test)]
mod tests;
