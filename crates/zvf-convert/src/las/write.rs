//! LAS and LAZ: one point for each vertex.

use std::fs::File;
use std::io::{BufWriter, Seek, SeekFrom, Write};
use std::path::Path;

use arrow_array::cast::AsArray;
use arrow_array::types::Float16Type;
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::DataType;
use serde_json::Value;
use zerocopy::IntoBytes;
use zerocopy::little_endian::{U32, U64};
use zvf_encode::error::OrBug;
use zvf_encode::internal;
use zvf_query::numbers::elements;
use zvf_query::{Table, query};
use zvf_store::Names;

use super::crs;
use super::fields::{LATE, RETURN, RETURNS, of_format};
use super::header::{CLASSES, COMPRESSED, EXTRA, IS_WKT, LATEST, PROJECTION, SIZES, STANDARD_TIME};
use super::layout::{HeaderExtension14, PublicHeader, VlrHead};
use super::origin::Origin;
#[cfg(feature = "laz")]
use super::pack::LazCompressor;
use super::plan::{
    LONGEST, NARROW, OldHeader, PointPlan, PointSurvey, Put, WAY_OUT, name, too_long,
};
use super::ranges::ExtraBytesRange;
use crate::export::job::{ALL, BatchReceiver, ExportState, VERTICES};
use crate::export::schemas::{ExportSchemas, attribute};
use crate::numbers::{Floats, floats, numbers_of, positions, rows_without_value, without_nulls};
use crate::output::raw::write_raw;
use crate::{ConvertError, Format};

/// Bytes of the head of version 1.3, with the place of the waveforms.
const HEAD_OF_1_3: usize = size_of::<PublicHeader>() + size_of::<U64>();
/// Version 1.0 has these bytes before the points.
const POINTS_OF_1_0: [u8; 2] = [0xdd, 0xcc];

pub(crate) async fn write(job: &mut ExportState<'_>) -> Result<(), ConvertError> {
    #[cfg(not(feature = "laz"))]
    if job.format == Format::Laz {
        let expected = "LAS, or a program that was built with the feature `laz`";
        return Err(ConvertError::usage(
            job.path.display().to_string(),
            "LAZ",
            expected,
        ));
    }
    let ids = job.ids().await?.unwrap_or_default();
    let several = ids.len() > 1;
    if !several {
        job.ids_lost(&ids);
    }
    let mut all = job.flat(several);
    all.outputs = ALL;
    let schemas = ExportSchemas::of(&query(job.store, all.clone()).await?);
    let kept = OldHeader::of(job.store).await?;
    let mut survey = PointSurvey::new(&schemas, &kept)?;
    let mut first = all.clone();
    first.outputs = VERTICES;
    let has = |name: &&str| schemas.vertices.field_with_name(name).is_ok();
    let decisive = NARROW.iter().filter(|name| has(name));
    let decisive = decisive.map(|name| (*name).to_owned());
    let scaled = survey.scaled.iter().map(|(_, one)| one.name.clone());
    first.attributes = Names::List(decisive.chain(scaled).collect());
    job.run(first, &mut survey).await?;
    let plan = PointPlan::of(&survey, &schemas)?;
    let (standard_time, is_known) = survey.time(&plan);
    let crs = system(job, &kept);
    notes(job, &plan, &kept, &schemas);
    if survey.ownerless > 0 {
        let count = survey.ownerless;
        job.note(format!(
            "the object of each vertex is not kept: {count} vertices belong to none"
        ));
    }
    if !is_known {
        job.note("gps_time is written as seconds of the week: no header of the store states that it is standard time");
    }
    let mut points = PointWriter::begin(job, plan, standard_time, crs, kept.origin)?;
    job.run(all, &mut points).await?;
    (job.done.vertices, job.done.objects) = (points.rows, points.objects);
    for column in &points.rounded {
        job.whole_rounded(column);
    }
    let rounded = points.finish()?;
    if !rounded.is_empty() {
        job.note(format!(
            "coordinates are rounded to the scale of the file, by at most {}",
            rounded.join(", ")
        ));
    }
    Ok(())
}

/// The error for a row without a value.
fn without_value(column: &str, place: impl std::fmt::Display) -> ConvertError {
    let name = attribute(column);
    let found = format!("no value in {place}");
    let expected = format!(
        "a number: LAS has no missing ones; --where '{name} is not null' selects rows, {WAY_OUT}"
    );
    ConvertError::usage(name, found, expected)
}

/// The record of the CRS. If the CRS of the store cannot be written, adds a note with the reason.
fn system(job: &mut ExportState<'_>, kept: &OldHeader) -> Option<(u16, Vec<u8>)> {
    let root = job.store.root();
    let Some(Value::String(crs)) = &root.zarr_vectors.crs else {
        // A store without a CRS may have a frame, which the export handles for all formats.
        return None;
    };
    let found = crs::record(crs, kept.keys.as_deref(), root.axes());
    let found = found.and_then(|(id, bytes)| match bytes.len() <= LONGEST {
        true => Ok((id, bytes)),
        false => Err("it is longer than 65535 bytes"),
    });
    match found {
        Ok(record) => {
            job.referenced = true;
            Some(record)
        }
        Err(why) => {
            job.crs_lost(crs, Some(why));
            None
        }
    }
}

/// Adds notes about data that the file cannot store, and about required fields that the store lacks.
fn notes(job: &mut ExportState<'_>, plan: &PointPlan, kept: &OldHeader, schemas: &ExportSchemas) {
    let others = plan.others.iter().map(String::as_str);
    job.not_kept("attributes of vertices that are not numbers", others);
    job.not_kept("attributes of objects", schemas.object_attributes());
    if !kept.odd.is_empty() {
        job.note(format!(
            "`headers/las` has other values of {} than an import writes: they are not used",
            kept.odd.join(", ")
        ));
    }
    let mut zero = plan.missing.clone();
    if plan.has_no_returns() {
        zero.retain(|name| ![RETURN, RETURNS].contains(name));
        job.note("the store has no returns: every point is return 1 of 1");
    }
    if !zero.is_empty() {
        let zero = zero.join(", ");
        job.note(format!("fields that the store does not have are 0: {zero}"));
    }
    if matches!(plan.format, 4 | 5 | 9 | 10) {
        job.note("waveforms are not kept");
    }
}

impl PointPlan {
    /// Whether the store has no returns, which a file counts from 1.
    fn has_no_returns(&self) -> bool {
        [RETURN, RETURNS]
            .iter()
            .all(|name| self.missing.contains(name))
    }
}

/// Writes the records and points after the header.
struct PointWriter<'a> {
    path: &'a Path,
    file: BufWriter<File>,
    plan: PointPlan,
    is_packed: bool,
    origin: Origin,
    encoding: u16,
    records: u32,
    /// First byte of the points.
    first: u64,
    /// First byte of the descriptions of extra bytes.
    extra_at: u64,
    ranges: Vec<ExtraBytesRange>,
    #[cfg(feature = "laz")]
    chunks: Option<LazCompressor>,
    rows: u64,
    objects: u64,
    returns: [u64; 15],
    /// For each axis, the lowest and highest coordinate as a reader computes them, and the largest difference from the store.
    extent: [AxisExtent; 3],
    /// Columns with integers that float64 does not represent.
    rounded: Vec<String>,
    block: Vec<u8>,
}

#[derive(Debug, Clone, Copy)]
struct AxisExtent {
    low: f64,
    high: f64,
    off: f64,
}

impl<'a> PointWriter<'a> {
    /// Reserves space for the header and writes the records.
    fn begin(
        job: &ExportState<'a>,
        plan: PointPlan,
        standard_time: bool,
        crs: Option<(u16, Vec<u8>)>,
        origin: Origin,
    ) -> Result<Self, ConvertError> {
        let mut records = Vec::new();
        let mut count = 0_u32;
        // Returns the offset of the data among the records.
        let mut add = |(user, id): (&str, u16), data: &[u8]| -> Result<usize, ConvertError> {
            let length = u16::try_from(data.len());
            let length =
                length.map_err(|_| too_long(format!("{} bytes of descriptions", data.len())))?;
            let record = VlrHead {
                reserved: [0; 2],
                user: padded(user),
                id: id.into(),
                length: length.into(),
                description: [0; 32],
            };
            records.extend_from_slice(record.as_bytes());
            let at = records.len();
            records.extend_from_slice(data);
            count = count.saturating_add(1);
            Ok(at)
        };
        let own = SIZES.get(usize::from(plan.format));
        let own = *own.or_bug("a point format beyond 10")?;
        #[cfg(feature = "laz")]
        let chunks = if job.format == Format::Laz {
            let extra = plan.length.checked_sub(own);
            let extra = extra.and_then(|extra| u16::try_from(extra).ok());
            let extra = extra.or_bug("a point shorter than its format")?;
            let chunks = LazCompressor::new(plan.format, plan.length, extra)?;
            add(super::header::LASZIP, &chunks.record(job.path)?)?;
            Some(chunks)
        } else {
            None
        };
        let mut extra_at = plan.head();
        if !plan.extra.is_empty() {
            extra_at += add(EXTRA, plan.extra.as_bytes())?;
        }
        if !origin.classes.is_empty() {
            add(CLASSES, &origin.class_record())?;
        }
        let id = crs.as_ref().map(|(id, _)| *id);
        if let Some((id, bytes)) = &crs {
            add((PROJECTION, *id), bytes)?;
        }
        if plan.version == [1, 0] {
            records.extend(POINTS_OF_1_0);
        }
        // Late point formats state the CRS as WKT, unless GeoTIFF keys are written.
        let is_wkt = id == Some(crs::WKT) || plan.format >= LATE && id.is_none();
        let mut encoding = 0;
        for (bit, is_set) in [(STANDARD_TIME, standard_time), (IS_WKT, is_wkt)] {
            encoding |= if is_set { bit } else { 0 };
        }
        let mut points = Self {
            path: job.path,
            file: job.create()?,
            is_packed: job.format == Format::Laz,
            origin,
            encoding,
            records: count,
            first: (plan.head() + records.len()) as u64,
            extra_at: extra_at as u64,
            ranges: ExtraBytesRange::of(&plan.extra, own).or_bug("extra bytes without bytes")?,
            plan,
            #[cfg(feature = "laz")]
            chunks,
            rows: 0,
            objects: 0,
            returns: [0; 15],
            extent: [AxisExtent {
                low: f64::INFINITY,
                high: f64::NEG_INFINITY,
                off: 0.0,
            }; 3],
            rounded: Vec::new(),
            block: Vec::new(),
        };
        let mut start = vec![0; points.plan.head()];
        start.extend(records);
        #[cfg(feature = "laz")]
        if points.chunks.is_some() {
            // Reserves eight bytes for the position of the chunk table.
            start.extend([0; 8]);
        }
        points.put(&start)?;
        Ok(points)
    }

    fn put(&mut self, bytes: &[u8]) -> Result<(), ConvertError> {
        let done = self.file.write_all(bytes);
        done.map_err(|error| ConvertError::io(self.path, error))
    }

    /// Puts the coordinates into the points of the block.
    fn coordinates(&mut self, all: &[f64]) -> Result<(), ConvertError> {
        let length = self.plan.length;
        let points = self.block.chunks_exact_mut(length);
        for (row, (point, position)) in points.zip(all.chunks_exact(3)).enumerate() {
            let axes = self.plan.steps.iter().zip(&mut self.extent);
            let axes = axes.zip(position).zip(point.as_chunks_mut::<4>().0);
            for (at, (((steps, extent), coordinate), place)) in axes.enumerate() {
                let Some(number) = steps.number(*coordinate) else {
                    let row = self.rows.saturating_add(row as u64);
                    let found = format!("{coordinate} in row {row}");
                    let expected =
                        "the coordinates of the first pass: the store changed during the export";
                    return Err(ConvertError::usage(name(at), found, expected));
                };
                *place = number.to_le_bytes();
                let back = steps.coordinate(number);
                if !PointSurvey::same(&self.plan.element, back, *coordinate) {
                    extent.off = extent.off.max((back - coordinate).abs());
                }
                extent.low = extent.low.min(back);
                extent.high = extent.high.max(back);
            }
        }
        Ok(())
    }

    fn vertices(&mut self, batch: &RecordBatch) -> Result<(), ConvertError> {
        let (rows, length) = (batch.num_rows(), self.plan.length);
        self.block.clear();
        self.block.resize(rows.saturating_mul(length), 0);
        let Floats { values: all, .. } = positions(batch)?;
        internal!(
            all.len() == rows * 3,
            "{} coordinates of {rows} rows",
            all.len()
        );
        self.coordinates(&all)?;
        let place = |row: usize| -> String {
            let position = all.get(3 * row..3 * row + 3).unwrap_or_default();
            format!(
                "row {} at {position:?}",
                self.rows.saturating_add(row as u64)
            )
        };
        for put in &self.plan.puts {
            match put {
                Put::Field { column, cell } => {
                    if let Some(row) = rows_without_value(batch, column)?.first() {
                        return Err(without_value(column, place(*row)));
                    }
                    let Floats { values, exact } = numbers_of(batch, column)?;
                    if !exact && !self.rounded.contains(column) {
                        self.rounded.push(column.clone());
                    }
                    internal!(
                        values.len() == rows,
                        "{} values of {rows} rows",
                        values.len()
                    );
                    let points = self.block.chunks_exact_mut(length);
                    for (row, (point, value)) in points.zip(&values).enumerate() {
                        if !cell.holds(*value) {
                            let (low, high) = cell.range().or_bug("a float that does not fit")?;
                            let found = format!("{value} in {}", place(row));
                            let expected = format!(
                                "whole numbers from {low} to {high}, which the field of LAS holds; `zvf edit STORE set-attribute` changes values, --where selects rows, {WAY_OUT}"
                            );
                            return Err(ConvertError::usage(column.as_str(), found, expected));
                        }
                        cell.put(point, *value).or_bug("a field beyond the point")?;
                        if column == RETURN {
                            count(&mut self.returns, *value);
                        }
                    }
                }
                Put::Extra {
                    column,
                    at,
                    from,
                    size,
                } => {
                    let array = column_of(batch, column)?;
                    if let Some(row) = rows_without_value(batch, column)?.first() {
                        return Err(without_value(column, place(*row)));
                    }
                    let values = raw(array).map_err(|row| without_value(column, place(row)))?;
                    let values = values.map_err(|error| ConvertError::io(self.path, error))?;
                    let stride = values.len().checked_div(rows).unwrap_or(0);
                    let points = self.block.chunks_exact_mut(length);
                    for (point, bytes) in points.zip(values.chunks_exact(stride.max(1))) {
                        let to = point.get_mut(*at..at + size);
                        let bytes = bytes.get(*from..from + size);
                        let (to, bytes) = to.zip(bytes).or_bug("extra bytes beyond the point")?;
                        to.copy_from_slice(bytes);
                    }
                }
                Put::Scaled {
                    column,
                    at,
                    described,
                } => {
                    let Some(numbers) =
                        described.numbers(&floats(column_of(batch, column)?).values)
                    else {
                        let expected =
                            "the values of the first pass: the store changed during the export";
                        return Err(ConvertError::usage(
                            attribute(column),
                            "other values",
                            expected,
                        ));
                    };
                    let (size, count) = (described.size(), described.count());
                    let points = self.block.chunks_exact_mut(length);
                    for (point, numbers) in points.zip(numbers.chunks_exact(count)) {
                        let to = point.get_mut(*at..*at + size * count);
                        let to = to.or_bug("extra bytes beyond the point")?;
                        for (to, number) in to.chunks_exact_mut(size).zip(numbers) {
                            let bytes = number.to_le_bytes();
                            to.copy_from_slice(
                                bytes.get(..size).or_bug("a number of over 8 bytes")?,
                            );
                        }
                    }
                }
            }
        }
        for range in &mut self.ranges {
            let mut points = self.block.chunks_exact(length);
            let added = points.try_for_each(|point| range.add(point));
            added.or_bug("a point shorter than its extra bytes")?;
        }
        if self.plan.has_no_returns() {
            for (_, cell) in of_format(self.plan.format)
                .into_iter()
                .filter(|(name, _)| [RETURN, RETURNS].contains(name))
            {
                for point in self.block.chunks_exact_mut(length) {
                    cell.put(point, 1.0).or_bug("a field beyond the point")?;
                }
            }
            let [first, ..] = &mut self.returns;
            *first = first.saturating_add(rows as u64);
        }
        self.rows = self.rows.saturating_add(rows as u64);
        let block = std::mem::take(&mut self.block);
        #[cfg(feature = "laz")]
        if let Some(chunks) = &mut self.chunks {
            chunks.push(&block, &mut self.file, self.path)?;
            self.block = block;
            return Ok(());
        }
        self.put(&block)?;
        self.block = block;
        Ok(())
    }

    /// Writes the header and the ranges of extra bytes. Returns the name and the largest difference of each axis with rounded coordinates.
    fn finish(mut self) -> Result<Vec<String>, ConvertError> {
        #[cfg(feature = "laz")]
        if let Some(chunks) = self.chunks.take() {
            chunks.finish(self.first, &mut self.file, self.path)?;
        }
        for range in &self.ranges {
            let put = range.put(&mut self.plan.extra);
            put.or_bug("a range that does not fit its type")?;
        }
        let head = self.head()?;
        let mut parts = vec![(0, head.as_slice())];
        if !self.ranges.is_empty() {
            parts.push((self.extra_at, self.plan.extra.as_bytes()));
        }
        let done = parts.into_iter().try_for_each(|(at, bytes)| {
            self.file.seek(SeekFrom::Start(at))?;
            self.file.write_all(bytes)
        });
        done.and_then(|()| self.file.flush())
            .map_err(|error| ConvertError::io(self.path, error))?;
        let rounded = self.extent.iter().enumerate();
        let rounded = rounded.filter(|(_, extent)| extent.off > 0.0);
        let text = |(at, extent): (usize, &AxisExtent)| format!("{} {:.1e}", name(at), extent.off);
        Ok(rounded.map(text).collect())
    }

    fn head(&self) -> Result<Vec<u8>, ConvertError> {
        let plan = &self.plan;
        let first = u32::try_from(self.first).ok().or_bug("records of 4 GiB")?;
        // Only point formats 0 to 5 fill the 32-bit counts of the header.
        let legacy = u32::try_from(self.rows).ok().filter(|_| plan.format < LATE);
        let mut returns = [U32::ZERO; 5];
        if legacy.is_some() {
            for (to, count) in returns.iter_mut().zip(self.returns) {
                *to = u32::try_from(count)
                    .ok()
                    .or_bug("more returns than points")?
                    .into();
            }
        }
        let stated = |text: &str, none: &str| match text {
            "" => padded(none),
            text => padded(text),
        };
        let origin = &self.origin;
        let compressed = if self.is_packed { COMPRESSED } else { 0 };
        let length = u16::try_from(plan.length)
            .ok()
            .or_bug("a point of 64 KiB")?;
        let size = u16::try_from(plan.head()).ok().or_bug("a head of 64 KiB")?;
        let [x, y, z] = self.extent.map(|extent| match self.rows {
            0 => [0.0.into(); 2],
            _ => [extent.high.into(), extent.low.into()],
        });
        let mut bounds = [0.0.into(); 6];
        for (to, from) in bounds.iter_mut().zip([x, y, z].into_iter().flatten()) {
            *to = from;
        }
        let head = PublicHeader {
            signature: *b"LASF",
            source: origin.source_id.into(),
            encoding: self.encoding.into(),
            guid: origin.guid,
            version: plan.version,
            system: stated(&origin.system, "OTHER"),
            software: stated(&origin.software, "zvf"),
            created: origin.created.map(Into::into),
            header_size: size.into(),
            first: first.into(),
            records: self.records.into(),
            format: plan.format | compressed,
            length: length.into(),
            legacy_points: legacy.unwrap_or(0).into(),
            legacy_returns: returns,
            scale: plan.steps.map(|steps| steps.scale.into()),
            offset: plan.steps.map(|steps| steps.offset.into()),
            bounds,
        };
        let tail = HeaderExtension14 {
            waveforms: 0.into(),
            first_extended: 0.into(),
            extended: 0.into(),
            points: self.rows.into(),
            returns: self.returns.map(Into::into),
        };
        let mut bytes = head.as_bytes().to_vec();
        bytes.extend_from_slice(tail.as_bytes());
        bytes.truncate(plan.head());
        Ok(bytes)
    }
}

impl PointPlan {
    /// Bytes of the head.
    fn head(&self) -> usize {
        match self.version {
            LATEST => size_of::<PublicHeader>() + size_of::<HeaderExtension14>(),
            [1, 3] => HEAD_OF_1_3,
            _ => size_of::<PublicHeader>(),
        }
    }
}

/// A text, padded with zeros.
fn padded<const N: usize>(text: &str) -> [u8; N] {
    let mut bytes = [0; N];
    bytes
        .iter_mut()
        .zip(text.bytes())
        .for_each(|(to, byte)| *to = byte);
    bytes
}

fn column_of<'b>(batch: &'b RecordBatch, name: &str) -> Result<&'b ArrayRef, ConvertError> {
    Ok(batch.column_by_name(name).or_bug("a column that is gone")?)
}

/// Counts a return by its number; 0 is not counted.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the field holds the number"
)]
fn count(returns: &mut [u64; 15], number: f64) {
    let at = (number as usize).checked_sub(1);
    if let Some(count) = at.and_then(|at| returns.get_mut(at)) {
        *count = count.saturating_add(1);
    }
}

/// The numbers of a column as bytes; float16 is widened to float32. Fails with the row of a missing whole number.
fn raw(column: &ArrayRef) -> Result<std::io::Result<Vec<u8>>, usize> {
    let (items, width) = elements(column);
    if !items.data_type().is_floating() {
        let absent = |at: &usize| items.is_null(*at) || column.is_null(at / width.max(1));
        if let Some(at) = (0..items.len()).find(absent) {
            return Err(at / width.max(1));
        }
    }
    let items = without_nulls(&items, column, 0);
    let mut bytes = Vec::new();
    Ok(match items.data_type() {
        DataType::Float16 => {
            let values = items.as_primitive::<Float16Type>().values();
            bytes.extend(values.iter().flat_map(|value| value.to_f32().to_le_bytes()));
            Ok(bytes)
        }
        _ => write_raw(&mut bytes, items.as_ref()).map(|()| bytes),
    })
}

impl BatchReceiver for PointWriter<'_> {
    fn schemas(&mut self, _: &ExportSchemas) -> Result<(), ConvertError> {
        Ok(())
    }

    fn batch(&mut self, table: Table, batch: &RecordBatch) -> Result<(), ConvertError> {
        match table {
            Table::Vertices => self.vertices(batch),
            Table::Objects => {
                self.objects = self.objects.saturating_add(batch.num_rows() as u64);
                Ok(())
            }
            Table::Links => Ok(()),
        }
    }
}
