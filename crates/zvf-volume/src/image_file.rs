//! NIfTI and MGH files, plain or compressed by gzip.
//!
//! The first axis is the fastest in the file; volumes have the axes in the order of the header, as in nibabel. A compressed file
//! is decompressed once, when elements are first read, to memory or to a temporary file.

use std::io::{BufReader, ErrorKind, Read, Seek, SeekFrom, Write};
use std::sync::{Arc, Mutex, PoisonError};

use flate2::read::MultiGzDecoder;
use tempfile::SpooledTempFile;
use zvf_codec::isolate::isolate;
use zvf_format::dtype::{DType, DTypeKind};
use zvf_grid::int::wide;
use zvf_grid::{Axis, Dims, Selection};
use zvf_meta::{HeaderError, ImageHeader};
use zvf_store::IoError;
use zvf_sys::ReadAt;

use crate::blocking::blocking;
use crate::element::number;
use crate::{AxisInfo, Counts, Element, VolumeError, VolumeFormat, VolumeInfo};

/// Maximum size of a decompressed copy in memory, in bytes; a larger copy is a temporary file.
const MEMORY: usize = 64 << 20;
/// Maximum number of bytes that one read takes ahead.
const WINDOW: u64 = 1 << 20;
/// Maximum number of bytes between two rows for which a read takes the following rows ahead.
const GAP: u64 = 16 << 10;
/// The largest compression ratio of Deflate.
const RATIO: u64 = 1032;
/// Bytes of each read of a header.
const PAGE: usize = 16 << 10;
/// Names of the axes, as in programs for NIfTI.
const NAMES: [&str; 7] = ["i", "j", "k", "t", "u", "v", "w"];

/// Reads the bytes of a file in order.
#[derive(Debug)]
struct Forward<'f> {
    file: &'f dyn ReadAt,
    at: u64,
    size: u64,
}

impl<'f> Forward<'f> {
    /// Starts at the first byte; each read takes `capacity` bytes.
    fn new(file: &'f dyn ReadAt, capacity: usize) -> std::io::Result<BufReader<Self>> {
        let size = file.size()?;
        let forward = Self { file, at: 0, size };
        Ok(BufReader::with_capacity(capacity, forward))
    }
}

impl Read for Forward<'_> {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        let left = self.size.saturating_sub(self.at);
        let count = usize::try_from(left).map_or(out.len(), |left| left.min(out.len()));
        let out = out.get_mut(..count).unwrap_or_default();
        self.file.read_at(self.at, out)?;
        self.at = self.at.saturating_add(wide(count));
        Ok(count)
    }
}

/// An image with a parsed header.
#[derive(Debug)]
pub(crate) struct ImageFile {
    /// The name in error messages.
    name: String,
    file: Box<dyn ReadAt>,
    gzip: bool,
    /// First byte of the elements.
    offset: u64,
    /// Byte after the last element.
    end: u64,
    /// Distance in bytes between neighbouring elements on each axis of the volume.
    strides: Vec<u64>,
    /// Bytes of a stored number.
    size: usize,
    /// Type of a stored number, slope and intercept; `None` if values are not scaled.
    scaling: Option<(DType, f64, f64)>,
    /// The decompressed bytes, once elements have been read.
    copy: Mutex<Option<SpooledTempFile>>,
}

/// Opens a file.
pub(crate) fn open(
    name: &str,
    file: Box<dyn ReadAt>,
) -> Result<(VolumeInfo, Arc<ImageFile>), VolumeError> {
    let failed = || VolumeError::file(format!("reading {name}"));
    let length = file.size().map_err(failed())?;
    let mut first = [0; 2];
    let is_gzip = length >= 2 && {
        file.read_at(0, &mut first).map_err(failed())?;
        ImageHeader::is_gzip(&first)
    };
    let (info, image) = opened(name, file, is_gzip)?;
    let longest = match is_gzip {
        true => length.saturating_mul(RATIO),
        false => length,
    };
    if image.end > longest {
        return Err(image.short(length));
    }
    Ok((info, Arc::new(image)))
}

/// Reads the header.
fn opened(
    name: &str,
    file: Box<dyn ReadAt>,
    gzip: bool,
) -> Result<(VolumeInfo, ImageFile), VolumeError> {
    let front = Forward::new(&*file, PAGE).map_err(VolumeError::file(format!("reading {name}")))?;
    let decoded = isolate(|| match gzip {
        true => prefix(&mut MultiGzDecoder::new(front)),
        false => prefix(&mut { front }),
    });
    let (bytes, ended) = decoded.map_err(|panic| malformed(name, panic, "a gzip file"))?;
    let Some(header) = ImageHeader::parse(&bytes) else {
        let found = match ended {
            None => "another file".to_owned(),
            Some(error) if is_of_data(&error) => error.to_string(),
            Some(error) => return Err(VolumeError::file(format!("reading {name}"))(error)),
        };
        return Err(malformed(name, found, "the header of NIfTI or MGH"));
    };
    let wrong = |error: HeaderError| {
        let place = format!("{name}, byte {} ({})", error.at, error.field);
        malformed(place, error.found, error.expected)
    };
    let mut shape = header.shape().map_err(wrong)?;
    let element = header.element().map_err(wrong)?;
    let offset = header.offset().map_err(wrong)?;
    let affine = header.affine().map_err(wrong)?;
    let dtype = Element::parse(&element.text, element.size);
    let too_many = || malformed(name, "extents beyond 64 bits", "fewer elements");
    let size = wide(element.size);
    let mut stride = size.checked_mul(element.channels).ok_or_else(too_many)?;
    let (mut strides, mut axes, mut chunk) = (Vec::new(), Vec::new(), Vec::new());
    for (at, (extent, name)) in shape.iter().zip(NAMES).enumerate() {
        strides.push(stride);
        stride = stride.checked_mul(*extent).ok_or_else(too_many)?;
        let (kind, time) = match at {
            0..3 => ("space", None),
            3 => ("time", header.time()),
            _ => ("channel", None),
        };
        let unit = if at < 3 {
            affine.unit
        } else {
            time.map(|(_, unit)| unit)
        };
        axes.push(AxisInfo {
            name: Some(name.to_owned()),
            kind: Some(kind.to_owned()),
            unit: unit.map(str::to_owned),
            place: time.map(|(place, _)| place),
        });
        chunk.push(if at < 3 { (*extent).min(64) } else { 1 });
    }
    let mut notes = Vec::new();
    let scaling = match header.scaling().map_err(wrong)? {
        Some((slope, inter)) if element.channels == 1 => match dtype.number {
            Some(number) => {
                notes.push(format!(
                    "values are {slope} * element + {inter}, as float64"
                ));
                Some((number, slope, inter))
            }
            None => {
                let found = format!("a slope for elements {}", dtype.text);
                return Err(malformed(name, found, "numbers, or no slope"));
            }
        },
        _ => None,
    };
    if element.channels > 1 {
        strides.push(size);
        shape.push(element.channels);
        chunk.push(element.channels);
        axes.push(AxisInfo {
            name: Some("c".to_owned()),
            kind: Some("channel".to_owned()),
            ..AxisInfo::default()
        });
    }
    notes.extend(header.remark());
    let end = offset.checked_add(stride).ok_or_else(too_many)?;
    if gzip && usize::try_from(end).is_ok_and(|end| end > MEMORY) {
        notes.push(format!(
            "the file is compressed as a whole: {end} bytes are decompressed once, to a temporary file"
        ));
    }
    let info = VolumeInfo {
        name: String::new(),
        form: match header {
            ImageHeader::Mgh(_) => VolumeFormat::Mgh,
            _ => VolumeFormat::Nifti,
        },
        layout: header.format().to_owned(),
        element: match scaling {
            Some(_) => Element::number(DType::little(DTypeKind::F64)),
            None => dtype,
        },
        shape: Dims::new(&shape)?,
        chunk: Dims::new(&chunk)?,
        block: None,
        codecs: gzip.then(|| "gzip".to_owned()).into_iter().collect(),
        filters: Vec::new(),
        axes,
        affine: Some(affine),
        notes,
    };
    let image = ImageFile {
        name: name.to_owned(),
        file,
        gzip,
        offset,
        end,
        strides,
        size: element.size,
        scaling,
        copy: Mutex::new(None),
    };
    Ok((info, image))
}

/// Reads the bytes that may hold a header; returns the error if the read ended early.
fn prefix(file: &mut dyn Read) -> (Vec<u8>, Option<std::io::Error>) {
    let mut bytes = Vec::new();
    let length = wide(ImageHeader::LENGTH);
    let ended = file.take(length).read_to_end(&mut bytes).err();
    (bytes, ended)
}

fn malformed(
    place: impl Into<String>,
    found: impl Into<String>,
    expected: &'static str,
) -> VolumeError {
    VolumeError::malformed(place, found, expected)
}

impl ImageFile {
    /// Reads a selection into `out`, which has its size and is zero. `item` is the number of bytes of an element of the result.
    pub(crate) async fn read(
        self: &Arc<Self>,
        selection: Selection,
        item: usize,
        mut out: Vec<u8>,
    ) -> Result<(Vec<u8>, Counts), VolumeError> {
        let image = Arc::clone(self);
        blocking(move || {
            let mut window = Window {
                image: &image,
                bytes: Vec::new(),
                start: 0,
                counts: Counts::default(),
            };
            if !selection.is_empty() {
                image.gather(&selection, item, &mut window, &mut out)?;
            }
            let counts = window.counts;
            Ok((out, counts))
        })
        .await
    }

    /// Fills `out` with the bytes from position `at` on; positions of a compressed file count decompressed bytes.
    fn fill(&self, at: u64, out: &mut [u8]) -> Result<(), VolumeError> {
        let done = if self.gzip {
            let mut copy = self.copy.lock().unwrap_or_else(PoisonError::into_inner);
            let copy = match &mut *copy {
                Some(copy) => copy,
                empty => empty.insert(self.decompress()?),
            };
            copy.seek(SeekFrom::Start(at))
                .and_then(|_| copy.read_exact(out))
        } else {
            self.file.read_at(at, out)
        };
        done.map_err(|error| match error.kind() {
            ErrorKind::UnexpectedEof => self.short(at),
            _ => VolumeError::file(format!("reading {}", self.name))(error),
        })
    }

    /// Decompresses as many bytes as the header states. If the file has no more bytes, the checksum is checked, too.
    fn decompress(&self) -> Result<SpooledTempFile, VolumeError> {
        let damaged = |error: String| malformed(&*self.name, error, "a gzip file");
        let packed = Forward::new(&*self.file, 64 * PAGE)
            .map_err(VolumeError::file(format!("reading {}", self.name)))?;
        let decoded = isolate(|| {
            let mut copy = SpooledTempFile::new(MEMORY);
            let mut decoder = MultiGzDecoder::new(packed);
            let (mut buffer, mut length) = (vec![0; 64 << 10], 0_u64);
            loop {
                let count = decoder.read(&mut buffer);
                let count = count.map_err(|error| decoding(&self.name, error))?;
                let left = usize::try_from(self.end.saturating_sub(length)).unwrap_or(usize::MAX);
                let bytes = buffer.get(..count.min(left)).unwrap_or_default();
                // One more read usually reaches the checksum; bytes after the elements are ignored.
                if bytes.is_empty() {
                    break;
                }
                copy.write_all(bytes).map_err(temporary(&self.name))?;
                length = length.saturating_add(wide(bytes.len()));
            }
            match length < self.end {
                true => Err(self.short(length)),
                false => Ok(copy),
            }
        });
        decoded.map_err(damaged)?
    }

    /// The error for a file that ends too early.
    fn short(&self, length: u64) -> VolumeError {
        let (name, end) = (&self.name, self.end);
        VolumeError::malformed(
            format!("{name}, byte {length}"),
            "the end of the file",
            format!("{end} bytes, as the header states"),
        )
    }

    /// Copies the elements of a selection row by row, in the order of the file. All positions are below
    /// `end`, so no sum or product of them saturates.
    fn gather(
        &self,
        selection: &Selection,
        item: usize,
        window: &mut Window<'_>,
        out: &mut [u8],
    ) -> Result<(), VolumeError> {
        /// One axis: its range, the number of its indices, and the distances between them in bytes, in the file and in the
        /// result.
        #[derive(Clone, Copy)]
        struct AxisWalk {
            axis: Axis,
            count: u64,
            stride: u64,
            out: usize,
        }
        let mut next = item;
        let axes = selection.axes().iter().zip(&self.strides).rev();
        let mut walks: Vec<AxisWalk> = axes
            .map(|(axis, stride)| {
                let range = axis.stop.saturating_sub(axis.start);
                let count = range.div_ceil(axis.step.max(1));
                let out = next;
                next = next.saturating_mul(usize::try_from(count).unwrap_or(usize::MAX));
                AxisWalk {
                    axis: *axis,
                    count,
                    stride: *stride,
                    out,
                }
            })
            .collect();
        walks.sort_by_key(|one| std::cmp::Reverse(one.stride));
        let Some((row, outer)) = walks.split_last() else {
            return Ok(());
        };
        let step = row.axis.step.saturating_mul(row.stride);
        // Number of elements in one read, which includes the bytes between them.
        let group = (WINDOW / step.max(1)).max(1);
        let size = wide(self.size);
        let mut index = vec![0_u64; outer.len()];
        loop {
            let start = row.axis.start.saturating_mul(row.stride);
            let (mut from, mut to) = (self.offset.saturating_add(start), 0_usize);
            for (at, one) in index.iter().zip(outer) {
                let place = at
                    .saturating_mul(one.axis.step)
                    .saturating_add(one.axis.start);
                from = from.saturating_add(place.saturating_mul(one.stride));
                let steps = usize::try_from(*at).unwrap_or(usize::MAX);
                to = to.saturating_add(steps.saturating_mul(one.out));
            }
            let mut done = 0;
            while done < row.count {
                let count = group.min(row.count.saturating_sub(done));
                let span = count
                    .saturating_sub(1)
                    .saturating_mul(step)
                    .saturating_add(size);
                let bytes = window.get(from.saturating_add(done.saturating_mul(step)), span)?;
                let apart = usize::try_from(step).unwrap_or(usize::MAX);
                for element in bytes.chunks(apart.max(1)) {
                    let slot = out.get_mut(to..to.saturating_add(item));
                    let slot = slot.ok_or_else(|| VolumeError::bug("an element has no place"))?;
                    let stored = element.get(..self.size);
                    let stored = stored.ok_or_else(|| VolumeError::bug("a part of an element"))?;
                    match self.scaling {
                        None => slot.copy_from_slice(stored),
                        Some((dtype, slope, inter)) => {
                            let value = number(dtype, stored) * slope + inter;
                            slot.copy_from_slice(&value.to_le_bytes());
                        }
                    }
                    to = to.saturating_add(row.out);
                }
                done = done.saturating_add(count);
            }
            let mut axes = index.iter_mut().zip(outer).rev();
            let advanced = axes.any(|(at, one)| {
                *at = at.saturating_add(1);
                let is_inside = *at < one.count;
                if !is_inside {
                    *at = 0;
                }
                is_inside
            });
            if !advanced {
                return Ok(());
            }
        }
    }
}

fn temporary(name: &str) -> impl FnOnce(std::io::Error) -> VolumeError {
    VolumeError::file(format!("copying {name} to a temporary file"))
}

/// The bytes around the row that was read last.
struct Window<'a> {
    image: &'a ImageFile,
    bytes: Vec<u8>,
    start: u64,
    counts: Counts,
}

impl Window<'_> {
    /// Returns bytes of the file. Reads ahead if they follow the last read.
    fn get(&mut self, at: u64, length: u64) -> Result<&[u8], VolumeError> {
        let end = at.saturating_add(length);
        let held = self.start.saturating_add(wide(self.bytes.len()));
        if at < self.start || end > held {
            let is_near =
                !self.bytes.is_empty() && at >= self.start && at <= held.saturating_add(GAP);
            let ahead = if is_near { WINDOW } else { length };
            let stop = at.saturating_add(ahead).min(self.image.end).max(end);
            let count = stop.saturating_sub(at);
            self.start = at;
            self.bytes.clear();
            let count = usize::try_from(count);
            let count = count.map_err(|_| VolumeError::bug("a read beyond memory"))?;
            self.bytes.resize(count, 0);
            self.image.fill(at, &mut self.bytes)?;
            self.counts.bytes = self.counts.bytes.saturating_add(wide(count));
            self.counts.requests = self.counts.requests.saturating_add(1);
            self.counts.chunks = 1;
        }
        let first = usize::try_from(at.saturating_sub(self.start)).unwrap_or(usize::MAX);
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        let found = self.bytes.get(first..first.saturating_add(length));
        found.ok_or_else(|| self.image.short(at))
    }
}
/// The error of a decompressed read: of bytes that are not compressed, or of the file.
fn decoding(name: &str, error: std::io::Error) -> VolumeError {
    match is_of_data(&error) {
        true => malformed(name, error.to_string(), "a gzip file"),
        false => VolumeError::file(format!("reading {name}"))(error),
    }
}

/// Whether an error is one of the bytes, and not of the device that holds them.
fn is_of_data(error: &std::io::Error) -> bool {
    let of_data = matches!(
        error.kind(),
        ErrorKind::InvalidInput | ErrorKind::InvalidData | ErrorKind::UnexpectedEof
    );
    of_data && error.get_ref().is_none_or(|inner| !inner.is::<IoError>())
}
