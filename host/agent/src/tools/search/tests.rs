//! Searches that find, and searches that are bounded.

use scv_protocol::{Risk, ToolError};
use serde_json::json;

use super::*;
use crate::{
    limits::NOTE_BYTES,
    tools::place::tests::{Folder, folder},
};

fn outcome(folder: &Folder, arguments: Value) -> Result<ToolOutcome, FileFault> {
    let Call::Search(call) = plan(&arguments).expect("a plan").call else {
        panic!("{arguments}");
    };
    search(&folder.dir, &folder.root, &call, 2000 + NOTE_BYTES, CancellationToken::new())
}

fn found(folder: &Folder, arguments: Value) -> String {
    let outcome = outcome(folder, arguments).expect("an outcome");
    assert_eq!((outcome.error, outcome.truncated), (None, false));
    outcome.output
}

fn sample() -> Folder {
    let folder = folder();
    folder.put("src/main.rs", "fn main() {\r\n    run(1.5);\r\n}\n");
    folder.put("src/lib.rs", "pub fn run(x: f32) {}\nRUN\n");
    folder.put("notes.md", "run 1x5");
    folder.put("blob", b"run\0run");
    folder
}

#[test]
fn finds_text_as_it_is_written() {
    let folder = sample();
    assert_eq!(found(&folder, json!({"pattern": "1.5"})), "src/main.rs:2:    run(1.5);\n");
    assert_eq!(
        found(&folder, json!({"pattern": "run"})),
        "notes.md:1:run 1x5\nsrc/lib.rs:1:pub fn run(x: f32) {}\nsrc/main.rs:2:    run(1.5);\n"
    );
    assert_eq!(found(&folder, json!({"pattern": "nowhere"})), "(nothing found)\n");
}

#[test]
fn finds_by_expression_case_glob_and_path() {
    let folder = sample();
    let expression = json!({"pattern": r"^fn \w+\(\) \{$", "regex": true});
    assert_eq!(found(&folder, expression), "src/main.rs:1:fn main() {\n");
    let loud = json!({"pattern": "RUN", "ignore_case": true, "glob": "*.rs", "path": "src"});
    assert_eq!(
        found(&folder, loud),
        "lib.rs:1:pub fn run(x: f32) {}\nlib.rs:2:RUN\nmain.rs:2:    run(1.5);\n"
    );
    let one = json!({"pattern": "run", "path": "src/main.rs"});
    assert_eq!(found(&folder, one), "main.rs:2:    run(1.5);\n");
}

#[test]
fn finds_names() {
    let folder = sample();
    let names = |pattern: &str| found(&folder, json!({"pattern": pattern, "target": "names"}));
    assert_eq!(names("*.rs"), "src/lib.rs\nsrc/main.rs\n");
    assert_eq!(names("src/*"), "src/lib.rs\nsrc/main.rs\n");
    assert_eq!(names("**/main.*"), "src/main.rs\n");
    assert_eq!(names("s*"), "src/\n");
    assert_eq!(names("*.py"), "(nothing found)\n");
}

#[test]
fn secrets_are_searched_only_by_their_own_name() {
    let folder = folder();
    folder.put(".env", "KEY=1");
    folder.put("a", "KEY=2");
    let output = found(&folder, json!({"pattern": "KEY"}));
    assert_eq!(output, "a:1:KEY=2\n[not searched: 1 files that may hold secrets]");
    let asked = plan(&json!({"pattern": "KEY", "path": ".env"})).expect("a plan");
    assert_eq!(asked.risk, Risk::Filesystem);
    assert_eq!(found(&folder, json!({"pattern": "KEY", "path": ".env"})), ".env:1:KEY=1\n");
    folder.link(".env", "harmless");
    let hidden = outcome(&folder, json!({"pattern": "KEY", "path": "harmless"}));
    assert_eq!(hidden, Err(FileFault::HiddenSecret));
}

#[test]
fn nothing_outside_is_searched() {
    let folder = folder();
    folder.link("../outside", "link");
    folder.link("..", "up");
    folder.link("/etc", "etc");
    assert_eq!(found(&folder, json!({"pattern": "o"})), "(nothing found)\n");
    let up = outcome(&folder, json!({"pattern": "o", "path": "up"}));
    assert_eq!(up, Err(FileFault::Outside));
}

#[test]
fn output_is_bounded() {
    let folder = folder();
    folder.put("many", "hit\n".repeat(10_000));
    let outcome = outcome(&folder, json!({"pattern": "hit"})).expect("an outcome");
    assert!(outcome.truncated && outcome.output.len() <= 2000 + NOTE_BYTES);
    assert!(outcome.output.ends_with("[there is more: narrow the pattern, the path or the glob]"));
    let folder = self::folder();
    folder.put("wide", format!("{}needle{}", "x".repeat(10_000), "y\u{1b}".repeat(10_000)));
    let output = found(&folder, json!({"pattern": "needle"}));
    assert!(output.contains("needle") && output.len() < 4 * MAX_HIT_BYTES, "{output}");
    assert!(!output.contains('\u{1b}'));
}

#[test]
fn wrong_arguments_are_refused() {
    for arguments in [
        json!({"pattern": ""}),
        json!({"pattern": "x".repeat(MAX_PATTERN_BYTES + 1)}),
        json!({"pattern": "(", "regex": true}),
        json!({"pattern": r"(\w{1000}){1000}", "regex": true}),
        json!({"pattern": "a", "glob": "[z"}),
        json!({"pattern": "*", "target": "names", "regex": true}),
        json!({"pattern": "a", "target": "dreams"}),
        json!({"pattern": "a", "path": ""}),
    ] {
        let refusal = plan(&arguments).expect_err("wrong");
        assert_eq!(refusal.error, ToolError::InvalidArguments, "{arguments}");
        assert!(refusal.message.len() < 3000, "{}", refusal.message);
    }
}
