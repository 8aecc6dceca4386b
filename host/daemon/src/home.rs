//! The home folder as a private place: made 0700, refused when others could change it.

use std::{
    fs::{self, DirBuilder, Metadata},
    io,
    os::unix::fs::{DirBuilderExt, MetadataExt},
    path::Path,
};

use crate::DaemonError;

const WRITABLE_BY_OTHERS: u32 = 0o022;

/// Makes the home when there is none, and checks that only its owner can change it.
///
/// # Errors
/// [`DaemonError::Home`] with what is wrong and what to do, [`DaemonError::Io`].
pub fn prepare_home(home: &Path) -> Result<(), DaemonError> {
    let found = match fs::symlink_metadata(home) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            DirBuilder::new()
                .recursive(true)
                .mode(0o700)
                .create(home)
                .map_err(DaemonError::io("creating the home folder"))?;
            fs::symlink_metadata(home)
        }
        found => found,
    };
    let found = found.map_err(DaemonError::io("reading the home folder"))?;
    check(&found).map_err(|(reason, fix)| DaemonError::Home {
        path: home.to_owned(),
        reason,
        fix: fix.replace("HOME", &home.display().to_string()),
    })
}

fn check(found: &Metadata) -> Result<(), (&'static str, &'static str)> {
    if found.is_symlink() {
        return Err(("is a symbolic link", "name the folder it leads to with --scv-home"));
    }
    if !found.is_dir() {
        return Err(("is not a folder", "move it away or choose another with --scv-home"));
    }
    if found.uid() != rustix::process::geteuid().as_raw() {
        return Err(("belongs to another user", "choose a folder of your own with --scv-home"));
    }
    if found.mode() & WRITABLE_BY_OTHERS != 0 {
        return Err(("can be changed by others", "run `chmod 700 HOME`"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::symlink_metadata(path).unwrap().mode() & 0o777
    }

    #[test]
    fn a_new_home_is_private() {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path().join("a/b");
        prepare_home(&home).unwrap();
        assert_eq!(mode(&home), 0o700);
        prepare_home(&home).unwrap();
    }

    #[test]
    fn a_link_a_file_and_a_shared_folder_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let real = dir.path().join("real");
        prepare_home(&real).unwrap();
        let link = dir.path().join("link");
        symlink(&real, &link).unwrap();
        let text = prepare_home(&link).unwrap_err().to_string();
        assert!(text.contains("symbolic link"), "{text}");

        let file = dir.path().join("file");
        fs::write(&file, "").unwrap();
        let text = prepare_home(&file).unwrap_err().to_string();
        assert!(text.contains("not a folder"), "{text}");

        fs::set_permissions(&real, fs::Permissions::from_mode(0o770)).unwrap();
        let text = prepare_home(&real).unwrap_err().to_string();
        assert!(text.contains("chmod 700"), "{text}");
    }
}
