//! Numbers with a unit in their name are limits, and limits stand together.

use super::{
    Problem,
    tree::{Tree, Word, words},
};

const UNITS: [&str; 4] = ["_BYTES", "_MS", "_SECONDS", "_COUNT"];

/// Every `const` that is named after a unit is in a file `limits.rs`.
pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let mut problems = Vec::new();
    for file in tree.with_extension("rs") {
        if file.path.rsplit('/').next() == Some("limits.rs") {
            continue;
        }
        match words(&file.text) {
            Ok(words) => problems.extend(misplaced(&words).map(|word| {
                let text = format!("{} is a limit; it belongs into limits.rs", word.text);
                Problem::at_line(&file.path, word.line, text)
            })),
            Err(error) => problems.push(Problem::in_file(&file.path, error)),
        }
    }
    problems
}

fn misplaced(words: &[Word]) -> impl Iterator<Item = &Word> {
    words
        .windows(2)
        .filter(|pair| pair[0].text == "const")
        .map(|pair| &pair[1])
        .filter(|name| UNITS.iter().any(|unit| name.text.ends_with(unit)))
}

#[cfg(test)]
mod tests {
    use super::super::tree::tree_of;
    use super::*;

    #[test]
    fn limits_stand_in_limits_rs() {
        let tree = tree_of(&[
            ("room/src/limits.rs", "pub const LINE_BYTES: usize = 1;"),
            (
                "room/src/lib.rs",
                "use limits::LINE_BYTES;\nstruct S;\nimpl S {\n    const WAIT_MS: u64 = 1;\n}\nconst NAME: &str = \"\";",
            ),
        ]);
        assert_eq!(
            check(&tree),
            [Problem::at_line(
                "room/src/lib.rs",
                4,
                "WAIT_MS is a limit; it belongs into limits.rs"
            )]
        );
    }

    #[test]
    fn a_function_or_pointer_is_no_constant() {
        let tree = tree_of(&[(
            "a.rs",
            "const fn limit_BYTES() -> u8 { 1 }\nfn f(p: *const u8) { let x_MS = 1; }",
        )]);
        assert_eq!(check(&tree), []);
    }

    #[test]
    fn what_is_no_rust_is_said() {
        assert_eq!(check(&tree_of(&[("a.rs", "fn f( {")])).len(), 1);
    }
}
