//! Files stay small enough to read.

use super::{Problem, tree::Tree};

const MOST_LINES: usize = 800;

/// No Rust file is longer than 800 lines.
pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    tree.with_extension("rs")
        .map(|file| (file, file.text.lines().count()))
        .filter(|(_, lines)| *lines > MOST_LINES)
        .map(|(file, lines)| {
            let text = format!("{lines} lines; more than {MOST_LINES} hide a seam");
            Problem::in_file(&file.path, text)
        })
        .collect()
}

/// One line of figures: they fail nothing, they show a drift.
pub(super) fn figures(tree: &Tree) -> String {
    let mut lengths: Vec<_> = tree
        .with_extension("rs")
        .map(|file| (file.text.lines().count(), file.path.as_str()))
        .collect();
    lengths.sort_unstable();
    let Some((longest, path)) = lengths.last() else {
        return "no Rust files".into();
    };
    let at = |percent: usize| lengths[(lengths.len() - 1) * percent / 100].0;
    format!(
        "{} Rust files: median {} lines, nine in ten at most {}, longest {longest} ({path})",
        lengths.len(),
        at(50),
        at(90),
    )
}

#[cfg(test)]
mod tests {
    use super::super::tree::tree_of;
    use super::*;

    #[test]
    fn eight_hundred_lines_are_the_most() {
        let most = "x\n".repeat(800);
        let more = "x\n".repeat(801);
        let tree =
            tree_of(&[("a.rs", most.as_str()), ("b.rs", more.as_str()), ("c.md", more.as_str())]);
        let problems = check(&tree);
        assert_eq!(problems.len(), 1);
        assert_eq!(problems[0].place, "b.rs");
    }

    #[test]
    fn figures_name_the_longest() {
        let tree = tree_of(&[("a.rs", "x\n"), ("b.rs", "x\nx\nx\n"), ("c.rs", "x\nx\n")]);
        assert_eq!(
            figures(&tree),
            "3 Rust files: median 2 lines, nine in ten at most 2, longest 3 (b.rs)"
        );
        assert_eq!(figures(&tree_of(&[])), "no Rust files");
    }
}
