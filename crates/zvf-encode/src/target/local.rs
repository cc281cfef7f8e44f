//! A folder of the local disk.
//!
//! A file is written under a temporary name next to its final one and then renamed, so that no reader sees a part of it. A file that no reader
//! requests before some document exists is written directly under its final name. Before the document that makes the others visible is renamed, they
//! are durable: files are synced one by one or, for many files and if the system supports it, all at once.
//!
//! Never writes or removes anything outside the folder. A file that is a symbolic link is replaced, not its target; a
//! folder that is a symbolic link is refused ([`Local::check`]). The root folder itself may be one.

use std::collections::{BTreeSet, HashSet};
use std::fs::{self, File};
use std::io::{ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use tempfile::TempPath;

use crate::WriteError;
use crate::lock::lock;

/// The beginning of temporary names. Readers never request such names.
pub(crate) const TEMPORARY: &str = ".zvf-";

/// Whether a key belongs to a temporary file. A writer renames such a file when it is complete, and leaves it behind if it is killed before.
#[must_use]
pub fn is_temporary(key: &str) -> bool {
    key.rsplit('/').next().unwrap_or(key).starts_with(TEMPORARY)
}

#[derive(Debug)]
pub(crate) struct Local {
    folder: PathBuf,
    /// Identifies this writer in its temporary names: two writers of one store may be in one process, and processes of two machines may have the same
    /// number.
    own: u64,
    next: AtomicU64,
    unsynced: Mutex<Unsynced>,
    /// Held while files are synced: a second barrier must not return before the first one.
    syncing: Mutex<()>,
    /// Whether files are synced at all.
    durable: bool,
    /// Folders in the store that are known not to be links, by key.
    plain: Mutex<HashSet<String>>,
    /// The topmost folder that this writer created.
    made: Mutex<Option<PathBuf>>,
}

/// Files and names that may not be on the disk yet.
#[derive(Debug, Default)]
struct Unsynced {
    /// A list that is longer than [`MANY`] marks that there are more.
    files: Vec<PathBuf>,
    /// Folders of further files, which are synced themselves.
    folders: HashSet<PathBuf>,
    /// Whether files were not synced because of an error: then no later barrier may succeed.
    failed: bool,
}

/// Most folders that are remembered as not being links.
const KNOWN: usize = 1 << 12;

/// The removal of a folder is tried again after longer and longer pauses, all shorter than this.
const LAST_PAUSE: Duration = Duration::from_millis(256);

/// More files than this are synced with the whole file system instead of one by one.
const MANY: usize = 64;

impl Local {
    pub(crate) fn new(folder: PathBuf, durable: bool) -> Self {
        Self {
            folder,
            own: crate::target::unique(),
            next: AtomicU64::new(0),
            unsynced: Mutex::default(),
            syncing: Mutex::default(),
            durable,
            plain: Mutex::default(),
            made: Mutex::default(),
        }
    }

    /// Checks that no folder above a key is a symbolic link, since the target may be outside of the store.
    ///
    /// # Errors
    /// [`WriteError::Linked`]; I/O.
    pub(crate) fn check(&self, key: &str) -> Result<(), WriteError> {
        let Some((folder, _)) = key.rsplit_once('/') else {
            return Ok(());
        };
        let mut next = Some(folder);
        let mut seen = Vec::new();
        while let Some(folder) = next.filter(|folder| !lock(&self.plain).contains(*folder)) {
            if self.check_folder(folder)? {
                seen.push(folder.to_owned());
            }
            next = folder.rsplit_once('/').map(|(above, _)| above);
        }
        if !seen.is_empty() {
            let mut plain = lock(&self.plain);
            if plain.len() + seen.len() > KNOWN {
                plain.clear();
            }
            plain.extend(seen);
        }
        Ok(())
    }

    /// Refuses a folder that is a link; returns whether the folder exists.
    fn check_folder(&self, folder: &str) -> Result<bool, WriteError> {
        let path = self.path(folder);
        match fs::symlink_metadata(&path) {
            Ok(meta) if meta.is_symlink() => Err(linked(path)),
            Ok(meta) => Ok(meta.is_dir()),
            Err(error)
                if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) =>
            {
                Ok(false)
            }
            Err(error) => Err(WriteError::io(path, error)),
        }
    }

    fn path(&self, key: &str) -> PathBuf {
        let length = self.folder.as_os_str().len() + key.len();
        let mut path = PathBuf::with_capacity(length + 1);
        path.push(&self.folder);
        path.extend(key.split('/'));
        path
    }

    /// Creates a file, replacing an existing one, and creates missing folders above it. Both cases are detected from errors, since most files are new
    /// and most folders exist. A link, or a file with other names, is replaced: writing into it would change a file elsewhere.
    fn create(&self, path: &Path) -> std::io::Result<File> {
        match (File::create_new(path), path.parent()) {
            (Err(error), Some(folder)) if error.kind() == ErrorKind::NotFound => {
                self.make(folder)?;
                File::create_new(path)
            }
            (Err(error), _) if error.kind() == ErrorKind::AlreadyExists => {
                fs::remove_file(path)?;
                File::create_new(path)
            }
            (done, _) => done,
        }
    }

    /// Creates a folder and the folders above it, and records the topmost new one.
    fn make(&self, folder: &Path) -> std::io::Result<()> {
        if !self.folder.exists() {
            let new = |one: &&Path| !one.as_os_str().is_empty() && !one.exists();
            let top = self.folder.ancestors().take_while(new).last();
            if let Some(top) = top {
                lock(&self.made).get_or_insert_with(|| top.to_owned());
            }
        }
        fs::create_dir_all(folder)
    }

    /// Removes the folders that this writer created, if they are empty.
    pub(crate) fn unmake(&self) {
        let Some(top) = lock(&self.made).take() else {
            return;
        };
        for folder in self.folder.ancestors() {
            // Fails for a folder with content, and then for all above it.
            if fs::remove_dir(folder).is_err() || folder == top {
                break;
            }
        }
    }

    /// A name that no other file has.
    fn temporary_name(&self) -> String {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        format!("{TEMPORARY}{:016x}-{number}", self.own)
    }

    /// Whether a key belongs to a temporary file of another writer.
    pub(crate) fn is_temporary_of_others(&self, key: &str) -> bool {
        let name = key.rsplit('/').next().unwrap_or(key);
        let number = name.strip_prefix(TEMPORARY);
        number.is_some_and(|number| !number.starts_with(&format!("{:016x}-", self.own)))
    }

    /// Removes the temporary files of other writers beside the root document.
    pub(crate) fn remove_temporary_beside_root(&self) -> Result<(), WriteError> {
        let failed = |e| WriteError::io(&self.folder, e);
        for entry in fs::read_dir(&self.folder).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let Ok(name) = entry.file_name().into_string() else {
                continue;
            };
            if self.is_temporary_of_others(&name) && entry.file_type().map_err(failed)?.is_file() {
                self.remove(&name)?;
            }
        }
        Ok(())
    }

    /// Writes a temporary file next to `path`.
    fn temporary(&self, path: &Path, bytes: &[u8], sync: bool) -> Result<PathBuf, WriteError> {
        let folder = path.parent().unwrap_or(&self.folder);
        let temporary = folder.join(self.temporary_name());
        let write = || -> std::io::Result<()> {
            let mut file = self.create(&temporary)?;
            file.write_all(bytes)?;
            if sync && self.durable {
                file.sync_all()
            } else {
                Ok(())
            }
        };
        match write() {
            Ok(()) => Ok(temporary),
            Err(error) => {
                // The error of the write is reported.
                let _ = fs::remove_file(&temporary);
                Err(WriteError::io(temporary, error))
            }
        }
    }

    /// Records a file to be synced before the next document; returns whether it must be synced at once instead.
    fn note(&self, path: &Path) -> bool {
        if !self.durable {
            return false;
        }
        let mut unsynced = lock(&self.unsynced);
        if unsynced.files.len() <= MANY {
            unsynced.files.push(path.to_owned());
            return false;
        }
        if cfg!(target_os = "linux") {
            return false;
        }
        if let Some(folder) = path.parent().filter(|one| !unsynced.folders.contains(*one)) {
            unsynced.folders.insert(folder.to_owned());
        }
        true
    }

    /// Records a complete file to be synced before the next document, or syncs it at once. Must not be called before the file is complete: another
    /// thread may sync the recorded files at any time, and would then miss the rest of it.
    fn record(&self, path: PathBuf) -> Result<(), WriteError> {
        if !self.note(&path) {
            return Ok(());
        }
        let synced = File::open(&path).and_then(|file| file.sync_all());
        synced.map_err(|e| WriteError::io(path, e))
    }

    /// Writes a file that no reader requests yet: if the program ends now, an incomplete file is no worse than none.
    pub(crate) fn put_unseen(&self, key: &str, bytes: &[u8]) -> Result<(), WriteError> {
        self.check(key)?;
        let path = self.path(key);
        let written = self
            .create(&path)
            .and_then(|mut file| file.write_all(bytes));
        written.map_err(|error| WriteError::io(&path, error))?;
        self.record(path)
    }

    /// Creates a temporary file next to the file of a key; it is removed when its path is dropped.
    pub(crate) fn create_file(&self, key: &str) -> Result<(File, TempPath), WriteError> {
        self.check(key)?;
        let path = self.path(key).with_file_name(self.temporary_name());
        let failed = |e| WriteError::io(&path, e);
        let file = self.create(&path).map_err(failed)?;
        Ok((file, TempPath::try_from_path(&path).map_err(failed)?))
    }

    /// Renames a file from [`create_file`](Self::create_file) to the name of its key.
    pub(crate) fn put_file(&self, key: &str, file: TempPath) -> Result<(), WriteError> {
        self.check(key)?;
        let path = self.path(key);
        let renamed = file.persist(&path);
        renamed.map_err(|error| WriteError::io(&path, error.error))?;
        self.record(path)
    }

    pub(crate) fn put(&self, key: &str, bytes: &[u8]) -> Result<(), WriteError> {
        self.check(key)?;
        let path = self.path(key);
        let temporary = self.temporary(&path, bytes, false)?;
        fs::rename(&temporary, &path).map_err(|error| {
            // The error of the rename is reported.
            let _ = fs::remove_file(&temporary);
            WriteError::io(&path, error)
        })?;
        self.record(path)
    }

    /// Renames a durable file. Does nothing if only the new name exists, because the file was renamed before.
    pub(crate) fn rename(&self, from: &str, to: &str) -> Result<(), WriteError> {
        self.check(from)?;
        self.check(to)?;
        let (source, path) = (self.path(from), self.path(to));
        let folder = path.parent().unwrap_or(&self.folder);
        let moved = match fs::rename(&source, &path) {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                if !source.exists() && path.exists() {
                    return Ok(());
                }
                self.make(folder).and_then(|()| fs::rename(&source, &path))
            }
            done => done,
        };
        moved.map_err(|error| WriteError::io(&source, error))?;
        self.note(&path);
        Ok(())
    }

    /// Copies a durable file that no writer changes: it gets a second name, or is copied if the file system has no hard links.
    pub(crate) fn copy(&self, from: &str, to: &str) -> Result<(), WriteError> {
        self.check(from)?;
        self.check(to)?;
        let (source, path) = (self.path(from), self.path(to));
        let temporary = path.with_file_name(self.temporary_name());
        let link = || fs::hard_link(&source, &temporary);
        let linked = match (link(), temporary.parent()) {
            (Err(error), Some(folder)) if error.kind() == ErrorKind::NotFound => {
                self.make(folder).and_then(|()| link())
            }
            (done, _) => done,
        };
        match linked {
            Ok(()) => {}
            Err(error) if error.kind() == ErrorKind::NotFound => {
                return Err(WriteError::io(source, error));
            }
            Err(_) => {
                let bytes = fs::read(&source).map_err(|e| WriteError::io(source, e))?;
                return self.put(to, &bytes);
            }
        }
        let renamed = fs::rename(&temporary, &path);
        // If `path` is the same file already, from an earlier call, renaming does nothing and leaves the temporary name.
        if let Err(error) = fs::remove_file(&temporary)
            && error.kind() != ErrorKind::NotFound
        {
            return Err(WriteError::io(temporary, error));
        }
        renamed.map_err(|e| WriteError::io(&path, e))?;
        self.note(&path);
        Ok(())
    }

    pub(crate) fn put_new(&self, key: &str, bytes: &[u8]) -> Result<bool, WriteError> {
        self.check(key)?;
        let path = self.path(key);
        let temporary = self.temporary(&path, bytes, true)?;
        // A hard link fails atomically if the name is taken; a rename would replace the file.
        let linked = fs::hard_link(&temporary, &path);
        let made = match linked {
            Ok(()) => true,
            Err(error) if error.kind() == ErrorKind::AlreadyExists => false,
            // The file system has no hard links: two steps, and another writer may interfere between them.
            Err(_) if !self.exists(key)? => {
                fs::rename(&temporary, &path).map_err(|e| WriteError::io(&path, e))?;
                return self.sync_folder(&path).map(|()| true);
            }
            Err(error) => return Err(WriteError::io(path, error)),
        };
        fs::remove_file(&temporary).map_err(|e| WriteError::io(&temporary, e))?;
        self.sync_folder(&path)?;
        Ok(made)
    }

    /// Replaces a file that has the content `seen`; returns `false` if it does not exist or has another content.
    pub(crate) fn replace(&self, key: &str, seen: &[u8], bytes: &[u8]) -> Result<bool, WriteError> {
        self.check(key)?;
        let path = self.path(key);
        let temporary = self.temporary(&path, bytes, true)?;
        let same = self.read(key).map(|found| found.as_deref() == Some(seen));
        let done = match same {
            Ok(true) => fs::rename(&temporary, &path)
                .map(|()| true)
                .map_err(|e| WriteError::io(&path, e)),
            other => other,
        };
        match done {
            Ok(true) => self.sync_folder(&path).map(|()| true),
            other => {
                // The result or the first error is reported.
                let _ = fs::remove_file(&temporary);
                other
            }
        }
    }

    /// Moves a file with the content `seen` away and removes it. Returns `false` if the file does not exist or has another content.
    pub(crate) fn take_away(&self, key: &str, seen: &[u8]) -> Result<bool, WriteError> {
        if self.read(key)?.as_deref() != Some(seen) {
            return Ok(false);
        }
        let path = self.path(key);
        let aside = path.with_file_name(self.temporary_name());
        match fs::rename(&path, &aside) {
            Ok(()) => {}
            // Another writer was faster.
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
            Err(error) => return Err(WriteError::io(path, error)),
        }
        let found = fs::read(&aside).map_err(|e| WriteError::io(&aside, e))?;
        let same = found == seen;
        if !same {
            // This file was written in the meantime by another writer: it is moved back, unless a newer one exists.
            let back = fs::hard_link(&aside, &path);
            if let Err(error) = back
                && error.kind() != ErrorKind::AlreadyExists
            {
                return Err(WriteError::io(path, error));
            }
        }
        fs::remove_file(&aside).map_err(|e| WriteError::io(aside, e))?;
        Ok(same)
    }

    /// The current time of the file system's clock.
    pub(crate) fn now(&self) -> Result<Option<SystemTime>, WriteError> {
        let file = self.temporary(&self.path("now"), &[], false)?;
        let found = fs::metadata(&file).map(|found| found.modified().ok());
        // If this fails, a vacuum removes the file.
        let _ = fs::remove_file(&file);
        found.map_err(|e| WriteError::io(file, e))
    }

    /// When a file was last written, by the clock of its file system.
    pub(crate) fn modified(&self, key: &str) -> Result<Option<SystemTime>, WriteError> {
        let path = self.path(key);
        match fs::metadata(&path) {
            // Some file systems do not store times.
            Ok(found) => Ok(found.modified().ok()),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(WriteError::io(path, error)),
        }
    }

    pub(crate) fn remove_below(&self, group: &str) -> Result<(), WriteError> {
        self.check(group)?;
        self.check_folder(group)?;
        let path = self.path(group);
        lock(&self.plain).clear();
        let mut pause = Duration::from_millis(1);
        loop {
            match fs::remove_dir_all(&path) {
                // A program whose change was taken over may still put files there, until it notices.
                Err(error)
                    if error.kind() == ErrorKind::DirectoryNotEmpty && pause < LAST_PAUSE =>
                {
                    std::thread::sleep(pause);
                    pause = pause.saturating_mul(2);
                }
                Err(error) if error.kind() != ErrorKind::NotFound => {
                    return Err(WriteError::io(path, error));
                }
                _ => return Ok(()),
            }
        }
    }

    /// Makes the names in a file's folder durable.
    fn sync_folder(&self, path: &Path) -> Result<(), WriteError> {
        let folder = match path.parent() {
            Some(folder) if folder.as_os_str().is_empty() => Path::new("."),
            Some(folder) => folder,
            None => &self.folder,
        };
        if cfg!(unix) && self.durable {
            let synced = File::open(folder).and_then(|folder| folder.sync_all());
            synced.map_err(|e| WriteError::io(folder, e))?;
        }
        Ok(())
    }

    /// Makes the names of the store's folder, and of new folders above it, durable.
    fn sync_new_store(&self) -> Result<(), WriteError> {
        let Some(top) = lock(&self.made).clone() else {
            return Ok(());
        };
        for folder in self.folder.ancestors() {
            match self.sync_folder(folder) {
                // A folder above the store may be one that this user cannot list.
                Err(WriteError::Io { source, .. })
                    if source.kind() == ErrorKind::PermissionDenied => {}
                done => done?,
            }
            if folder == top {
                break;
            }
        }
        Ok(())
    }

    pub(crate) fn barrier(&self) -> Result<(), WriteError> {
        let _syncing = lock(&self.syncing);
        let taken = std::mem::take(&mut *lock(&self.unsynced));
        let done = match taken.failed {
            true => {
                let error = std::io::Error::other("files could not be made durable before");
                Err(WriteError::io(&self.folder, error))
            }
            false => self.sync(&taken),
        };
        if done.is_err() {
            lock(&self.unsynced).failed = true;
        }
        done
    }

    fn sync(&self, Unsynced { files, folders, .. }: &Unsynced) -> Result<(), WriteError> {
        self.sync_new_store()?;
        #[cfg(target_os = "linux")]
        if files.len() > MANY {
            let folder = File::open(&self.folder).map_err(|e| WriteError::io(&self.folder, e))?;
            return rustix::fs::syncfs(&folder).map_err(|e| WriteError::io(&self.folder, e.into()));
        }
        for path in files {
            let synced = File::open(path).and_then(|file| file.sync_all());
            synced.map_err(|e| WriteError::io(path, e))?;
        }
        let folders = folders.iter().map(PathBuf::as_path);
        let folders = folders.chain(files.iter().filter_map(|path| path.parent()));
        // The name of a folder is stored in the folder above it.
        let above: HashSet<&Path> = folders.flat_map(Path::ancestors).collect();
        let inside = above
            .into_iter()
            .filter(|folder| folder.starts_with(&self.folder));
        inside
            .into_iter()
            .try_for_each(|folder| match self.sync_folder(&folder.join("any")) {
                // Folders of removed files may be removed.
                Err(WriteError::Io { source, .. }) if source.kind() == ErrorKind::NotFound => {
                    Ok(())
                }
                done => done,
            })
    }

    pub(crate) fn exists(&self, key: &str) -> Result<bool, WriteError> {
        let path = self.path(key);
        path.try_exists().map_err(|e| WriteError::io(path, e))
    }

    pub(crate) fn read(&self, key: &str) -> Result<Option<Vec<u8>>, WriteError> {
        let path = self.path(key);
        let read = || -> std::io::Result<Vec<u8>> {
            let mut bytes = Vec::new();
            zvf_store::open_file(&path)?.read_to_end(&mut bytes)?;
            Ok(bytes)
        };
        match read() {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(WriteError::io(path, error)),
        }
    }

    /// Keys below a group, or below the store itself for an empty name. A missing group has none.
    ///
    /// # Errors
    /// [`WriteError::Linked`]: a folder that is a link, since listed files are removed or replaced. I/O.
    pub(crate) fn keys_below(&self, group: &str) -> Result<Vec<String>, WriteError> {
        let mut keys = Vec::new();
        if !group.is_empty() {
            self.check(group)?;
            if !self.check_folder(group)? {
                return Ok(keys);
            }
        }
        let mut folders = vec![group.to_owned()];
        while let Some(folder) = folders.pop() {
            let path = if folder.is_empty() {
                self.folder.clone()
            } else {
                self.path(&folder)
            };
            let failed = |e| WriteError::io(&path, e);
            for entry in fs::read_dir(&path).map_err(failed)? {
                let entry = entry.map_err(failed)?;
                // A name that is not valid UTF-8 is that of no key, but the file must be noticed.
                let name = entry.file_name().to_string_lossy().into_owned();
                let key = if folder.is_empty() {
                    name
                } else {
                    format!("{folder}/{name}")
                };
                let kind = entry.file_type().map_err(failed)?;
                if kind.is_dir() {
                    folders.push(key);
                } else if kind.is_symlink() && entry.path().is_dir() {
                    return Err(linked(entry.path()));
                } else {
                    keys.push(key);
                }
            }
        }
        keys.sort_unstable();
        Ok(keys)
    }

    pub(crate) fn any(&self) -> Result<Option<String>, WriteError> {
        let failed = |e| WriteError::io(&self.folder, e);
        match fs::read_dir(&self.folder) {
            Ok(entries) => {
                for entry in entries {
                    let name = entry
                        .map_err(failed)?
                        .file_name()
                        .to_string_lossy()
                        .into_owned();
                    // A writer that was killed while it wrote its first file, the marker, leaves a temporary file.
                    if !is_temporary(&name) {
                        return Ok(Some(name));
                    }
                }
                Ok(None)
            }
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(failed(error)),
        }
    }

    pub(crate) fn names(&self, group: &str) -> Result<Vec<String>, WriteError> {
        let path = self.path(group);
        let failed = |e| WriteError::io(&path, e);
        match fs::read_dir(&path) {
            Ok(entries) => {
                let mut names = Vec::new();
                for entry in entries {
                    let name = entry.map_err(failed)?.file_name();
                    let name = name.to_string_lossy();
                    if !is_temporary(&name) {
                        names.push(name.into_owned());
                    }
                }
                Ok(names)
            }
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(Vec::new()),
            Err(error) => Err(failed(error)),
        }
    }

    pub(crate) fn remove(&self, key: &str) -> Result<(), WriteError> {
        self.check(key)?;
        let path = self.path(key);
        match fs::remove_file(&path) {
            Ok(()) => {
                if let Some(folder) = path.parent().filter(|_| self.durable) {
                    lock(&self.unsynced).folders.insert(folder.to_owned());
                }
                Ok(())
            }
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            Err(error) => Err(WriteError::io(path, error)),
        }
    }

    /// Removes folders of files that no longer exist. The system refuses to remove folders with content.
    pub(crate) fn prune<'k>(&self, keys: impl Iterator<Item = &'k str>) {
        let mut folders = BTreeSet::new();
        for key in keys {
            let mut folder = key;
            while let Some((above, _)) = folder.rsplit_once('/') {
                if !folders.insert(above) {
                    break;
                }
                folder = above;
            }
        }
        lock(&self.plain).clear();
        // Sorted names have a folder before its content; in reverse order, the content is removed first.
        for folder in folders.into_iter().rev() {
            if self.check(folder).is_err() {
                continue;
            }
            // Fails for a folder with content, and therefore for all above it.
            let _ = fs::remove_dir(self.path(folder));
        }
    }

    pub(crate) fn clear(&self, last: &str) -> Result<(), WriteError> {
        for entry in fs::read_dir(&self.folder).map_err(|e| WriteError::io(&self.folder, e))? {
            let entry = entry.map_err(|e| WriteError::io(&self.folder, e))?;
            if entry.file_name() == last {
                continue;
            }
            let path = entry.path();
            // A link to a folder is removed itself, never its target.
            let folder = entry
                .file_type()
                .map_err(|e| WriteError::io(&path, e))?
                .is_dir();
            let removed = if folder {
                fs::remove_dir_all(&path)
            } else {
                fs::remove_file(&path)
            };
            removed.map_err(|e| WriteError::io(path, e))?;
        }
        Ok(())
    }
}

/// A folder that is a link.
#[cold]
fn linked(path: PathBuf) -> WriteError {
    let to = fs::read_link(&path).unwrap_or_default();
    WriteError::Linked { path, to }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::Local;
    use crate::WriteError;

    #[test]
    fn a_copied_file_replaces_another_and_can_be_copied_again() {
        let folder = tempfile::tempdir().unwrap();
        let local = Local::new(folder.path().to_owned(), false);
        local.put("staged/a/b", b"new").unwrap();
        local.put("a/b", b"old").unwrap();
        for to in ["a/b", "a/b", "c/d/e", "c/d/e"] {
            local.copy("staged/a/b", to).unwrap();
            assert_eq!(local.read(to).unwrap().as_deref(), Some(&b"new"[..]));
        }
        let count = fs::read_dir(folder.path().join("a")).unwrap().count();
        assert_eq!(count, 1, "no temporary name is left");
        // A later change of either does not change the other.
        local.put("a/b", b"newer").unwrap();
        assert_eq!(
            local.read("staged/a/b").unwrap().as_deref(),
            Some(&b"new"[..])
        );
        local.remove("staged/a/b").unwrap();
        assert_eq!(local.read("c/d/e").unwrap().as_deref(), Some(&b"new"[..]));
        let missing = local.copy("staged/a/b", "c/d/e");
        assert!(matches!(missing, Err(WriteError::Io { .. })), "{missing:?}");
        assert_eq!(local.read("c/d/e").unwrap().as_deref(), Some(&b"new"[..]));
    }
}
