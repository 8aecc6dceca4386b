//! The JSON state file, in the exact forms that older releases write and read.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{
    change::{Claim, Held, Pending},
    keys::Keys,
    state::State,
};

#[derive(Serialize, Deserialize)]
struct BaseFile {
    #[serde(default)]
    credential_fingerprint: Option<String>,
    // These two are in every file ever written: a file without them is no state.
    cursor: String,
    seen: Vec<String>,
    #[serde(default)]
    pending: OneOrMany<Pending>,
    #[serde(default)]
    in_flight: OneOrMany<Claim>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    held: Vec<Held>,
    #[serde(flatten)]
    extra: Map<String, Value>,
}

/// Null when empty, the object alone when one, an array when several; all three are read.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum OneOrMany<T> {
    None(()),
    One(T),
    Many(Vec<T>),
}

impl<T> Default for OneOrMany<T> {
    fn default() -> Self {
        Self::None(())
    }
}

impl<T> From<OneOrMany<T>> for Vec<T> {
    fn from(form: OneOrMany<T>) -> Self {
        match form {
            OneOrMany::None(()) => Self::new(),
            OneOrMany::One(one) => vec![one],
            OneOrMany::Many(many) => many,
        }
    }
}

impl<T: Clone> From<&[T]> for OneOrMany<T> {
    fn from(list: &[T]) -> Self {
        match list {
            [] => Self::None(()),
            [one] => Self::One(one.clone()),
            many => Self::Many(many.to_vec()),
        }
    }
}

/// Reads a state file; `None` when it is not one.
pub(super) fn parse(bytes: &[u8]) -> Option<State> {
    let file: BaseFile = serde_json::from_slice(bytes).ok()?;
    let mut state = State {
        fingerprint: file.credential_fingerprint,
        cursor: file.cursor,
        seen: file.seen.iter().map(String::as_str).collect(),
        claims: file.in_flight.into(),
        pending: file.pending.into(),
        held: file.held,
        keys: Keys::default(),
        extra: file.extra,
    };
    name_direct_chats(&mut state);
    Some(state)
}

/// The oldest releases kept no key: it means the direct chat with that person.
fn name_direct_chats(state: &mut State) {
    let claims = state.claims.iter_mut().map(|c| (&mut c.key, &c.to_user_id));
    let pending = state.pending.iter_mut().map(|p| (&mut p.key, &p.to_user_id));
    let carried = claims.chain(pending);
    let held = state.held.iter_mut().map(|h| (&mut h.key, &h.to_user_id));
    for (key, user) in carried.chain(held) {
        if key.is_empty() {
            key.clone_from(user);
        }
    }
}

/// Writes a state file.
pub(super) fn to_json(state: &State) -> Vec<u8> {
    let file = BaseFile {
        credential_fingerprint: state.fingerprint.clone(),
        cursor: state.cursor.clone(),
        seen: state.seen.iter().map(str::to_owned).collect(),
        pending: state.pending.as_slice().into(),
        in_flight: state.claims.as_slice().into(),
        held: state.held.clone(),
        extra: state.extra.clone(),
    };
    serde_json::to_vec(&file).expect("strings and numbers are always JSON")
}
