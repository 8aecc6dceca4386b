//! The tools as the model sees them.

use std::sync::LazyLock;

use serde_json::{
    Value, json,
    value::{RawValue, to_raw_value},
};

use crate::limits::MAX_WALK_DEPTH_COUNT;

/// One tool as it is offered.
#[derive(Debug)]
pub(crate) struct Definition {
    pub(crate) name: &'static str,
    pub(crate) description: &'static str,
    /// A JSON Schema, ready to be copied into requests.
    pub(crate) parameters: Box<RawValue>,
}

/// All tools, always in this order.
pub(crate) fn definitions() -> &'static [Definition] {
    static ALL: LazyLock<[Definition; 6]> =
        LazyLock::new(|| [read(), write(), edit(), list(), search(), bash()]);
    &*ALL
}

fn schema(schema: &Value) -> Box<RawValue> {
    to_raw_value(schema).expect("JSON values always serialize")
}

fn read() -> Definition {
    Definition {
        name: "read",
        description: "Reads a text file of the workspace. Long files are cut: ask for the rest \
                      with offset.",
        parameters: schema(&json!({
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
        })),
    }
}

fn write() -> Definition {
    Definition {
        name: "write",
        description: "Creates a file of the workspace, or replaces one as a whole. Missing folders \
                      are made.",
        parameters: schema(&json!({
            "type": "object",
            "properties": {
                "path": {"type": "string", "description": "Relative to the workspace."},
                "content": {"type": "string"},
                "expected_sha256": {
                    "type": "string",
                    "description": "Replaces the file only if its content has this SHA-256, in \
                                    hexadecimal.",
                },
            },
            "required": ["path", "content"],
            "additionalProperties": false,
        })),
    }
}

fn edit() -> Definition {
    Definition {
        name: "edit",
        description: "Replaces an exact piece of a file. The piece must occur once, unless \
                      replace_all is set.",
        parameters: schema(&json!({
            "type": "object",
            "properties": {
                "path": {"type": "string", "description": "Relative to the workspace."},
                "old_text": {
                    "type": "string",
                    "description": "The piece as it stands in the file, blanks and line ends \
                                    included.",
                },
                "new_text": {"type": "string"},
                "replace_all": {"type": "boolean"},
            },
            "required": ["path", "old_text", "new_text"],
            "additionalProperties": false,
        })),
    }
}

fn list() -> Definition {
    Definition {
        name: "list",
        description: "Lists a folder of the workspace, sorted: kind, size in bytes and path of \
                      each entry.",
        parameters: schema(&json!({
            "type": "object",
            "properties": {
                "path": {
                    "type": "string",
                    "description": "Relative to the workspace, which is the default.",
                },
                "depth": {
                    "type": "integer", "minimum": 1, "maximum": MAX_WALK_DEPTH_COUNT,
                    "description": "How many levels; 1, the default, is the folder alone.",
                },
            },
            "additionalProperties": false,
        })),
    }
}

fn search() -> Definition {
    Definition {
        name: "search",
        description: "Searches the workspace for text in files, or for the names of files and \
                      folders. Binary files, and what version control ignores, are passed by.",
        parameters: schema(&json!({
            "type": "object",
            "properties": {
                "pattern": {
                    "type": "string",
                    "description": "The text, or for names a glob such as *.rs or src/**/*.rs.",
                },
                "target": {"type": "string", "enum": ["text", "names"]},
                "regex": {
                    "type": "boolean",
                    "description": "Whether the text is a regular expression, for one line each.",
                },
                "ignore_case": {"type": "boolean"},
                "path": {
                    "type": "string",
                    "description": "A folder or file; relative to the workspace, which is the \
                                    default.",
                },
                "glob": {
                    "type": "string",
                    "description": "Searches text only in files that this glob names.",
                },
            },
            "required": ["pattern"],
            "additionalProperties": false,
        })),
    }
}

fn bash() -> Definition {
    Definition {
        name: "bash",
        description: "Runs a shell command in the workspace, without input, and gives its output \
                      and exit status. Everything it started ends with it.",
        parameters: schema(&json!({
            "type": "object",
            "properties": {
                "command": {"type": "string"},
                "cwd": {
                    "type": "string",
                    "description": "A folder of the workspace to run in; the workspace itself by \
                                    default.",
                },
                "timeout_seconds": {
                    "type": "integer", "minimum": 1,
                    "description": "Ends the command after this time.",
                },
            },
            "required": ["command"],
            "additionalProperties": false,
        })),
    }
}
