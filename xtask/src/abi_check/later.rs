//! A version that may come: today's SDK with a field, a variant, an operation and a sign-in
//! event more, as text edits in a copy. An edit whose place is gone fails, with its name.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, ensure};
use tempfile::TempDir;

use super::{FIXTURE_CREDENTIALS, build, passes};
use crate::workspace::Workspace;

/// One edit: a file, a text that stands there once, and what takes its place.
struct Edit {
    file: &'static str,
    place: &'static str,
    with: &'static str,
}

const EDITS: [Edit; 9] = [
    // Fields.
    Edit {
        file: "plugin-api/src/wire/connect.rs",
        place: "    /// Names this batch in the next request.\n",
        with: "    /// Later.\n    #[serde(default)]\n    pub later: Vec<u32>,\n    /// Names this batch in the next request.\n",
    },
    Edit {
        file: "plugin-api/src/wire/inbound.rs",
        place: "    /// Where it was written.\n    #[serde(default)]\n    pub conversation",
        with: "    /// Later.\n    #[serde(default)]\n    pub later: Option<String>,\n    /// Where it was written.\n    #[serde(default)]\n    pub conversation",
    },
    Edit {
        file: "plugin-api/src/wire/create.rs",
        place: "    /// Values for the manifest's settings.\n",
        with: "    /// Later.\n    #[serde(default)]\n    pub later: BTreeMap<String, Value>,\n    /// Values for the manifest's settings.\n",
    },
    // Variants.
    Edit {
        file: "plugin-api/src/wire/inbound.rs",
        place: "    /// Something a person sent that cannot be read here",
        with: "    /// Later.\n    Reaction,\n    /// Something a person sent that cannot be read here",
    },
    Edit {
        file: "plugin-api/src/wire/fault.rs",
        place: "    /// Anything else.\n",
        with: "    /// Later.\n    Busy,\n    /// Anything else.\n",
    },
    // A sign-in event.
    Edit {
        file: "plugin-api/src/wire/login.rs",
        place: "    /// Something the person should read.\n",
        with: "    /// Later.\n    Picture {\n        /// Later.\n        text: String,\n    },\n    /// Something the person should read.\n",
    },
    Edit {
        file: "plugin-api/src/login_ui.rs",
        place: "    /// Says something that the person should read.\n",
        with: "    /// Later.\n    pub async fn picture(&self) -> Result<()> {\n        self.show(LoginEventBody::Picture { text: \"later\".into() }).await\n    }\n\n    /// Says something that the person should read.\n",
    },
    // A plugin that uses all of it.
    Edit {
        file: "host/plugins/fixture/src/lib.rs",
        place: "        ui.link(\"http://127.0.0.1/fixture\", \"or open\").await?;\n",
        with: "        ui.picture().await?;\n        ui.link(\"http://127.0.0.1/fixture\", \"or open\").await?;\n",
    },
    Edit {
        file: "host/plugins/fixture/src/session.rs",
        place: "        messages: message.into_iter().collect(),\n",
        with: "        messages: std::iter::once(Inbound {\n            id: format!(\"reaction-{checkpoint}\"),\n            kind: scv_plugin_api::wire::InboundKind::Reaction,\n            later: Some(\"later\".into()),\n            ..Inbound::default()\n        })\n        .chain(message)\n        .collect(),\n        later: vec![1],\n",
    },
];

/// Its operation: what no plugin of today answers.
const HOST: &str = include_str!("later/main.rs");
const HOST_MANIFEST: &str = include_str!("later/Cargo.toml");

/// The copy, built. Removed when dropped.
pub(super) struct Later {
    root: TempDir,
    pub(super) plugin: PathBuf,
}

impl Later {
    /// A fresh folder each time: nothing of an earlier build can be taken for this one.
    pub(super) fn build(workspace: &Workspace) -> Result<Self> {
        let parent = workspace.target.join("abi-check");
        fs::create_dir_all(&parent)?;
        let root = tempfile::Builder::new().prefix("later-").tempdir_in(parent)?;
        copy(workspace, root.path())?;
        for edit in &EDITS {
            apply(root.path(), edit)?;
        }
        let target = root.path().join("target");
        build(root.path(), &target, &["build", "--workspace"])?;
        let plugin = target.join("debug/libscv_channel_fixture.so");
        Ok(Self { root, plugin })
    }

    /// The host of that version opens a session of a plugin.
    pub(super) fn host(&self, plugin: &Path) -> Result<()> {
        let mut host = Command::new(self.root.path().join("target/debug/later-host"));
        passes(host.arg(plugin).arg(FIXTURE_CREDENTIALS), "a later host")
    }
}

/// The SDK, the fixture, a host, and a workspace around them.
fn copy(workspace: &Workspace, to: &Path) -> Result<()> {
    for folder in
        ["plugin-api/src", "plugin-api/tests", "plugin-api/abi/src", "host/plugins/fixture/src"]
    {
        copy_folder(&workspace.root.join(folder), &to.join(folder))?;
    }
    for file in [
        "plugin-api/Cargo.toml",
        "plugin-api/build.rs",
        "plugin-api/abi/Cargo.toml",
        "host/plugins/fixture/Cargo.toml",
        "host/plugins/fixture/manifest.json",
        "Cargo.lock",
    ] {
        fs::copy(workspace.root.join(file), to.join(file))
            .with_context(|| format!("{file} cannot be copied"))?;
    }
    let root = fs::read_to_string(workspace.root.join("Cargo.toml"))?;
    let (_, rest) = root.split_once("[workspace.package]").context("Cargo.toml has no packages")?;
    let members = r#"["plugin-api", "plugin-api/abi", "host/plugins/fixture", "later-host"]"#;
    let text =
        format!("[workspace]\nresolver = \"3\"\nmembers = {members}\n\n[workspace.package]{rest}");
    fs::write(to.join("Cargo.toml"), text)?;
    let host = to.join("later-host");
    fs::create_dir_all(host.join("src"))?;
    fs::write(host.join("Cargo.toml"), HOST_MANIFEST)?;
    Ok(fs::write(host.join("src/main.rs"), HOST)?)
}

fn copy_folder(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy_folder(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}

fn apply(root: &Path, edit: &Edit) -> Result<()> {
    let path = root.join(edit.file);
    let text = fs::read_to_string(&path).with_context(|| format!("no {}", edit.file))?;
    let places = text.matches(edit.place).count();
    ensure!(
        places == 1,
        "{} has this text {places} times, not once; mend the edit in xtask/src/abi_check/later.rs: {:?}",
        edit.file,
        edit.place
    );
    Ok(fs::write(&path, text.replace(edit.place, edit.with))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// So that whoever moves a text learns of it in the tests, not when the ABI is checked.
    #[test]
    fn every_edit_has_its_place() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let copy = tempfile::tempdir().unwrap();
        for edit in &EDITS {
            let to = copy.path().join(edit.file);
            if !to.exists() {
                fs::create_dir_all(to.parent().unwrap()).unwrap();
                fs::copy(root.join(edit.file), &to).unwrap();
            }
            apply(copy.path(), edit).unwrap();
        }
    }
}
