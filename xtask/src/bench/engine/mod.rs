//! Sessions: what deltas, turns and waiting clients cost.

mod baseline;
mod deltas;
pub(super) mod line;
mod memory;
pub(super) mod process;
mod provider;
mod turns;

use std::{fs, io::Write, os::unix::fs::OpenOptionsExt};

use anyhow::Result;

use crate::harness::{Built, Daemon, Home, Options};
use line::Talker;

pub(super) use deltas::deltas;
pub(super) use memory::{flat, idle, large_answer, stopped_readers};
pub(super) use turns::{first_byte, history, turn};

/// A daemon whose model is at an address.
struct Stage {
    daemon: Daemon,
    home: Home,
}

impl Stage {
    /// `address` has a Chat Completions server.
    async fn new(built: &Built, address: &str) -> Result<Self> {
        Self::with(built, address, "").await
    }

    /// The same with more tables in its configuration.
    async fn with(built: &Built, address: &str, tables: &str) -> Result<Self> {
        let home = Home::new(built)?;
        let config = format!(
            "[provider]\nactive = \"bench\"\n\n[providers.bench]\nwire_api = \"chat\"\n\
             model = \"bench\"\nbase_url = \"http://{address}/v1\"\napi_key = \"not-a-secret\"\n\
             {tables}"
        );
        fs::create_dir_all(home.scv_home())?;
        let mut file = fs::OpenOptions::new();
        let file = file.write(true).create_new(true).mode(0o600);
        file.open(home.scv_home().join("config.toml"))?.write_all(config.as_bytes())?;
        let options = Options { arguments: vec!["--no-plugins".into()], ..Options::default() };
        let daemon = Daemon::spawn(&home, &options).await?;
        Ok(Self { daemon, home })
    }

    fn talker(&self) -> Result<Talker> {
        Talker::new(&self.home.socket(), &self.home.workspace())
    }

    fn pid(&self) -> u32 {
        self.daemon.pid().as_raw_nonzero().get().unsigned_abs()
    }
}
