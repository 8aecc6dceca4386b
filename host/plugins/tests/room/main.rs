//! The room with a real plugin: `fixture/`, built by cargo when the tests run.

mod common;
mod conformance;
mod faults;
mod files;
mod log;
mod reload;
mod serving;
