//! Jobs that write a store: `points-write` and `lines-write`, with the folder that the store goes to; `points-pyramid`, with the
//! folder that the store of bins is copied to before two levels are added by the package's method.
//!
//! Variants: `warm` leaves when the bytes reach the disk to the system, as the Python package does; `durable` syncs before the store
//! exists. `floor1` and `floor2` compress the same cells and create the same files, with the same bytes in them, on one and on
//! two threads.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, Result, anyhow};
use zvf_pyramid::{CrossLevel, LevelStep, Method, PyramidSpec, build_pyramid};
use zvf_store::blocking::Runtime;
use zvf_write::{
    AttributeSpec, Batch, Compression, Kind, NumberType, ShardShape, StoreSpec, StoreWriter,
    WriteOptions,
};

/// World size of a chunk of both stores, along every axis.
const SIDE: f64 = 10.0;
/// Vertices of a streamline.
const LENGTH: usize = 100;

/// The level of zstd that all stores are written with.
const LEVEL: i32 = 0;

/// Adds two levels to a copy of the store of bins beside `store`; nanoseconds and the vertices of the coarsest.
pub(crate) fn pyramid(runtime: &Runtime, store: &str, line: &str) -> Result<(u128, u64)> {
    let folder = PathBuf::from(line.split_whitespace().nth(2).context("no folder")?);
    clear(&folder)?;
    let binned = Path::new(store).with_file_name("binned.zarrvectors");
    let mut files = Vec::new();
    gather(&binned, &mut files)?;
    for file in files {
        let copy = folder.join(file.strip_prefix(&binned)?);
        std::fs::create_dir_all(copy.parent().context("a file without a folder")?)?;
        std::fs::copy(file, copy)?;
    }
    let spec = PyramidSpec::new([2.0, 2.0].map(LevelStep::new))
        .with_method(Method::Reference)
        .with_cross_level(CrossLevel::Explicit, 1);
    let options = WriteOptions::new().with_durable(false);
    let address = folder.to_string_lossy();
    let start = Instant::now();
    let done = runtime.wait(build_pyramid(&address, &spec, &options, Arc::new(|_| ())))?;
    let taken = start.elapsed().as_nanos();
    Ok((taken, done.levels.last().context("no level")?.vertices))
}

/// Where the input of a store lies, and what it is once it was asked for.
#[derive(Debug)]
pub(crate) struct Input {
    stem: PathBuf,
    points: bool,
    read: std::cell::OnceCell<Columns>,
}

#[derive(Debug)]
struct Columns {
    positions: Vec<f32>,
    intensity: Vec<f32>,
    label: Vec<u16>,
    runs: Vec<(i64, usize)>,
}

impl Input {
    /// The input of the store of points.
    pub(crate) fn points(store: &str) -> Self {
        Self::new(store, true)
    }

    /// The input of the store of streamlines.
    pub(crate) fn lines(store: &str) -> Self {
        Self::new(store, false)
    }

    fn new(store: &str, points: bool) -> Self {
        Self {
            stem: Path::new(store).with_extension(""),
            points,
            read: std::cell::OnceCell::new(),
        }
    }

    fn bytes(&self, name: &str) -> Result<Vec<u8>> {
        let path = self.stem.with_extension(format!("{name}.raw"));
        std::fs::read(&path).with_context(|| path.display().to_string())
    }

    fn floats(&self, name: &str) -> Result<Vec<f32>> {
        let bytes = self.bytes(name)?;
        let (numbers, _) = bytes.as_chunks();
        Ok(numbers.iter().map(|one| f32::from_le_bytes(*one)).collect())
    }

    fn columns(&self) -> Result<&Columns> {
        if self.read.get().is_none() {
            let positions = self.floats("positions")?;
            let (mut intensity, mut label, mut runs) = (Vec::new(), Vec::new(), Vec::new());
            if self.points {
                intensity = self.floats("intensity")?;
                let bytes = self.bytes("label")?;
                let (numbers, _) = bytes.as_chunks();
                label = numbers.iter().map(|one| u16::from_le_bytes(*one)).collect();
            } else {
                let count = positions.len() / 3 / LENGTH;
                runs = (0_i64..).zip([LENGTH].repeat(count)).collect();
            }
            let columns = Columns {
                positions,
                intensity,
                label,
                runs,
            };
            // Nobody else fills it: there is one thread.
            let _ = self.read.set(columns);
        }
        self.read.get().context("the input was not kept")
    }
}

/// One line from the driver.
#[derive(Debug)]
pub(crate) struct Job {
    points: bool,
    variant: String,
    folder: PathBuf,
}

impl Job {
    /// Takes a line apart: `points-write|lines-write VARIANT FOLDER`; `None` if it is another job.
    pub(crate) fn parse(line: &str) -> Result<Option<Self>> {
        let mut words = line.split_whitespace();
        let points = match words.next() {
            Some("points-write") => true,
            Some("lines-write") => false,
            _ => return Ok(None),
        };
        let variant = words.next().context("no variant")?.to_owned();
        let folder = words.next().context("no folder")?.into();
        Ok(Some(Self {
            points,
            variant,
            folder,
        }))
    }

    /// Whether it writes the store of points.
    pub(crate) fn is_of_points(&self) -> bool {
        self.points
    }

    /// Runs once; nanoseconds and the vertices written.
    pub(crate) fn run(&self, runtime: &Runtime, input: &Input) -> Result<(u128, u64)> {
        match self.variant.as_str() {
            "floor1" => self.floor(1),
            "floor2" => self.floor(2),
            variant => {
                let columns = input.columns()?;
                clear(&self.folder)?;
                let start = Instant::now();
                let vertices = runtime.wait(self.write(columns, variant == "durable"))?;
                Ok((start.elapsed().as_nanos(), vertices))
            }
        }
    }

    async fn write(&self, columns: &Columns, durable: bool) -> Result<u64> {
        let address = self.folder.to_string_lossy();
        let options = WriteOptions::new().with_durable(durable);
        let kind = if self.points {
            Kind::PointCloud
        } else {
            Kind::Streamline
        };
        // The floor does the same work only with the same codec.
        let mut spec = StoreSpec::new(kind, [SIDE; 3])
            .with_compression(Compression::Zstd)
            // The floor and the Python package write a file a cell.
            .with_shard_shape(ShardShape::None);
        let mut batch = Batch::new(&columns.positions[..]);
        if self.points {
            spec = spec
                .with_bin_shape([SIDE / 2.0; 3])
                .with_vertex_attribute(AttributeSpec::number("intensity", NumberType::F32))
                .with_vertex_attribute(AttributeSpec::number("label", NumberType::U16));
            batch = batch
                .with_attribute("intensity", &columns.intensity[..])
                .with_attribute("label", &columns.label[..]);
        } else {
            batch = batch.with_object_runs(&columns.runs[..]);
        }
        let mut writer = StoreWriter::create(&address, spec, options).await?;
        writer.push(&batch)?;
        Ok(writer.finish().await?.vertices)
    }

    /// Compresses the cells of the store that lies in the folder, and creates its files again beside it.
    fn floor(&self, threads: usize) -> Result<(u128, u64)> {
        let mut files = Vec::new();
        gather(&self.folder, &mut files)?;
        let beside = self.folder.with_extension("floor");
        let files: Vec<(PathBuf, Content)> = files
            .into_iter()
            .map(|path| {
                let content = Content::of(&path)?;
                let below = path.strip_prefix(&self.folder)?;
                Ok((beside.join(below), content))
            })
            .collect::<Result<_>>()?;
        clear(&beside)?;
        let share = files.len().div_ceil(threads).max(1);
        let start = Instant::now();
        std::thread::scope(|scope| {
            let running: Vec<_> = files
                .chunks(share)
                .map(|part| scope.spawn(|| create(part)))
                .collect();
            for thread in running {
                thread
                    .join()
                    .map_err(|_| anyhow!("a writing thread panicked"))??;
            }
            Ok::<(), anyhow::Error>(())
        })?;
        let taken = start.elapsed().as_nanos();
        clear(&beside)?;
        Ok((taken, files.len() as u64))
    }
}

/// What a file holds.
enum Content {
    /// As it is: documents.
    Plain(Vec<u8>),
    /// Compressed from this.
    Packed(Vec<u8>),
}

impl Content {
    fn of(path: &Path) -> Result<Self> {
        let bytes = std::fs::read(path)?;
        let size = zstd::zstd_safe::get_frame_content_size(&bytes)
            .ok()
            .flatten();
        Ok(match size {
            Some(size) if bytes.starts_with(&[0x28, 0xB5, 0x2F, 0xFD]) => {
                let size = usize::try_from(size)?;
                Self::Packed(zstd::bulk::decompress(&bytes, size)?)
            }
            _ => Self::Plain(bytes),
        })
    }
}

fn create(files: &[(PathBuf, Content)]) -> Result<()> {
    let mut compressor = zstd::bulk::Compressor::new(LEVEL)?;
    let mut known = std::collections::HashSet::new();
    for (path, content) in files {
        let folder = path.parent().context("a file without a folder")?;
        if known.insert(folder) {
            std::fs::create_dir_all(folder)?;
        }
        match content {
            Content::Plain(bytes) => std::fs::write(path, bytes)?,
            Content::Packed(bytes) => std::fs::write(path, compressor.compress(bytes)?)?,
        }
    }
    Ok(())
}

fn gather(folder: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    let mut entries: Vec<_> = std::fs::read_dir(folder)?.collect::<std::io::Result<_>>()?;
    entries.sort_by_key(std::fs::DirEntry::file_name);
    for entry in entries {
        if entry.file_type()?.is_dir() {
            gather(&entry.path(), files)?;
        } else {
            files.push(entry.path());
        }
    }
    Ok(())
}

fn clear(folder: &Path) -> Result<()> {
    match std::fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error.into()),
        _ => Ok(()),
    }
}
