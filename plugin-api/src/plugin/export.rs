//! The macro that makes a library a plugin.

/// Exports a [`Channel`](crate::Channel) as the plugin of this library.
///
/// It takes the type and what [`manifest!`](crate::manifest!) made; the crate's own page has a
/// whole example. The symbols' names are fixed, so one binary holds one exported channel: put
/// `#[cfg(feature = "export")]`, a default feature of the plugin's crate, before the macro
/// where a test links it beside another plugin.
#[macro_export]
macro_rules! export_channel {
    ($channel:ty, $manifest:expr) => {
        const _: () = {
            #[cfg(panic = "abort")]
            compile_error!("a plugin is built with panic = \"unwind\": the SDK catches panics");

            impl $crate::plugin::Exported for $channel {
                const MANIFEST: &'static str = $manifest;
            }

            #[unsafe(no_mangle)]
            pub static SCV_CHANNEL_MANIFEST_1: [u8;
                <$channel as $crate::plugin::Exported>::MANIFEST.len()] =
                $crate::plugin::bytes(<$channel as $crate::plugin::Exported>::MANIFEST);

            #[unsafe(no_mangle)]
            pub static SCV_CHANNEL_PLUGIN_ABI_1: $crate::plugin::LibHeader =
                $crate::plugin::header::<$channel>();
        };
    };
}
