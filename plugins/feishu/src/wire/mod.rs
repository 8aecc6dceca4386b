//! The long connection's own protocol: frames, pings, and events in parts. No I/O here.

mod frame;
mod heart;
mod parts;

pub(crate) use self::{
    frame::{Frame, Kind},
    heart::{Heart, ping_interval, reconnect_spread},
    parts::{Joined, Parts},
};

/// The frames of `cases/feishu_frames.json`.
#[cfg(test)]
pub(crate) mod vectors {
    use bytes::Bytes;
    use serde_json::Value;

    const FRAMES: &str = include_str!("../../../../xtask/e2e/cases/feishu_frames.json");

    pub(crate) struct Vector {
        pub(crate) name: String,
        pub(crate) bytes: Bytes,
        pub(crate) decoded: Value,
        pub(crate) canonical: bool,
    }

    pub(crate) fn captured() -> Vec<Vector> {
        read("captured")
    }

    pub(crate) fn odd() -> Vec<Vector> {
        read("odd_frames")
    }

    fn read(group: &str) -> Vec<Vector> {
        let file: Value = serde_json::from_str(FRAMES).expect("the file");
        file[group].as_array().expect("frames").iter().map(vector).collect()
    }

    fn vector(frame: &Value) -> Vector {
        let hex = frame["hex"].as_str().expect("hex");
        let byte = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16).expect("hex");
        Vector {
            name: frame["name"].as_str().expect("a name").to_owned(),
            bytes: (0..hex.len()).step_by(2).map(byte).collect(),
            decoded: frame["decoded"].clone(),
            canonical: frame["canonical"].as_bool().unwrap_or(false),
        }
    }
}
