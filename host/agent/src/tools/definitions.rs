//! The tools as the model sees them.

use std::sync::LazyLock;

use serde_json::{Value, json};

/// One tool as it is offered.
#[derive(Debug)]
pub(crate) struct Definition {
    pub(crate) name: &'static str,
    pub(crate) description: &'static str,
    /// A JSON Schema.
    pub(crate) parameters: Value,
}

/// All tools, always in this order.
pub(crate) fn definitions() -> &'static [Definition] {
    static ALL: LazyLock<[Definition; 2]> = LazyLock::new(|| [read(), bash()]);
    &*ALL
}

fn read() -> Definition {
    Definition {
        name: "read",
        description: "Reads a text file of the workspace. Long files are cut: ask for the rest \
                      with offset.",
        parameters: json!({
            "type": "object",
            "properties": {
                "path": {"type": "string", "description": "Relative to the workspace."},
                "offset": {
                    "type": "integer", "minimum": 1,
                    "description": "The first line to read; lines count from 1.",
                },
                "limit": {
                    "type": "integer", "minimum": 1,
                    "description": "How many lines to read at most.",
                },
            },
            "required": ["path"],
            "additionalProperties": false,
        }),
    }
}

fn bash() -> Definition {
    Definition {
        name: "bash",
        description: "Runs a shell command in the workspace, without input, and gives its output \
                      and exit status. Everything it started ends with it.",
        parameters: json!({
            "type": "object",
            "properties": {
                "command": {"type": "string"},
                "timeout_seconds": {
                    "type": "integer", "minimum": 1,
                    "description": "Ends the command after this time.",
                },
            },
            "required": ["command"],
            "additionalProperties": false,
        }),
    }
}
