//! Points of a LAS or LAZ file as record batches.

use std::io::Read;
use std::path::Path;

use arrow_schema::SchemaRef;
use serde_json::{Value, json};
use zvf_encode::error::OrBug;

use super::columns::PointColumns;
use super::header::LasHeader;
use super::origin::{EXTRA_BYTES, ExtraDoc};
use super::part::FilePart;
use crate::error::{ConvertError, InFile};
use crate::options::Options;
use crate::records::rename;
use crate::records::source::{TableSource, TakeBatch};

/// An open file.
#[derive(Debug)]
pub(crate) struct Las {
    header: LasHeader,
    columns: PointColumns,
    part: FilePart,
    /// The descriptions of the extra bytes, with the names of their attributes in the store.
    described: Vec<ExtraDoc>,
}

/// The descriptions of the extra bytes, with the names of their columns after renames.
fn described(header: &LasHeader, columns: &PointColumns, options: &Options) -> Vec<ExtraDoc> {
    let fields = columns.schema.fields().iter();
    let own: Vec<String> = fields.map(|field| field.name().clone()).collect();
    let renamed = rename::renamed(&own, options);
    let names = rename::held_names(&renamed.iter().map(String::as_str).collect::<Vec<_>>());
    let mut described: Vec<ExtraDoc> = header.extra.iter().filter_map(ExtraDoc::of).collect();
    for one in &mut described {
        if let Some((_, name)) = own.iter().zip(&names).find(|(own, _)| **own == one.name) {
            one.name.clone_from(name);
        }
    }
    described
}

impl Las {
    pub(crate) fn open(path: &Path, options: &Options) -> Result<Self, ConvertError> {
        let mut header = LasHeader::read(path)?;
        let part = FilePart::of(options, &header)?;
        if !part.is_whole() {
            let note = format!("a part of the {} points of the file", header.points);
            header.notes.push(note);
        }
        let columns = PointColumns::of(&header);
        let described = described(&header, &columns, options);
        Ok(Self {
            header,
            columns,
            part,
            described,
        })
    }

    /// Passes on the bytes of points. Unless `all` is set, the fields after x, y and z may be zeros.
    fn points(
        &self,
        rows: usize,
        all: bool,
        take: &mut dyn FnMut(&[u8]) -> Result<(), ConvertError>,
    ) -> Result<(), ConvertError> {
        let header = &self.header;
        let path = &header.path;
        if let Some(record) = &header.laszip {
            #[cfg(feature = "laz")]
            return super::laz::read(header, record, &self.part, all, take);
            #[cfg(not(feature = "laz"))]
            {
                let _ = all;
                let expected = "LAS, or a program that was built with the feature `laz`";
                let found = format!(
                    "compressed points ({} bytes describe the compression)",
                    record.len()
                );
                return Err(ConvertError::usage(
                    path.display().to_string(),
                    found,
                    expected,
                ));
            }
        }
        let length = header.length as u64;
        let bytes = header.points.checked_mul(length);
        let end = bytes.and_then(|bytes| bytes.checked_add(header.first));
        if end.is_none_or(|end| end > header.size) {
            let expected = format!("{} points from byte {}", header.points, header.first);
            let place = InFile::Byte(header.size);
            return Err(ConvertError::malformed(
                path,
                place,
                "the end of the file",
                expected,
            ));
        }
        let io = |error| ConvertError::io(path, error);
        let mut file = zvf_store::open_file(path).map_err(io)?;
        std::io::Seek::seek(&mut file, std::io::SeekFrom::Start(header.first)).map_err(io)?;
        let mut left = header.points;
        let mut block = Vec::new();
        while left > 0 {
            let count = left.min(rows.max(1) as u64);
            block.clear();
            let read = (&mut file).take(count * length).read_to_end(&mut block);
            if read.map_err(io)? as u64 != count * length {
                let place = InFile::Byte(header.size);
                return Err(ConvertError::malformed(
                    path,
                    place,
                    "the end of the file",
                    "points",
                ));
            }
            take(&block)?;
            left -= count;
        }
        Ok(())
    }
}

impl TableSource for Las {
    fn schema(&self) -> SchemaRef {
        SchemaRef::clone(&self.columns.schema)
    }

    fn vertices(&self, rows: usize, take: &mut TakeBatch<'_>) -> Result<(), ConvertError> {
        self.first_columns(rows, usize::MAX, take)
    }

    fn first_columns(
        &self,
        rows: usize,
        columns: usize,
        take: &mut TakeBatch<'_>,
    ) -> Result<(), ConvertError> {
        let columns = self.columns.first(columns);
        let most = rows.max(1).saturating_mul(self.header.length);
        self.points(rows, columns.has_attributes(), &mut |points| {
            for block in self.part.keep(points, &self.header).chunks(most) {
                take(&columns.batch(block).or_bug("columns of points")?)?;
            }
            Ok(())
        })
    }

    fn notes(&self) -> Vec<String> {
        self.header.notes.clone()
    }

    fn crs(&self) -> Option<Value> {
        self.header.crs.clone()
    }

    /// The header that an export needs to write the same numbers.
    fn header(&self) -> Option<Value> {
        let header = &self.header;
        let [major, minor] = header.version;
        let mut members = json!({
            "source": "las",
            "version": format!("{major}.{minor}"),
            "point_format": header.format,
            "scale": header.scale,
            "offset": header.offset,
            "gps_time": if header.standard_time { STANDARD } else { WEEK },
        });
        // Only the keys state whether an EPSG code is a projected or a geographic system.
        if let (Some(members), Some(keys)) = (members.as_object_mut(), &header.keys) {
            members.insert(KEYS.to_owned(), json!(keys));
        }
        if let Some(members) = members.as_object_mut() {
            header.origin.add_to(members);
            if !self.described.is_empty() {
                members.insert(EXTRA_BYTES.to_owned(), json!(self.described));
            }
        }
        Some(members)
    }
}

/// The values of `gps_time` in a stored header.
pub(super) const STANDARD: &str = "standard time minus 1e9 seconds";
pub(super) const WEEK: &str = "seconds of the week";
/// Member of a header: the GeoTIFF keys with their values.
pub(super) const KEYS: &str = "geotiff_keys";

#[cfg(test)]
mod tests {
    use arrow_array::RecordBatch;
    use arrow_select::concat::concat_batches;

    use super::*;

    fn read(las: &Las, columns: usize) -> RecordBatch {
        let mut all = Vec::new();
        let take = &mut |batch: &RecordBatch| {
            all.push(batch.clone());
            Ok(())
        };
        las.first_columns(7, columns, take).unwrap();
        concat_batches(&all[0].schema(), &all).unwrap()
    }

    /// In all formats: with selected fields decompressed, with all of them, and uncompressed.
    #[test]
    fn the_first_columns_have_the_same_values_alone() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/las");
        let files = std::fs::read_dir(folder).unwrap();
        let files = files.map(|file| file.unwrap().path());
        let kinds: &[&str] = if cfg!(feature = "laz") {
            &["las", "laz"]
        } else {
            &["las"]
        };
        let is_points = |path: &std::path::PathBuf| {
            let ending = path.extension().and_then(|ending| ending.to_str());
            ending.is_some_and(|ending| kinds.contains(&ending))
        };
        let mut seen = 0;
        for path in files.filter(is_points) {
            let las = Las::open(&path, &Options::default()).unwrap();
            let all = read(&las, usize::MAX);
            for columns in [2, 3, 4, all.num_columns()] {
                let first: Vec<usize> = (0..columns).collect();
                assert_eq!(
                    read(&las, columns),
                    all.project(&first).unwrap(),
                    "{path:?}"
                );
            }
            seen += 1;
        }
        assert!(seen >= 8, "{seen} files");
    }

    /// Point formats 6 to 10 compress each field for itself: the survey leaves out all but x, y and z.
    #[cfg(feature = "laz")]
    #[test]
    fn a_survey_decompresses_positions_alone() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/las");
        let path = folder.join("nir-extra-1.4.laz");
        let las = Las::open(&path, &Options::default()).unwrap();
        let points = |all: bool| {
            let mut bytes = Vec::new();
            let take = &mut |points: &[u8]| {
                bytes.extend_from_slice(points);
                Ok(())
            };
            las.points(7, all, take).unwrap();
            bytes
        };
        let (some, all) = (points(false), points(true));
        let pairs = some
            .chunks(las.header.length)
            .zip(all.chunks(las.header.length));
        let mut differ = 0;
        for (some, all) in pairs {
            assert_eq!(some[..12], all[..12]);
            differ += usize::from(some[12..] != all[12..]);
        }
        assert!(differ > 10, "{differ} of 20 points have other fields");
    }
}
