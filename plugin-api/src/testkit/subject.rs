//! What is tested: linked code, or a built library.

use std::{error::Error as _, path::Path};

use abi_stable::library::AbiHeaderRef;
use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};
use scv_plugin_abi::PluginModule_Ref;

use super::panicking::Panicking;
use crate::{
    plugin::{Exported, module},
    wire::{Fault, Manifest},
};

/// A plugin before `create`, through the objects that cross the boundary in both cases.
#[derive(Clone)]
pub struct Subject {
    module: PluginModule_Ref,
    /// The same code with panics in it; a built library is not made to panic.
    panicking: Option<PluginModule_Ref>,
}

impl Subject {
    /// The code that is linked into this program.
    #[must_use]
    pub fn of<C: Exported>() -> Self {
        Self { module: module::<C>(), panicking: Some(module::<Panicking<C>>()) }
    }

    /// A built library. It stays loaded for the life of the process, and its code runs here:
    /// name only files that you trust.
    ///
    /// # Errors
    /// Why the system or the ABI refuses it.
    #[allow(unsafe_code)]
    pub fn load(file: &Path) -> Result<Self, String> {
        // A bare name would be searched for in the system's folders.
        let file = std::path::absolute(file).map_err(|error| error.to_string())?;
        // SAFETY: constructors of the library run here; the caller was told so.
        let library = unsafe { Library::open(Some(&file), RTLD_NOW | RTLD_LOCAL) };
        let library = library.map_err(|error| not_opened(&error))?;
        // SAFETY: the symbol is a static that begins with abi_stable's header, and
        // `AbiHeaderRef` is a transparent pointer to that; `upgrade` checks its magic text
        // before anything else.
        let header = unsafe { library.get::<AbiHeaderRef>(b"SCV_CHANNEL_PLUGIN_ABI_1\0") };
        let header = *header.map_err(|_| "it is not an scv channel plugin".to_owned())?;
        // Closing a library leaves abi_stable's globals pointing into nothing.
        std::mem::forget(library);
        header
            .upgrade()
            .and_then(|header| header.init_root_module::<PluginModule_Ref>())
            .map(|module| Self { module, panicking: None })
            .map_err(|_| "the layout of its plugin ABI is another one".to_owned())
    }

    pub(super) const fn module(&self) -> PluginModule_Ref {
        self.module
    }

    /// The plugin whose callbacks panic on request, as the linked code has it.
    pub(super) fn panicking(&self) -> Option<Self> {
        self.panicking.map(|module| Self { module, panicking: None })
    }

    /// Reads and checks the manifest.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn manifest(&self) -> Result<Manifest, Fault> {
        Manifest::read(self.module.manifest()().as_str().as_bytes())
    }
}

fn not_opened(error: &libloading::Error) -> String {
    error.source().map_or_else(|| error.to_string(), ToString::to_string)
}
