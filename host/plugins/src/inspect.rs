//! Step 4: what a file says about itself, without running it.

use scv_plugin_api::wire::Manifest;

use crate::{Refusal, Step, elf};

/// The exported manifest.
const MANIFEST_SYMBOL: &str = "SCV_CHANNEL_MANIFEST_1";
/// The exported header; looked for here so that a half-built plugin is refused early.
pub(crate) const HEADER_SYMBOL: &str = "SCV_CHANNEL_PLUGIN_ABI_1";
/// The ABI that this host serves: any plugin of the same major version.
pub(crate) const ABI: &str = "1.0";

/// A manifest, typed and as it stands in the file.
pub(crate) struct Inspected {
    pub(crate) manifest: Manifest,
    pub(crate) text: String,
    /// Libraries that it needs and that not every system has.
    pub(crate) foreign_libraries: Vec<String>,
}

/// Checks that the file can be mapped, and reads its manifest.
pub(crate) fn inspect(bytes: &[u8]) -> Result<Inspected, Refusal> {
    if !cfg!(target_os = "linux") {
        return Err(refuse(
            "this build of scv cannot look into libraries of this system yet",
            "run scv on Linux",
        ));
    }
    elf::check(bytes).map_err(bad_library)?;
    let text = elf::symbol(bytes, MANIFEST_SYMBOL).map_err(bad_library)?;
    let manifest = Manifest::read(text).map_err(|fault| {
        refuse(
            format!("its manifest is not valid: {fault}"),
            "tell the plugin's author, or use another version of it",
        )
    })?;
    Ok(Inspected {
        text: String::from_utf8_lossy(text).into_owned(),
        manifest,
        foreign_libraries: elf::foreign_libraries(bytes),
    })
}

/// Whether the manifest belongs to this file name and to an ABI that this host serves, and the
/// file has what is loaded by that ABI.
pub(crate) fn fits(bytes: &[u8], manifest: &Manifest, name: &str) -> Result<(), Refusal> {
    if manifest.name != name {
        return Err(refuse(
            format!("its manifest names it '{}', its file '{name}'", manifest.name),
            format!("name the file libscv_channel_{}.so", manifest.name),
        ));
    }
    if major(&manifest.abi) != major(ABI) {
        return Err(refuse(
            format!(
                "'{name}' was built for plugin ABI {}; this scv ({}) loads {}.x",
                manifest.abi,
                env!("CARGO_PKG_VERSION"),
                major(ABI),
            ),
            format!(
                "update scv, or rebuild the plugin with scv-plugin-api {}",
                scv_plugin_api::VERSION
            ),
        ));
    }
    elf::symbol(bytes, HEADER_SYMBOL).map(drop).map_err(bad_library)
}

fn major(abi: &str) -> &str {
    abi.split('.').next().unwrap_or_default()
}

fn bad_library(bad: elf::BadLibrary) -> Refusal {
    let fix = match bad {
        elf::BadLibrary::OtherCpu { .. } => "use the plugin's build for this machine",
        elf::BadLibrary::Truncated { .. } | elf::BadLibrary::Damaged => "copy the file again",
        _ => "put a built scv channel plugin in its place, or remove it",
    };
    refuse(bad.to_string(), fix)
}

fn refuse(reason: impl Into<String>, fix: impl Into<String>) -> Refusal {
    Refusal::new(Step::Inspect, reason, fix)
}
