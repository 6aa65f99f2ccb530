//! Connections to servers, as the arguments choose them.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::Result;
use berth_client::Client;

use super::{ConnectionArgs, LoadArgs, PlanArgs, ServerArgs};

impl ServerArgs {
    /// Connects to the server.
    ///
    /// # Errors
    /// When there is no kubeconfig, or it is invalid.
    pub async fn client(&self) -> Result<Client> {
        Ok(Client::as_kubectl(self.kubeconfig.as_deref(), self.context.as_deref()).await?)
    }
}

impl ConnectionArgs {
    /// Connects to the server.
    ///
    /// # Errors
    /// When there is no kubeconfig, or it is invalid.
    pub async fn client(&self) -> Result<Client> {
        self.server.client().await
    }

    /// The namespace of `-n`, or else the namespace of the context of `client`.
    #[must_use]
    pub fn namespace<'a>(&'a self, client: &'a Client) -> &'a str {
        self.namespace.as_deref().unwrap_or_else(|| client.namespace())
    }
}

impl PlanArgs {
    /// The server and the user, for [`ConnectionArgs::client`].
    #[must_use]
    pub fn connection(&self) -> ConnectionArgs {
        let admin = || {
            let path = admin_kubeconfig(&self.data_dir, std::env::var_os("KUBECONFIG"));
            path.filter(|path| path.exists())
        };
        ConnectionArgs {
            server: ServerArgs {
                kubeconfig: self.kubeconfig.clone().or_else(admin),
                context: None,
            },
            namespace: None,
        }
    }
}

impl LoadArgs {
    /// The server and the user, for [`ServerArgs::client`].
    #[must_use]
    pub fn server(&self) -> ServerArgs {
        let admin = || admin_kubeconfig(&self.data_dir, std::env::var_os("KUBECONFIG"));
        ServerArgs {
            kubeconfig: self.kubeconfig.clone().or_else(admin),
            context: None,
        }
    }
}

/// Returns the path of the admin's kubeconfig in `data_dir`; `None` if `variable`, the value of KUBECONFIG,
/// names files, which the client reads as kubectl does.
fn admin_kubeconfig(data_dir: &Path, variable: Option<OsString>) -> Option<PathBuf> {
    let is_unset = variable.is_none_or(|files| files.is_empty());
    is_unset.then(|| data_dir.join("admin.kubeconfig"))
}

#[cfg(test)]
mod tests {
    use clap::{Args as _, Command};

    use super::*;

    #[test]
    fn the_admin_is_asked_for_only_where_no_kubeconfig_is_named() {
        let admin = Some(PathBuf::from("data/admin.kubeconfig"));
        for (variable, found) in [
            (None, &admin),
            (Some(""), &admin),
            (Some("a"), &None),
            (Some("a:b"), &None),
        ] {
            let path = admin_kubeconfig(Path::new("data"), variable.map(OsString::from));
            assert_eq!(path, *found, "{variable:?}");
        }
    }

    #[test]
    fn a_list_of_kubeconfigs_in_the_variable_is_no_path_of_a_file() {
        for command in [
            PlanArgs::augment_args(Command::new("plan")),
            LoadArgs::augment_args(Command::new("load")),
        ] {
            for argument in command.get_arguments() {
                assert!(
                    argument.get_env().is_none_or(|name| name != "KUBECONFIG"),
                    "{argument}"
                );
            }
        }
    }
}
