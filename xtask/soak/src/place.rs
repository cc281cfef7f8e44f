//! The stores of a soak. A place has one store at a time, which is replaced by a new one after some hundred changes.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, RwLock};

use zvf_soak::bucket::Bucket;
use zvf_soak::draw::Draw;
use zvf_soak::locks::locked;

use super::change;
use super::model::Model;
use super::objects::{LANES, State};
use super::program::{Ended, quoted};
use super::serve::Served;

/// Where stores are.
#[derive(Debug, Clone)]
pub(super) enum Storage {
    /// A folder of a disk.
    Disk(PathBuf),
    /// A folder of a small disk that is full now and then.
    Small(PathBuf),
    /// A bucket behind a line that fails: its address, its endpoint, and its objects if they are in memory here.
    Bucket(String, String, Option<Arc<Bucket>>),
}

impl Storage {
    /// Whether input and output may fail there at any time.
    pub(super) fn is_faulty(&self) -> bool {
        !matches!(self, Self::Disk(_))
    }

    /// The endpoint of a bucket, else nothing.
    pub(super) fn endpoint(&self) -> &str {
        match self {
            Self::Bucket(_, endpoint, _) => endpoint,
            _ => "",
        }
    }

    /// The address of a store in it.
    pub(super) fn address(&self, name: &str) -> String {
        match self {
            Self::Disk(folder) | Self::Small(folder) => folder.join(name).display().to_string(),
            Self::Bucket(bucket, ..) => format!("{bucket}/{name}"),
        }
    }

    /// Removes a store that is not used any more; moto keeps it.
    pub(super) fn remove(&self, name: &str) {
        match self {
            Self::Disk(folder) | Self::Small(folder) => {
                // What cannot be removed now is removed with the whole folder.
                let _ = std::fs::remove_dir_all(folder.join(name));
            }
            Self::Bucket(_, _, Some(bucket)) => bucket.remove(&self.prefix(name)),
            Self::Bucket(..) => {}
        }
    }

    /// Bucket and key of what belongs to a store.
    fn prefix(&self, name: &str) -> String {
        let address = self.address(name);
        format!("{}/", address.trim_start_matches("s3://"))
    }

    /// Copies what there is of a store, to look at; not one in moto.
    pub(super) fn copy(&self, name: &str, to: &Path) -> std::io::Result<()> {
        match self {
            Self::Disk(folder) | Self::Small(folder) => copy_folder(&folder.join(name), to),
            Self::Bucket(_, _, Some(bucket)) => {
                let prefix = self.prefix(name);
                for (path, bytes) in bucket.objects(&prefix) {
                    let file = to.join(path.strip_prefix(&prefix).unwrap_or(&path));
                    if let Some(folder) = file.parent() {
                        std::fs::create_dir_all(folder)?;
                    }
                    std::fs::write(file, &bytes)?;
                }
                Ok(())
            }
            Self::Bucket(..) => Ok(()),
        }
    }
}

fn copy_folder(from: &Path, to: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(to)?;
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        let (path, copy) = (entry.path(), to.join(entry.file_name()));
        let copied = match path.is_dir() {
            true => copy_folder(&path, &copy),
            false => std::fs::copy(path, copy).map(drop),
        };
        // A run may remove it meanwhile.
        copied.or_else(|error| match error.kind() {
            std::io::ErrorKind::NotFound => Ok(()),
            _ => Err(error),
        })?;
    }
    Ok(())
}

/// A place for stores.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) number: usize,
    pub(super) storage: Storage,
    pub(super) epoch: RwLock<Epoch>,
    /// Milliseconds that a change took, averaged.
    pub(super) typical: AtomicU64,
}

impl Place {
    /// Notes how long a change took.
    pub(super) fn took(&self, ended: &Ended) {
        let millis = ended.to.saturating_sub(ended.from) / 1000;
        let typical = self.typical.load(Ordering::Relaxed);
        self.typical
            .store((typical * 7 + millis) / 8, Ordering::Relaxed);
    }
}

/// One store.
#[derive(Debug)]
pub(super) struct Epoch {
    /// The last part of its address.
    pub(super) name: String,
    pub(super) address: String,
    pub(super) storage: Storage,
    pub(super) kind: &'static str,
    /// What it is made with.
    pub(super) first: State,
    pub(super) model: Mutex<Model>,
    /// Who makes changes of a lane holds its lock.
    pub(super) lanes: Vec<Mutex<()>>,
    /// Held for reading by whoever runs a writer, for writing by whoever may conclude that no writer runs.
    pub(super) writers: RwLock<()>,
    /// Whether an interrupted change may have left its marker.
    pub(super) interrupted: AtomicBool,
    /// Whether it probably has coarse levels.
    pub(super) levels: AtomicBool,
    pub(super) changes: AtomicU64,
    /// How many changes it gets.
    pub(super) quota: u64,
    pub(super) broken: AtomicBool,
    pub(super) served: Mutex<Option<Served>>,
    /// A script that repeats the changes.
    pub(super) script: Mutex<String>,
}

impl Epoch {
    /// A store that is to be made.
    pub(super) fn new(storage: &Storage, place: usize, number: u64, draw: &mut Draw) -> Self {
        let kinds = ["point_cloud", "polyline", "streamline"];
        let kind = draw.one(&kinds).copied().unwrap_or("polyline");
        let name = format!("{place}-{number}.zarrvectors");
        let first = change::first(draw);
        Self {
            address: storage.address(&name),
            storage: storage.clone(),
            name,
            kind,
            model: Mutex::new(Model::new(kind != "point_cloud", &first)),
            first,
            lanes: (0..LANES).map(|_| Mutex::default()).collect(),
            writers: RwLock::default(),
            interrupted: AtomicBool::new(false),
            levels: AtomicBool::new(false),
            changes: AtomicU64::new(0),
            quota: 60 + draw.below(300),
            broken: AtomicBool::new(false),
            served: Mutex::default(),
            script: Mutex::default(),
        }
    }

    pub(super) fn is_over(&self) -> bool {
        self.broken.load(Ordering::Relaxed) || self.changes.load(Ordering::Relaxed) >= self.quota
    }

    pub(super) fn model(&self) -> MutexGuard<'_, Model> {
        locked(&self.model)
    }

    /// Adds a run to the script: `table` is the content of the file that it reads.
    pub(super) fn note(&self, ended: &Ended, table: Option<(&str, &str)>) {
        let code = ended
            .code
            .map_or("killed".into(), |code| format!("exit code {code}"));
        let (from, to) = (ended.from as f64 / 1e6, ended.to as f64 / 1e6);
        let fault = ended.fault;
        let mut text = format!("# {from:.3} s to {to:.3} s, fault {fault:?}: {code}\n");
        let mut line = ended.line.clone();
        if let Some((path, content)) = table {
            line = line.replace(&quoted(path), "table.csv");
            text.push_str(&format!("cat > table.csv <<'END'\n{content}END\n"));
        }
        let line = line.replace(&quoted(&self.address), "\"$STORE\"");
        let run = match ended.code {
            Some(_) => "\"$ZVF\"".to_owned(),
            None => format!("timeout -s KILL {:.3} \"$ZVF\"", to - from),
        };
        text.push_str(&line.replacen("zvf", &run, 1));
        text.push('\n');
        locked(&self.script).push_str(&text);
    }
}
