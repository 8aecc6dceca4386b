//! A file system whose power can be cut after any operation: what was not made durable by then
//! is there, half there, or not there at all.

use std::{
    collections::{BTreeMap, HashSet},
    ffi::OsString,
    fs::File,
    io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
};

use scv_bridge::fs::{DurableFile, Entry, FileSystem, RealFileSystem};

/// A change that no sync has made durable yet.
#[derive(Debug, Clone)]
enum Change {
    /// Of a folder: a name leads to a file.
    Name(PathBuf, usize),
    /// Of a folder: a name leads nowhere.
    NoName(PathBuf),
    /// Of a file.
    Bytes {
        file: usize,
        at: usize,
        bytes: Vec<u8>,
    },
    Length {
        file: usize,
        len: usize,
    },
}

/// What becomes of a change when the power is cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Kept,
    Dropped,
    Half,
    /// The file has its new length, and no content there.
    Zeros,
}

#[derive(Debug, Clone, Default)]
struct Disk {
    folders: HashSet<PathBuf>,
    names: BTreeMap<PathBuf, usize>,
    files: BTreeMap<usize, Vec<u8>>,
}

#[derive(Debug, Default)]
struct Power {
    durable: Disk,
    changes: Vec<Change>,
    /// What a program sees.
    lengths: BTreeMap<usize, usize>,
    names: BTreeMap<PathBuf, usize>,
    /// The state after each operation.
    cuts: Vec<Cut>,
    acknowledged: usize,
}

/// A moment at which the power may be cut.
#[derive(Debug, Clone)]
pub(crate) struct Cut {
    durable: Disk,
    changes: Vec<Change>,
    /// From [`PowerFileSystem::acknowledge`].
    pub(crate) acknowledged: usize,
}

#[derive(Clone, Default)]
pub(crate) struct PowerFileSystem(Arc<Mutex<Power>>);

impl PowerFileSystem {
    /// From now on, cuts come after this step of the test.
    pub(crate) fn acknowledge(&self, step: usize) {
        self.0.lock().unwrap().acknowledged = step;
    }

    pub(crate) fn cuts(&self) -> Vec<Cut> {
        self.0.lock().unwrap().cuts.clone()
    }

    fn note<T>(&self, change: impl FnOnce(&mut Power) -> T) -> T {
        let mut power = self.0.lock().unwrap();
        let value = change(&mut power);
        let cut = Cut {
            durable: power.durable.clone(),
            changes: power.changes.clone(),
            acknowledged: power.acknowledged,
        };
        power.cuts.push(cut);
        value
    }
}

impl Power {
    fn name(&mut self, path: &Path, file: usize) {
        self.names.insert(path.to_owned(), file);
        self.changes.push(Change::Name(path.to_owned(), file));
    }

    fn no_name(&mut self, path: &Path) {
        self.names.remove(path);
        self.changes.push(Change::NoName(path.to_owned()));
    }

    fn sync(&mut self, is_synced: impl Fn(&Change) -> bool) {
        let (synced, left) = std::mem::take(&mut self.changes).into_iter().partition(is_synced);
        self.changes = left;
        let synced: Vec<Change> = synced;
        for change in synced {
            self.durable.apply(change, Fate::Kept);
        }
    }
}

impl Disk {
    fn apply(&mut self, change: Change, fate: Fate) {
        if fate == Fate::Dropped {
            return;
        }
        match change {
            Change::Name(path, file) => {
                self.names.insert(path, file);
                self.files.entry(file).or_default();
            }
            Change::NoName(path) => {
                self.names.remove(&path);
            }
            Change::Bytes { file, at, bytes } => {
                let content = self.files.entry(file).or_default();
                let kept = match fate {
                    Fate::Half => &bytes[..bytes.len() / 2],
                    Fate::Zeros => &vec![0; bytes.len()][..],
                    Fate::Kept | Fate::Dropped => &bytes[..],
                };
                content.resize(content.len().max(at + kept.len()), 0);
                content[at..at + kept.len()].copy_from_slice(kept);
            }
            Change::Length { file, len } => self.files.entry(file).or_default().resize(len, 0),
        }
    }
}

impl Cut {
    /// Every way in which the disk may look after the power was cut here, written below `root`
    /// in place of `recorded`, one after the other.
    pub(crate) fn each(&self, recorded: &Path, root: &Path, mut look: impl FnMut(&str)) {
        let mut ways = vec![(self.durable.clone(), String::new())];
        for change in &self.changes {
            let fates: &[Fate] = match change {
                Change::Bytes { .. } => &[Fate::Kept, Fate::Dropped, Fate::Half, Fate::Zeros],
                _ => &[Fate::Kept, Fate::Dropped],
            };
            let each = |(disk, name): &(Disk, String)| {
                let (disk, name) = (disk.clone(), name.clone());
                fates.iter().map(move |fate| {
                    let mut disk = disk.clone();
                    disk.apply(change.clone(), *fate);
                    (disk, format!("{name} {fate:?}"))
                })
            };
            ways = ways.iter().flat_map(each).collect();
        }
        assert!(ways.len() <= 4_096, "too many changes at once: {:?}", self.changes);
        for (disk, name) in ways {
            let _ = std::fs::remove_dir_all(root);
            disk.write(recorded, root);
            look(&name);
        }
    }
}

impl Disk {
    /// Folders are all there: that they are made durable is seen by the changes in them.
    fn write(&self, recorded: &Path, root: &Path) {
        let there = |path: &Path| root.join(path.strip_prefix(recorded).unwrap());
        for folder in &self.folders {
            std::fs::create_dir_all(there(folder)).unwrap();
        }
        for (path, file) in &self.names {
            let path = there(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, &self.files[file]).unwrap();
        }
    }
}

impl FileSystem for PowerFileSystem {
    fn read(&self, path: &Path, limit: u64) -> io::Result<Vec<u8>> {
        RealFileSystem.read(path, limit)
    }

    fn create(&self, path: &Path) -> io::Result<Box<dyn DurableFile>> {
        let file = RealFileSystem.create(path)?;
        let number = self.note(|power| {
            let number = power.lengths.len();
            power.lengths.insert(number, 0);
            power.name(path, number);
            number
        });
        Ok(Box::new(PowerFile { power: self.clone(), number, file }))
    }

    fn append(&self, path: &Path) -> io::Result<Box<dyn DurableFile>> {
        let file = RealFileSystem.append(path)?;
        let number = self.0.lock().unwrap().names[path];
        Ok(Box::new(PowerFile { power: self.clone(), number, file }))
    }

    fn open_lock(&self, path: &Path) -> io::Result<File> {
        RealFileSystem.open_lock(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        RealFileSystem.rename(from, to)?;
        self.note(|power| {
            let file = power.names[from];
            power.no_name(from);
            power.name(to, file);
        });
        Ok(())
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        RealFileSystem.remove(path)?;
        self.note(|power| power.no_name(path));
        Ok(())
    }

    fn private_dir(&self, path: &Path) -> io::Result<bool> {
        let made = RealFileSystem.private_dir(path)?;
        self.0.lock().unwrap().durable.folders.insert(path.to_owned());
        Ok(made)
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        RealFileSystem.sync_dir(path)?;
        let is_in = |change: &Change| match change {
            Change::Name(name, _) | Change::NoName(name) => name.parent() == Some(path),
            Change::Bytes { .. } | Change::Length { .. } => false,
        };
        self.note(|power| power.sync(is_in));
        Ok(())
    }

    fn list(&self, path: &Path, limit: usize) -> io::Result<Vec<OsString>> {
        RealFileSystem.list(path, limit)
    }

    fn entry(&self, path: &Path) -> io::Result<Option<Entry>> {
        RealFileSystem.entry(path)
    }
}

struct PowerFile {
    power: PowerFileSystem,
    number: usize,
    file: Box<dyn DurableFile>,
}

impl DurableFile for PowerFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.write(bytes)?;
        let file = self.number;
        self.power.note(|power| {
            let len = power.lengths.get_mut(&file).unwrap();
            let at = *len;
            *len += bytes.len();
            power.changes.push(Change::Bytes { file, at, bytes: bytes.to_vec() });
        });
        Ok(())
    }

    fn sync_data(&mut self) -> io::Result<()> {
        self.file.sync_data()?;
        let number = self.number;
        let is_its = move |change: &Change| match change {
            Change::Bytes { file, .. } | Change::Length { file, .. } => *file == number,
            Change::Name(..) | Change::NoName(_) => false,
        };
        self.power.note(|power| power.sync(is_its));
        Ok(())
    }

    fn set_len(&mut self, len: u64) -> io::Result<()> {
        self.file.set_len(len)?;
        let (file, len) = (self.number, len as usize);
        self.power.note(|power| {
            power.lengths.insert(file, len);
            power.changes.push(Change::Length { file, len });
        });
        Ok(())
    }

    fn is_at(&self, path: &Path) -> io::Result<bool> {
        self.file.is_at(path)
    }
}
