//! Opening: which files belong together, what is torn, and what is damage.

use std::io;

use super::{
    base,
    change::Change,
    error::{File, StoreError},
    keys::Keys,
    log::{Entry, Log},
    record,
    state::State,
};
use crate::{
    AccountName, Accounts, AccountsError, ChannelId,
    accounts::{LifetimeLock, remove, replace, sha256_hex},
    fs::FileSystem,
    home::AccountFiles,
    limits::{MAX_BASE_BYTES, MAX_JOURNAL_BYTES},
};

/// An open store.
pub struct Opened {
    /// What is durable.
    pub state: State,
    /// How more becomes durable.
    pub log: Log,
    /// A commit that was cut off has been removed; the caller warns.
    pub was_torn: bool,
}

/// Opens an account's state for the bot of `fingerprint`, and binds it if it is nobody's.
///
/// Nothing is written before everything is read and known to fit: damage and another bot's
/// state leave all files as they are.
///
/// # Errors
/// [`StoreError::Damaged`], [`StoreError::OtherIdentity`], [`StoreError::Busy`] and I/O errors.
pub fn open(
    accounts: &Accounts,
    channel: &ChannelId,
    account: &AccountName,
    lifetime: LifetimeLock,
    fingerprint: &str,
) -> Result<Opened, StoreError> {
    let files = accounts.files(channel, account);
    let fs = accounts.fs();
    let transaction = accounts.transaction(channel, account).map_err(lock_error)?;
    let Saved { base_hash, was_bound, mut state, journal } =
        read_saved(&*fs, &files, Some(fingerprint))?;
    let base_hash = match base_hash {
        Some(hash) if was_bound => hash,
        _ => {
            state.fingerprint = Some(fingerprint.to_owned());
            let bytes = base::to_json(&state);
            replace(&*fs, &files.state(), &bytes).map_err(StoreError::io(File::Base))?;
            sha256_hex(&bytes)
        }
    };
    let mut log = Log::new(fs.clone(), files.clone(), lifetime, base_hash)?;
    if journal.changes.is_empty() {
        remove(&*fs, &files.journal()).map_err(StoreError::io(File::Journal))?;
    } else {
        log.resume(journal.good_len, journal.records)?;
    }
    drop(transaction);
    Ok(Opened { state, log, was_torn: journal.was_torn })
}

/// Reads what is saved of an account without changing anything: the whole state, whoever's it
/// is; an empty one when nothing is saved. The account may be running.
///
/// # Errors
/// As [`open`].
pub fn read(
    accounts: &Accounts,
    channel: &ChannelId,
    account: &AccountName,
) -> Result<State, StoreError> {
    let _transaction = accounts.transaction(channel, account).map_err(lock_error)?;
    let saved = read_saved(&*accounts.fs(), &accounts.files(channel, account), None)?;
    Ok(saved.state)
}

/// Everything that the files say.
struct Saved {
    base_hash: Option<String>,
    was_bound: bool,
    state: State,
    journal: JournalFile,
}

/// `fingerprint` is whose it must be; none: anybody's.
fn read_saved(
    fs: &dyn FileSystem,
    files: &AccountFiles,
    fingerprint: Option<&str>,
) -> Result<Saved, StoreError> {
    let (base_hash, mut state) = read_base(fs, files, fingerprint)?;
    let was_bound = state.fingerprint.is_some();
    let journal = read_journal(fs, files, base_hash.as_deref())?;
    if !was_bound && !journal.changes.is_empty() {
        return Err(StoreError::damaged(File::Journal, "it continues an unbound state"));
    }
    state.keys = read_keys(fs, files)?;
    // They are only ever written beside a base.
    if base_hash.is_none() && !state.keys.is_empty() {
        return Err(StoreError::damaged(File::Base, "it is missing"));
    }
    replay(&mut state, &journal.changes)?;
    Ok(Saved { base_hash, was_bound, state, journal })
}

fn lock_error(error: AccountsError) -> StoreError {
    match error {
        AccountsError::Busy => StoreError::Busy,
        AccountsError::NotOurs { .. } => StoreError::NotOurs(File::Lock),
        AccountsError::Io { kind, .. } => StoreError::Io { file: File::Lock, kind },
        _ => StoreError::io(File::Lock)(io::ErrorKind::Other.into()),
    }
}

fn read_base(
    fs: &dyn FileSystem,
    files: &AccountFiles,
    fingerprint: Option<&str>,
) -> Result<(Option<String>, State), StoreError> {
    let Some(bytes) = read_file(fs, &files.state(), MAX_BASE_BYTES, File::Base)? else {
        return Ok((None, State::default()));
    };
    let state = base::parse(&bytes)
        .ok_or(StoreError::damaged(File::Base, "it is not the JSON of a state"))?;
    let is_other = |bound| fingerprint.is_some_and(|wanted| wanted != bound);
    if state.fingerprint().is_some_and(is_other) {
        return Err(StoreError::OtherIdentity);
    }
    Ok((Some(sha256_hex(&bytes)), state))
}

#[derive(Default)]
struct JournalFile {
    /// The changes that the base does not have yet.
    changes: Vec<Change>,
    good_len: u64,
    records: u32,
    was_torn: bool,
}

fn read_journal(
    fs: &dyn FileSystem,
    files: &AccountFiles,
    base_hash: Option<&str>,
) -> Result<JournalFile, StoreError> {
    let damaged = |problem| StoreError::damaged(File::Journal, problem);
    let Some(bytes) = read_file(fs, &files.journal(), MAX_JOURNAL_BYTES, File::Journal)? else {
        return Ok(JournalFile::default());
    };
    let scan = record::scan(&bytes).map_err(damaged)?;
    let entries = scan
        .payloads
        .iter()
        .map(|payload| serde_json::from_slice(payload))
        .collect::<Result<Vec<Entry>, _>>()
        .map_err(|_| damaged("a record is of a form that this release does not know"))?;
    let is_base = |entry: &Entry| match entry {
        Entry::Base(hash) | Entry::Fold(hash) => Some(hash.as_str()) == base_hash,
        Entry::Changes(_) => false,
    };
    if !matches!(entries.first(), None | Some(Entry::Base(_))) {
        return Err(damaged("it does not begin with the base it continues"));
    }
    // The last match: a fold whose rename was done counts, whatever happened after it.
    let from = entries.iter().rposition(is_base);
    let has_changes = entries.iter().any(|e| matches!(e, Entry::Changes(_)));
    match from {
        // An older release has run since: it knows no journal, and this one says nothing.
        None if !has_changes => return Ok(JournalFile::default()),
        None => return Err(damaged("it continues another state file")),
        Some(_) => {}
    }
    let records = u32::try_from(entries.len()).map_err(|_| damaged("it is too long"))?;
    let newer = entries.into_iter().skip(from.map_or(0, |at| at + 1));
    Ok(JournalFile {
        changes: newer.flat_map(Entry::into_changes).collect(),
        good_len: scan.good_len as u64,
        records,
        was_torn: scan.good_len < bytes.len(),
    })
}

impl Entry {
    fn into_changes(self) -> Vec<Change> {
        match self {
            Self::Changes(changes) => changes,
            Self::Base(_) | Self::Fold(_) => Vec::new(),
        }
    }
}

fn read_keys(fs: &dyn FileSystem, files: &AccountFiles) -> Result<Keys, StoreError> {
    let Some(bytes) = read_file(fs, &files.keys(), MAX_BASE_BYTES, File::Keys)? else {
        return Ok(Keys::default());
    };
    let damaged = |problem| StoreError::damaged(File::Keys, problem);
    let scan = record::scan(&bytes).map_err(damaged)?;
    // It is replaced as a whole, so it can never be torn.
    let [payload] = scan.payloads[..] else {
        return Err(damaged("it is not one whole record"));
    };
    Keys::from_json(payload).ok_or(damaged("it is not a list of keys"))
}

fn replay(state: &mut State, changes: &[Change]) -> Result<(), StoreError> {
    for change in changes {
        state
            .apply(change)
            .map_err(|_| StoreError::damaged(File::Journal, "a change does not fit the state"))?;
    }
    Ok(())
}

fn read_file(
    fs: &dyn FileSystem,
    path: &std::path::Path,
    limit: u64,
    file: File,
) -> Result<Option<Vec<u8>>, StoreError> {
    match fs.read(path, limit) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) if error.kind() == io::ErrorKind::FileTooLarge => {
            Err(StoreError::damaged(file, "it is too large"))
        }
        Err(error) => Err(StoreError::io(file)(error)),
    }
}
