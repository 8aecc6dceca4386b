//! Writing: appending to the journal, and folding it into the base.

use std::{fs::File as LockFile, sync::Arc};

use fs4::{FileExt, TryLockError};
use serde::{Deserialize, Serialize};

use super::{
    base,
    change::Change,
    error::{File, StoreError},
    record,
    state::State,
};
use crate::{
    accounts::{LifetimeLock, remove, replace, sha256_hex, sync_parent, write_beside},
    fs::{DurableFile, FileSystem},
    home::AccountFiles,
    limits::{FOLD_JOURNAL_BYTES, FOLD_RECORD_BYTES, MAX_JOURNAL_BYTES, MAX_RECORD_BYTES},
};

/// What one record says.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Entry<C = Change> {
    /// The first record: the hash of the base that the changes continue.
    Base(String),
    /// One commit.
    Changes(Vec<C>),
    /// The state after everything before is about to become the base with this hash.
    Fold(String),
}

/// The writing side of an open store. It holds the account's lifetime lock.
pub struct Log {
    fs: Arc<dyn FileSystem>,
    files: AccountFiles,
    transaction: LockFile,
    _lifetime: LifetimeLock,
    base_hash: String,
    journal: Option<Journal>,
}

struct Journal {
    file: Box<dyn DurableFile>,
    /// Where the good records end.
    len: u64,
    sequence: u32,
    /// Something after `len` must be cut first.
    is_torn: bool,
    fold_at: u64,
}

/// What a fold writes: taken from the state while no commit is under way.
pub struct Image {
    base: Vec<u8>,
    keys: Option<Vec<u8>>,
}

impl Image {
    /// The whole state.
    pub fn of(state: &State) -> Self {
        let keys = (!state.keys.is_empty()).then(|| {
            let mut file = Vec::new();
            record::encode(0, &state.keys.to_json(), &mut file);
            file
        });
        Self { base: base::to_json(state), keys }
    }
}

impl Log {
    pub(super) fn new(
        fs: Arc<dyn FileSystem>,
        files: AccountFiles,
        lifetime: LifetimeLock,
        base_hash: String,
    ) -> Result<Self, StoreError> {
        let transaction = fs.open_lock(&files.transaction_lock());
        Ok(Self {
            transaction: transaction.map_err(StoreError::io(File::Lock))?,
            fs,
            files,
            _lifetime: lifetime,
            base_hash,
            journal: None,
        })
    }

    /// Goes on with a journal that ends after `len` good bytes and `sequence` records.
    pub(super) fn resume(&mut self, len: u64, sequence: u32) -> Result<(), StoreError> {
        let file = self.fs.append(&self.files.journal());
        self.journal = Some(Journal {
            file: file.map_err(StoreError::io(File::Journal))?,
            len,
            sequence,
            is_torn: true,
            fold_at: FOLD_JOURNAL_BYTES,
        });
        Ok(())
    }

    /// Makes changes durable, as one record. When it fails, nothing is known to be durable and
    /// the next call cuts away what may have been written.
    ///
    /// # Errors
    /// [`StoreError::Io`], [`StoreError::Busy`] while a command holds the transaction lock,
    /// [`StoreError::Gone`], [`StoreError::Full`].
    pub fn append<'a>(
        &mut self,
        changes: impl IntoIterator<Item = &'a Change>,
    ) -> Result<(), StoreError> {
        let payload = encode(&Entry::Changes(changes.into_iter().collect()));
        if payload.len() > MAX_RECORD_BYTES {
            return Err(StoreError::Full);
        }
        self.locked(|log| match log.journal {
            Some(_) => log.append_record(&payload, MAX_JOURNAL_BYTES - FOLD_RECORD_BYTES),
            None => log.begin_journal(&payload),
        })
    }

    /// Whether the journal has grown so long that it should be folded now.
    pub fn wants_fold(&self) -> bool {
        self.journal.as_ref().is_some_and(|j| j.len >= j.fold_at)
    }

    /// Makes `image`, which is the state after everything appended so far, the new base and
    /// removes the journal. When it fails, the journal simply goes on.
    ///
    /// # Errors
    /// As [`Log::append`].
    pub fn fold(&mut self, image: &Image) -> Result<(), StoreError> {
        let result = self.locked(|log| log.fold_locked(image));
        if let Some(journal) = &mut self.journal {
            journal.fold_at = journal.len + FOLD_JOURNAL_BYTES;
        }
        result
    }

    fn fold_locked(&mut self, image: &Image) -> Result<(), StoreError> {
        if self.journal.is_none() {
            return Ok(());
        }
        // Keys first: merging them twice does no harm, forgetting them would.
        if let Some(keys) = &image.keys {
            replace(&*self.fs, &self.files.keys(), keys).map_err(StoreError::io(File::Keys))?;
        }
        let path = self.files.state();
        let io = StoreError::io(File::Base);
        let temporary = write_beside(&*self.fs, &path, &image.base).map_err(&io)?;
        // The intent must be durable before the rename: without it the new base would not be
        // the one that this journal continues.
        let hash = sha256_hex(&image.base);
        self.append_record(&encode(&Entry::Fold(hash.clone())), MAX_JOURNAL_BYTES)?;
        self.fs.rename(&temporary, &path).map_err(&io)?;
        sync_parent(&*self.fs, &path).map_err(&io)?;
        self.base_hash = hash;
        // Nothing may be appended to it any more, even if it cannot be removed now: the next
        // commit replaces it, and until then its last record says that it is done with.
        self.journal = None;
        remove(&*self.fs, &self.files.journal()).map_err(StoreError::io(File::Journal))
    }

    /// Appends a record that ends at most `max_len` bytes into the journal.
    fn append_record(&mut self, payload: &[u8], max_len: u64) -> Result<(), StoreError> {
        let path = self.files.journal();
        let Some(journal) = &mut self.journal else {
            return Err(StoreError::Gone);
        };
        let io = StoreError::io(File::Journal);
        if !journal.file.is_at(&path).map_err(&io)? {
            return Err(StoreError::Gone);
        }
        let mut record = Vec::new();
        record::encode(journal.sequence, payload, &mut record);
        if journal.len + record.len() as u64 > max_len {
            journal.fold_at = journal.len;
            return Err(StoreError::Full);
        }
        journal.append(&record).map_err(&io)
    }

    /// The first commit since the base: a journal that names the base, and the commit in it.
    fn begin_journal(&mut self, payload: &[u8]) -> Result<(), StoreError> {
        let path = self.files.journal();
        let io = StoreError::io(File::Journal);
        let mut records = Vec::new();
        record::encode(0, &encode(&Entry::Base(self.base_hash.clone())), &mut records);
        record::encode(1, payload, &mut records);
        // One that is there already is from a begin that failed: nothing in it was promised.
        remove(&*self.fs, &path).map_err(&io)?;
        let mut journal = Journal {
            file: self.fs.create(&path).map_err(&io)?,
            len: 0,
            sequence: 0,
            is_torn: false,
            fold_at: FOLD_JOURNAL_BYTES,
        };
        journal.append(&records).map_err(&io)?;
        journal.sequence = 2;
        sync_parent(&*self.fs, &path).map_err(&io)?;
        self.journal = Some(journal);
        Ok(())
    }

    /// Holds the transaction lock meanwhile; never waits for it.
    fn locked<T>(
        &mut self,
        work: impl FnOnce(&mut Self) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        match FileExt::try_lock(&self.transaction) {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(StoreError::Busy),
            Err(TryLockError::Error(error)) => return Err(StoreError::io(File::Lock)(error)),
        }
        let result = work(self);
        // Cannot fail for a lock that is held; closing the file would release it, too.
        let _ = FileExt::unlock(&self.transaction);
        result
    }
}

impl Journal {
    fn append(&mut self, record: &[u8]) -> std::io::Result<()> {
        if self.is_torn {
            self.file.set_len(self.len)?;
        }
        self.is_torn = true;
        self.file.write(record)?;
        self.file.sync_data()?;
        self.is_torn = false;
        self.len += record.len() as u64;
        self.sequence += 1;
        Ok(())
    }
}

fn encode(entry: &Entry<&Change>) -> Vec<u8> {
    serde_json::to_vec(entry).expect("strings and numbers are always JSON")
}
