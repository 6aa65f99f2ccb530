//! A proxy to etcd that can be cut: connections are closed and refused until it is restored.

use std::sync::Arc;

use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// The proxy.
pub struct Proxy {
    port: u16,
    open: Arc<watch::Sender<bool>>,
}

impl Proxy {
    /// Starts an open proxy to `url`.
    pub async fn start(url: &str) -> Self {
        let target = url.trim_start_matches("http://").to_owned();
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a free port");
        let port = listener.local_addr().expect("it has an address").port();
        let open = Arc::new(watch::Sender::new(true));
        tokio::spawn(accept(listener, target, Arc::clone(&open)));
        Self { port, open }
    }

    /// URL of the proxy.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Closes every connection, and refuses new ones.
    pub fn cut(&self) {
        self.open.send_replace(false);
    }

    /// Accepts connections again.
    pub fn mend(&self) {
        self.open.send_replace(true);
    }
}

async fn accept(listener: TcpListener, target: String, open: Arc<watch::Sender<bool>>) {
    while let Ok((mut near, _)) = listener.accept().await {
        let (target, mut open) = (target.clone(), open.subscribe());
        tokio::spawn(async move {
            let through = async {
                let Ok(mut far) = TcpStream::connect(target).await else {
                    return;
                };
                // Ends with either side; after a failure of one, both are closed.
                copy_bidirectional(&mut near, &mut far)
                    .await
                    .map(drop)
                    .unwrap_or_default();
            };
            tokio::select! {
                biased;
                _ = open.wait_for(|open| !open) => {}
                () = through => {}
            }
        });
    }
}
