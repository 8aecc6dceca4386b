//! The room with a real plugin: `fixture/`, built by cargo when the tests run.

mod apart;
mod common;
mod conformance;
mod faults;
mod files;
mod log;
mod pins;
mod quarantine;
mod reload;
mod serving;
