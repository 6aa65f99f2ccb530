//! Ports for programs that need one before they start, or that start again on the same one.
//!
//! Only the standard library, since other crates' tests include this file too.

use std::net::{Ipv4Addr, TcpListener, UdpSocket};
use std::ops::Range;
use std::sync::Mutex;

/// Below the ports that systems use for outgoing connections and for listeners at port 0 (Linux: from 32768),
/// so that these do not take a port between the check and the program's start, or during a restart.
const PORTS: Range<u16> = 12_000..30_000;
/// Distance between the first ports of two test programs: a prime, so that successive programs spread over
/// the whole range.
const STRIDE: usize = 7_919;

/// Reserved ports of this process: a UDP socket at the port's number does not disturb a TCP listener, is
/// visible to every other test program, and is closed with this one.
static GIVEN: Mutex<Vec<UdpSocket>> = Mutex::new(Vec::new());

/// A port of 127.0.0.1 without a listener, which no other test receives until this process ends.
///
/// # Panics
/// When no port is left.
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
