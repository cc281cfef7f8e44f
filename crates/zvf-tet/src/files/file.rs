//! An open file: [`TetFile`].

use std::borrow::Cow;
use std::boxed::Box;
use std::ops::Deref;
use std::path::Path;
use std::vec::Vec;

use zvf_sys::{FileAt, Memory, ReadAt};

use zvf_grid::{GridError, Selection};

use super::borrow::{self, RawSpan};
use super::budget::{Budget, available_memory};
use super::catalog::{Catalog, Dataset, OpenOptions, within};
use super::error::Error;
use super::opening::{KnownPieces, OpeningStop, open, with_ends};
use super::plan::TilePlan;
use super::read::{DatasetReader, ReadStats};
use crate::layout::{IndexEntry, IndexHeader};
use zvf_grid::int::wide;

/// A file that was checked and can be read.
///
/// Dereferences to its [`Catalog`]: datasets, footer, proof.
///
/// Opening makes every check except decoding (steps 1 to 19 of `spec/tet-v1.md` 10.1): one pass over the index. Payloads are not
/// read.
///
/// # Examples
///
/// ```
/// use zvf_tet::{Axis, TetFile};
///
/// let bytes = include_bytes!("../../../../testdata/tet/f64_2d_edge_zstd.tet");
/// let file = TetFile::from_bytes(bytes.to_vec())?;
/// let grid = file.dataset("grid")?;
/// let (row, stats) = file.read(grid, &grid.select(&[Axis::at(4), Axis::all(7)])?)?;
/// assert_eq!(row.len(), 7 * 8);
/// assert_eq!(stats.tiles, 3);
/// # Ok::<(), zvf_tet::Error>(())
/// ```
#[derive(Debug)]
pub struct TetFile {
    source: Box<dyn ReadAt>,
    /// Superblock to index, if the file is not in memory.
    front: Vec<u8>,
    catalog: Catalog,
    options: OpenOptions,
}

impl Deref for TetFile {
    type Target = Catalog;

    fn deref(&self) -> &Catalog {
        &self.catalog
    }
}

impl TetFile {
    /// Opens a file that is read at positions, not mapped, with the strict profile.
    ///
    /// # Errors
    /// See [`Self::open_with`].
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        Self::open_with(path, OpenOptions::default())
    }

    /// Opens a file that is read at positions, not mapped. Front and footer are kept in memory.
    ///
    /// # Errors
    /// [`Error::Io`]; [`Error::Format`] and [`Error::Json`] for a malformed file; [`Error::Limit`] for a front
    /// or footer over [`OpenOptions::front_limit`].
    pub fn open_with(path: impl AsRef<Path>, options: OpenOptions) -> Result<Self, Error> {
        let file = FileAt::open(path.as_ref())?;
        Self::from_source_with(Box::new(file), options)
    }

    /// Maps a file. It must not be truncated or written to while it is open, see [`zvf_sys::Map`].
    ///
    /// # Errors
    /// As [`Self::open_with`], without limits.
    #[cfg(feature = "mmap")]
    pub fn map(path: impl AsRef<Path>, options: OpenOptions) -> Result<Self, Error> {
        Self::from_source_with(Box::new(zvf_sys::Map::open(path)?), options)
    }

    /// Opens a whole file in memory, with the strict profile.
    ///
    /// # Errors
    /// As [`Self::open_with`], without limits.
    pub fn from_bytes(bytes: Vec<u8>) -> Result<Self, Error> {
        Self::from_bytes_with(bytes, OpenOptions::default())
    }

    /// Opens a whole file in memory.
    ///
    /// # Errors
    /// As [`Self::open_with`], without limits.
    pub fn from_bytes_with(bytes: Vec<u8>, options: OpenOptions) -> Result<Self, Error> {
        Self::from_source_with(Box::new(Memory(bytes)), options)
    }

    /// Opens a file from any source, with the strict profile: an object of a bucket or web server, for example (`ObjectFile` of
    /// `zvf-io`).
    ///
    /// # Cost
    /// As [`Self::from_source_with`].
    ///
    /// # Errors
    /// As [`Self::open_with`].
    pub fn from_source(source: Box<dyn ReadAt>) -> Result<Self, Error> {
        Self::from_source_with(source, OpenOptions::default())
    }

    /// Opens a file from any source.
    ///
    /// # Cost
    /// Reads superblock, directory and index, and the footer. If reads are requests, there are two, and one more for each part that
    /// is longer than [`RequestCost::ahead`](zvf_sys::RequestCost::ahead).
    ///
    /// # Errors
    /// As [`Self::open_with`].
    pub fn from_source_with(source: Box<dyn ReadAt>, options: OpenOptions) -> Result<Self, Error> {
        let len = source.size()?;
        let ahead = source.requests().map_or(0, |cost| cost.ahead);
        let mut known = KnownPieces::new(len, &options);
        if let Some(all) = source.bytes() {
            known.add(0, Cow::Borrowed(all));
        }
        let catalog = loop {
            match open(&known, &options) {
                Ok(catalog) => break catalog,
                Err(OpeningStop::Refused(error)) => return Err(error),
                Err(OpeningStop::Lacks(range)) => {
                    let range = with_ends(range, len, ahead);
                    let length = usize::try_from(range.end - range.start);
                    let mut bytes = std::vec![0; length.map_err(|_| GridError::TooLarge)?];
                    source.read_at(range.start, &mut bytes)?;
                    known.add(range.start, Cow::Owned(bytes));
                }
            }
        };
        let front = match source.bytes() {
            Some(_) => Vec::new(),
            None => known.into_front()?,
        };
        Ok(Self {
            source,
            front,
            catalog,
            options,
        })
    }

    pub(crate) fn front(&self) -> &[u8] {
        self.source.bytes().unwrap_or(&self.front)
    }

    /// Header of the chunk index; `None` in an empty file.
    #[must_use]
    pub fn index_header(&self) -> Option<&IndexHeader> {
        self.catalog.header(self.front())
    }

    /// The index entries, in the order of the file.
    #[must_use]
    pub fn entries(&self) -> &[IndexEntry] {
        self.catalog.entries(self.front())
    }

    /// The entry of one tile: its row and fields. `None` outside the grid.
    ///
    /// # Cost
    /// O(rank).
    #[must_use]
    pub fn entry(&self, dataset: &Dataset, coord: &[u64]) -> Option<(u64, &IndexEntry)> {
        self.catalog.entry(self.entries(), dataset, coord)
    }

    /// The memory budget in bytes, from `wish`, the file's request and the machine's memory, by `spec/tet-v1.md` 9.
    #[must_use]
    pub fn memory_budget(&self, wish: &Budget) -> u64 {
        wish.resolve(self.index_header(), available_memory())
    }

    /// The tiles that a selection intersects, and their bytes.
    ///
    /// # Cost
    /// O(rank), and O(rank) for each tile that the iterator returns.
    ///
    /// # Errors
    /// [`Error::Grid`] for a selection of another shape.
    pub fn plan<'f>(
        &'f self,
        dataset: &'f Dataset,
        selection: &Selection,
    ) -> Result<TilePlan<'f>, Error> {
        TilePlan::new(&self.catalog, self.front(), dataset, selection)
    }

    /// Reads a selection: little-endian elements in C order.
    ///
    /// # Cost
    /// Memory for the result, and for one tile in each thread. Only tiles that the selection intersects are read.
    ///
    /// # Errors
    /// [`Error::Limit`] for a result over the memory budget of the options, and the errors of [`Self::read_into`].
    pub fn read(
        &self,
        dataset: &Dataset,
        selection: &Selection,
    ) -> Result<(Vec<u8>, ReadStats), Error> {
        let bytes = dataset.result_bytes(selection)?;
        let budget = self.memory_budget(&self.options.budget);
        let mut result = std::vec![0; within("the result", bytes, budget)?];
        let stats = self.read_into(dataset, selection, &mut result)?;
        Ok((result, stats))
    }

    /// Reads a selection into a buffer of exactly its size. After an error its contents are unspecified.
    ///
    /// # Errors
    /// [`Error::Grid`] for a selection or buffer that does not fit; [`Error::Io`]; [`Error::Format`] with the classes `zstd_decode`
    /// and `decoded_length_mismatch`; [`Error::Limit`] for a tile over the budget that cannot be decoded in place.
    pub fn read_into(
        &self,
        dataset: &Dataset,
        selection: &Selection,
        into: &mut [u8],
    ) -> Result<ReadStats, Error> {
        let expected = dataset.result_bytes(selection)?;
        let found = wide(into.len());
        if found != expected {
            return Err(GridError::BufferLength { found, expected }.into());
        }
        self.reader(dataset).read(selection, into)
    }

    pub(crate) fn reader<'f>(&'f self, dataset: &'f Dataset) -> DatasetReader<'f> {
        DatasetReader {
            source: &*self.source,
            front: self.front(),
            catalog: &self.catalog,
            dataset,
            limit: self.memory_budget(&self.options.budget),
            threads: self.options.thread_count(),
        }
    }

    /// The run of bytes that holds every element of a dataset once; see [`RawSpan::row_major`] for its order. `None` if tiles are compressed or not contiguous.
    ///
    /// # Cost
    /// O(rank) for each tile of the dataset.
    #[must_use]
    pub fn raw_span(&self, dataset: &Dataset) -> Option<RawSpan> {
        borrow::whole(&self.catalog, self.front(), dataset)
    }

    /// The result of a selection in place, without a copy. Possible for files that are mapped or in memory, if their raw tiles store
    /// the result contiguously and in its order.
    ///
    /// # Cost
    /// O(rank) for each tile that the selection intersects.
    #[must_use]
    pub fn borrow(&self, dataset: &Dataset, selection: &Selection) -> Option<&[u8]> {
        self.source.bytes()?;
        let (offset, len) = borrow::of_selection(&self.catalog, self.front(), dataset, selection)?;
        self.source.slice(offset, len)
    }

    /// [`Self::borrow`] if possible, else [`Self::read`].
    ///
    /// # Errors
    /// As [`Self::read`].
    pub fn get(&self, dataset: &Dataset, selection: &Selection) -> Result<Cow<'_, [u8]>, Error> {
        match self.borrow(dataset, selection) {
            Some(bytes) => Ok(Cow::Borrowed(bytes)),
            None => Ok(Cow::Owned(self.read(dataset, selection)?.0)),
        }
    }
}
