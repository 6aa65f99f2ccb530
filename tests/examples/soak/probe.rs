//! Times of the disk itself, which distinguish a stall of the machine from one of the server.

use std::fs::File;
use std::io::{Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow};
use berth_tests::bench::middle::millis;

/// Interval of writes, which is long enough not to be a load itself.
const EVERY: Duration = Duration::from_millis(100);
/// A page with the size of a small commit.
const PAGE: [u8; 4096] = [7; 4096];

/// Repeated durable writes of a page to a file beside the server's.
pub(crate) struct Probe {
    over: Arc<AtomicBool>,
    took: Mutex<Receiver<f64>>,
    thread: JoinHandle<Result<()>>,
}

impl Probe {
    /// Starts the writes, to a file in `folder`.
    pub(crate) fn start(folder: &Path) -> Result<Self> {
        let path = folder.join("probe");
        let mut file = File::create(&path).with_context(|| path.display().to_string())?;
        let (sender, took) = channel();
        let over = Arc::new(AtomicBool::new(false));
        let ended = Arc::clone(&over);
        let thread = std::thread::spawn(move || {
            while !ended.load(Ordering::Relaxed) {
                let begun = Instant::now();
                file.seek(SeekFrom::Start(0))?;
                file.write_all(&PAGE)?;
                file.sync_data()?;
                if sender.send(millis(begun.elapsed())).is_err() {
                    break;
                }
                std::thread::sleep(EVERY);
            }
            Ok(())
        });
        Ok(Self {
            over,
            took: Mutex::new(took),
            thread,
        })
    }

    /// Times since the last call, in milliseconds.
    pub(crate) fn take(&self) -> Vec<f64> {
        let took = self.took.lock().unwrap_or_else(PoisonError::into_inner);
        took.try_iter().collect()
    }

    /// Ends the writes.
    pub(crate) fn stop(self) -> Result<()> {
        self.over.store(true, Ordering::Relaxed);
        self.thread.join().map_err(|_| anyhow!("the probe panicked"))?
    }
}
