//! The committed schemas are those of the wire types.

use std::{fs, path::Path};

use super::Problem;
use crate::schema::files;

/// Every file of `docs/schema` is as `cargo xtask schema` writes it.
pub(super) fn check(root: &Path) -> Vec<Problem> {
    files()
        .filter(|(name, text)| fs::read_to_string(root.join(name)).ok().as_ref() != Some(text))
        .map(|(name, _)| Problem::in_file(&name, "is out of date; run `cargo xtask schema`"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_or_changed_file_is_said() {
        let root = tempfile::tempdir().unwrap();
        assert_eq!(check(root.path()).len(), 2);
        fs::create_dir_all(root.path().join("docs/schema")).unwrap();
        for (name, text) in files() {
            fs::write(root.path().join(name), text).unwrap();
        }
        assert_eq!(check(root.path()), []);
    }
}
