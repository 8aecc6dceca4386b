//! `list`: what a folder holds, with kinds and sizes.

use std::{
    ops::ControlFlow,
    path::{Path, PathBuf},
    sync::Arc,
};

use cap_std::fs::Dir;
use serde::Deserialize;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::{
    Call, Plan, Refusal, ToolOutcome, Workshop, blocking,
    lines::Lines,
    parse,
    place::{self, FileFault, Place},
    secrecy, summary,
    walk::{Found, Kind, Patience, Stop, Walk},
};
use crate::limits::{MAX_LIST_COUNT, MAX_WALK_DEPTH_COUNT};

/// Arguments of `list`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ListCall {
    #[serde(default)]
    path: Option<PathBuf>,
    /// From 1, which is the folder alone.
    #[serde(default)]
    depth: Option<usize>,
}

pub(super) fn plan(arguments: &Value) -> Result<Plan, Refusal> {
    let call: ListCall = parse(arguments)?;
    let path = call.path.clone().unwrap_or_else(|| ".".into());
    place::check(&path)?;
    if call.depth.is_some_and(|depth| depth == 0 || depth > MAX_WALK_DEPTH_COUNT) {
        let text = format!("depth must be between 1 and {MAX_WALK_DEPTH_COUNT}");
        return Err(Refusal::arguments(text));
    }
    Ok(Plan {
        risk: secrecy::reading_risk(&path),
        summary: summary("List folder", &path.to_string_lossy()),
        cwd: None,
        call: Call::List(call),
    })
}

pub(super) async fn run(
    call: ListCall,
    workshop: Arc<Workshop>,
    cancel: CancellationToken,
) -> ToolOutcome {
    let max = workshop.config.output_limit_bytes;
    blocking(move || list(&workshop.dir, &workshop.cwd, &call, max, cancel)).await
}

fn list(
    dir: &Dir,
    cwd: &Path,
    call: &ListCall,
    max: usize,
    cancel: CancellationToken,
) -> Result<ToolOutcome, FileFault> {
    let path = call.path.as_deref().unwrap_or(Path::new("."));
    let start = Place::of(dir, cwd, path)?.open_folder()?;
    let mut walk = Walk::new(Patience::new(cancel));
    walk.depth = call.depth.unwrap_or(1);
    walk.obeys_ignore_files = false;
    let mut lines = Lines::new(max, MAX_LIST_COUNT);
    let end = walk.run(&start, &mut |found| match lines.push(&line(found)) {
        true => ControlFlow::Continue(()),
        false => ControlFlow::Break(Stop::Full),
    });
    if lines.is_empty() && end.is_continue() && walk.unread == 0 {
        return Ok(ToolOutcome::done("(the folder is empty)"));
    }
    let unread =
        (walk.unread > 0).then(|| format!("{} folders could not be read as a whole", walk.unread));
    lines.finish(end, "list a folder of it, or less deep", unread)
}

fn line(found: &Found<'_>) -> String {
    let path = found.path.to_string_lossy();
    match found.kind {
        Kind::Folder => format!("folder\t\t{path}/"),
        Kind::File => match found.folder.symlink_metadata(found.name) {
            Ok(metadata) => format!("file\t{}\t{path}", metadata.len()),
            Err(_) => format!("file\t?\t{path}"),
        },
        Kind::Link => match found.folder.read_link_contents(found.name) {
            Ok(target) => format!("link\t\t{path} -> {}", target.to_string_lossy()),
            Err(_) => format!("link\t\t{path}"),
        },
        Kind::Other => format!("other\t\t{path}"),
    }
}

#[cfg(test)]
mod tests {
    use scv_protocol::{Risk, ToolError};
    use serde_json::json;

    use super::*;
    use crate::{
        limits::NOTE_BYTES,
        tools::place::tests::{Folder, folder},
    };

    fn list_in(folder: &Folder, arguments: Value, max: usize) -> Result<ToolOutcome, FileFault> {
        let Call::List(call) = plan(&arguments).expect("a plan").call else {
            panic!("{arguments}");
        };
        list(&folder.dir, &folder.root, &call, max, CancellationToken::new())
    }

    #[test]
    fn names_kinds_and_sizes_in_order() {
        let folder = folder();
        folder.put("src/main.rs", "12345");
        folder.put("a\nb", "");
        folder.link("../outside", "out");
        let outcome = list_in(&folder, json!({}), 10_000).expect("a list");
        assert_eq!(
            outcome.output,
            "file\t0\ta\u{fffd}b\nlink\t\tout -> ../outside\nfolder\t\tsrc/\n"
        );
        let outcome = list_in(&folder, json!({"path": "src"}), 10_000).expect("a list");
        assert_eq!(outcome.output, "file\t5\tmain.rs\n");
        let outcome = list_in(&folder, json!({"depth": 2}), 10_000).expect("a list");
        assert!(outcome.output.ends_with("folder\t\tsrc/\nfile\t5\tsrc/main.rs\n"));
        assert!(!outcome.truncated && outcome.error.is_none());
    }

    #[test]
    fn a_long_list_is_cut_and_says_so() {
        let folder = folder();
        for index in 0..50 {
            folder.put(&format!("file-{index:02}"), "");
        }
        let outcome = list_in(&folder, json!({}), 300 + NOTE_BYTES).expect("a list");
        assert!(outcome.truncated && outcome.output.len() <= 300 + NOTE_BYTES);
        assert!(outcome.output.starts_with("file\t0\tfile-00\n"), "{}", outcome.output);
        assert!(outcome.output.ends_with("list a folder of it, or less deep]"));
    }

    #[test]
    fn only_folders_inside_are_listed() {
        let folder = folder();
        folder.put("file", "");
        folder.put("empty/x", "");
        std::fs::remove_file(folder.root.join("empty/x")).expect("removed");
        for (path, fault) in [
            ("..", FileFault::Outside),
            ("file", FileFault::NotAFolder),
            ("no", FileFault::NotFound),
        ] {
            assert_eq!(list_in(&folder, json!({"path": path}), 1000), Err(fault), "{path}");
        }
        let outcome = list_in(&folder, json!({"path": "empty"}), 1000).expect("a list");
        assert_eq!(outcome.output, "(the folder is empty)");
    }

    #[test]
    fn wrong_arguments_are_refused() {
        for arguments in [json!({"path": ""}), json!({"depth": 0}), json!({"depth": 1000})] {
            let refusal = plan(&arguments).expect_err("wrong");
            assert_eq!(refusal.error, ToolError::InvalidArguments, "{arguments}");
        }
        assert_eq!(plan(&json!({"path": ".envs"})).expect("a plan").risk, Risk::Filesystem);
        assert_eq!(plan(&json!({})).expect("a plan").risk, Risk::ReadOnly);
    }
}
