//! `unsafe` stays where the plugin boundary is crossed.

use super::{
    Problem,
    tree::{Tree, words},
};

/// The rooms that cross it. The SDK's HTTP client lies inside of the SDK's folder and does not.
const ALLOWED: [&str; 3] = ["plugin-api/abi/", "plugin-api/", "host/plugins/"];
const NOT_ALLOWED: &str = "plugin-api/http/";

/// No `unsafe` in any other room, attributes included.
pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let mut problems = Vec::new();
    for file in tree.with_extension("rs") {
        let allowed = ALLOWED.iter().any(|room| file.path.starts_with(room));
        if allowed && !file.path.starts_with(NOT_ALLOWED) {
            continue;
        }
        // Text that is no Rust is reported by the check of constants.
        let words = words(&file.text).unwrap_or_default();
        let found = words.iter().filter(|word| word.text == "unsafe");
        problems.extend(found.map(|word| {
            Problem::at_line(
                &file.path,
                word.line,
                "unsafe outside of plugin-api/abi, plugin-api and host/plugins",
            )
        }));
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::super::tree::tree_of;
    use super::*;

    const CODE: &str = "#![deny(unsafe_code)]\n// unsafe\nfn f() { unsafe { g() } }";

    #[test]
    fn only_the_three_rooms_may() {
        for path in ["plugin-api/abi/src/lib.rs", "plugin-api/src/a.rs", "host/plugins/src/a.rs"] {
            assert_eq!(check(&tree_of(&[(path, CODE)])), [], "{path}");
        }
        for path in ["host/bridge/src/a.rs", "plugin-api/http/src/a.rs", "xtask/src/a.rs"] {
            let problems = check(&tree_of(&[(path, CODE)]));
            assert_eq!(problems.len(), 1, "{path}");
            assert_eq!(problems[0].place, format!("{path}:3"));
        }
    }
}
