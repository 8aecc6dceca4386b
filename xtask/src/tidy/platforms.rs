//! The host knows no platform by name.

use super::{Problem, tree::Tree};

const PLATFORMS: [&str; 4] = ["wechat", "ilink", "feishu", "lark"];
/// What WeChat's channel was called in version 2. One module moves what that version saved.
const LEGACY: &str = "clawbot";
const LEGACY_MODULE: &str = "host/bridge/src/legacy";

/// No platform's name in the host's code, comments, tests and manifests. Files of test cases
/// are data that real releases wrote, and exempt.
pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let mut problems = Vec::new();
    for file in &tree.files {
        if !file.path.starts_with("host/") || file.path.contains("/tests/cases/") {
            continue;
        }
        let legacy = !file.path.starts_with(LEGACY_MODULE);
        for (index, line) in file.text.lines().enumerate() {
            let line = line.to_ascii_lowercase();
            let banned = PLATFORMS.iter().chain(legacy.then_some(&LEGACY));
            problems.extend(banned.filter(|name| line.contains(*name)).map(|name| {
                let text = format!("the host must not know the word {name}");
                Problem::at_line(&file.path, index + 1, text)
            }));
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::super::tree::tree_of;
    use super::*;

    #[test]
    fn the_host_names_no_platform() {
        let tree = tree_of(&[
            ("host/bridge/src/a.rs", "// fine\nstruct WeChatThing;"),
            ("plugins/wechat/src/lib.rs", "//! WeChat"),
            ("host/bridge/tests/cases/state/README.md", "wechat"),
        ]);
        assert_eq!(
            check(&tree),
            [Problem::at_line("host/bridge/src/a.rs", 2, "the host must not know the word wechat")]
        );
    }

    #[test]
    fn the_old_name_is_for_the_legacy_module() {
        assert_eq!(check(&tree_of(&[("host/bridge/src/legacy.rs", "clawbot")])), []);
        assert_eq!(check(&tree_of(&[("host/bridge/src/legacy/mod.rs", "clawbot")])), []);
        assert_eq!(check(&tree_of(&[("host/daemon/src/a.rs", "ClawbotSet")])).len(), 1);
        assert_eq!(check(&tree_of(&[("host/bridge/src/legacy.rs", "wechat")])).len(), 1);
    }
}
