//! Ports for programs that must be told one before they start, or that come back at the one they had.
//!
//! Only the standard library, since other crates' tests include this file too.

use std::net::{Ipv4Addr, TcpListener, UdpSocket};
use std::ops::Range;
use std::sync::Mutex;

/// Below the ports that systems give to outgoing connections and to whoever listens at port 0 (Linux: from
/// 32768), so that none of those takes one between the look and the program's start, or while the program is
/// restarted.
const PORTS: Range<u16> = 12_000..30_000;
/// Distance of the starts of two test programs: prime, so that programs in sequence spread over all of them.
const STRIDE: usize = 7_919;

/// Ports that this process has given away: a UDP socket at the port's number is in the way of nobody who
/// listens with TCP, is seen by every other test program, and goes with this one.
static GIVEN: Mutex<Vec<UdpSocket>> = Mutex::new(Vec::new());

/// A port of 127.0.0.1 that nobody listens at, and that no other test is given while this process lives.
///
/// # Panics
/// When there is none left.
#[must_use]
pub fn free() -> u16 {
    let mut given = GIVEN.lock().expect("no holder panics");
    let first = std::process::id() as usize * STRIDE % PORTS.len();
    for port in PORTS.skip(first).chain(PORTS.take(first)) {
        let Ok(claim) = UdpSocket::bind((Ipv4Addr::LOCALHOST, port)) else {
            continue;
        };
        if TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok() {
            given.push(claim);
            return port;
        }
    }
    panic!("nobody may listen at any of the ports {PORTS:?} of 127.0.0.1");
}
