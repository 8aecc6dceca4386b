//! The home folder as a private place: made 0700, refused when others could change it or put
//! another one in its place.

use std::{
    fs::{self, DirBuilder, Metadata},
    io,
    os::unix::fs::{DirBuilderExt, MetadataExt},
    path::{Path, PathBuf},
};

use crate::DaemonError;

const WRITABLE_BY_OTHERS: u32 = 0o022;
const STICKY: u32 = 0o1000;

/// Makes the home when there is none, and checks that only its owner can change it, and that
/// nobody else can change the folders above it.
///
/// # Errors
/// [`DaemonError::Home`] and [`DaemonError::AboveHome`] with what is wrong and what to do, [`DaemonError::Io`].
pub fn prepare_home(home: &Path) -> Result<(), DaemonError> {
    // With a slash at its end, a link would be looked through.
    let home = &home.components().collect::<PathBuf>();
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
    })?;
    let home = home.canonicalize().map_err(DaemonError::io("reading the home folder"))?;
    home.ancestors().skip(1).try_for_each(above)
}

/// Whoever can change a folder can put another in the place of what is inside.
fn above(folder: &Path) -> Result<(), DaemonError> {
    let found = fs::symlink_metadata(folder);
    let found = found.map_err(DaemonError::io("reading a folder above the home"))?;
    let refuse = |reason, fix| Err(DaemonError::AboveHome { path: folder.to_owned(), reason, fix });
    if ![0, rustix::process::geteuid().as_raw()].contains(&found.uid()) {
        let fix = "choose a home in a folder of your own with --scv-home".to_owned();
        return refuse("belongs to another user", fix);
    }
    if found.mode() & WRITABLE_BY_OTHERS != 0 && found.mode() & STICKY == 0 {
        let fix = format!("run `chmod go-w {}`", folder.display());
        return refuse("can be changed by others", fix);
    }
    Ok(())
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
        for link in [link.clone(), link.join("")] {
            let text = prepare_home(&link).unwrap_err().to_string();
            assert!(text.contains("symbolic link"), "{text}");
        }
        prepare_home(&real.join("")).unwrap();

        let file = dir.path().join("file");
        fs::write(&file, "").unwrap();
        let text = prepare_home(&file).unwrap_err().to_string();
        assert!(text.contains("not a folder"), "{text}");

        fs::set_permissions(&real, fs::Permissions::from_mode(0o770)).unwrap();
        let text = prepare_home(&real).unwrap_err().to_string();
        assert!(text.contains("chmod 700"), "{text}");
    }

    #[test]
    fn a_folder_above_that_others_can_change_is_refused_by_name() {
        let dir = tempfile::tempdir().unwrap();
        let shared = dir.path().join("shared");
        let home = shared.join("between/home");
        for (shared_mode, is_good) in
            [(0o755, true), (0o777, false), (0o775, false), (0o1777, true)]
        {
            fs::create_dir_all(&shared).unwrap();
            fs::set_permissions(&shared, fs::Permissions::from_mode(shared_mode)).unwrap();
            let prepared = prepare_home(&home);
            let Err(error) = prepared else {
                assert!(is_good, "{shared_mode:o}");
                continue;
            };
            let text = error.to_string();
            assert!(!is_good, "{shared_mode:o}: {text}");
            assert!(text.starts_with(&format!("{}, above the home", shared.display())), "{text}");
        }
    }
}
