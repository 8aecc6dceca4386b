//! The home's configuration file as a person begins with it.

use std::{
    fs::OpenOptions,
    io::{self, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

use crate::{DaemonError, home::prepare_home};

const STARTER: &str = include_str!("starter.toml");

/// Where the configuration of a home is.
pub fn config_path(home: &Path) -> PathBuf {
    home.join("config.toml")
}

/// Writes a commented file that changes nothing yet, for its owner only; makes the home when
/// there is none.
///
/// # Errors
/// [`DaemonError::ConfigExists`], never overwriting; those of [`prepare_home`];
/// [`DaemonError::Io`].
pub fn init(home: &Path) -> Result<PathBuf, DaemonError> {
    prepare_home(home)?;
    let path = config_path(home);
    let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path);
    let mut file = match file {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            return Err(DaemonError::ConfigExists { path });
        }
        file => file.map_err(DaemonError::io("creating config.toml"))?,
    };
    file.write_all(STARTER.as_bytes()).map_err(DaemonError::io("writing config.toml"))?;
    Ok(path)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use toml::Table;

    use super::*;
    use crate::config::{file::ConfigFile, layers::flat};

    #[test]
    fn it_is_private_changes_nothing_and_is_never_written_twice() {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path().join("home");
        let path = init(&home).unwrap();
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert!(toml::from_str::<Table>(STARTER).unwrap().is_empty());

        std::fs::write(&path, "# mine").unwrap();
        let text = init(&home).unwrap_err().to_string();
        assert!(text.contains("config.toml exists already"), "{text}");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "# mine");
    }

    /// What a person gets by removing every `#` that stands before a key or a table.
    #[test]
    fn what_it_shows_are_the_defaults() {
        let bare: String = STARTER
            .lines()
            .map(|line| {
                line.strip_prefix('#').filter(|rest| !rest.starts_with(' ')).unwrap_or(line)
            })
            .map(|line| format!("{line}\n"))
            .collect();
        let shown: ConfigFile = toml::from_str(&bare).unwrap();
        let [shown, default] =
            [shown, ConfigFile::default()].map(|file| Table::try_from(file).unwrap());
        for (key, value) in flat(&default) {
            let (_, shown) = flat(&shown).into_iter().find(|(name, _)| *name == key).unwrap();
            assert_eq!(shown, value, "{key}");
            let name = key.rsplit('.').next().unwrap();
            assert!(STARTER.contains(&format!("#{name} = ")), "{key} is not shown");
        }
    }
}
