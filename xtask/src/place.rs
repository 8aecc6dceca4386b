//! Putting a built file somewhere: whole or not at all, never writable by others.

use std::{
    fs::{self, DirBuilder, Permissions},
    os::unix::fs::{DirBuilderExt, PermissionsExt},
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};

/// What the daemon's loader insists on for a folder of plugins.
const FOLDER_MODE: u32 = 0o755;

/// Makes a folder and its missing parents, not writable for the group or others.
///
/// # Errors
/// When it cannot be made or is not ours to change.
pub fn folder(path: &Path) -> Result<()> {
    DirBuilder::new()
        .recursive(true)
        .mode(FOLDER_MODE)
        .create(path)
        .with_context(|| format!("{} cannot be created", path.display()))?;
    Ok(())
}

/// Makes a folder of plugins: as [`folder`], and an older one loses its group's write bit.
///
/// # Errors
/// As [`folder`].
pub fn plugin_folder(path: &Path) -> Result<()> {
    folder(path)?;
    fs::set_permissions(path, Permissions::from_mode(FOLDER_MODE))
        .with_context(|| format!("{} is not ours", path.display()))
}

/// Copies a file into a folder: a temporary file beside the target, then a rename, so that a
/// daemon that has the old file open keeps it whole.
///
/// # Errors
/// When the copy fails; nothing is left behind then.
pub fn file(source: &Path, folder: &Path, mode: u32) -> Result<PathBuf> {
    let name =
        source.file_name().with_context(|| format!("{} has no file name", source.display()))?;
    let target = folder.join(name);
    let mut bytes =
        fs::File::open(source).with_context(|| format!("{} cannot be read", source.display()))?;
    let mut copy = tempfile::Builder::new()
        .prefix(".placing-")
        .tempfile_in(folder)
        .with_context(|| format!("nothing can be written into {}", folder.display()))?;
    std::io::copy(&mut bytes, copy.as_file_mut())?;
    copy.as_file().set_permissions(Permissions::from_mode(mode))?;
    copy.persist(&target).with_context(|| format!("{} cannot be replaced", target.display()))?;
    Ok(target)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o7777
    }

    #[test]
    fn a_placed_file_has_its_mode_and_an_open_old_one_stays_whole() {
        let root = tempfile::tempdir().unwrap();
        let plugins = root.path().join("lib/scv/plugins");
        plugin_folder(&plugins).unwrap();
        let source = root.path().join("libscv_channel_chat.so");

        fs::write(&source, "old").unwrap();
        let placed = file(&source, &plugins, 0o644).unwrap();
        let mut open = fs::File::open(&placed).unwrap();
        fs::write(&source, "new").unwrap();
        file(&source, &plugins, 0o644).unwrap();

        assert_eq!(std::io::read_to_string(&mut open).unwrap(), "old");
        assert_eq!(fs::read_to_string(&placed).unwrap(), "new");
        assert_eq!(mode(&placed), 0o644);
        assert_eq!(mode(&plugins), 0o755);
        assert_eq!(fs::read_dir(&plugins).unwrap().count(), 1);
    }

    #[test]
    fn a_group_writable_plugin_folder_is_made_right() {
        let root = tempfile::tempdir().unwrap();
        fs::set_permissions(root.path(), Permissions::from_mode(0o775)).unwrap();
        plugin_folder(root.path()).unwrap();
        assert_eq!(mode(root.path()), 0o755);
    }
}
