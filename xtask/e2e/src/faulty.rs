//! A file system that kills its own process before or after the n-th durable operation, or in
//! the middle of its write, and that can write down what was done.

use std::{
    ffi::OsString,
    fmt,
    fs::{File, OpenOptions},
    io::{self, Write},
    path::Path,
    str::FromStr,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use scv_bridge::fs::{DurableFile, Entry, FileSystem, RealFileSystem};

/// Where to die: `before:N`, `after:N` or `torn:N`, counted from 1.
pub const KILL: &str = "SCV_FAULT_KILL";
/// A file that gets one line for each durable operation: its kind and its bytes.
pub const TRACE: &str = "SCV_FAULT_TRACE";
/// Milliseconds that each synchronization takes longer.
pub const SLOW_SYNC: &str = "SCV_FAULT_SYNC_MS";

/// When, at the n-th operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// Nothing of it was done.
    Before,
    /// All of it was done, and nobody heard of it.
    After,
    /// Half of a write was done; other operations were not begun.
    Torn,
}

/// Where to die.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kill {
    /// When.
    pub moment: Moment,
    /// At which operation, from 1.
    pub operation: u64,
}

impl fmt::Display for Kill {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let moment = match self.moment {
            Moment::Before => "before",
            Moment::After => "after",
            Moment::Torn => "torn",
        };
        write!(f, "{moment}:{}", self.operation)
    }
}

impl FromStr for Kill {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("{KILL}={text}: write before:N, after:N or torn:N");
        let (moment, operation) = text.split_once(':').ok_or_else(wrong)?;
        let moment = match moment {
            "before" => Moment::Before,
            "after" => Moment::After,
            "torn" => Moment::Torn,
            _ => return Err(wrong()),
        };
        Ok(Self { moment, operation: operation.parse().map_err(|_| wrong())? })
    }
}

/// The machine's file system, until the time has come.
#[derive(Clone)]
pub struct Faulty(Arc<Shared>);

struct Shared {
    real: RealFileSystem,
    kill: Option<Kill>,
    done: AtomicU64,
    trace: Option<Mutex<File>>,
    sync_takes: Duration,
}

impl Faulty {
    /// As the environment says.
    ///
    /// # Errors
    /// A text for the person who set [`KILL`], [`TRACE`] or [`SLOW_SYNC`] wrongly.
    pub fn from_env() -> Result<Self, String> {
        let kill = match std::env::var(KILL) {
            Ok(text) => Some(text.parse()?),
            Err(_) => None,
        };
        let open = |path: OsString| OpenOptions::new().append(true).create(true).open(path);
        let trace = std::env::var_os(TRACE)
            .map(open)
            .transpose()
            .map_err(|error| format!("{TRACE}: {error}"))?;
        let sync_ms = std::env::var(SLOW_SYNC).unwrap_or_else(|_| "0".to_owned());
        let sync_ms =
            sync_ms.parse().map_err(|_| format!("{SLOW_SYNC}={sync_ms}: write a number"))?;
        Ok(Self(Arc::new(Shared {
            sync_takes: Duration::from_millis(sync_ms),
            real: RealFileSystem,
            kill,
            done: AtomicU64::new(0),
            trace: trace.map(Mutex::new),
        })))
    }

    /// Synchronizes, on a disk that may be slow.
    // A slow disk holds its thread.
    #[allow(clippy::disallowed_methods)]
    fn sync(&self, kind: &str, mut run: impl FnMut() -> io::Result<()>) -> io::Result<()> {
        std::thread::sleep(self.0.sync_takes);
        self.durable(kind, 0, |_| run())
    }

    /// Runs one durable operation, or dies at it. `torn` does half of it.
    fn durable<T>(
        &self,
        kind: &str,
        bytes: usize,
        mut run: impl FnMut(Part) -> io::Result<T>,
    ) -> io::Result<T> {
        let number = self.0.done.fetch_add(1, Ordering::SeqCst) + 1;
        if let Some(trace) = &self.0.trace {
            let mut trace = trace.lock().expect("nobody panics while holding it");
            writeln!(trace, "{kind} {bytes}")?;
        }
        let moment = self.0.kill.filter(|kill| kill.operation == number).map(|kill| kill.moment);
        match moment {
            None => run(Part::Whole),
            Some(Moment::Before) => die(),
            Some(Moment::After) => {
                // Whether it worked does not matter: nobody will hear of it.
                let _ = run(Part::Whole);
                die()
            }
            Some(Moment::Torn) => {
                if bytes > 1 {
                    let _ = run(Part::Half);
                }
                die()
            }
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Whole,
    Half,
}

/// SIGKILL to itself: no destructor, no buffer, no exit handler runs.
fn die() -> ! {
    let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
    loop {
        std::thread::park();
    }
}

impl FileSystem for Faulty {
    fn read(&self, path: &Path, limit: u64) -> io::Result<Vec<u8>> {
        self.0.real.read(path, limit)
    }

    fn create(&self, path: &Path) -> io::Result<Box<dyn DurableFile>> {
        let file = self.durable("create", 0, |_| self.0.real.create(path))?;
        Ok(Box::new(FaultyFile { file, system: self.clone() }))
    }

    fn append(&self, path: &Path) -> io::Result<Box<dyn DurableFile>> {
        let file = self.0.real.append(path)?;
        Ok(Box::new(FaultyFile { file, system: self.clone() }))
    }

    fn open_lock(&self, path: &Path) -> io::Result<File> {
        self.0.real.open_lock(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.durable("rename", 0, |_| self.0.real.rename(from, to))
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.durable("remove", 0, |_| self.0.real.remove(path))
    }

    fn private_dir(&self, path: &Path) -> io::Result<bool> {
        if self.0.real.entry(path)?.is_some() {
            return self.0.real.private_dir(path);
        }
        self.durable("mkdir", 0, |_| self.0.real.private_dir(path))
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        self.sync("fsync", || self.0.real.sync_dir(path))
    }

    fn list(&self, path: &Path, limit: usize) -> io::Result<Vec<OsString>> {
        self.0.real.list(path, limit)
    }

    fn entry(&self, path: &Path) -> io::Result<Option<Entry>> {
        self.0.real.entry(path)
    }
}

struct FaultyFile {
    file: Box<dyn DurableFile>,
    system: Faulty,
}

impl DurableFile for FaultyFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        let file = &mut self.file;
        self.system.durable("write", bytes.len(), |part| match part {
            Part::Whole => file.write(bytes),
            Part::Half => file.write(&bytes[..bytes.len() / 2]),
        })
    }

    fn sync_data(&mut self) -> io::Result<()> {
        let file = &mut self.file;
        self.system.sync("fdatasync", || file.sync_data())
    }

    fn set_len(&mut self, len: u64) -> io::Result<()> {
        let file = &mut self.file;
        self.system.durable("truncate", 0, |_| file.set_len(len))
    }

    fn is_at(&self, path: &Path) -> io::Result<bool> {
        self.file.is_at(path)
    }
}
