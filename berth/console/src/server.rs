//! The server of the console: listeners on loopback, and one handler for all requests.

use std::collections::BTreeSet;
use std::io::{IsTerminal, Write as _};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;

use anyhow::{Context, Result};
use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use http::{Response, StatusCode};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::Semaphore;

use crate::args::{ConsoleArgs, PageArgs};
use crate::idle::{self, OpenAnswers};
use crate::opener::Opener;
use crate::paths::Allowlist;
use crate::refusal::Refusal;
use crate::verifier::{AdmittedRequest, RequestVerifier, protect};
use crate::{assets, forward};

/// Highest number of forwarded requests that wait for the beginning of their answers at the same time.
const MAX_INFLIGHT: usize = 64;

/// A console that listens on loopback. [`Console::serve`] answers its requests.
pub struct Console {
    listeners: Vec<TcpListener>,
    shared: Arc<ServerState>,
    port: u16,
}

struct ServerState {
    verifier: RequestVerifier,
    allowed: Allowlist,
    client: kube::Client,
    about: Value,
    inflight: Semaphore,
    answers: Arc<OpenAnswers>,
}

impl Console {
    /// Reads the kubeconfig and listens on loopback. `groups` are the API groups of the systems.
    ///
    /// # Errors
    /// When the kubeconfig cannot be used, or the port is in use.
    pub async fn start(args: &ConsoleArgs, groups: BTreeSet<String>) -> Result<Self> {
        let path = args.kubeconfig.as_deref();
        let config = berth_client::config(path, args.context.as_deref()).await?;
        let context = match &args.context {
            Some(context) => Some(context.clone()),
            None => berth_client::kubeconfig(path)?.current_context,
        };
        let about = json!({
            "context": context,
            "server": config.cluster_url.to_string(),
            "namespace": config.default_namespace,
            "writes": args.page.allow_writes,
        });
        // The connection is not checked: the page shows that a server is not available, and tries
        // again.
        let client = berth_client::connect(config)?;
        Self::with_client(&args.page, groups, client, about).await
    }

    /// Listens on loopback, to forward requests with `client` to the API `groups`. `about` has the facts
    /// about this process for the page.
    ///
    /// # Errors
    /// When the port is in use, or the system returns no random bytes for the token.
    pub async fn with_client(
        args: &PageArgs,
        groups: BTreeSet<String>,
        client: kube::Client,
        about: Value,
    ) -> Result<Self> {
        let ipv4_listener = TcpListener::bind((Ipv4Addr::LOCALHOST, args.port))
            .await
            .with_context(|| {
                format!(
                    "listening on 127.0.0.1:{} (--port chooses another port)",
                    args.port
                )
            })?;
        let port = ipv4_listener.local_addr()?.port();
        let mut listeners = vec![ipv4_listener];
        // Without IPv6, or if the port is in use on ::1, 127.0.0.1 is enough.
        match TcpListener::bind((Ipv6Addr::LOCALHOST, port)).await {
            Ok(ipv6_listener) => listeners.push(ipv6_listener),
            Err(problem) => tracing::debug!(%problem, port, "not listening on [::1]"),
        }
        let shared = ServerState {
            verifier: RequestVerifier::new(port, &args.allow_host)?,
            allowed: Allowlist {
                groups,
                writes: args.allow_writes,
            },
            client,
            about,
            inflight: Semaphore::new(MAX_INFLIGHT),
            answers: Arc::default(),
        };
        Ok(Self {
            listeners,
            shared: Arc::new(shared),
            port,
        })
    }

    /// The addresses on which the console listens.
    ///
    /// # Errors
    /// When the system does not return an address.
    pub fn addresses(&self) -> Result<Vec<SocketAddr>> {
        Ok(self
            .listeners
            .iter()
            .map(TcpListener::local_addr)
            .collect::<std::io::Result<_>>()?)
    }

    /// The address to open in a browser. The token is in the fragment, which browsers do not send to servers.
    #[must_use]
    pub fn url(&self) -> String {
        format!(
            "http://127.0.0.1:{}/#token={}",
            self.port,
            self.shared.verifier.token()
        )
    }

    /// Prints the address and `notice`, opens a browser unless `page` turns this off, and serves until
    /// Ctrl-C or SIGTERM, or until the idle timeout of `page`.
    ///
    /// # Errors
    /// When the process cannot listen for these signals, or a listener fails.
    pub async fn until_ctrl_c(self, page: &PageArgs, notice: &str) -> Result<()> {
        // The handler is installed before the address is printed, since a reader may send the signal at once.
        let mut interrupt = signal(SignalKind::interrupt()).context("listening for Ctrl-C")?;
        let mut terminate = signal(SignalKind::terminate()).context("listening for SIGTERM")?;
        let url = self.url();
        print_line(&format!("{url}\n\n{notice}"));
        let opener = match !page.no_open && std::io::stdout().is_terminal() {
            true => Opener::create(&url)
                .inspect_err(|problem| tracing::debug!(%problem, "no browser was opened"))
                .ok(),
            false => None,
        };
        if let Some(opener) = &opener {
            opener.open();
        }
        let answers = Arc::clone(&self.shared.answers);
        let unused = async {
            match page.idle_timeout {
                Some(limit) => answers.idle_for(limit).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            ended = self.serve() => ended,
            () = unused => {
                print_line(&format!(
                    "the console ended: no requests for {:?}",
                    page.idle_timeout.unwrap_or_default()
                ));
                Ok(())
            }
            _ = interrupt.recv() => {
                print_line("the console ended");
                Ok(())
            }
            _ = terminate.recv() => {
                print_line("the console ended");
                Ok(())
            }
        }
    }

    /// Serves until the future is dropped.
    ///
    /// # Errors
    /// When a listener fails.
    pub async fn serve(self) -> Result<()> {
        let router = router(self.shared);
        let mut serving = tokio::task::JoinSet::new();
        for listener in self.listeners {
            let router = router.clone();
            serving.spawn(async move { axum::serve(listener, router).await });
        }
        while let Some(ended) = serving.join_next().await {
            ended??;
        }
        Ok(())
    }
}

fn router(shared: Arc<ServerState>) -> Router {
    Router::new().fallback(handle).with_state(shared)
}

async fn handle(State(shared): State<Arc<ServerState>>, request: Request) -> Response<Body> {
    let open_answer = shared.answers.open();
    let mut response = shared
        .answer(request)
        .await
        .unwrap_or_else(Refusal::into_response);
    protect(response.headers_mut());
    response.map(|body| idle::counted(body, open_answer))
}

impl ServerState {
    async fn answer(&self, request: Request) -> Result<Response<Body>, Refusal> {
        let (parts, body) = request.into_parts();
        let path = match self.verifier.admit(&parts)? {
            AdmittedRequest::Asset => return assets::answer(parts.uri.path(), &parts.headers),
            AdmittedRequest::About => return Ok(Response::new(Body::from(self.about.to_string()))),
            AdmittedRequest::Api(path) => path,
        };
        let query = parts.uri.query();
        self.allowed.check(&parts.method, &path, query)?;
        let path = query.map_or_else(|| path.clone(), |query| format!("{path}?{query}"));
        // The permit is held until the answer begins; a watch that streams holds none.
        let _permit = self.inflight.try_acquire().map_err(|_| {
            Refusal::new(
                StatusCode::TOO_MANY_REQUESTS,
                format!("{MAX_INFLIGHT} requests already wait for the server; try again later"),
            )
        })?;
        forward::send(&self.client, parts.method, &path, &parts.headers, body).await
    }
}

/// Runs `berth console` until Ctrl-C, or until the idle timeout.
///
/// # Errors
/// When the console cannot start, or a listener fails.
pub async fn run(args: ConsoleArgs, groups: BTreeSet<String>) -> Result<()> {
    let console = Console::start(&args, groups).await?;
    let notice = "This address gives access with your kubeconfig's permissions. Ctrl-C ends it.";
    console.until_ctrl_c(&args.page, notice).await
}

/// Prints a line on standard output; if the output is closed, the line is lost.
fn print_line(text: &str) {
    writeln!(anstream::stdout(), "{text}").unwrap_or_default();
}

#[cfg(test)]
mod tests;
