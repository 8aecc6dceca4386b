//! What the client protocol promises is tested, each promise by name.

use super::{Problem, tree::Tree};

/// One promise a line, in our own words, and behind `=>` the tests that fail without it.
const LIST: &str = "protocol/tests/statements.txt";

/// Every line of the list names tests that there are.
pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let Some(list) = tree.get(LIST) else {
        return Vec::new();
    };
    let lines = (1..).zip(list.text.lines());
    let promises = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    promises
        .filter_map(|(number, line)| Some(Problem::at_line(LIST, number, fault(tree, line)?)))
        .collect()
}

fn fault(tree: &Tree, line: &str) -> Option<String> {
    let Some((_, tests)) = line.split_once(" => ") else {
        return Some("no test is named behind ` => `".to_owned());
    };
    let absent = tests.split(", ").find(|test| !is_there(tree, test))?;
    Some(format!("there is no test {absent}"))
}

/// A test is written as `path/of/file.rs::name`.
fn is_there(tree: &Tree, test: &str) -> bool {
    let Some((path, name)) = test.split_once("::") else {
        return false;
    };
    tree.get(path).is_some_and(|file| file.text.contains(&format!("fn {name}(")))
}

#[cfg(test)]
mod tests {
    use super::super::tree::tree_of;
    use super::*;

    #[test]
    fn a_promise_without_its_test_is_said() {
        let good = "# about lines\n\nA line ends. => a.rs::ends, b/c.rs::begins\n";
        let code = [("a.rs", "fn ends() {}"), ("b/c.rs", "async fn begins() {}")];
        let problems = |list: &str| check(&tree_of(&[(LIST, list), code[0], code[1]]));
        assert_eq!(problems(good), []);
        for (bad, told) in [
            ("A line ends.", "no test is named behind ` => `"),
            ("A line ends. => a.rs::end", "there is no test a.rs::end"),
            ("A line ends. => a.rs::ends, d.rs::ends", "there is no test d.rs::ends"),
            ("A line ends. => ends", "there is no test ends"),
        ] {
            assert_eq!(problems(bad), [Problem::at_line(LIST, 1, told)]);
        }
    }
}
