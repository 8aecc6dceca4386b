//! Nothing but rooms, papers and tool settings stands at the top.

use super::{Problem, tree::Tree};

const EXPECTED: [&str; 16] = [
    // Rooms.
    "docs",
    "host",
    "plugin-api",
    "plugins",
    "protocol",
    "xtask",
    // Papers.
    "Cargo.lock",
    "Cargo.toml",
    "LICENSE",
    "README.md",
    // Settings of tools, which look for them here.
    ".cargo",
    ".ci",
    ".gitignore",
    "clippy.toml",
    "deny.toml",
    "rust-toolchain.toml",
];
/// May be there or not.
const OPTIONAL: [&str; 2] = ["rustfmt.toml", ".config"];

/// Every expected name is there, and no other.
pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let known = |name: &str| EXPECTED.contains(&name) || OPTIONAL.contains(&name);
    let there = |name: &str| tree.top_level.iter().any(|entry| entry == name);
    let surplus = tree.top_level.iter().filter(|name| !known(name)).map(|name| {
        let text = "does not belong at the top; move it into a room";
        Problem::in_file(name, text)
    });
    let missing = EXPECTED.iter().filter(|name| !there(name));
    surplus.chain(missing.map(|name| Problem::in_file(name, "is missing"))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn surplus_and_missing_names_are_said() {
        let mut names: Vec<String> = EXPECTED.iter().map(|name| (*name).to_owned()).collect();
        let tree = |top_level: &[String]| Tree { top_level: top_level.to_vec(), files: Vec::new() };
        assert_eq!(check(&tree(&names)), []);
        names.retain(|name| name != "LICENSE");
        names.push("notes.txt".into());
        let problems: Vec<_> = check(&tree(&names)).iter().map(Problem::to_string).collect();
        assert_eq!(
            problems,
            ["notes.txt: does not belong at the top; move it into a room", "LICENSE: is missing"]
        );
    }
}
