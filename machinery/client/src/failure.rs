//! Messages about failed requests: the message of the server or, if the server did not answer, the root cause
//! without the prefixes of libraries.

use std::error::Error;
use std::io;
use std::iter::successors;

use kube::client::AuthError;

use crate::error::Error as Failure;

/// Server of a client, and the context of the kubeconfig that names it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Server {
    /// URL in the kubeconfig.
    pub url: String,
    /// Name of the context, if there is one.
    pub context: Option<String>,
}

impl Server {
    /// Returns the server of `config` with its context.
    pub(crate) fn of(config: &kube::Config, context: Option<String>) -> Self {
        Self {
            url: config.cluster_url.to_string().trim_end_matches('/').to_owned(),
            context,
        }
    }

    /// Creates the error that this server did not answer, or that the client has no credentials for it.
    pub(crate) fn unanswered(&self, problem: &kube::Error) -> Failure {
        let text = root_cause(problem);
        Failure::Unanswered(match error_chain(problem).any(|link| link.is::<AuthError>()) {
            true => format!("no credentials for {self}: {text}"),
            false => format!("cannot reach {self}: {text}"),
        })
    }
}

impl std::fmt::Display for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self.url.as_str(), &self.context) {
            ("", _) => f.write_str("the server"),
            (url, None) => f.write_str(url),
            (url, Some(context)) => write!(f, "{url} (context {context})"),
        }
    }
}

/// Returns the server's message in `problem`, or otherwise the reason of the failure.
#[must_use]
pub fn root_cause(problem: &(dyn Error + 'static)) -> String {
    for link in error_chain(problem) {
        if let Some(auth_error) = link.downcast_ref::<AuthError>() {
            return credential_error_text(auth_error);
        }
        match link.downcast_ref::<kube::Error>() {
            Some(kube::Error::Api(status)) if !status.message.is_empty() => return status.message.clone(),
            // Intermediate messages are from libraries, and repeat the cause.
            Some(kube::Error::Service(service))
                if !error_chain(&**service).any(|link| link.is::<AuthError>()) =>
            {
                return innermost_message(problem);
            }
            Some(kube::Error::HyperError(_)) => return innermost_message(problem),
            None if link.to_string().starts_with("client error (") => return innermost_message(problem),
            _ => {}
        }
    }
    let mut text = problem.to_string();
    for cause in error_chain(problem).skip(1).map(ToString::to_string) {
        if !text.contains(&cause) {
            text = format!("{text}: {cause}");
        }
    }
    text
}

/// Iterates over an error and its causes, outermost first.
fn error_chain<'a>(problem: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    successors(Some(problem), |link| (**link).source())
}

/// Returns the message of the root cause.
fn innermost_message(problem: &(dyn Error + 'static)) -> String {
    let last = error_chain(problem).last().unwrap_or(problem);
    if let Some(cause) = last.downcast_ref::<io::Error>() {
        return system_error_text(cause);
    }
    explain(last.to_string())
}

/// Returns a system error without its number.
fn system_error_text(problem: &io::Error) -> String {
    if problem.kind() == io::ErrorKind::TimedOut {
        return "no answer in time".to_owned();
    }
    let text = problem.to_string();
    let Some(number) = problem.raw_os_error() else {
        return explain(text);
    };
    let text = text
        .strip_suffix(&format!(" (os error {number})"))
        .unwrap_or(&text);
    let mut letters = text.chars();
    let first = letters.next().map(|first| first.to_ascii_lowercase());
    first.into_iter().chain(letters).collect()
}

/// Replaces a library's message about an unknown certificate authority by a sentence about the kubeconfig.
fn explain(text: String) -> String {
    match text.contains("UnknownIssuer") {
        true => {
            "the kubeconfig has no authority that signed the server's certificate (certificate-authority-data)"
                .to_owned()
        }
        false => text,
    }
}

/// Returns the reason why there are no credentials.
fn credential_error_text(problem: &AuthError) -> String {
    match problem {
        AuthError::AuthExecStart(cause) => {
            format!(
                "the kubeconfig's credential plugin cannot be started: {}",
                system_error_text(cause)
            )
        }
        AuthError::AuthExecRun { cmd, out, .. } => {
            let error_output = String::from_utf8_lossy(&out.stderr);
            let error_output = error_output
                .trim()
                .lines()
                .last()
                .unwrap_or("it printed no error")
                .to_owned();
            format!(
                "the kubeconfig's credential plugin {cmd} failed ({}): {error_output}",
                out.status
            )
        }
        AuthError::ReadTokenFile(cause, path) => {
            format!(
                "the token file {} cannot be read: {}",
                path.display(),
                system_error_text(cause)
            )
        }
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Command, ExitStatus, Output};

    use super::*;

    fn service(cause: io::Error) -> kube::Error {
        kube::Error::Service(cause.into())
    }

    fn server() -> Server {
        Server {
            url: "https://127.0.0.1:39999".to_owned(),
            context: Some("hub".to_owned()),
        }
    }

    fn failed() -> ExitStatus {
        Command::new("false").status().unwrap()
    }

    #[test]
    fn an_error_names_the_server_the_context_and_the_cause_and_no_library() {
        let of = |cause| server().unanswered(&service(cause)).to_string();
        assert_eq!(
            of(io::Error::from_raw_os_error(111)),
            "cannot reach https://127.0.0.1:39999 (context hub): connection refused"
        );
        assert_eq!(
            of(io::ErrorKind::TimedOut.into()),
            "cannot reach https://127.0.0.1:39999 (context hub): no answer in time"
        );
        let certificate = of(io::Error::other("invalid peer certificate: UnknownIssuer"));
        assert!(
            certificate.ends_with("(certificate-authority-data)"),
            "{certificate}"
        );
        let nameless = Server::default().unanswered(&service(io::Error::other("gone")));
        assert_eq!(nameless.to_string(), "cannot reach the server: gone");
    }

    #[test]
    fn a_failed_credential_plugin_is_reported_with_its_own_message() {
        let out = Box::new(Output {
            status: failed(),
            stdout: Vec::new(),
            stderr: b"one\nplease log in first\n".to_vec(),
        });
        let cmd = "get-token".to_owned();
        let run = kube::Error::Service(AuthError::AuthExecRun { cmd, out }.into());
        let message = server().unanswered(&run).to_string();
        assert!(
            message.starts_with(
                "no credentials for https://127.0.0.1:39999 (context hub): the kubeconfig's credential plugin"
            ),
            "{message}"
        );
        assert!(message.ends_with(": please log in first"), "{message}");
        let start = kube::Error::Auth(AuthError::AuthExecStart(io::Error::from_raw_os_error(2)));
        assert!(root_cause(&start).ends_with("cannot be started: no such file or directory"));
    }

    #[test]
    fn a_refusal_is_reported_with_the_servers_message_and_other_problems_with_their_causes() {
        let status = kube::core::Status {
            message: "pods \"a\" is forbidden".to_owned(),
            code: 403,
            ..Default::default()
        };
        assert_eq!(
            root_cause(&kube::Error::Api(Box::new(status))),
            "pods \"a\" is forbidden"
        );
        let read = serde_json::from_str::<u8>("x").unwrap_err();
        let unread = root_cause(&kube::Error::SerdeError(read));
        assert!(unread.starts_with("Error deserializing response: "), "{unread}");
    }
}
