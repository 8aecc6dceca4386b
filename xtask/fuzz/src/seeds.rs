//! Where inputs come from at first: the corpus, and the case files of the agent.

#[path = "../../../host/agent/tests/cases/reader.rs"]
mod reader;

use std::{fs, io, path::Path};

use scv_agent::config::WireApi;

use crate::{
    limits::MAX_INPUT_BYTES,
    targets::{Target, sse},
};

const CASES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../host/agent/tests/cases");

/// Every seed of a target.
pub(crate) fn of(target: &Target) -> io::Result<Vec<Vec<u8>>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target.name);
    let mut seeds = Vec::new();
    for file in fs::read_dir(folder)? {
        seeds.push(fs::read(file?.path())?);
    }
    if target.name == sse::NAME {
        for wire_api in [WireApi::Chat, WireApi::Responses] {
            let cases = reader::all(CASES, wire_api).into_iter();
            seeds.extend(cases.map(|case| sse::input(wire_api, &case.body)));
        }
    }
    seeds.retain(|seed| seed.len() <= MAX_INPUT_BYTES);
    // The order of a folder is nobody's; a run must be repeatable.
    seeds.sort();
    Ok(seeds)
}
