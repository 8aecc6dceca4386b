//! `write`: a whole file, created or replaced.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use cap_std::fs::Dir;
use scv_protocol::Risk;
use serde::Deserialize;
use serde_json::Value;

use super::{
    Call, Plan, Refusal, ToolOutcome, Workshop, blocking, parse,
    place::{self, FileFault, Place},
    replace, summary,
};
use crate::config::ToolsConfig;

/// Arguments of `write`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct WriteCall {
    path: PathBuf,
    content: String,
    /// In lower case once the call is planned.
    #[serde(default)]
    expected_sha256: Option<String>,
}

pub(super) fn plan(arguments: &Value, config: &ToolsConfig) -> Result<Plan, Refusal> {
    let mut call: WriteCall = parse(arguments)?;
    place::check(&call.path)?;
    if call.content.len() > config.max_write_bytes {
        let max = config.max_write_bytes;
        return Err(Refusal::arguments(format!(
            "the content is longer than {max} bytes; write the file in parts"
        )));
    }
    if let Some(hash) = &mut call.expected_sha256 {
        hash.make_ascii_lowercase();
        if hash.len() != 64 || !hash.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            let text = "expected_sha256 must be 64 hexadecimal digits, or be left out";
            return Err(Refusal::arguments(text));
        }
    }
    let size = call.content.len();
    Ok(Plan {
        risk: Risk::Filesystem,
        summary: summary(&format!("Write {size} bytes to file"), &call.path.to_string_lossy()),
        cwd: None,
        call: Call::Write(call),
    })
}

pub(super) async fn run(call: WriteCall, workshop: Arc<Workshop>) -> ToolOutcome {
    let max = workshop.config.max_write_bytes;
    blocking(move || write(&workshop.dir, &workshop.cwd, &call, max)).await
}

fn write(dir: &Dir, cwd: &Path, call: &WriteCall, max: usize) -> Result<ToolOutcome, FileFault> {
    let place = Place::of(dir, cwd, &call.path)?;
    let name = place.name()?;
    let new = call.content.as_bytes();
    match &call.expected_sha256 {
        None => replace::replace(&place.make_parent()?, name, new, None)?,
        Some(hash) => {
            let folder = place.parent()?;
            let old = replace::read(&folder, name, max)?;
            if replace::sha256(&old.bytes) != *hash {
                return Err(FileFault::Unexpected);
            }
            replace::replace(&folder, name, new, Some(&old))?;
        }
    }
    let (size, hash) = (new.len(), replace::sha256(new));
    Ok(ToolOutcome::done(format!("wrote {size} bytes (sha256 {hash})")))
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::PermissionsExt};

    use scv_protocol::ToolError;
    use serde_json::json;

    use super::*;
    use crate::tools::place::tests::{Folder, folder};

    fn write_in(folder: &Folder, arguments: Value) -> Result<String, FileFault> {
        let plan = plan(&arguments, &ToolsConfig::default()).expect("a plan");
        assert_eq!(plan.risk, Risk::Filesystem);
        let Call::Write(call) = plan.call else {
            panic!("{plan:?}");
        };
        write(&folder.dir, &folder.root, &call, 100).map(|outcome| outcome.output)
    }

    fn names(folder: &Folder) -> Vec<String> {
        let entries = fs::read_dir(&folder.root).expect("a folder");
        let name = |entry: fs::DirEntry| entry.file_name().into_string().expect("UTF-8");
        let mut names: Vec<_> = entries.map(|entry| name(entry.expect("an entry"))).collect();
        names.sort();
        names
    }

    #[test]
    fn creates_with_folders_and_replaces() {
        let folder = folder();
        let text = write_in(&folder, json!({"path": "a/b/c.txt", "content": "one"}));
        let hash = "7692c3ad3540bb803c020b3aee66cd8887123234ea0c6e7143c0add73ff431ed";
        assert_eq!(text, Ok(format!("wrote 3 bytes (sha256 {hash})")));
        write_in(&folder, json!({"path": "a/b/c.txt", "content": "two"})).expect("written");
        assert_eq!(folder.get("a/b/c.txt"), "two");
        write_in(&folder, json!({"path": "empty", "content": ""})).expect("written");
        assert_eq!(names(&folder), ["a", "empty"], "nothing is left behind");
    }

    #[test]
    fn a_replaced_file_keeps_its_mode_and_a_link_its_target() {
        let folder = folder();
        folder.put("run.sh", "old");
        let path = folder.root.join("run.sh");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o751)).expect("a mode");
        folder.link("run.sh", "link");
        write_in(&folder, json!({"path": "link", "content": "new"})).expect("written");
        assert_eq!(folder.get("run.sh"), "new");
        assert!(folder.root.join("link").is_symlink());
        let mode = fs::metadata(&path).expect("a file").permissions().mode();
        assert_eq!(mode & 0o777, 0o751);
    }

    #[test]
    fn only_the_expected_content_is_replaced() {
        let folder = folder();
        folder.put("a", "one");
        let hash = replace::sha256(b"one").to_uppercase();
        let call = json!({"path": "a", "content": "two", "expected_sha256": hash});
        write_in(&folder, call.clone()).expect("written");
        assert_eq!(write_in(&folder, call), Err(FileFault::Unexpected));
        assert_eq!(folder.get("a"), "two");
        let call = json!({"path": "no", "content": "two", "expected_sha256": hash});
        assert_eq!(write_in(&folder, call), Err(FileFault::NotFound));
        assert_eq!(names(&folder), ["a"]);
    }

    #[test]
    fn what_is_no_file_is_not_replaced() {
        let folder = folder();
        folder.put("sub/x", "");
        folder.put("file", "");
        folder.link("../outside", "out");
        folder.link("missing", "dead");
        for (path, fault) in [
            ("sub", FileFault::NotAFile),
            (".", FileFault::NotAFile),
            ("file/x", FileFault::NotAFolder),
            ("out", FileFault::Outside),
            ("../new", FileFault::Outside),
            ("dead", FileFault::DeadLink),
        ] {
            let written = write_in(&folder, json!({"path": path, "content": "x"}));
            assert_eq!(written, Err(fault), "{path}");
        }
        assert_eq!(fs::read_to_string(folder.temp.path().join("outside")).expect("it"), "outside");
        assert_eq!(names(&folder), ["dead", "file", "out", "sub"]);
    }

    #[test]
    fn a_file_that_changes_meanwhile_is_not_replaced() {
        let folder = folder();
        folder.put("a", "one");
        let old = replace::read(&folder.dir, "a".as_ref(), 100).expect("reads");
        folder.put("a", "two!");
        let replaced = replace::replace(&folder.dir, "a".as_ref(), b"three", Some(&old));
        assert_eq!(replaced, Err(FileFault::Changed));
        assert_eq!(folder.get("a"), "two!");
        assert_eq!(names(&folder), ["a"]);
    }

    #[test]
    fn wrong_arguments_are_refused() {
        let config = ToolsConfig { max_write_bytes: 3, ..ToolsConfig::default() };
        for arguments in [
            json!({"path": "a"}),
            json!({"path": "", "content": ""}),
            json!({"path": "a\0b", "content": ""}),
            json!({"path": "a", "content": "1234"}),
            json!({"path": "a", "content": "", "expected_sha256": "12"}),
            json!({"path": "a", "content": "", "mode": 7}),
        ] {
            let refusal = plan(&arguments, &config).expect_err("wrong");
            assert_eq!(refusal.error, ToolError::InvalidArguments, "{arguments}");
        }
    }
}
