//! How long it takes until plugins serve.

use std::{
    fs,
    path::Path,
    time::{Duration, Instant},
};

use anyhow::{Context, Result};
use serde::Deserialize;

use super::{
    super::{median, row, start::echo},
    all_loaded, cost,
};
use crate::harness::{Built, Daemon, Home};

/// Starts of a daemon that are measured, on a new home each.
const STARTS: usize = 9;
/// Loads of one plugin that are measured, in a process each.
const LOADS: usize = 25;

/// All plugins of a daemon, and each one by itself.
pub(in crate::bench) async fn load(built: &Built) -> Result<()> {
    whole(built).await?;
    let home = Home::new(built)?;
    for entry in fs::read_dir(built.plugins())? {
        one(built, &home, &entry?.path()).await?;
    }
    Ok(())
}

/// From starting the process to the last plugin that serves: on a new home each one is tried in
/// a child first, on one that has been used before it is not.
async fn whole(built: &Built) -> Result<()> {
    let (mut first, mut again) = (Vec::new(), Vec::new());
    for _ in 0..STARTS {
        let home = Home::installed(built)?;
        for times in [&mut first, &mut again] {
            let begin = Instant::now();
            let mut daemon = Daemon::spawn(&home, &echo()).await?;
            all_loaded(&daemon).await?;
            times.push(begin.elapsed());
            daemon.terminate().await?;
        }
    }
    let ms = |times: Vec<Duration>| -> Result<f64> {
        Ok(median(times).context("there were runs")?.as_secs_f64() * 1e3)
    };
    row(
        "start to all plugins loaded",
        &format!("{:.1} ms", ms(again)?),
        &format!("{:.1} ms on a new home, with probes", ms(first)?),
    );
    Ok(())
}

#[derive(Deserialize)]
struct Took {
    seconds: f64,
}

/// A plugin that was probed before, from looking for it to serving, in a process that does
/// nothing else; against two passes of SHA-256 over its file and one `dlopen`.
async fn one(built: &Built, home: &Home, library: &Path) -> Result<()> {
    let folder = home.folder_with(library)?;
    let name = library.file_name().context("a plugin is a file")?;
    let (file, user) = (folder.join(name), home.user());
    let (mut loads, mut bares) = (Vec::new(), Vec::new());
    for number in 0..=LOADS {
        let arguments = ["load".as_ref(), folder.as_os_str(), user.as_os_str()];
        let load: Took = cost(built, arguments).await?;
        let bare: Took = cost(built, ["bare".as_ref(), file.as_os_str()]).await?;
        // The first one made the copy and tried it.
        if number > 0 {
            loads.push(load.seconds);
            bares.push(bare.seconds);
        }
    }
    let load = median(loads).context("there were runs")?;
    let bare = median(bares).context("there were runs")?;
    row(
        &format!("verified load of {}", name.display()),
        &format!("{:.1} ms", load * 1e3),
        &format!("{:.2} × two SHA-256 passes and a dlopen", load / bare),
    );
    Ok(())
}
