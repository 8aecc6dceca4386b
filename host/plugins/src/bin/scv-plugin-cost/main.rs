//! What one plugin costs its process, for `cargo xtask bench`: figures as JSON on stdout.
//!
//! `load FOLDER HOME` loads the plugin of a folder, `bare FILE` does the least that a careful
//! loader of such a file could do, and `call FOLDER HOME` sends messages to the fixture plugin.

mod call;

use std::{
    collections::BTreeMap,
    env,
    error::Error,
    fs::File,
    io::{self, Write},
    path::{Path, PathBuf},
    process::ExitCode,
    sync::Arc,
    time::Instant,
};

use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};
use scv_plugin_host::{HostOptions, Isolation, PluginHost, Policy, SearchOptions, SearchPath};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tokio::runtime::{Builder, Runtime};

type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

fn main() -> ExitCode {
    if let Some(child) = scv_plugin_host::run_helper(env::args_os()) {
        return child;
    }
    let arguments: Vec<PathBuf> = env::args_os().skip(1).map(PathBuf::from).collect();
    let arguments: Vec<&Path> = arguments.iter().map(PathBuf::as_path).collect();
    let measured = match arguments.as_slice() {
        [what, folder, home] if what.as_os_str() == "load" => load(folder, home),
        [what, file] if what.as_os_str() == "bare" => bare(file),
        [what, folder, home] if what.as_os_str() == "call" => call::measure(folder, home),
        _ => Err("tell it `load FOLDER HOME`, `bare FILE` or `call FOLDER HOME`".into()),
    };
    match measured.and_then(|figures| Ok(writeln!(io::stdout(), "{figures}")?)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn load(folder: &Path, home: &Path) -> Result<Value> {
    let (runtime, host) = (runtime()?, host(folder, home, Isolation::InProcess));
    let begin = Instant::now();
    runtime.block_on(host.load_all());
    let time = begin.elapsed();
    match host.channels().first() {
        Some(_) => Ok(json!({ "seconds": time.as_secs_f64() })),
        None => Err(format!("it did not load: {:?}", host.reports()).into()),
    }
}

/// Two passes of SHA-256 and one `dlopen`.
fn bare(file: &Path) -> Result<Value> {
    let begin = Instant::now();
    for _ in 0..2 {
        let mut hash = Sha256::new();
        io::copy(&mut File::open(file)?, &mut hash)?;
        hash.finalize();
    }
    #[allow(unsafe_code)]
    // SAFETY: its constructors run here; it is a library that this workspace has built.
    let library = unsafe { Library::open(Some(file), RTLD_NOW | RTLD_LOCAL) }?;
    let time = begin.elapsed();
    // As in the loader, it stays for the life of the process.
    std::mem::forget(library);
    Ok(json!({ "seconds": time.as_secs_f64() }))
}

/// As the daemon's.
fn runtime() -> io::Result<Runtime> {
    Builder::new_current_thread().enable_all().build()
}

/// As that of a plugin that asks for no more threads.
fn plugin_runtime() -> io::Result<Runtime> {
    Builder::new_multi_thread().worker_threads(1).enable_all().build()
}

/// A host of the plugins in `folder`, all of the same form.
fn host(folder: &Path, home: &Path, isolation: Isolation) -> Arc<PluginHost> {
    let search = SearchOptions { cli_dirs: vec![folder.to_owned()], ..SearchOptions::default() };
    let isolation = BTreeMap::from([(call::FIXTURE.to_owned(), isolation)]);
    PluginHost::new(HostOptions {
        search: SearchPath::resolve(search),
        cache_dir: home.join("cache"),
        policy: Policy { isolation, ..Policy::default() },
        ..HostOptions::default()
    })
}
