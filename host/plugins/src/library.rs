//! Opens a checked library. Nothing here is undone: a loaded plugin stays for the process's life.
//!
//! Closing a library is a no-op while thread-locals of it exist, and otherwise leaves
//! abi_stable's globals pointing into nothing; so it is leaked on purpose.

use std::error::Error as _;

use abi_stable::library::{AbiHeaderRef, LibraryError};
use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};
use scv_plugin_abi::PluginModule_Ref;

use crate::{
    Refusal, Step,
    cache::HeldCopy,
    inspect::{ABI, HEADER_SYMBOL},
};

/// Loads the copy and checks its layout.
#[allow(unsafe_code)]
pub(crate) fn open(copy: HeldCopy) -> Result<PluginModule_Ref, Refusal> {
    // SAFETY: constructors of the library run here. Which bytes these are was decided by owner,
    // mode, headers and hash before; a plugin is trusted code of the same user.
    let library = unsafe { Library::open(Some(&copy.path), RTLD_NOW | RTLD_LOCAL) };
    let library = library.map_err(|error| not_opened(&error))?;
    // SAFETY: the symbol is a static that begins with abi_stable's header, and `AbiHeaderRef` is
    // a transparent pointer to that; `upgrade` checks its magic text before anything else.
    let header = unsafe { library.get::<AbiHeaderRef>(HEADER_SYMBOL) };
    let header = *header.map_err(|error| not_opened(&error))?;
    std::mem::forget((library, copy));
    header
        .upgrade()
        .and_then(|header| header.init_root_module::<PluginModule_Ref>())
        .map_err(|error| other_abi(&error))
}

fn not_opened(error: &libloading::Error) -> Refusal {
    // libloading 0.9 keeps the system's own words in the source.
    let words = error.source().map_or_else(|| error.to_string(), ToString::to_string);
    Refusal::new(
        Step::Load,
        format!("the system cannot load it: {words}"),
        "use a build of the plugin for this system, and a home that is not mounted noexec",
    )
}

fn other_abi(error: &LibraryError) -> Refusal {
    // The full text can be hundreds of lines.
    tracing::debug!(%error, "abi_stable refused a plugin");
    let what = match error {
        LibraryError::IncompatibleVersionNumber { actual_version, .. } => {
            format!("its library was built for plugin ABI {actual_version}")
        }
        LibraryError::AbiInstability(_) => "the layout of its plugin ABI is another one".into(),
        LibraryError::RootModule { .. } => "its entry point failed".into(),
        _ => "it was built with another abi_stable".to_owned(),
    };
    Refusal::new(
        Step::Load,
        format!("{what}, and this scv loads plugin ABI {ABI}"),
        "rebuild the plugin with the scv-plugin-api of this scv",
    )
}
