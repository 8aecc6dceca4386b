//! The host knows no platform by name.

use super::{Problem, tree::Tree};

/// The last is what WeChat's channel was called in version 2: the host moves what that version
/// saved, as the plugin's manifest says.
const PLATFORMS: [&str; 5] = ["wechat", "ilink", "feishu", "lark", "clawbot"];

/// No platform's name in the host's code, comments, tests and manifests. Files of test cases
/// are data that real releases wrote, and exempt.
pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let mut problems = Vec::new();
    for file in &tree.files {
        if !file.path.starts_with("host/") || file.path.contains("/tests/cases/") {
            continue;
        }
        for (index, line) in file.text.lines().enumerate() {
            let line = line.to_ascii_lowercase();
            let named = PLATFORMS.iter().filter(|name| line.contains(*name));
            problems.extend(named.map(|name| {
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
            ("protocol/src/message.rs", "ClawbotSet"),
        ]);
        assert_eq!(
            check(&tree),
            [Problem::at_line("host/bridge/src/a.rs", 2, "the host must not know the word wechat")]
        );
    }
}
