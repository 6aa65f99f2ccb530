//! Replacement of a Service over several replicas: connections to one port go to the reachable backends in
//! turn.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

/// Time for a backend to accept a connection.
const CONNECT: Duration = Duration::from_secs(5);

/// A port in front of several servers.
pub struct Balancer {
    port: u16,
    ended: Arc<AtomicBool>,
}

impl Balancer {
    /// Opens a port in front of `backends`, ports on loopback.
    ///
    /// # Panics
    /// When no port is free.
    #[must_use]
    pub fn start(backends: Vec<u16>) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("loopback has a free port");
        let port = listener.local_addr().expect("a listener has an address").port();
        let ended = Arc::new(AtomicBool::new(false));
        let end = Arc::clone(&ended);
        let next = AtomicUsize::new(0);
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                if end.load(Ordering::Relaxed) {
                    return;
                }
                let first = next.fetch_add(1, Ordering::Relaxed);
                let mut turns = (0..backends.len()).map(|turn| backends[(first + turn) % backends.len()]);
                // Without a reachable backend, the client's connection is closed.
                if let Some(server) = turns.find_map(connect) {
                    join(client, server);
                }
            }
        });
        Self { port, ended }
    }

    /// The port.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }
}

impl Drop for Balancer {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
        // Wakes the listener, which then ends.
        drop(TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)));
    }
}

fn connect(port: u16) -> Option<TcpStream> {
    TcpStream::connect_timeout(&(Ipv4Addr::LOCALHOST, port).into(), CONNECT).ok()
}

/// Copies bytes in both directions, until one side ends.
fn join(client: TcpStream, server: TcpStream) {
    let (Ok(client_too), Ok(server_too)) = (client.try_clone(), server.try_clone()) else {
        return;
    };
    std::thread::spawn(move || pass(client, server));
    std::thread::spawn(move || pass(server_too, client_too));
}

fn pass(mut from: TcpStream, mut to: TcpStream) {
    let mut buffer = [0; 16 * 1024];
    while let Ok(count) = from.read(&mut buffer)
        && count > 0
        && to.write_all(&buffer[..count]).is_ok()
    {}
    // Either side may already be closed.
    drop(to.shutdown(Shutdown::Both));
    drop(from.shutdown(Shutdown::Both));
}
