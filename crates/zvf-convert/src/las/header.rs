//! Header and records of a file.

use std::io::{Read, Seek, SeekFrom};
use std::mem::offset_of;
use std::path::{Path, PathBuf};

use serde_json::Value;
use zerocopy::FromBytes;
use zvf_format::layout::Wire;

use super::crs;
use super::fields::U1;
use super::layout::{Extended, ExtraBytes, HeaderExtension14, PublicHeader, VlrHead, text};
use super::origin::{self, Origin};
use crate::error::{ConvertError, InFile, shown};

/// Bytes of a point of each point format, without extra bytes.
pub(super) const SIZES: [usize; 11] = [20, 28, 26, 34, 57, 63, 30, 36, 38, 59, 67];
/// Most bytes that are read of an extended record.
const LONGEST: u64 = 16 << 20;
/// User id and record id of the records about compression and extra bytes.
pub(super) const LASZIP: (&str, u16) = ("laszip encoded", 22204);
pub(super) const EXTRA: (&str, u16) = ("LASF_Spec", 4);
/// User id and record id of the record with the names of classes.
pub(super) const CLASSES: (&str, u16) = ("LASF_Spec", 0);
/// User id of the records of the CRS.
pub(super) const PROJECTION: &str = "LASF_Projection";
/// User id of the records of the COPC index.
const COPC: &str = "copc";
/// Bit of the point format: points are compressed.
pub(super) const COMPRESSED: u8 = 0x80;
/// Bits of the encoding: times are standard times; the CRS is WKT.
pub(super) const STANDARD_TIME: u16 = 1;
pub(super) const IS_WKT: u16 = 16;
/// The first version with a [`HeaderExtension14`].
pub(super) const LATEST: [u8; 2] = [1, 4];

/// The header of a file, and the records that are used.
#[derive(Debug, Clone)]
pub(super) struct LasHeader {
    pub(super) path: PathBuf,
    /// Bytes of the file.
    pub(super) size: u64,
    pub(super) version: [u8; 2],
    /// Point format, 0 to 10.
    pub(super) format: u8,
    /// Bytes of a point.
    pub(super) length: usize,
    /// Bytes of a point before the extra ones.
    pub(super) own: usize,
    pub(super) points: u64,
    /// First byte of the points.
    pub(super) first: u64,
    pub(super) scale: [f64; 3],
    pub(super) offset: [f64; 3],
    /// The record about compression, of compressed files.
    pub(super) laszip: Option<Vec<u8>>,
    /// The record about the index, of COPC files.
    pub(super) copc: Option<Vec<u8>>,
    pub(super) extra: Vec<ExtraBytes>,
    pub(super) origin: Origin,
    pub(super) crs: Option<Value>,
    /// The GeoTIFF keys, if the file has some.
    pub(super) keys: Option<crs::GeoKeys>,
    /// Whether times are GPS standard times minus 10^9 seconds; else seconds of the week.
    pub(super) standard_time: bool,
    pub(super) notes: Vec<String>,
}

impl LasHeader {
    pub(super) fn read(path: &Path) -> Result<Self, ConvertError> {
        let io = |error| ConvertError::io(path, error);
        let mut file = zvf_store::open_file(path).map_err(io)?;
        let size = file.metadata().map_err(io)?.len();
        Self::of(path, size, &mut file)
    }

    /// The header of a file of `size` bytes, from its first byte on.
    pub(super) fn of(
        path: &Path,
        size: u64,
        mut file: &mut (impl Read + Seek),
    ) -> Result<Self, ConvertError> {
        let io = |error| ConvertError::io(path, error);
        let head: PublicHeader = take(&mut file, path, "the header")?;
        let bad = |at: usize, found: String, expected: &str| {
            ConvertError::malformed(path, InFile::Byte(at as u64), found, expected)
        };
        if &head.signature != b"LASF" {
            let found = shown(&String::from_utf8_lossy(&head.signature));
            return Err(bad(offset_of!(PublicHeader, signature), found, "\"LASF\""));
        }
        let version = head.version;
        if !matches!(version, [1, 0..=4]) {
            let [major, minor] = version;
            let found = format!("version {major}.{minor}");
            return Err(bad(offset_of!(PublicHeader, version), found, "1.0 to 1.4"));
        }
        let (format, is_compressed) = (head.format & 0x3f, head.format & COMPRESSED != 0);
        let length = usize::from(head.length.get());
        let Some(&own) = SIZES.get(usize::from(format)) else {
            let found = format!("point format {format}");
            return Err(bad(offset_of!(PublicHeader, format), found, "0 to 10"));
        };
        if length < own {
            let found = format!("points of {length} bytes");
            let expected = format!("{own} or more, for point format {format}");
            return Err(bad(offset_of!(PublicHeader, length), found, &expected));
        }
        let (scale, offset) = (
            head.scale.map(|one| one.get()),
            head.offset.map(|one| one.get()),
        );
        for (values, at) in [
            (scale, offset_of!(PublicHeader, scale)),
            (offset, offset_of!(PublicHeader, offset)),
        ] {
            if let Some(value) = values.iter().find(|value| !value.is_finite()) {
                return Err(bad(at, value.to_string(), "a finite number"));
            }
        }
        let tail: Option<HeaderExtension14> = match version == LATEST {
            true => Some(take(&mut file, path, "the header of version 1.4")?),
            false => None,
        };
        let points = tail.map_or(0, |tail| tail.points.get());
        let points = match points {
            0 => u64::from(head.legacy_points.get()),
            points => points,
        };
        let mut header = Self {
            path: path.to_owned(),
            size,
            version,
            format,
            length,
            own,
            points,
            first: u64::from(head.first.get()),
            scale,
            offset,
            laszip: None,
            copc: None,
            extra: Vec::new(),
            origin: Origin::of(&head),
            crs: None,
            keys: None,
            standard_time: head.encoding.get() & STANDARD_TIME != 0,
            notes: Vec::new(),
        };
        let mut systems = Systems::default();
        file.seek(SeekFrom::Start(u64::from(head.header_size.get())))
            .map_err(io)?;
        for _ in 0..head.records.get() {
            let record: VlrHead = take(&mut file, path, "a record")?;
            let data = some(&mut file, path, u64::from(record.length.get()), "a record")?;
            header.record(&record.user, record.id.get(), data, &mut systems);
        }
        if let Some(tail) = tail.as_ref().filter(|tail| tail.extended.get() > 0) {
            file.seek(SeekFrom::Start(tail.first_extended.get()))
                .map_err(io)?;
            for _ in 0..tail.extended.get() {
                let record: Extended = take(&mut file, path, "an extended record")?;
                let length = record.length.get();
                if is_used(&record.user, record.id.get()) && length <= LONGEST {
                    let data = some(&mut file, path, length, "an extended record")?;
                    header.record(&record.user, record.id.get(), data, &mut systems);
                    continue;
                }
                let behind = file.stream_position().map_err(io)?.checked_add(length);
                let Some(behind) = behind.filter(|behind| *behind <= size) else {
                    let place = InFile::Byte(size);
                    let expected = format!("an extended record of {length} bytes");
                    let found = "the end of the file";
                    return Err(ConvertError::malformed(path, place, found, expected));
                };
                file.seek(SeekFrom::Start(behind)).map_err(io)?;
                header.leave_out(&text(&record.user), record.id.get());
            }
        }
        let first_is_wkt = head.encoding.get() & IS_WKT != 0;
        header.crs = match first_is_wkt {
            true => systems.wkt.or(systems.geotiff),
            false => systems.geotiff.or(systems.wkt),
        };
        if header.crs.is_none() && systems.is_stated {
            let note =
                "the CRS is described without a code of EPSG: it is not kept, --crs gives it";
            header.notes.push(note.to_owned());
        }
        if is_compressed != header.laszip.is_some() {
            let found = match is_compressed {
                true => "compressed points without a record of laszip",
                false => "a record of laszip beside points that are not compressed",
            };
            let at = offset_of!(PublicHeader, format);
            return Err(bad(at, found.to_owned(), "both or none"));
        }
        if let Some(one) = header.extra.iter().find(|one| one.data_type > 30) {
            let found = format!(
                "extra bytes {} of type {}",
                shown(&one.name()),
                one.data_type
            );
            return Err(ConvertError::malformed(
                path,
                InFile::Whole,
                found,
                "a type up to 30",
            ));
        }
        let extra = length - own;
        let described: usize = header.extra.iter().map(ExtraBytes::size).sum();
        if described > extra {
            let found = format!("{extra} bytes after those of point format {format}");
            let expected = format!("{described}, as the record of extra bytes describes");
            return Err(bad(offset_of!(PublicHeader, length), found, &expected));
        }
        // Up to version 1.2, padding may follow, or points that a writer did not count; from version 1.3 on, also waveforms and extended records.
        let behind = match (version, &tail) {
            ([1, 0..=2], _) => Some(size),
            (_, Some(tail)) => {
                let others = [tail.waveforms.get(), tail.first_extended.get()].into_iter();
                others.filter(|at| *at > 0).chain([size]).min()
            }
            _ => None,
        };
        let end = points.checked_mul(length as u64);
        let end = end.and_then(|bytes| bytes.checked_add(header.first));
        let left = behind.zip(end);
        let left = left.and_then(|(behind, end)| behind.checked_sub(end));
        if let Some(left) = left.filter(|left| *left >= length as u64 && !is_compressed) {
            header.notes.push(format!(
                "{left} bytes after the {points} points of the header are not read"
            ));
        }
        if header.extra.iter().any(|one| one.name().is_empty()) {
            let note = "extra bytes without a name are not kept";
            header.notes.push(note.to_owned());
        }
        if matches!(format, 4 | 5 | 9 | 10) {
            header.notes.push("waveforms are not kept".to_owned());
        }
        Ok(header)
    }

    fn record(&mut self, user: &[u8; 16], id: u16, data: Vec<u8>, systems: &mut Systems) {
        match (text(user).as_str(), id) {
            LASZIP => self.laszip = Some(data),
            (PROJECTION, crs::WKT) => {
                systems.wkt = crs::wkt(&data);
                if std::str::from_utf8(&data).is_err() {
                    let note = "the WKT of the CRS is not UTF-8: it is not kept, --crs gives it";
                    self.notes.push(note.to_owned());
                }
            }
            (PROJECTION, crs::GEOTIFF) => {
                self.keys = crs::keys(&data);
                systems.geotiff = self.keys.as_deref().and_then(crs::geotiff);
                systems.is_stated = true;
            }
            EXTRA => {
                let found = ExtraBytes::several(&data, data.len() / size_of::<ExtraBytes>());
                self.extra = found.into_iter().flatten().copied().collect();
            }
            CLASSES => self.origin.classes = origin::classes(&data),
            (COPC, 1) => self.copc = Some(data),
            (user, id) => self.leave_out(user, id),
        }
    }

    /// Adds a note that a record is not stored.
    fn leave_out(&mut self, user: &str, id: u16) {
        // These are parts of the GeoTIFF keys or the COPC hierarchy, not data of their own.
        if matches!(user, PROJECTION | COPC) {
            return;
        }
        let note = format!("the record {} {id} is not kept", shown(user));
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }
}

/// The CRS in the records of a file.
#[derive(Debug, Default)]
struct Systems {
    wkt: Option<Value>,
    geotiff: Option<Value>,
    is_stated: bool,
}

/// Whether an extended record is read: records of the CRS, of extra bytes and of names of classes.
fn is_used(user: &[u8; 16], id: u16) -> bool {
    let user = text(user);
    user == PROJECTION || [EXTRA, CLASSES].contains(&(user.as_str(), id))
}

impl ExtraBytes {
    /// A description without scale and offset.
    pub(super) fn named(name: [u8; 32], data_type: u8, options: u8) -> Self {
        Self {
            reserved: [0; 2],
            data_type,
            options,
            name,
            unused: [0; 4],
            no_data: [0.into(); 3],
            range: [0.into(); 6],
            scale: [0.0.into(); 3],
            offset: [0.0.into(); 3],
            description: [0; 32],
        }
    }

    /// Type of its numbers, 1 to 10.
    pub(super) fn kind(&self) -> u8 {
        self.data_type
            .checked_sub(1)
            .map_or(U1, |kind| kind % 10 + 1)
    }

    /// Bytes of a value.
    pub(super) fn size(&self) -> usize {
        let number = match self.kind() {
            1 | 2 => 1,
            3 | 4 => 2,
            5 | 6 | 9 => 4,
            _ => 8,
        };
        number * self.count()
    }

    /// Numbers of a value.
    pub(super) fn count(&self) -> usize {
        match self.data_type {
            0 => usize::from(self.options),
            kind => usize::from((kind - 1) / 10) + 1,
        }
    }

    /// Its name.
    pub(super) fn name(&self) -> String {
        text(&self.name)
    }
}

/// Reads a structure.
fn take<T: FromBytes + zerocopy::IntoBytes>(
    file: &mut (impl Read + Seek),
    path: &Path,
    what: &str,
) -> Result<T, ConvertError> {
    let bytes = some(file, path, size_of::<T>() as u64, what)?;
    T::read_from_bytes(&bytes).map_err(|_| short(file, path, what))
}

/// Reads `length` bytes; memory is reserved as they arrive.
fn some(
    file: &mut (impl Read + Seek),
    path: &Path,
    length: u64,
    what: &str,
) -> Result<Vec<u8>, ConvertError> {
    let mut bytes = Vec::new();
    let read = file.by_ref().take(length).read_to_end(&mut bytes);
    let read = read.map_err(|error| ConvertError::io(path, error))?;
    match read as u64 == length {
        true => Ok(bytes),
        false => Err(short(file, path, what)),
    }
}

fn short(file: &mut impl Seek, path: &Path, what: &str) -> ConvertError {
    let place = file.stream_position().map_or(InFile::Whole, InFile::Byte);
    ConvertError::malformed(path, place, "the end of the file", what)
}
