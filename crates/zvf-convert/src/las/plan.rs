//! Plans a file: its point format, version, scale and extra bytes, from the columns and one pass over the values.

use arrow_array::{Array, RecordBatch};
use arrow_schema::{DataType, Field};
use serde_json::Value;
use zvf_encode::error::OrBug;
use zvf_query::Table;
use zvf_store::Store;
use zvf_write::{JsonObject, narrow};

use super::crs::GeoKeys;
use super::fields::{ANGLE_RANK, CLASS, FieldLocation, LATE, RETURN, RETURNS, TIME, of_format};
use super::header::{LATEST, SIZES};
use super::layout::ExtraBytes;
use super::origin::{self, ExtraDoc, Origin};
use super::read::{KEYS, STANDARD, WEEK};
use super::steps::ScaleOffset;
use crate::ConvertError;
use crate::export::job::BatchReceiver;
use crate::export::schemas::{ExportSchemas, attribute};
use crate::numbers::{Floats, floats, positions, shape};

/// Names of the axes.
pub(super) const AXES: [&str; 3] = ["x", "y", "z"];
/// Fields with fewer bits in the early formats.
pub(super) const NARROW: [&str; 3] = [CLASS, RETURN, RETURNS];
/// Formats without waveforms, the smallest first.
const FORMATS: [u8; 7] = [0, 1, 2, 3, 6, 7, 8];
/// Most decimals of a coordinate.
const DECIMALS: i32 = 15;
/// Largest allowed difference of a floating-point coordinate after rounding to the scale.
const TOLERANCE: f64 = 0.0005;
/// The column with the object of a vertex.
pub(super) const OWNER: &str = "object_id";
/// Most bytes of a record, and of a point.
pub(super) const LONGEST: usize = u16::MAX as usize;
/// The advice for columns that do not fit.
pub(super) const WAY_OUT: &str = "--attributes leaves columns out";

/// The header of the file that the store was made from, member by member.
#[derive(Debug, Default)]
pub(super) struct OldHeader {
    version: Option<[u8; 2]>,
    format: Option<u8>,
    steps: Option<[ScaleOffset; 3]>,
    pub(super) standard_time: Option<bool>,
    pub(super) keys: Option<GeoKeys>,
    pub(super) origin: Origin,
    described: Vec<ExtraDoc>,
    /// Members with values that an import never writes.
    pub(super) odd: Vec<&'static str>,
}

impl OldHeader {
    /// # Errors
    /// The errors of reading the store's headers.
    pub(super) async fn of(store: &Store) -> Result<Self, ConvertError> {
        let headers = store.headers(&["las"]).await?;
        Ok(headers.get("las").map_or_else(Self::default, Self::parse))
    }

    fn parse(members: &JsonObject) -> Self {
        let mut kept = Self::default();
        kept.version = kept.member(members, "version", |value| {
            let (major, minor) = value.as_str()?.split_once('.')?;
            let version = [major.parse().ok()?, minor.parse().ok()?];
            matches!(version, [1, 0..=4]).then_some(version)
        });
        kept.format = kept.member(members, "point_format", |value| {
            let format = u8::try_from(value.as_u64()?).ok()?;
            SIZES.get(usize::from(format)).map(|_| format)
        });
        let three = |value: &Value| -> Option<[f64; 3]> {
            let list = value.as_array()?.iter().map(Value::as_f64);
            let list: Option<Vec<f64>> = list.collect();
            list?.try_into().ok()
        };
        let scale = kept.member(members, "scale", |value| {
            three(value).filter(|scale| scale.iter().all(|one| one.is_normal()))
        });
        let offset = kept.member(members, "offset", three);
        kept.steps = scale.zip(offset).map(|([a, b, c], [x, y, z])| {
            [(a, x), (b, y), (c, z)].map(|(scale, offset)| ScaleOffset { scale, offset })
        });
        kept.standard_time = kept.member(members, "gps_time", |value| match value.as_str()? {
            STANDARD => Some(true),
            WEEK => Some(false),
            _ => None,
        });
        kept.keys = kept.member(members, KEYS, |value| {
            serde_json::from_value(value.clone()).ok()
        });
        let source_id = |value: &Value| u16::try_from(value.as_u64()?).ok();
        let source_id = kept.member(members, origin::SOURCE_ID, source_id);
        let guid = kept.member(members, origin::GUID, origin::guid_bytes);
        let system = kept.member(members, origin::SYSTEM, origin::short_text);
        let software = kept.member(members, origin::SOFTWARE, origin::short_text);
        let created = kept.member(members, origin::CREATED, origin::day_and_year);
        let classes = kept.member(members, origin::CLASSES, origin::stored_classes);
        kept.origin = Origin {
            source_id: source_id.unwrap_or_default(),
            guid: guid.unwrap_or_default(),
            system: system.unwrap_or_default(),
            software: software.unwrap_or_default(),
            created: created.unwrap_or_default(),
            classes: classes.unwrap_or_default(),
        };
        let described = kept.member(members, origin::EXTRA_BYTES, origin::stored_described);
        kept.described = described.unwrap_or_default();
        kept
    }

    fn member<T>(
        &mut self,
        members: &JsonObject,
        name: &'static str,
        parse: impl Fn(&Value) -> Option<T>,
    ) -> Option<T> {
        let value = members.get(name)?;
        let found = parse(value);
        if found.is_none() {
            self.odd.push(name);
        }
        found
    }
}

/// The coordinates of an axis.
#[derive(Debug, Clone, Copy)]
struct AxisCoordinates {
    low: f64,
    high: f64,
    /// Whether the scale of the header represents all of them.
    is_kept: bool,
    /// Decimals that represent all of them, at most [`DECIMALS`].
    decimals: i32,
    /// 10 to the power of `decimals`.
    units: f64,
}

/// The result of the first pass: coordinates, and the values that determine the point format.
#[derive(Debug)]
pub(super) struct PointSurvey<'a> {
    kept: &'a OldHeader,
    element: DataType,
    axes: [AxisCoordinates; 3],
    rows: u64,
    /// Whether a value needs a late point format.
    is_late: bool,
    /// Vertices that belong to no object.
    pub(super) ownerless: u64,
    /// Columns whose values so far all result from integers with the scale that the header states.
    pub(super) scaled: Vec<(String, &'a ExtraDoc)>,
}

/// The spacing of numbers with this many decimals.
fn spacing(decimals: i32) -> f64 {
    match decimals >= 0 {
        true => 1.0 / 10_f64.powi(decimals),
        false => 10_f64.powi(decimals.saturating_neg()),
    }
}

impl<'a> PointSurvey<'a> {
    /// # Errors
    /// Bug: vertices without positions.
    pub(super) fn new(schemas: &ExportSchemas, kept: &'a OldHeader) -> Result<Self, ConvertError> {
        let field = schemas.vertices.field_with_name("position").ok();
        let field = field.or_bug("vertices without positions")?;
        let (_, element) = shape(field.data_type()).or_bug("positions that are not numbers")?;
        let scaled = |one: &'a ExtraDoc| {
            let fields = schemas.vertices.fields().iter();
            let mut fields = fields
                .filter(|field| field.name() != "position" && attribute(field.name()) == one.name);
            let field = fields.next()?;
            let fits = shape(field.data_type()) == Some((one.count(), &DataType::Float64));
            (fits && one.range().is_some() && one.is_scaled()).then(|| (field.name().clone(), one))
        };
        let axis = AxisCoordinates {
            low: f64::INFINITY,
            high: f64::NEG_INFINITY,
            is_kept: kept.steps.is_some(),
            decimals: 0,
            units: 1.0,
        };
        Ok(Self {
            kept,
            element: element.clone(),
            axes: [axis; 3],
            rows: 0,
            is_late: false,
            ownerless: 0,
            scaled: kept.described.iter().filter_map(scaled).collect(),
        })
    }

    /// Whether two coordinates are the same number in the type of the positions.
    pub(super) fn same(element: &DataType, a: f64, b: f64) -> bool {
        match element {
            DataType::Float16 | DataType::Float32 => narrow(a) == narrow(b),
            _ => a == b,
        }
    }

    fn see(&mut self, at: usize, coordinate: f64) -> Result<(), ConvertError> {
        let axis = self.axes.get_mut(at).or_bug("an axis beyond the third")?;
        axis.low = axis.low.min(coordinate);
        axis.high = axis.high.max(coordinate);
        if axis.is_kept {
            let steps = self.kept.steps.as_ref().and_then(|steps| steps.get(at));
            let back = steps.and_then(|steps| Some(steps.coordinate(steps.number(coordinate)?)));
            axis.is_kept = back.is_some_and(|back| Self::same(&self.element, back, coordinate));
        }
        while axis.decimals < DECIMALS {
            let back = (coordinate * axis.units).round() / axis.units;
            if Self::same(&self.element, back, coordinate) {
                break;
            }
            axis.decimals = axis.decimals.saturating_add(1);
            axis.units = 10_f64.powi(axis.decimals);
        }
        Ok(())
    }

    /// The scale and offset of an axis.
    ///
    /// # Errors
    /// Misuse: coordinates that 32-bit integers do not hold.
    fn steps(&self, at: usize) -> Result<ScaleOffset, ConvertError> {
        let axis = self.axes.get(at).or_bug("an axis beyond the third")?;
        let kept = self.kept.steps.as_ref().and_then(|steps| steps.get(at));
        if let Some(kept) = kept.filter(|_| axis.is_kept) {
            return Ok(*kept);
        }
        if self.rows == 0 {
            let (scale, offset) = (0.001, 0.0);
            return Ok(ScaleOffset { scale, offset });
        }
        let middle = (axis.low / 2.0 + axis.high / 2.0).round();
        let fits = |decimals: i32| {
            let scale = spacing(decimals);
            let tried = [0.0, middle].map(|offset| ScaleOffset { scale, offset });
            let mut tried = tried.into_iter();
            tried
                .find(|steps| steps.number(axis.low).is_some() && steps.number(axis.high).is_some())
        };
        let mut coarser = (axis.decimals.saturating_sub(400)..=axis.decimals).rev();
        let steps = coarser.find_map(fits);
        let bound = match self.element {
            DataType::Float16 | DataType::Float32 => {
                // Half of the distance between neighbouring float32 numbers at the largest coordinate.
                let farthest = axis.low.abs().max(axis.high.abs());
                (farthest * f64::from(f32::EPSILON) / 4.0).max(TOLERANCE)
            }
            _ if self.element.is_floating() => TOLERANCE,
            _ => 0.0,
        };
        let exact = spacing(axis.decimals);
        match steps.filter(|steps| steps.scale <= exact || steps.scale / 2.0 <= bound) {
            Some(steps) => Ok(steps),
            None => {
                let found = format!(
                    "coordinates from {} to {} of {}",
                    axis.low, axis.high, self.element
                );
                let expected = format!(
                    "a range that 32-bit integers represent to within {bound}: export a part of the store (--bbox), or to another format, such as PLY or Parquet"
                );
                Err(ConvertError::usage(name(at), found, expected))
            }
        }
    }
}

/// The name of an axis in a LAS file.
pub(super) fn name(at: usize) -> &'static str {
    AXES.get(at).copied().unwrap_or("axis")
}

impl BatchReceiver for PointSurvey<'_> {
    fn schemas(&mut self, _: &ExportSchemas) -> Result<(), ConvertError> {
        Ok(())
    }

    fn batch(&mut self, table: Table, batch: &RecordBatch) -> Result<(), ConvertError> {
        if table != Table::Vertices {
            return Ok(());
        }
        let Floats { values, exact } = positions(batch)?;
        if !exact {
            let found = "coordinates beyond 2^53";
            let expected = "numbers that float64 holds, as readers of LAS compute them";
            return Err(ConvertError::usage("position", found, expected));
        }
        if let Some(owners) = batch.column_by_name(OWNER) {
            let owners = owners.null_count() as u64;
            self.ownerless = self.ownerless.saturating_add(owners);
        }
        for point in values.chunks_exact(3) {
            for (at, coordinate) in point.iter().enumerate() {
                if !coordinate.is_finite() {
                    let found = format!("{coordinate} in row {}", self.rows);
                    let expected = "a finite number; --bbox selects points that have them";
                    return Err(ConvertError::usage(name(at), found, expected));
                }
                self.see(at, *coordinate)?;
            }
            self.rows = self.rows.saturating_add(1);
        }
        self.scaled.retain(|(column, one)| {
            let Some(column) = batch.column_by_name(column) else {
                return false;
            };
            column.logical_null_count() == 0 && one.numbers(&floats(column).values).is_some()
        });
        for (field, cell) in of_format(0) {
            let column = batch
                .column_by_name(field)
                .filter(|_| NARROW.contains(&field));
            if let (Some(column), Some((_, high))) = (column, cell.range()) {
                self.is_late |= floats(column).values.iter().any(|value| *value > high);
            }
        }
        Ok(())
    }
}

/// The place of a column's values in a point.
#[derive(Debug)]
pub(super) enum Put {
    /// Into a field.
    Field { column: String, cell: FieldLocation },
    /// Into extra bytes at `at`: `size` bytes of each row, from its byte `from`.
    Extra {
        column: String,
        at: usize,
        from: usize,
        size: usize,
    },
    /// Into extra bytes at `at`, as scaled integers.
    Scaled {
        column: String,
        at: usize,
        described: ExtraDoc,
    },
}

/// The plan of a file.
#[derive(Debug)]
pub(super) struct PointPlan {
    pub(super) version: [u8; 2],
    pub(super) format: u8,
    /// Bytes of a point, with the extra ones.
    pub(super) length: usize,
    pub(super) steps: [ScaleOffset; 3],
    /// Type of the stored coordinates.
    pub(super) element: DataType,
    pub(super) puts: Vec<Put>,
    pub(super) extra: Vec<ExtraBytes>,
    /// Fields that the store does not have.
    pub(super) missing: Vec<&'static str>,
    /// Columns that are not numeric.
    pub(super) others: Vec<String>,
    /// The extra bytes that the header describes.
    described: Vec<ExtraDoc>,
}

impl PointPlan {
    /// # Errors
    /// Misuse: data that a LAS file cannot represent.
    pub(super) fn of(
        survey: &PointSurvey<'_>,
        schemas: &ExportSchemas,
    ) -> Result<Self, ConvertError> {
        let single = |field: &Field| {
            !matches!(field.data_type(), DataType::FixedSizeList(..))
                && shape(field.data_type()).is_some()
        };
        let fields = schemas.vertices.fields();
        let has = |name: &str| {
            fields
                .iter()
                .any(|field| field.name() == name && single(field))
        };
        let format = survey.format(&has);
        let own = of_format(format);
        let mut plan = Self {
            version: survey.version(format),
            format,
            length: *SIZES
                .get(usize::from(format))
                .or_bug("a point format beyond 10")?,
            steps: [survey.steps(0)?, survey.steps(1)?, survey.steps(2)?],
            element: survey.element.clone(),
            puts: Vec::new(),
            extra: Vec::new(),
            missing: Vec::new(),
            others: Vec::new(),
            described: survey.kept.described.clone(),
        };
        let scaled = |name: &str| survey.scaled.iter().find(|(column, _)| column == name);
        let left_out = |name: &str| name == "position" || name == OWNER && survey.ownerless > 0;
        for field in fields.iter().filter(|field| !left_out(field.name())) {
            let known = own.iter().find(|(name, _)| field.name() == name);
            match (shape(field.data_type()), known) {
                (Some(_), Some((_, cell))) if single(field) => plan.puts.push(Put::Field {
                    column: field.name().clone(),
                    cell: *cell,
                }),
                (Some((width, element)), _) => match scaled(field.name()) {
                    Some((column, one)) => plan.add_scaled(column, one)?,
                    None => plan.add(field.name(), width, element)?,
                },
                (None, Some((name, _))) => {
                    let found = field.data_type().to_string();
                    let expected = format!("numbers; {WAY_OUT}");
                    return Err(ConvertError::usage(*name, found, expected));
                }
                (None, None) => plan.others.push(attribute(field.name()).to_owned()),
            }
        }
        let names = own.iter().map(|(name, _)| *name);
        plan.missing = names.filter(|name| !has(name)).collect();
        Ok(plan)
    }

    /// Adds extra bytes for a column: one entry for up to three numbers or for up to 255 bytes, else one entry for each number of a row.
    fn add(&mut self, column: &str, width: usize, element: &DataType) -> Result<(), ConvertError> {
        let Some((kind, size)) = kind(element) else {
            self.others.push(attribute(column).to_owned());
            return Ok(());
        };
        // Checked before an entry is added for each number.
        let length = self.length.saturating_add(size.saturating_mul(width));
        if length > LONGEST {
            return Err(too_long(format!("{length} bytes a point")));
        }
        let opaque = u8::try_from(width)
            .ok()
            .filter(|_| *element == DataType::UInt8);
        match (u8::try_from(width), opaque) {
            (Ok(0), _) => Ok(()),
            (Ok(count @ 1..=3), _) => {
                let kind = count
                    .saturating_sub(1)
                    .saturating_mul(10)
                    .saturating_add(kind);
                self.add_one(column, attribute(column), (kind, 0), (0, size * width))
            }
            (_, Some(count)) => self.add_one(column, attribute(column), (0, count), (0, width)),
            _ => (0..width).try_for_each(|at| {
                let name = format!("{}_{at}", attribute(column));
                self.add_one(column, &name, (kind, 0), (at * size, size))
            }),
        }
    }

    /// Adds extra bytes for a column of scaled integers.
    fn add_scaled(&mut self, column: &str, one: &ExtraDoc) -> Result<(), ConvertError> {
        let mut extra = self.named(attribute(column), one.data_type, 0)?;
        one.put(&mut extra);
        let (at, size) = (self.length, extra.size());
        self.extra.push(extra);
        let (column, described) = (column.to_owned(), one.clone());
        self.puts.push(Put::Scaled {
            column,
            at,
            described,
        });
        self.length = self.length.saturating_add(size);
        match self.length <= LONGEST {
            true => Ok(()),
            false => Err(too_long(format!("{} bytes a point", self.length))),
        }
    }

    fn add_one(
        &mut self,
        column: &str,
        name: &str,
        (data_type, options): (u8, u8),
        (from, size): (usize, usize),
    ) -> Result<(), ConvertError> {
        let mut extra = self.named(name, data_type, options)?;
        let mut described = self.described.iter();
        if let Some(one) = described.find(|one| one.name == name) {
            one.without_scale(data_type).put(&mut extra);
        }
        self.extra.push(extra);
        let put = Put::Extra {
            column: column.to_owned(),
            at: self.length,
            from,
            size,
        };
        self.puts.push(put);
        self.length = self.length.saturating_add(size);
        Ok(())
    }

    /// Extra bytes with a name that no field and no other extra bytes have.
    fn named(&self, name: &str, data_type: u8, options: u8) -> Result<ExtraBytes, ConvertError> {
        let mut name = name.to_owned();
        let own = of_format(self.format);
        let taken = |name: &str| {
            AXES.iter().any(|axis| axis.eq_ignore_ascii_case(name))
                || own.iter().any(|(field, _)| *field == name)
                || self.extra.iter().any(|other| other.name() == name)
        };
        while taken(&name) {
            name.insert_str(0, "attribute_");
        }
        let mut bytes = [0; 32];
        let Some(place) = bytes.get_mut(..name.len()) else {
            let found = format!("a name of {} bytes", name.len());
            let expected = format!("at most 32 bytes, as extra bytes of LAS have; {WAY_OUT}");
            return Err(ConvertError::usage(name, found, expected));
        };
        place.copy_from_slice(name.as_bytes());
        Ok(ExtraBytes::named(bytes, data_type, options))
    }
}

impl PointSurvey<'_> {
    /// The point format of the header if it has all fields of the store, else the smallest one that has them.
    fn format(&self, has: &dyn Fn(&str) -> bool) -> u8 {
        let mut known: Vec<&str> = Vec::new();
        for format in FORMATS {
            known.extend(of_format(format).into_iter().map(|(name, _)| name));
        }
        known.retain(|name| has(name));
        let fits = |format: u8, wanted: &[&str]| {
            let own = of_format(format);
            let holds = |name: &&str| own.iter().any(|(field, _)| field == name);
            (format >= LATE || !self.is_late) && wanted.iter().all(holds)
        };
        let find = |wanted: &[&str]| {
            let mut all = self.kept.format.into_iter().chain(FORMATS);
            all.find(|format| fits(*format, wanted))
        };
        // An angle in degrees becomes extra bytes if there are also fields of late formats.
        find(&known).unwrap_or_else(|| {
            known.retain(|name| *name != ANGLE_RANK);
            find(&known).unwrap_or(8)
        })
    }

    /// The version of the header if it supports the point format and the number of points, else 1.2 or the first version that does.
    fn version(&self, format: u8) -> [u8; 2] {
        let least = match format {
            _ if self.rows > u64::from(u32::MAX) => LATEST,
            0 | 1 => [1, 0],
            2 | 3 => [1, 2],
            4 | 5 => [1, 3],
            _ => LATEST,
        };
        let kept = self.kept.version.filter(|kept| *kept >= least);
        kept.unwrap_or(least.max([1, 2]))
    }

    /// Whether `gps_time` is standard time, and whether this is certain: the header states it, or no times are written.
    pub(super) fn time(&self, plan: &PointPlan) -> (bool, bool) {
        let has = of_format(plan.format).iter().any(|(name, _)| *name == TIME);
        let is_written = has && !plan.missing.contains(&TIME);
        (
            self.kept.standard_time.unwrap_or(false),
            self.kept.standard_time.is_some() || !is_written,
        )
    }
}

/// The error for points or records beyond 16 bits.
#[cold]
pub(super) fn too_long(found: String) -> ConvertError {
    let expected = format!("at most {LONGEST}, the most that LAS states; {WAY_OUT}");
    ConvertError::usage("extra bytes", found, expected)
}

/// The type of extra bytes of a number, and its size.
fn kind(element: &DataType) -> Option<(u8, usize)> {
    Some(match element {
        DataType::Boolean | DataType::UInt8 => (1, 1),
        DataType::Int8 => (2, 1),
        DataType::UInt16 => (3, 2),
        DataType::Int16 => (4, 2),
        DataType::UInt32 => (5, 4),
        DataType::Int32 => (6, 4),
        DataType::UInt64 => (7, 8),
        DataType::Int64 => (8, 8),
        DataType::Float16 | DataType::Float32 => (9, 4),
        DataType::Float64 => (10, 8),
        _ => return None,
    })
}
