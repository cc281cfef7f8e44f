//! The catalog of an open file, without its payloads: datasets, positions of entries, footer, proof.

use std::string::String;
use std::vec::Vec;

use zerocopy::FromBytes;
use zvf_grid::{Axis, GridError, Selection};

use super::budget::Budget;
use super::error::Error;
use super::history::{Footer, Metadata};
use crate::check::Proof;
use crate::error::{Class, Expected, Profile, TetError};
use crate::footer::{FooterPlace, FooterRefs};
use crate::layout::{IndexEntry, IndexHeader};
use crate::record::DatasetGeometry;
use crate::view::Tet;
use zvf_grid::int::wide;

/// How a file is opened and read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct OpenOptions {
    /// How strictly the file is checked.
    pub profile: Profile,
    /// The requested memory: for the result of [`TetFile::read`](crate::TetFile::read), and for one decoded tile.
    pub budget: Budget,
    /// Threads that decode; 0 for as many as the machine has.
    pub threads: usize,
    /// Most bytes of superblock, directory, index and footer that are read into memory.
    pub front_limit: u64,
}

impl Default for OpenOptions {
    fn default() -> Self {
        Self {
            profile: Profile::Strict,
            budget: Budget::default(),
            threads: 0,
            front_limit: 1 << 30,
        }
    }
}

impl OpenOptions {
    /// The same options with another profile.
    #[must_use]
    pub const fn with_profile(mut self, profile: Profile) -> Self {
        self.profile = profile;
        self
    }

    /// The same options with another budget.
    #[must_use]
    pub const fn with_budget(mut self, budget: Budget) -> Self {
        self.budget = budget;
        self
    }

    /// The same options with another number of threads.
    #[must_use]
    pub const fn with_threads(mut self, threads: usize) -> Self {
        self.threads = threads;
        self
    }

    /// Threads that decode, at least 1.
    pub(crate) fn thread_count(&self) -> usize {
        match self.threads {
            0 => std::thread::available_parallelism().map_or(1, usize::from),
            threads => threads,
        }
    }
}

/// One dataset of an open file.
#[derive(Debug, Clone)]
pub struct Dataset {
    number: u64,
    name: String,
    geometry: DatasetGeometry,
    all: Selection,
    first_row: u64,
}

impl Dataset {
    /// Its number, from 0.
    #[must_use]
    pub const fn number(&self) -> u64 {
        self.number
    }

    /// Its name; need not be unique.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Type, shape, tiles and sizes.
    #[must_use]
    pub const fn geometry(&self) -> &DatasetGeometry {
        &self.geometry
    }

    /// Bytes of one element.
    #[must_use]
    pub const fn item(&self) -> usize {
        self.geometry.dtype.size()
    }

    /// Every element.
    #[must_use]
    pub const fn all(&self) -> Selection {
        self.all
    }

    /// Selects elements by one range for each axis.
    ///
    /// # Errors
    /// As [`Selection::new`].
    pub fn select(&self, axes: &[Axis]) -> Result<Selection, GridError> {
        Selection::new(axes, &self.geometry.shape)
    }

    /// Bytes of a selection's result.
    ///
    /// # Errors
    /// [`GridError::RankMismatch`] and [`GridError::BadRange`] for a selection of another shape, [`GridError::TooLarge`].
    pub fn result_bytes(&self, selection: &Selection) -> Result<u64, GridError> {
        // The selection may be from another dataset.
        Selection::new(selection.axes(), &self.geometry.shape)?
            .count()
            .and_then(|count| count.checked_mul(wide(self.item())))
            .ok_or(GridError::TooLarge)
    }
}

/// Everything about an open file except its payloads. A [`TetFile`](crate::TetFile) is a catalog, the source of the payloads,
/// and the bytes of the index.
#[derive(Debug)]
pub struct Catalog {
    datasets: Vec<Dataset>,
    footer: Option<Footer>,
    refs: Option<FooterRefs>,
    proof: Proof,
    profile: Profile,
    file_len: u64,
    /// Positions in the front: the index header, the first entry, the end of the index.
    index: Option<(usize, usize, usize)>,
    /// Rows in canonical order; empty if the file is in canonical order.
    rows: Vec<u64>,
}

impl Catalog {
    /// Checks a file from its front and, if the flags announce one, its footer.
    pub(crate) fn open(
        front: &[u8],
        file_len: u64,
        options: &OpenOptions,
        end: Option<&FileEnd>,
    ) -> Result<Self, Error> {
        let tet = Tet::parse(front, file_len, options.profile)?;
        let refs = end.map(|end| end.refs);
        let mut scratch = Vec::new();
        let proof = match tet.prove(options.profile, refs.as_ref(), &mut scratch) {
            Err(error) if error.class() == Class::ScratchTooSmall => {
                scratch.resize(tet.entries().len(), 0);
                tet.prove(options.profile, refs.as_ref(), &mut scratch)?
            }
            answer => answer?,
        };
        let rows = if proof.canonical {
            Vec::new()
        } else {
            scratch.resize(tet.entries().len(), 0);
            tet.sort_rows(&mut scratch)?;
            scratch
        };
        let mut datasets = Vec::new();
        let mut first_row = 0_u64;
        for record in tet.records() {
            let geometry = record.check()?;
            datasets.push(Dataset {
                number: record.number(),
                name: record.name().into(),
                geometry,
                all: Selection::all(&geometry.shape)?,
                first_row,
            });
            first_row = first_row.saturating_add(geometry.tiles);
        }
        let index = tet.index_header().and_then(|_| {
            let header = usize::try_from(tet.superblock().chunk_index_offset.get()).ok()?;
            Some((
                header,
                header.checked_add(32)?,
                usize::try_from(tet.index_stop()).ok()?,
            ))
        });
        Ok(Self {
            datasets,
            footer: None,
            refs,
            proof,
            profile: options.profile,
            file_len,
            index,
            rows,
        })
    }

    /// Stores the footer and the metadata beside it, after the payloads were checked.
    pub(crate) fn take_footer(
        &mut self,
        end: FileEnd,
        spilled: Option<&[u8]>,
    ) -> Result<(), Error> {
        let mut footer = end.footer;
        if let (Some(text), Some(spill)) = (spilled, end.refs.metadata) {
            let metadata: Metadata =
                serde_json::from_slice(text).map_err(|source| json_fault(spill.offset, source))?;
            footer.metadata = Some(metadata);
        }
        self.footer = Some(footer);
        Ok(())
    }

    pub(crate) fn header<'f>(&self, front: &'f [u8]) -> Option<&'f IndexHeader> {
        let (header, _, _) = self.index?;
        let (header, _) = IndexHeader::ref_from_prefix(front.get(header..)?).ok()?;
        Some(header)
    }

    pub(crate) fn entries<'f>(&self, front: &'f [u8]) -> &'f [IndexEntry] {
        self.index
            .and_then(|(_, first, stop)| front.get(first..stop))
            .and_then(|bytes| <[IndexEntry]>::ref_from_bytes(bytes).ok())
            .unwrap_or(&[])
    }

    /// The entry of a tile: row and fields. `None` outside the grid.
    pub(crate) fn entry<'f>(
        &self,
        entries: &'f [IndexEntry],
        dataset: &Dataset,
        coord: &[u64],
    ) -> Option<(u64, &'f IndexEntry)> {
        let place = dataset
            .first_row
            .checked_add(dataset.geometry.grid.position(coord)?)?;
        let row = if self.rows.is_empty() {
            place
        } else {
            *self.rows.get(usize::try_from(place).ok()?)?
        };
        Some((row, entries.get(usize::try_from(row).ok()?)?))
    }

    /// The datasets, in the order of their numbers.
    #[must_use]
    pub fn datasets(&self) -> &[Dataset] {
        &self.datasets
    }

    /// The first dataset with that name.
    ///
    /// # Errors
    /// [`Error::NoDataset`].
    pub fn dataset(&self, name: &str) -> Result<&Dataset, Error> {
        self.datasets
            .iter()
            .find(|dataset| dataset.name == name)
            .ok_or_else(|| Error::NoDataset { name: name.into() })
    }

    /// The result of the checks, with warnings.
    #[must_use]
    pub const fn proof(&self) -> &Proof {
        &self.proof
    }

    /// History and metadata, if the file has a footer.
    #[must_use]
    pub const fn footer(&self) -> Option<&Footer> {
        self.footer.as_ref()
    }

    /// The positions of footer and spills.
    #[must_use]
    pub const fn footer_refs(&self) -> Option<&FooterRefs> {
        self.refs.as_ref()
    }

    /// Bytes of the file.
    #[must_use]
    pub const fn file_len(&self) -> u64 {
        self.file_len
    }

    /// How strictly the file was checked.
    #[must_use]
    pub const fn profile(&self) -> Profile {
        self.profile
    }
}

/// The end of a file: the footer's JSON.
#[derive(Debug)]
pub(crate) struct FileEnd {
    pub(crate) refs: FooterRefs,
    footer: Footer,
}

impl FileEnd {
    pub(crate) fn new(json: &[u8], place: FooterPlace, floor: u64) -> Result<Self, Error> {
        let refs = FooterRefs::scan(json, place, floor)?;
        let footer = Footer::parse(json, place.version)
            .map_err(|source| json_fault(place.json_start, source))?;
        Ok(Self { refs, footer })
    }
}

#[cold]
fn json_fault(at: u64, source: serde_json::Error) -> Error {
    let expected = Expected::Text("history and metadata");
    Error::Json {
        error: TetError::new(Class::FooterJson, "footer JSON", at, at, expected),
        source,
    }
}

/// Returns a number of bytes as a size.
///
/// # Errors
/// [`Error::Limit`] if it exceeds `limit` or the address space.
pub(crate) fn within(what: &'static str, found: u64, limit: u64) -> Result<usize, Error> {
    match usize::try_from(found).ok() {
        Some(bytes) if found <= limit => Ok(bytes),
        _ => Err(Error::Limit { what, found, limit }),
    }
}
