//! The watchdog: ends the process when an input takes far too long or far too much memory, and the black box, a file from
//! which the parent reads the input that was tried last, whatever ended the process.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use crate::{clock, memory};

/// What the processor's clock of this process said when the current input began; 0 between inputs.
static BEGAN: AtomicU64 = AtomicU64::new(0);

/// The input that is tried, on file. Its length stands in front of it.
pub struct BlackBox(File);

impl BlackBox {
    /// Makes the file.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn create(path: &Path) -> io::Result<Self> {
        File::create(path).map(Self)
    }

    /// Writes the next input down.
    ///
    /// # Errors
    /// The disk is full.
    pub fn note(&mut self, input: &[u8]) -> io::Result<()> {
        self.0.seek(SeekFrom::Start(8))?;
        self.0.write_all(input)?;
        self.0.seek(SeekFrom::Start(0))?;
        self.0.write_all(&(input.len() as u64).to_le_bytes())
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
        loop {
            std::thread::sleep(Duration::from_millis(20));
            let began = BEGAN.load(Relaxed);
            let spent = clock::of_process().saturating_sub(began);
            let why = match (began, memory::is_over()) {
                (_, true) => "exhausted",
                (0, false) => continue,
                (_, false) if spent > most_time => "hang",
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
    BEGAN.store(clock::of_process().max(1), Relaxed);
}

/// Tells the watchdog that it has ended.
pub fn end() {
    BEGAN.store(0, Relaxed);
}
