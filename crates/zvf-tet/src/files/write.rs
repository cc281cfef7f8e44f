//! Writes canonical files, tile by tile, with memory for one tile.
//!
//! The shapes determine the size of directory and index, so payloads are written as they arrive, and index entries in
//! batches; superblock, directory and index header are written last. A file gets its name only when it is complete and synced.

use std::collections::HashSet;
use std::format;
use std::fs::File;
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::vec::Vec;

use zerocopy::IntoBytes;
use zerocopy::little_endian::U64;
use zvf_grid::{Axis, GridError, Run, Selection, copy};

use super::error::Error;
use super::history::Footer;
use super::rules::{METADATA, clean};
use super::spec::{DatasetSpec, record};
use crate::layout::{
    FLAG_FOOTER, FooterTail, INDEX_MAGIC, INDEX_VERSION, IndexEntry, IndexHeader, LAYOUT_VERSION,
    MAGIC, MAX_RANK, RECORDS_AT, Superblock, TAIL_MAGIC, TileCodec,
};
use crate::record::DatasetGeometry;
use zvf_grid::int::wide;

/// The first payload of a dataset begins at a multiple of this, unless [`WriteOptions::packed`] is set.
const ALIGN: u64 = 64;
/// Index entries that are collected before they are written.
const PENDING: usize = 4096;
/// Longest JSON of a footer in bytes; metadata that would make it longer is stored before the footer.
const FOOTER: usize = 65_536;

/// The options of a writer.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct WriteOptions {
    /// No gaps between payloads. By default the first payload of a dataset begins at a multiple of 64, so that raw tiles
    /// can be used as numbers in place.
    pub packed: bool,
    /// History and metadata; none by default. Written as version 1. Absolute paths in `source` and `parents` become
    /// file names.
    pub footer: Option<Footer>,
    /// The memory budget recommended to readers, in 1/100 percent; 0 for none.
    pub memory_budget_percent_bps: u16,
    /// The memory budget recommended to readers, in bytes; 0 for none.
    pub memory_budget_bytes: u32,
}

impl WriteOptions {
    /// The same options without gaps.
    #[must_use]
    pub fn with_packed(mut self, packed: bool) -> Self {
        self.packed = packed;
        self
    }

    /// The same options with a footer.
    #[must_use]
    pub fn with_footer(mut self, footer: Footer) -> Self {
        self.footer = Some(footer);
        self
    }
}

/// An unfinished file: a temporary file in the folder of its target.
#[derive(Debug)]
pub struct WriteTarget {
    file: tempfile::NamedTempFile,
    path: PathBuf,
}

impl Write for WriteTarget {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.as_file_mut().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.as_file_mut().flush()
    }
}

impl Seek for WriteTarget {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.file.as_file_mut().seek(to)
    }
}

/// Writes one file: all tiles of the first dataset in C order of its grid, then the tiles of the next.
///
/// # Cost
/// Memory for one tile and 4096 entries. Payloads are written once.
#[derive(Debug)]
pub struct TetWriter<W: Write + Seek> {
    sink: BufWriter<W>,
    datasets: Vec<(DatasetSpec, DatasetGeometry)>,
    options: WriteOptions,
    /// The next tile: number of its dataset, number of the tile, and its row.
    dataset: usize,
    tile: u64,
    row: u64,
    /// Entries that are not written yet, and their position.
    pending: Vec<IndexEntry>,
    pending_at: u64,
    /// The position of the next payload.
    at: u64,
    index_offset: u64,
    index_len: u64,
    /// The last four bytes of the payloads so far.
    last: [u8; 4],
    compressor: Option<(i32, zstd_compressor::Compressor)>,
    buffer: Vec<u8>,
    /// The sink failed. How much it wrote is unknown, so no further write is allowed.
    broken: bool,
}

mod zstd_compressor {
    //! A compressor that implements `Debug`.
    use std::fmt;

    pub(super) struct Compressor(pub(super) zstd::bulk::Compressor<'static>);

    impl fmt::Debug for Compressor {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("Compressor")
        }
    }
}

impl TetWriter<WriteTarget> {
    /// Creates a file. `path` does not change before [`Self::finish`]; an existing file stays until then.
    ///
    /// # Errors
    /// [`Error::Misuse`] and [`Error::Grid`] for invalid datasets or an invalid footer; [`Error::Io`].
    pub fn create(
        path: impl AsRef<Path>,
        datasets: Vec<DatasetSpec>,
        options: WriteOptions,
    ) -> Result<Self, Error> {
        let path = path.as_ref().to_path_buf();
        let mut builder = tempfile::Builder::new();
        builder.prefix(".tet-").suffix(".partial");
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
        let file = builder.tempfile_in(folder(&path))?;
        Self::new(WriteTarget { file, path }, datasets, options)
    }

    /// Completes the file: writes index, footer and superblock, syncs the file, and renames it to its target.
    ///
    /// # Errors
    /// [`Error::Misuse`] for missing tiles, after an earlier failed write, and for metadata of more than 16 MiB;
    /// [`Error::Io`]. After an error no file is left, except a complete one if only its folder could not be synced.
    pub fn finish(self) -> Result<(), Error> {
        let target = self.finish_into()?;
        target.file.as_file().sync_all()?;
        target
            .file
            .persist(&target.path)
            .map_err(|error| error.error)?;
        if cfg!(unix) {
            File::open(folder(&target.path))?.sync_all()?;
        }
        Ok(())
    }
}

/// The folder of a file; the current one for a bare name.
fn folder(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

impl<W: Write + Seek> TetWriter<W> {
    /// Creates a file in any empty sink that implements `Seek`.
    ///
    /// # Errors
    /// As [`TetWriter::create`].
    pub fn new(
        sink: W,
        datasets: Vec<DatasetSpec>,
        mut options: WriteOptions,
    ) -> Result<Self, Error> {
        if let Some(footer) = &mut options.footer {
            clean(footer)?;
        }
        let mut names = HashSet::new();
        let mut checked = Vec::new();
        let (mut blob, mut tiles) = (0_u64, 0_u64);
        for spec in &datasets {
            let geometry = spec.geometry()?;
            if !names.insert(spec.name.as_str()) {
                return Err(Error::misuse(
                    "datasets",
                    format!("more than one is named {:?}", spec.name),
                ));
            }
            blob += wide(record(spec).len());
            tiles = tiles
                .checked_add(geometry.tiles)
                .ok_or(GridError::TooLarge)?;
            checked.push(geometry);
        }
        let (index_offset, index_len) = if datasets.is_empty() {
            (32, 0)
        } else {
            let entries = tiles.checked_mul(104).and_then(|len| len.checked_add(32));
            (RECORDS_AT + blob, entries.ok_or(GridError::TooLarge)?)
        };
        let at = index_offset
            .checked_add(index_len)
            .ok_or(GridError::TooLarge)?;
        let mut sink = BufWriter::with_capacity(1 << 20, sink);
        sink.seek(SeekFrom::Start(at))?;
        Ok(Self {
            sink,
            datasets: datasets.into_iter().zip(checked).collect(),
            options,
            dataset: 0,
            tile: 0,
            row: 0,
            pending: Vec::new(),
            pending_at: index_offset + 32,
            at,
            index_offset,
            index_len,
            last: [0; 4],
            compressor: None,
            buffer: Vec::new(),
            broken: false,
        })
    }

    /// The next tile: number of its dataset, and its elements. `None` when all are written.
    ///
    /// # Errors
    /// None for the datasets of a writer.
    pub fn next_tile(&self) -> Result<Option<(usize, Selection)>, Error> {
        let Some((_, geometry)) = self.datasets.get(self.dataset) else {
            return Ok(None);
        };
        let mut place = self.tile;
        let mut axes = [Axis::all(1); MAX_RANK];
        let extents = geometry.shape.iter().zip(geometry.chunk_shape.iter());
        let slots = axes.iter_mut().take(geometry.grid.len());
        for (slot, (tiles, (extent, chunk))) in slots.zip(geometry.grid.iter().zip(extents)).rev() {
            let start = (place % tiles).saturating_mul(*chunk);
            place /= tiles;
            *slot = Axis::new(start, start.saturating_add(*chunk).min(*extent), 1);
        }
        let axes = axes.get(..geometry.grid.len()).unwrap_or(&[]);
        Ok(Some((self.dataset, Selection::new(axes, &geometry.shape)?)))
    }

    /// Writes the next tile: the elements of [`Self::next_tile`], little-endian in C order, clipped to the dataset.
    ///
    /// # Errors
    /// [`Error::Misuse`] if no tile is left, or after a failed write; [`Error::Grid`] if `elements` does not have the
    /// length of the tile; [`Error::Io`].
    pub fn write_tile(&mut self, elements: &[u8]) -> Result<(), Error> {
        self.check_sound()?;
        let Some((_, tile)) = self.next_tile()? else {
            return Err(Error::misuse("tile", "all tiles are already written"));
        };
        let Some((spec, geometry)) = self.datasets.get(self.dataset) else {
            return Err(Error::misuse("tile", "all tiles are already written"));
        };
        let expected = tile
            .count()
            .and_then(|count| count.checked_mul(wide(geometry.dtype.size())))
            .ok_or(GridError::TooLarge)?;
        let found = wide(elements.len());
        if found != expected {
            return Err(GridError::BufferLength { found, expected }.into());
        }
        let (codec, level, tiles) = (spec.codec, spec.level, geometry.tiles);
        let mut coord = [U64::ZERO; MAX_RANK];
        for ((slot, axis), chunk) in coord
            .iter_mut()
            .zip(tile.axes())
            .zip(geometry.chunk_shape.iter())
        {
            *slot = U64::new(axis.start / chunk);
        }
        let compressed;
        let payload = match codec {
            TileCodec::Raw => elements,
            TileCodec::Zstd => {
                compressed = self.compress(elements, level)?;
                &compressed
            }
        };
        let begin = if self.tile == 0 && !self.options.packed {
            self.at
                .checked_next_multiple_of(ALIGN)
                .ok_or(GridError::TooLarge)?
        } else {
            self.at
        };
        let stored = wide(payload.len());
        let next = begin.checked_add(stored).ok_or(GridError::TooLarge)?;
        let gap = [0_u8; 64];
        let gap = gap
            .get(..usize::try_from(begin - self.at).unwrap_or(0))
            .unwrap_or(&[]);
        self.broken = true;
        self.sink.write_all(gap)?;
        self.sink.write_all(payload)?;
        self.broken = false;
        if let Some(last) = payload.last_chunk::<4>() {
            self.last = *last;
        } else {
            for byte in payload {
                self.last.rotate_left(1);
                self.last[3] = *byte;
            }
        }
        self.pending.push(IndexEntry {
            dataset_id: U64::new(wide(self.dataset)),
            chunk_index: coord,
            payload_offset: U64::new(begin),
            raw_byte_len: U64::new(expected),
            stored_byte_len: U64::new(stored),
            codec: codec.tag().into(),
            reserved: 0.into(),
        });
        self.at = next;
        self.row += 1;
        self.tile += 1;
        if self.tile == tiles {
            self.tile = 0;
            self.dataset += 1;
        }
        if self.pending.len() >= PENDING {
            self.flush_entries()?;
        }
        Ok(())
    }

    fn compress(&mut self, elements: &[u8], level: i32) -> Result<Vec<u8>, Error> {
        if self
            .compressor
            .as_ref()
            .is_none_or(|(kept, _)| *kept != level)
        {
            let fresh = zstd::bulk::Compressor::new(level)?;
            self.compressor = Some((level, zstd_compressor::Compressor(fresh)));
        }
        match &mut self.compressor {
            Some((_, compressor)) => Ok(compressor.0.compress(elements)?),
            None => Err(Error::misuse("level", "no compressor")),
        }
    }

    /// Writes the collected entries to the index, and seeks back to the next payload.
    fn flush_entries(&mut self) -> Result<(), Error> {
        if self.pending.is_empty() {
            return Ok(());
        }
        self.broken = true;
        self.sink.seek(SeekFrom::Start(self.pending_at))?;
        self.sink.write_all(self.pending.as_bytes())?;
        self.pending_at += wide(self.pending.as_bytes().len());
        self.pending.clear();
        self.sink.seek(SeekFrom::Start(self.at))?;
        self.broken = false;
        Ok(())
    }

    /// Fails after a failed write: later payloads would not be stored where their entries point.
    fn check_sound(&self) -> Result<(), Error> {
        if self.broken {
            return Err(Error::misuse(
                "file",
                "an earlier write to this file failed",
            ));
        }
        Ok(())
    }

    /// Writes all tiles of the next dataset from its elements in C order.
    ///
    /// # Errors
    /// [`Error::Misuse`] if no dataset is left; [`Error::Grid`] if `elements` does not have the length of the dataset;
    /// otherwise as [`Self::write_tile`].
    pub fn write_array(&mut self, elements: &[u8]) -> Result<(), Error> {
        let Some((spec, geometry)) = self.datasets.get(self.dataset) else {
            return Err(Error::misuse("array", "all datasets are already written"));
        };
        let (item, shape) = (spec.dtype.size(), geometry.shape);
        let (found, expected) = (wide(elements.len()), geometry.bytes);
        if found != expected {
            return Err(GridError::BufferLength { found, expected }.into());
        }
        self.write_with(|tile, into| {
            let mut runs = [Run::default(); MAX_RANK];
            for (run, axis) in runs.iter_mut().zip(tile.axes()) {
                run.src = axis.start;
                run.count = axis.count();
            }
            let runs = runs.get(..tile.rank()).unwrap_or(&[]);
            Ok(copy(item, elements, &shape, into, &tile.shape(), runs)?)
        })
    }

    /// Writes the remaining tiles of the next dataset: `fill` is called for each tile with the positions of its elements
    /// and a buffer for them.
    ///
    /// # Errors
    /// [`Error::Misuse`] if no dataset is left; the errors of `fill` and [`Self::write_tile`].
    pub fn write_with(
        &mut self,
        mut fill: impl FnMut(&Selection, &mut [u8]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let number = self.dataset;
        let Some((spec, _)) = self.datasets.get(number) else {
            return Err(Error::misuse("array", "all datasets are already written"));
        };
        let item = wide(spec.dtype.size());
        while let Some((dataset, tile)) = self.next_tile()? {
            if dataset != number {
                break;
            }
            let bytes = tile
                .count()
                .and_then(|count| usize::try_from(count.checked_mul(item)?).ok())
                .ok_or(GridError::TooLarge)?;
            let mut buffer = std::mem::take(&mut self.buffer);
            buffer.resize(bytes, 0);
            let done = fill(&tile, &mut buffer).and_then(|()| self.write_tile(&buffer));
            self.buffer = buffer;
            done?;
        }
        Ok(())
    }

    /// Completes the file and returns the sink, flushed. [`TetWriter::finish`] also syncs and renames a file.
    ///
    /// # Errors
    /// As [`TetWriter::finish`].
    pub fn finish_into(mut self) -> Result<W, Error> {
        self.check_sound()?;
        if let Some((spec, _)) = self.datasets.get(self.dataset) {
            return Err(Error::misuse(
                "tiles",
                format!("those of {:?} are not all written", spec.name),
            ));
        }
        self.flush_entries()?;
        let mut flags = 0;
        if let Some(footer) = self.options.footer.take() {
            flags = FLAG_FOOTER;
            self.write_footer(&footer)?;
        } else if self.last == TAIL_MAGIC {
            // Readers that check the end of the file before the flags would mistake the data for a footer.
            self.sink.write_all(&[0; 16])?;
        }
        let block = Superblock {
            magic: MAGIC,
            layout_version: LAYOUT_VERSION.into(),
            dataset_count: u32::try_from(self.datasets.len())
                .map_err(|_| GridError::TooLarge)?
                .into(),
            flags: flags.into(),
            chunk_index_offset: self.index_offset.into(),
            chunk_index_length: self.index_len.into(),
        };
        self.sink.seek(SeekFrom::Start(0))?;
        self.sink.write_all(block.as_bytes())?;
        if !self.datasets.is_empty() {
            let blob = self.index_offset - RECORDS_AT;
            self.sink.write_all(&blob.to_le_bytes())?;
            for (spec, _) in &self.datasets {
                self.sink.write_all(&record(spec))?;
            }
            let header = IndexHeader {
                magic: INDEX_MAGIC,
                index_version: INDEX_VERSION.into(),
                entry_count: self.row.into(),
                memory_budget_percent_bps: self.options.memory_budget_percent_bps.into(),
                reserved: 0.into(),
                memory_budget_bytes: self.options.memory_budget_bytes.into(),
                reserved_tail: 0.into(),
            };
            self.sink.write_all(header.as_bytes())?;
        }
        self.sink
            .into_inner()
            .map_err(|error| Error::Io(error.into_error()))
    }

    fn write_footer(&mut self, footer: &Footer) -> Result<(), Error> {
        let bad = |error: serde_json::Error| Error::misuse("footer", format!("{error}"));
        let mut json = footer.to_json(None).map_err(bad)?;
        if json.len() > FOOTER
            && let Some(metadata) = &footer.metadata
        {
            let spilled = serde_json::to_vec(metadata).map_err(bad)?;
            if spilled.len() > METADATA {
                return Err(Error::misuse(
                    "footer",
                    "metadata is larger than 16 MiB, the limit of the reference implementation",
                ));
            }
            json = footer
                .to_json(Some((self.at, wide(spilled.len()))))
                .map_err(bad)?;
            self.sink.write_all(&spilled)?;
        }
        self.sink.write_all(&json)?;
        let tail = FooterTail {
            history_json_len: wide(json.len()).into(),
            history_version: 1.into(),
            magic: TAIL_MAGIC,
        };
        Ok(self.sink.write_all(tail.as_bytes())?)
    }
}
