//! The watchdog: ends the process when an input takes far too long or far too much memory, and the black box, a file from
//! which the parent reads the input that was tried last, whatever ended the process.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use crate::{clock, memory};

/// The number of the current input; 0 between inputs. The watchdog looks at its clock when it first sees a number, so that an
/// input costs no look at a clock.
static CURRENT: AtomicU64 = AtomicU64::new(0);
/// The number of the last input.
static LAST: AtomicU64 = AtomicU64::new(0);

/// The input that is tried, on file. Its length stands in front of it.
pub struct BlackBox {
    file: File,
    whole: Vec<u8>,
}

impl BlackBox {
    /// Makes the file.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn create(path: &Path) -> io::Result<Self> {
        Ok(Self { file: File::create(path)?, whole: Vec::new() })
    }

    /// Writes the next input down.
    ///
    /// # Errors
    /// The disk is full.
    pub fn note(&mut self, input: &[u8]) -> io::Result<()> {
        self.whole.clear();
        self.whole.extend_from_slice(&(input.len() as u64).to_le_bytes());
        self.whole.extend_from_slice(input);
        self.file.seek(SeekFrom::Start(0))?;
        self.file.write_all(&self.whole)
    }

    /// The last input.
    ///
    /// # Errors
    /// There is no such file, or it holds no input.
    pub fn read(path: &Path) -> io::Result<Vec<u8>> {
        let mut file = File::open(path)?;
        let mut len = [0; 8];
        file.read_exact(&mut len)?;
        let mut input = Vec::new();
        file.take(u64::from_le_bytes(len)).read_to_end(&mut input)?;
        Ok(input)
    }
}

/// Starts the watchdog of this process. Before it ends the process, it writes the reason to `reason`.
pub fn start(most_time: u64, reason: PathBuf) {
    std::thread::spawn(move || {
        let mut seen = (0, 0);
        loop {
            std::thread::sleep(Duration::from_millis(20));
            let (current, now) = (CURRENT.load(Relaxed), clock::of_process());
            if current != seen.0 {
                seen = (current, now);
            }
            let why = match (current, memory::is_over()) {
                (_, true) => "exhausted",
                (0, false) => continue,
                (_, false) if now.saturating_sub(seen.1) > most_time => "hang",
                _ => continue,
            };
            // the exit code says enough if this fails
            let _ = std::fs::write(&reason, why);
            std::process::abort();
        }
    });
}

/// Tells the watchdog that an input begins.
pub fn begin() {
    CURRENT.store(LAST.fetch_add(1, Relaxed) + 1, Relaxed);
}

/// Tells the watchdog that it has ended.
pub fn end() {
    CURRENT.store(0, Relaxed);
}
