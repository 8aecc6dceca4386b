//! Whole-binary tests of scv.
//!
//! The tests stand in `tests/`; what drives the built program is `xtask::harness`, which
//! `cargo xtask` uses as well.

pub mod faulty;
pub mod feishu_scene;
pub mod play;
pub mod scene;
