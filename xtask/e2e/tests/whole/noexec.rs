//! File systems that run no programs: under the plugins nobody minds, under their copies it is told.

use std::{
    fs::{self, DirBuilder},
    os::unix::fs::{DirBuilderExt, PermissionsExt},
    path::Path,
};

use anyhow::Result;
use scv_e2e::scene::{SOON, Scene};
use scv_protocol::{PluginInfo, PluginState};
use xtask::harness::{Daemon, Options, until};

use crate::{full_disk::may_mount, plugins::plugin};

/// Starts scv where `$NOEXEC` is such a file system with what was in the folder before.
const WRAPPER: &str = r#"#!/bin/sh
exec unshare --user --map-root-user --mount sh -c '
    mkdir -m 0700 "$SEED" && cp -a "$NOEXEC/." "$SEED/" &&
    mount -t tmpfs -o noexec,mode=0700 tmpfs "$NOEXEC" &&
    cp -a "$SEED/." "$NOEXEC/" && exec "$0" "$@"' "$SCV" "$@"
"#;

/// Whether a daemon can be tried on such a file system; says so where it cannot.
fn may_try() -> bool {
    // For others, the folders of root are nobody's in there, and the loader trusts none of them.
    let may = rustix::process::geteuid().is_root() && may_mount();
    if !may {
        eprintln!("SKIPPED: this machine gives tests no file system that trusts root's folders");
    }
    may
}

async fn daemon(scene: &Scene, noexec: &Path) -> Result<Daemon> {
    let wrapper = scene.home.user().join("noexec");
    fs::write(&wrapper, WRAPPER)?;
    fs::set_permissions(&wrapper, fs::Permissions::from_mode(0o700))?;
    let environment = vec![
        ("SCV".into(), scene.home.program().into()),
        ("NOEXEC".into(), noexec.into()),
        ("SEED".into(), scene.home.user().join("seed").into()),
    ];
    let options = Options { program: Some(wrapper), environment, ..Options::default() };
    Daemon::spawn(&scene.home, &options).await
}

/// How the plugin is once loading it has come to an end.
async fn settled(daemon: &Daemon) -> Result<PluginInfo> {
    until("the plugin is settled", SOON, async || {
        let plugin = plugin(daemon, "wechat").await?;
        Ok((plugin.state != PluginState::Ready).then_some(plugin))
    })
    .await
}

#[tokio::test]
async fn under_the_private_copies() -> Result<()> {
    if !may_try() {
        return Ok(());
    }
    let scene = Scene::new()?;
    let cache = scene.home.scv_home().join("cache");
    DirBuilder::new().mode(0o700).create(&cache)?;
    let mut daemon = daemon(&scene, &cache).await?;
    let plugin = settled(&daemon).await?;
    assert_eq!((plugin.state, plugin.step.as_deref()), (PluginState::Refused, Some("load")));
    let (reason, fix) = (plugin.reason.unwrap_or_default(), plugin.fix.unwrap_or_default());
    assert!(reason.contains("failed to map segment"), "{reason}");
    assert!(fix.contains("noexec"), "{fix}");
    assert!(daemon.terminate().await?.success(), "{}", daemon.log());
    Ok(())
}

#[tokio::test]
async fn under_the_folder_of_plugins() -> Result<()> {
    if !may_try() {
        return Ok(());
    }
    let scene = Scene::new()?;
    let mut daemon = daemon(&scene, &scene.home.plugins()).await?;
    let plugin = settled(&daemon).await?;
    assert_eq!(plugin.state, PluginState::Loaded, "{plugin:?}");
    assert!(daemon.terminate().await?.success(), "{}", daemon.log());
    Ok(())
}
