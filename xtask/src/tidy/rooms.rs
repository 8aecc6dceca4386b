//! Who may know whom: the table of docs/architecture.md, for machines.

/// A room's rights. A package that is no room's fails the check, so that each new one is thought about.
#[derive(Debug, Clone, Copy)]
pub(super) struct Room {
    /// A package's name, or the folder of several, with a slash at the end.
    pub room: &'static str,
    /// Packages of this workspace that it may depend on, each with the features that it may
    /// switch on: `name` or `name[feature,feature]`.
    pub knows: Knows,
    /// Packages that only its tests may depend on, beside those.
    pub tests_know: &'static [&'static str],
    /// Packages of other people.
    pub libraries: Libraries,
}

/// Rights inside the workspace.
#[derive(Debug, Clone, Copy)]
pub(super) enum Knows {
    /// These packages only.
    Only(&'static [&'static str]),
    /// Everything: the end-to-end crate stands outside of the house.
    Everything,
}

/// Rights outside of the workspace; tests are free.
#[derive(Debug, Clone, Copy)]
pub(super) enum Libraries {
    /// These only; with `?` at the end only where a feature brings it in.
    Only(&'static [&'static str]),
    /// Any but those of these lists.
    AllBut(&'static [&'static [&'static str]]),
}

use Knows::{Everything, Only};
use Libraries::AllBut;

/// What only a loader of plugins touches.
const LOADING: [&str; 3] = ["abi_stable", "async-ffi", "libloading"];
/// What only something that speaks HTTP touches.
const HTTP: [&str; 9] = [
    "http",
    "http-body-util",
    "hyper",
    "hyper-rustls",
    "hyper-util",
    "reqwest",
    "rustls",
    "rustls-native-certs",
    "tokio-rustls",
];
/// The house.
pub(super) const ROOMS: &[Room] = &[
    Room {
        room: "scv-protocol",
        knows: Only(&[]),
        tests_know: &[],
        libraries: Libraries::Only(&["schemars?", "serde", "serde_json", "thiserror", "tokio?"]),
    },
    Room {
        room: "scv-plugin-abi",
        knows: Only(&[]),
        tests_know: &[],
        libraries: Libraries::Only(&["abi_stable", "async-ffi"]),
    },
    Room {
        room: "scv-plugin-api",
        knows: Only(&["scv-plugin-abi"]),
        tests_know: &[],
        libraries: AllBut(&[&HTTP]),
    },
    Room { room: "scv-http", knows: Only(&[]), tests_know: &[], libraries: AllBut(&[&LOADING]) },
    Room {
        room: "plugins/",
        knows: Only(&["scv-plugin-api[default,plugin,export]", "scv-http"]),
        tests_know: &["scv-plugin-api[testkit]", "scv-simulators"],
        libraries: AllBut(&[&LOADING]),
    },
    Room {
        room: "scv-agent",
        knows: Only(&["scv-protocol", "scv-http"]),
        tests_know: &["scv-simulators"],
        libraries: AllBut(&[&LOADING]),
    },
    Room {
        room: "scv-bridge",
        knows: Only(&["scv-plugin-api[host]", "scv-protocol[client]"]),
        tests_know: &[],
        libraries: AllBut(&[&LOADING, &HTTP]),
    },
    Room {
        room: "scv-plugin-host",
        knows: Only(&["scv-plugin-api[host]", "scv-plugin-abi"]),
        // Itself: its tests switch its own feature on.
        tests_know: &["scv-plugin-host[fake]"],
        libraries: AllBut(&[&HTTP]),
    },
    Room {
        room: "host/plugins/fixture/",
        knows: Only(&["scv-plugin-api[default,plugin,export]"]),
        tests_know: &[],
        libraries: AllBut(&[&LOADING, &HTTP]),
    },
    Room {
        room: "scv-daemon",
        knows: Only(&[
            "scv-agent",
            "scv-bridge",
            "scv-plugin-api[host]",
            "scv-plugin-host",
            "scv-protocol[client]",
        ]),
        tests_know: &["scv-plugin-host[fake]"],
        libraries: AllBut(&[&LOADING, &HTTP]),
    },
    Room {
        room: "scv",
        knows: Only(&[
            "scv-bridge",
            "scv-daemon",
            "scv-plugin-api[host,testkit]",
            "scv-plugin-host",
            "scv-protocol[client]",
        ]),
        tests_know: &[],
        libraries: AllBut(&[&LOADING, &HTTP]),
    },
    Room {
        room: "scv-simulators",
        knows: Only(&[]),
        tests_know: &[],
        libraries: AllBut(&[&LOADING]),
    },
    Room {
        room: "xtask",
        knows: Only(&["scv-protocol[client,schema]", "scv-simulators"]),
        tests_know: &[],
        libraries: AllBut(&[&LOADING, &HTTP]),
    },
    Room { room: "scv-e2e", knows: Everything, tests_know: &[], libraries: AllBut(&[]) },
];
