//! Where the host enters a plugin's library.

use abi_stable::{
    library::{__call_root_module_loader, CheckTypeLayout, LibHeader, RootModuleResult},
    prefix_type::PrefixTypeTrait,
    std_types::{RResult, RStr, RVec},
};
use scv_plugin_abi::{PluginModule, PluginModule_Ref, RawHostArc, RawPluginBox};

use super::{
    guard::catch, host::Host, log, reply::document, runtime::PluginRuntime, served::ServedPlugin,
};
use crate::{
    Channel, Result,
    wire::{Manifest, decode},
};

/// A [`Channel`] with its manifest; `export_channel!` implements it.
pub trait Exported: Channel {
    /// What [`manifest!`](crate::manifest) made.
    const MANIFEST: &'static str;
}

/// The header that `export_channel!` exports: the first thing that a host reads after loading.
#[must_use]
#[allow(unsafe_code)]
pub const fn header<C: Exported>() -> LibHeader {
    // SAFETY: `root_module` returns a `PluginModule_Ref`, erased by abi_stable's own function.
    unsafe {
        LibHeader::from_constructor::<PluginModule_Ref>(root_module::<C>, CheckTypeLayout::Yes)
    }
}

extern "C" fn root_module<C: Exported>() -> RootModuleResult {
    __call_root_module_loader(module::<C>)
}

/// What the header leads to; the conformance kit enters here.
pub(crate) fn module<C: Exported>() -> PluginModule_Ref {
    PluginModule { manifest: manifest::<C>, create: create::<C> }.leak_into_prefix()
}

extern "C" fn manifest<C: Exported>() -> RStr<'static> {
    RStr::from_str(C::MANIFEST)
}

extern "C" fn create<C: Exported>(
    config: RVec<u8>,
    host: RawHostArc,
) -> RResult<RawPluginBox, RVec<u8>> {
    catch(|| make::<C>(&config, Host::new(host))).and_then(|result| result).map_err(document).into()
}

fn make<C: Exported>(config: &[u8], host: Host) -> Result<RawPluginBox> {
    // First of all, so that nothing that goes wrong later is lost.
    log::install(host.clone());
    let manifest = Manifest::read(C::MANIFEST.as_bytes())?;
    let runtime = PluginRuntime::start(&manifest)?;
    let context = runtime.handle().enter();
    let channel = C::create(decode("create", config)?)?;
    drop(context);
    Ok(ServedPlugin::boxed(channel, manifest, runtime, host))
}
