//! No room depends on what it must not know.

use super::{
    Problem,
    rooms::{Knows, Libraries, Room},
};
use crate::workspace::{Dependency, DependencyKind, Package, Workspace};

/// Compares every dependency of every package with the table.
pub(super) fn check(workspace: &Workspace, rooms: &[Room]) -> Vec<Problem> {
    let mut problems = Vec::new();
    for package in &workspace.packages {
        let folder = workspace.folder(package);
        let manifest = format!("{folder}/Cargo.toml");
        let Some(room) = room_of(rooms, package, &folder) else {
            problems.push(Problem::in_file(
                &manifest,
                "a package without a room; give it a line in xtask/src/tidy/rooms.rs",
            ));
            continue;
        };
        let broken = package
            .dependencies
            .iter()
            .filter_map(|dependency| breach(workspace, room, dependency));
        problems.extend(broken.map(|text| Problem::in_file(&manifest, text)));
    }
    problems
}

/// A package's own line, otherwise the longest folder's.
fn room_of<'a>(rooms: &'a [Room], package: &Package, folder: &str) -> Option<&'a Room> {
    let folder = format!("{folder}/");
    let own = rooms.iter().find(|room| room.room == package.name);
    own.or_else(|| {
        rooms
            .iter()
            .filter(|room| room.room.ends_with('/') && folder.starts_with(room.room))
            .max_by_key(|room| room.room.len())
    })
}

/// What is wrong with this dependency.
fn breach(workspace: &Workspace, room: &Room, dependency: &Dependency) -> Option<String> {
    if workspace.has(&dependency.name) {
        return inside(room, dependency);
    }
    if dependency.kind == Some(DependencyKind::Dev) || outside(room.libraries, dependency) {
        return None;
    }
    Some(format!("{} must not depend on {}", room.room, dependency.name))
}

fn inside(room: &Room, dependency: &Dependency) -> Option<String> {
    let Knows::Only(known) = room.knows else {
        return None;
    };
    let tests = match dependency.kind {
        Some(DependencyKind::Dev) => room.tests_know,
        _ => &[],
    };
    let rights = || known.iter().chain(tests).map(|right| features_of(right));
    if !rights().any(|(name, _)| name == dependency.name) {
        return Some(format!("{} must not know {}", room.room, dependency.name));
    }
    let default = dependency.uses_default_features.then_some("default");
    let wanted = dependency.features.iter().map(String::as_str);
    wanted
        // A package without a feature `default` has it "on"; only the SDK has one.
        .chain(default.filter(|_| dependency.name == "scv-plugin-api"))
        .find(|feature| {
            !rights().any(|(name, features)| {
                name == dependency.name && features.split(',').any(|known| known == *feature)
            })
        })
        .map(|feature| {
            format!("{} must not switch on the feature {feature} of {}", room.room, dependency.name)
        })
}

/// Splits `name[feature,feature]`.
fn features_of(right: &str) -> (&str, &str) {
    match right.split_once('[') {
        Some((name, features)) => (name, features.trim_end_matches(']')),
        None => (right, ""),
    }
}

fn outside(libraries: Libraries, dependency: &Dependency) -> bool {
    let name = dependency.name.as_str();
    match libraries {
        Libraries::AllBut(banned) => !banned.concat().contains(&name),
        Libraries::Only(allowed) => allowed.iter().any(|library| match library.strip_suffix('?') {
            Some(optional) => optional == name && dependency.optional,
            None => *library == name,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOMS: &[Room] = &[
        Room {
            room: "words",
            knows: Knows::Only(&[]),
            tests_know: &[],
            libraries: Libraries::Only(&["serde", "tokio?"]),
        },
        Room {
            room: "parts/",
            knows: Knows::Only(&["words[fast]"]),
            tests_know: &["stage"],
            libraries: Libraries::AllBut(&[&["hyper"]]),
        },
        Room {
            room: "stage",
            knows: Knows::Everything,
            tests_know: &[],
            libraries: Libraries::AllBut(&[]),
        },
    ];

    /// Problems of a workspace of `words`, `parts/a` and `stage`, with one dependency in one.
    fn problems(package: &str, dependency: &str) -> Vec<String> {
        let entry = |name: &str, folder: &str| {
            let dependencies = if name == package { dependency } else { "" };
            format!(
                r#"{{"name":"{name}","manifest_path":"/w/{folder}/Cargo.toml","dependencies":[{dependencies}],"targets":[]}}"#
            )
        };
        let text = format!(
            r#"{{"workspace_root":"/w","target_directory":"/w/target","packages":[{},{},{}]}}"#,
            entry("words", "words"),
            entry("part-a", "parts/a"),
            entry("stage", "stage")
        );
        let workspace: Workspace = serde_json::from_str(&text).unwrap();
        let problems = check(&workspace, ROOMS);
        problems.into_iter().map(|problem| problem.text).collect()
    }

    fn dependency(name: &str, kind: &str, optional: bool, features: &str) -> String {
        format!(
            r#"{{"name":"{name}","kind":{kind},"optional":{optional},"uses_default_features":true,"features":[{features}]}}"#
        )
    }

    #[test]
    fn an_edge_in_the_table_is_fine() {
        assert!(problems("part-a", &dependency("words", "null", false, "\"fast\"")).is_empty());
        assert!(problems("part-a", &dependency("serde", "null", false, "")).is_empty());
        assert!(problems("stage", &dependency("part-a", "null", false, "")).is_empty());
    }

    #[test]
    fn an_edge_that_is_not_in_the_table_fails() {
        assert_eq!(
            problems("words", &dependency("part-a", "null", false, "")),
            ["words must not know part-a"]
        );
        assert_eq!(
            problems("words", &dependency("part-a", "\"dev\"", false, "")),
            ["words must not know part-a"]
        );
    }

    #[test]
    fn what_tests_may_know_is_not_for_the_code() {
        assert!(problems("part-a", &dependency("stage", "\"dev\"", false, "")).is_empty());
        assert_eq!(
            problems("part-a", &dependency("stage", "null", false, "")),
            ["parts/ must not know stage"]
        );
        assert_eq!(
            problems("part-a", &dependency("stage", "\"build\"", false, "")),
            ["parts/ must not know stage"]
        );
    }

    #[test]
    fn a_feature_needs_a_right_as_well() {
        assert_eq!(
            problems("part-a", &dependency("words", "null", false, "\"slow\"")),
            ["parts/ must not switch on the feature slow of words"]
        );
    }

    #[test]
    fn libraries_are_bounded_outside_of_tests() {
        assert_eq!(
            problems("part-a", &dependency("hyper", "null", false, "")),
            ["parts/ must not depend on hyper"]
        );
        assert!(problems("part-a", &dependency("hyper", "\"dev\"", false, "")).is_empty());
        assert_eq!(
            problems("words", &dependency("tokio", "null", false, "")),
            ["words must not depend on tokio"]
        );
        assert!(problems("words", &dependency("tokio", "null", true, "")).is_empty());
    }

    #[test]
    fn a_package_needs_a_room() {
        let text = r#"{"workspace_root":"/w","target_directory":"/w/target","packages":[
            {"name":"new","manifest_path":"/w/new/Cargo.toml","dependencies":[],"targets":[]}]}"#;
        let problems = check(&serde_json::from_str(text).unwrap(), ROOMS);
        assert!(problems[0].to_string().starts_with("new/Cargo.toml: a package without a room"));
    }
}
