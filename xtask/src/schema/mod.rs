//! `cargo xtask schema`: the JSON Schema of each protocol version, from the wire types.

#[cfg(test)]
mod valid;

use std::{fs, path::Path};

use anyhow::{Context, Result};
use schemars::{
    JsonSchema, SchemaGenerator,
    generate::{Contract, SchemaSettings},
};
use scv_protocol::{ClientMessage, SUPPORTED_VERSIONS, ServerEvent};
use serde_json::{Map, Value, json};

use crate::workspace::Workspace;

/// Events that version 2 does not know.
const VERSION_3_ONLY: [&str; 1] = ["tool.progress"];

/// Writes the files anew.
///
/// # Errors
/// When they cannot be written.
pub fn run(workspace: &Workspace) -> Result<()> {
    for (name, text) in files() {
        let path = workspace.root.join(name);
        let folder = path.parent().unwrap_or(Path::new("."));
        fs::create_dir_all(folder).context("the folder of the schemas cannot be made")?;
        fs::write(&path, text).with_context(|| format!("{} cannot be written", path.display()))?;
    }
    Ok(())
}

/// The committed files, by their path in the workspace, with what they should hold.
pub fn files() -> impl Iterator<Item = (String, String)> {
    SUPPORTED_VERSIONS.into_iter().map(|version| {
        let text = serde_json::to_string_pretty(&schema(version)).unwrap_or_default();
        (format!("docs/schema/protocol-v{version}.json"), text + "\n")
    })
}

/// Any line of one version, in either direction.
fn schema(version: u32) -> Value {
    let mut definitions = definitions::<ClientMessage>(Contract::Deserialize);
    definitions.extend(definitions_of_events(version));
    for (definition, kind) in [("ClientMessage", "initialize"), ("ServerEvent", "initialized")] {
        pin_version(&mut definitions[definition], kind, version);
    }
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": format!("A line of the scv client protocol, version {version}"),
        "description": "A ClientMessage from a client, or a ServerEvent from the server. Fields that are not named here are ignored.",
        "anyOf": [{"$ref": "#/$defs/ClientMessage"}, {"$ref": "#/$defs/ServerEvent"}],
        "$defs": definitions,
    })
}

fn definitions_of_events(version: u32) -> Map<String, Value> {
    let mut definitions = definitions::<ServerEvent>(Contract::Serialize);
    if version < 3 {
        variants(&mut definitions["ServerEvent"])
            .retain(|variant| !VERSION_3_ONLY.iter().any(|kind| is_kind(variant, kind)));
    }
    definitions
}

/// The definitions of a type and of all that it is made of: as a reader takes it, or as a writer
/// makes it.
fn definitions<T: JsonSchema>(contract: Contract) -> Map<String, Value> {
    let mut settings = SchemaSettings::draft2020_12();
    settings.contract = contract;
    let mut generator = SchemaGenerator::new(settings);
    generator.subschema_for::<T>();
    generator.take_definitions(true)
}

fn pin_version(definition: &mut Value, kind: &str, version: u32) {
    for variant in variants(definition).iter_mut().filter(|variant| is_kind(variant, kind)) {
        variant["properties"]["protocol_version"] = json!({"const": version});
    }
}

fn variants(definition: &mut Value) -> &mut Vec<Value> {
    static NOT_TAGGED: &str = "a tagged type is made of variants";
    definition["oneOf"].as_array_mut().expect(NOT_TAGGED)
}

fn is_kind(variant: &Value, kind: &str) -> bool {
    variant["properties"]["type"]["const"] == kind
}

#[cfg(test)]
mod tests {
    use super::{valid::fault, *};

    const PAGE: &str = include_str!("../../../docs/protocol.md");

    /// The lines of the page's JSON blocks.
    fn samples() -> impl Iterator<Item = Value> {
        PAGE.split("```json\n")
            .skip(1)
            .filter_map(|block| block.split("```").next())
            .flat_map(str::lines)
            .map(|line| serde_json::from_str(line).unwrap())
    }

    #[test]
    fn every_sample_of_the_page_is_valid() {
        let schema = schema(3);
        for sample in samples() {
            assert_eq!(fault(&schema, &schema, &sample), None, "{sample}");
        }
    }

    #[test]
    fn version_2_lacks_what_came_later() {
        let schema = schema(2);
        let mut refused: Vec<_> = samples()
            .filter(|sample| fault(&schema, &schema, sample).is_some())
            .map(|sample| sample["type"].as_str().unwrap().to_owned())
            .collect();
        refused.sort();
        assert_eq!(refused, ["initialize", "initialized", "tool.progress"]);
    }

    #[test]
    fn what_is_no_line_is_refused() {
        let schema = schema(3);
        for wrong in [
            json!({"type": "turn.start", "request_id": "1", "session_id": "s"}),
            json!({"type": "turn.dance", "request_id": "1"}),
            json!({"type": "turn.start", "request_id": 1, "session_id": "s", "prompt": "p"}),
            json!({"type": "initialize", "request_id": "1", "protocol_version": 4,
                   "client": {"name": "c", "version": "1"}}),
            json!({"type": "error", "code": "oops", "message": "m", "fatal": false}),
            json!([]),
        ] {
            assert!(fault(&schema, &schema, &wrong).is_some(), "{wrong}");
        }
    }
}
