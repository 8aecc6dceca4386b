//! `cargo xtask tidy`: what docs/architecture.md promises, checked.
//!
//! The tree is read once, here at the rim; each check is a function from what was read to the
//! problems it found.

mod constants;
mod documents;
mod edges;
mod length;
mod platforms;
mod readme;
mod rooms;
mod schemas;
mod statements;
mod top_level;
mod tree;
mod unsafe_code;

use std::fmt;

use anyhow::Result;
use clap::CommandFactory;

use crate::{cli::Cli, workspace::Workspace};
use tree::Tree;

/// A rule that is broken, and where.
#[derive(Debug, PartialEq, Eq)]
pub struct Problem {
    place: String,
    text: String,
}

impl Problem {
    fn in_file(path: &str, text: impl Into<String>) -> Self {
        Self { place: path.to_owned(), text: text.into() }
    }

    fn at_line(path: &str, line: usize, text: impl Into<String>) -> Self {
        Self::in_file(&format!("{path}:{line}"), text)
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.text)
    }
}

/// Runs every check and prints what is wrong; gives whether nothing is.
///
/// # Errors
/// When the tree cannot be read.
pub fn run(workspace: &Workspace) -> Result<bool> {
    let tree = Tree::read(&workspace.root)?;
    let problems = check(workspace, &tree);
    for problem in &problems {
        println!("{problem}");
    }
    println!("{}", length::figures(&tree));
    match problems.len() {
        0 => println!("tidy: in order"),
        count => println!("tidy: {count} to put right"),
    }
    Ok(problems.is_empty())
}

fn check(workspace: &Workspace, tree: &Tree) -> Vec<Problem> {
    let mut problems = edges::check(workspace, rooms::ROOMS);
    problems.extend(top_level::check(tree));
    problems.extend(length::check(tree));
    problems.extend(constants::check(tree));
    problems.extend(unsafe_code::check(tree));
    problems.extend(platforms::check(tree));
    problems.extend(documents::check(tree));
    problems.extend(readme::check(tree, &Cli::command()));
    problems.extend(schemas::check(&workspace.root));
    problems.extend(statements::check(tree));
    problems
}
