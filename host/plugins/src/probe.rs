//! Step 7: the library is loaded by a child first, so that one which ends its process ends that.

use std::{
    fs,
    os::unix::fs::{MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
};

use tokio::runtime::Handle;

use crate::{
    adapter::HostSide,
    child::{self, Failure, Purpose, Spec},
};

/// Loads the library in a child; with a configuration, lets it make its plugin, too.
pub(crate) async fn probe(
    spec: &Spec<'_>,
    plugin: &str,
    config: Option<Vec<u8>>,
) -> Result<(), Failure> {
    let (_, host) = HostSide::new(plugin, Handle::current(), spec.deadlines);
    let loaded = child::load(spec, Purpose::Probe, host).await?;
    if let Some(config) = config {
        loaded.create(config).await?;
    }
    Ok(())
}

/// Remembers that these bytes were loaded well by this build of the program. Only that: what
/// went wrong is tried again.
pub(crate) struct Known {
    file: PathBuf,
    build: String,
}

impl Known {
    pub(crate) fn new(cache_dir: &Path, sha256: &str, helper: &Path) -> Self {
        let file = cache_dir.join("plugins").join(format!("{sha256}.probed"));
        Self { file, build: build(helper) }
    }

    pub(crate) fn is_good(&self) -> bool {
        fs::read_to_string(&self.file).is_ok_and(|build| build == self.build)
    }

    /// Without it the next load asks again, so a failure is none.
    pub(crate) fn remember(&self) {
        let _ = fs::remove_file(&self.file);
        let mut options = fs::OpenOptions::new();
        let file = options.write(true).create_new(true).mode(0o600).open(&self.file);
        let _ =
            file.and_then(|mut file| std::io::Write::write_all(&mut file, self.build.as_bytes()));
    }
}

/// Tells builds of the program apart without reading it.
fn build(helper: &Path) -> String {
    let version = env!("CARGO_PKG_VERSION");
    match fs::metadata(helper) {
        Ok(of) => format!("{version} {} {}.{}\n", of.len(), of.mtime(), of.mtime_nsec()),
        Err(_) => format!("{version}\n"),
    }
}
