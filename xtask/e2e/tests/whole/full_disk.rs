//! A disk that is really full, and has room again: nothing is lost, and nobody restarts anything.

use std::{
    fs::{self, File, OpenOptions},
    io::Write,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result};
use scv_e2e::scene::{SOON, Scene, account, answer_to};
use scv_protocol::ComponentState;
use scv_simulators::{
    ilink::{OWNER, STRANGER},
    model::Answer,
};
use xtask::harness::{Daemon, Options};

/// Starts scv where `$SCV_HOME/channels` is a file system of 1 MiB, which nobody else sees.
const WRAPPER: &str = r#"#!/bin/sh
exec unshare --user --map-root-user --mount sh -c '
    mount -t tmpfs -o size=1m,mode=0700 tmpfs "$SCV_HOME/channels" &&
    cp -a "$SCV_HOME/seed/." "$SCV_HOME/channels/" && exec "$0" "$@"' "$SCV" "$@"
"#;

/// Whether this machine gives tests a file system of their own.
pub(crate) fn may_mount() -> bool {
    let mount = "mount -t tmpfs tmpfs /tmp";
    let tried = Command::new("unshare")
        .args(["--user", "--map-root-user", "--mount", "sh", "-c", mount])
        .output();
    tried.is_ok_and(|output| output.status.success())
}

/// The scene's daemon on the small disk.
async fn daemon(scene: &Scene) -> Result<Daemon> {
    let home = scene.home.scv_home();
    fs::rename(home.join("channels"), home.join("seed"))?;
    fs::create_dir(home.join("channels"))?;
    let wrapper = scene.home.user().join("on-a-small-disk");
    fs::write(&wrapper, WRAPPER)?;
    fs::set_permissions(&wrapper, fs::Permissions::from_mode(0o700))?;
    let options = Options {
        program: Some(wrapper),
        environment: vec![("SCV".into(), scene.home.program().into())],
        ..Options::default()
    };
    scene.ilink.push_poll(r#"{"msgs":[],"get_updates_buf":"buf-0"}"#);
    Daemon::spawn(&scene.home, &options).await
}

/// The small disk, from outside.
fn small_disk(scene: &Scene, daemon: &Daemon) -> Result<PathBuf> {
    let root = PathBuf::from(format!("/proc/{}/root", daemon.pid().as_raw_nonzero()));
    Ok(root.join(scene.home.scv_home().join("channels").strip_prefix("/")?))
}

/// Takes every byte that is left.
fn fill(file: &Path) -> Result<()> {
    File::create(file)?;
    let mut file = OpenOptions::new().append(true).open(file)?;
    for size in [4096, 1] {
        while file.write_all(&vec![b'x'; size]).is_ok() {}
    }
    Ok(())
}

#[tokio::test]
async fn filled_and_freed_while_running() -> Result<()> {
    if !may_mount() {
        eprintln!(
            "SKIPPED: this machine gives tests no disk; the bridge's fault loop stands for it"
        );
        return Ok(());
    }
    let scene = Scene::signed_in()?;
    let mut daemon = daemon(&scene).await?;
    account(&daemon, |component| component.state == ComponentState::Connected).await?;
    // One message is being worked on when the disk fills, two come while it is full. Its answer
    // is longer than what is left of the journal's last page.
    let long = "w".repeat(12_000);
    scene.model.queue(Answer::text(&long).held());
    scene.ilink.push_message(OWNER, "before");
    scene.model.wait_holding(1, SOON).await?;
    let filler = small_disk(&scene, &daemon)?.join("filler");
    fill(&filler).context("filling")?;
    scene.ilink.push_message(OWNER, "meanwhile");
    scene.ilink.push_message(STRANGER, "somebody else");
    scene.model.release();
    let told = account(&daemon, |component| component.error.is_some()).await?.error;
    assert!(told.as_deref().is_some_and(|told| told.contains("no storage space")), "{told:?}");
    assert_eq!(scene.ilink.visible(OWNER), [""; 0], "no reply goes out before it is on disk");

    fs::remove_file(&filler)?;
    scene.ilink.wait_visible(OWNER, 2, SOON * 2).await?;
    scene.ilink.wait_visible(STRANGER, 1, SOON).await?;
    let healthy = |component: &scv_protocol::Component| {
        component.error.is_none() && component.pending == Some(0) && component.restarts == 0
    };
    account(&daemon, healthy).await?;
    daemon.terminate().await?;
    assert_eq!(scene.ilink.visible(OWNER), [long, answer_to("meanwhile")]);
    assert_eq!(scene.ilink.visible(STRANGER), [answer_to("somebody else")]);
    assert_eq!(scene.model.prompts().len(), 3, "no turn twice");
    Ok(())
}
