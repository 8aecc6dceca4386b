//! Samples in the documentation parse.

use scv_protocol::{ClientMessage, ServerEvent};
use serde_json::Value;

use super::{Problem, tree::Tree};

/// The page whose samples are lines of the protocol. That each comes out again as it went in
/// is for the protocol's own tests.
const PROTOCOL: &str = "docs/protocol.md";

/// Every fenced block of JSON or TOML in README.md and docs/ parses.
pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let mut problems = Vec::new();
    for file in tree.with_extension("md") {
        if file.path != "README.md" && !file.path.starts_with("docs/") {
            continue;
        }
        for block in blocks(&file.text) {
            let fault = match block.language {
                "json" if file.path == PROTOCOL => lines(&block, protocol_fault),
                "json" => json_fault(&block),
                "toml" => toml_fault(&block),
                _ => None,
            };
            if let Some((line, text)) = fault {
                problems.push(Problem::at_line(&file.path, line, text));
            }
        }
    }
    problems
}

/// A fenced block.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Block<'a> {
    /// What stands behind the opening fence.
    pub language: &'a str,
    /// The number of its first line, from 1.
    pub line: usize,
    /// What is between the fences.
    pub lines: Vec<&'a str>,
}

/// The fenced blocks of a Markdown text.
pub(super) fn blocks(text: &str) -> Vec<Block<'_>> {
    let mut blocks = Vec::new();
    let mut open: Option<Block<'_>> = None;
    for (index, line) in text.lines().enumerate() {
        match (line.trim_start().strip_prefix("```"), open.as_mut()) {
            (Some(language), None) => {
                open =
                    Some(Block { language: language.trim(), line: index + 2, lines: Vec::new() });
            }
            (Some(_), Some(_)) => blocks.extend(open.take()),
            (None, Some(block)) => block.lines.push(line),
            (None, None) => {}
        }
    }
    blocks.extend(open);
    blocks
}

type Fault = Option<(usize, String)>;

/// The first line of the block that has a fault.
fn lines(block: &Block<'_>, fault: fn(&str) -> Option<String>) -> Fault {
    (block.line..)
        .zip(&block.lines)
        .filter(|(_, line)| !line.trim().is_empty())
        .find_map(|(number, line)| fault(line).map(|text| (number, text)))
}

fn protocol_fault(line: &str) -> Option<String> {
    if ClientMessage::decode(line.as_bytes()).is_ok() {
        return None;
    }
    match serde_json::from_str(line) {
        Ok(ServerEvent::Unknown) => Some("neither a message nor an event of the protocol".into()),
        Ok(_) => None,
        Err(error) => Some(format!("no line of the protocol: {error}")),
    }
}

/// Either the block is one JSON value, or each of its lines is.
fn json_fault(block: &Block<'_>) -> Fault {
    if serde_json::from_str::<Value>(&block.lines.join("\n")).is_ok() {
        return None;
    }
    lines(block, |line| {
        let error = serde_json::from_str::<Value>(line).err()?;
        Some(format!("no JSON: {error}"))
    })
}

fn toml_fault(block: &Block<'_>) -> Fault {
    let error = block.lines.join("\n").parse::<toml::Table>().err()?;
    Some((block.line, format!("no TOML: {}", error.message())))
}

#[cfg(test)]
mod tests {
    use super::super::tree::tree_of;
    use super::*;

    #[test]
    fn blocks_know_their_language_and_line() {
        let found = blocks("text\n```json\n{}\n```\n\n```\nplain\n```\n");
        assert_eq!(
            found,
            [
                Block { language: "json", line: 3, lines: vec!["{}"] },
                Block { language: "", line: 7, lines: vec!["plain"] },
            ]
        );
    }

    fn problems(path: &str, text: &str) -> Vec<String> {
        let problems = check(&tree_of(&[(path, text)]));
        problems.iter().map(Problem::to_string).collect()
    }

    #[test]
    fn protocol_samples_are_lines_of_the_protocol() {
        let good = "{\"type\":\"session.attach\",\"request_id\":\"1\"}";
        assert!(problems(PROTOCOL, &format!("```json\n{good}\n```")).is_empty());
        let odd = "{\"type\":\"session.dance\",\"request_id\":\"1\"}";
        assert_eq!(
            problems(PROTOCOL, &format!("```json\n{good}\n{odd}\n```")),
            ["docs/protocol.md:3: neither a message nor an event of the protocol"]
        );
        assert_eq!(problems("docs/other.md", &format!("```json\n{odd}\n```")).len(), 0);
    }

    #[test]
    fn json_and_toml_parse_elsewhere() {
        assert!(problems("README.md", "```json\n{\n \"a\": 1\n}\n```").is_empty());
        assert!(problems("README.md", "```json\n{}\n[]\n```").is_empty());
        assert_eq!(problems("README.md", "```json\n{}\n{,}\n```").len(), 1);
        assert!(problems("docs/a.md", "```toml\n[plugins]\ndirs = []\n```").is_empty());
        assert_eq!(problems("docs/a.md", "```toml\n[plugins\n```").len(), 1);
        assert_eq!(problems("host/a/notes.md", "```json\n{,}\n```").len(), 0);
    }
}
