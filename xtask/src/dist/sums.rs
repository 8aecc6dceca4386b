//! SHA-256 sums in the form that `sha256sum --check` reads.

use std::{
    fmt::Write,
    fs,
    path::{Path, PathBuf},
};

use anyhow::Result;
use sha2::{Digest, Sha256};

/// Writes `SHA256SUMS` over every other file of the folder.
pub(super) fn write(folder: &Path) -> Result<()> {
    let mut files = Vec::new();
    collect(folder, &mut files)?;
    files.sort();
    let mut list = String::new();
    for file in files {
        let name = file.strip_prefix(folder)?.display().to_string();
        writeln!(list, "{}  {name}", hex(&fs::read(&file)?))?;
    }
    Ok(fs::write(folder.join("SHA256SUMS"), list)?)
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else {
            files.push(path);
        }
    }
    Ok(())
}

fn hex(bytes: &[u8]) -> String {
    let digest = Sha256::digest(bytes);
    digest.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_file_has_a_line_with_its_path_inside() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("bin")).unwrap();
        fs::write(folder.path().join("bin/a"), "abc").unwrap();
        write(folder.path()).unwrap();
        let list = fs::read_to_string(folder.path().join("SHA256SUMS")).unwrap();
        // The well-known sum of "abc".
        assert_eq!(
            list,
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad  bin/a\n"
        );
    }
}
