//! TCK: MRtrix streamlines, a text header and triplets of floats.

use std::ops::Range;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};
use zerocopy::byteorder::{BigEndian, F32, F64, LittleEndian};
use zvf_encode::error::OrBug;
use zvf_format::int::wide;
use zvf_format::layout::Wire;
use zvf_write::Kind;

use crate::bytes::Bytes;
use crate::error::{ConvertError, InFile, shown};
use crate::found::{FirstPass, Stated, draft, float_type};
use crate::ids;
use crate::options::Options;
use crate::shape::VertexExtent;
use crate::sink::Sink;
use crate::tracks::{ChainBatcher, ChainCensus, ChainVisitor};

/// Longest header.
const LONGEST_HEADER: u64 = 1 << 20;

/// Files to be read again.
#[derive(Debug)]
pub(crate) struct Tck {
    files: Vec<PathBuf>,
    /// The ids of the streamlines of each file.
    ids: Vec<Range<i64>>,
    batch: usize,
}

/// How numbers are stored: as float64 or float32, in big- or little-endian order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct NumberFormat {
    double: bool,
    big: bool,
}

#[derive(Debug)]
struct TckHeader {
    stored: NumberFormat,
    /// The byte at which points begin.
    data: u64,
    count: Option<u64>,
    members: Map<String, Value>,
}

impl Tck {
    pub(crate) fn survey(
        files: &[PathBuf],
        kind: Kind,
        options: &Options,
    ) -> Result<(Self, FirstPass), ConvertError> {
        let mut extent = VertexExtent::new(3);
        let (mut counts, mut double) = (Vec::with_capacity(files.len()), false);
        let mut notes: Vec<String> = Vec::new();
        let mut headers = Vec::new();
        for file in files {
            options.check_stop()?;
            let mut census = ChainCensus::of(file, &mut extent, options.limits.vertices);
            let header = parse(file, &mut census)?;
            if let Some(count) = header.count.filter(|count| *count != census.chains) {
                notes.push(format!(
                    "{}: the header states {count} streamlines, the file holds {}",
                    file.display(),
                    census.chains
                ));
            }
            counts.push(census.chains);
            double |= header.stored.double;
            headers.push(Value::Object(header.members));
        }
        let spec = draft(kind, &["x", "y", "z"], float_type(!double));
        let found = FirstPass {
            extent,
            objects: counts.iter().sum(),
            links: 0,
            spec: spec.with_unit("millimeter"),
            frame: Some(json!({"source": "tck", "space": "rasmm", "headers": headers})),
            stated: Stated::Units,
            notes,
        };
        let reader = Self {
            files: files.to_vec(),
            ids: ids::ranges(options.ids, files, &counts)?,
            batch: options.batch,
        };
        Ok((reader, found))
    }

    pub(crate) fn read(&self, sink: &mut dyn Sink) -> Result<(), ConvertError> {
        let mut chains = ChainBatcher::new(sink, self.batch, &[], &[]);
        for (file, ids) in self.files.iter().zip(&self.ids) {
            chains.begin(ids.start);
            parse(file, &mut chains)?;
            chains.check(file, ids.end)?;
        }
        chains.flush()
    }
}

/// Triplets that are read at once.
const BLOCK: usize = 4096;

/// Reads one file. Three NaN end a streamline, three infinities the file.
fn parse(path: &Path, visit: &mut dyn ChainVisitor<f64>) -> Result<TckHeader, ConvertError> {
    let header = header(path, "mrtrix tracks")?;
    let mut bytes = Bytes::open(path)?;
    bytes.skip(header.data, "points from the byte that the header states")?;
    let size = if header.stored.double { 8 } else { 4 };
    let mut open = 0_usize;
    let (mut raw, mut run) = (Vec::new(), Vec::new());
    loop {
        let at = bytes.at();
        bytes.block(BLOCK * 3 * size, &mut raw)?;
        let triplets = raw.chunks_exact(3 * size);
        let rest = triplets.remainder().len();
        for (number, triplet) in triplets.enumerate() {
            let point = triplet_of(triplet, header.stored).or_bug("a short triplet")?;
            if point.iter().all(|value| value.is_finite()) {
                run.extend(point);
                continue;
            }
            open += run.len();
            visit.points(&run, &[])?;
            run.clear();
            if point.iter().all(|value| value.is_nan()) {
                visit.end(&[])?;
                open = 0;
            } else if point.iter().all(|value| value.is_infinite()) {
                if open > 0 {
                    visit.end(&[])?;
                }
                return Ok(header);
            } else {
                let place = InFile::Byte(at.saturating_add((3 * size * number) as u64));
                let expected = "three finite numbers, three NaN or three infinities";
                return Err(ConvertError::malformed(
                    path,
                    place,
                    format!("{point:?}"),
                    expected,
                ));
            }
        }
        open += run.len();
        visit.points(&run, &[])?;
        run.clear();
        if raw.len() < BLOCK * 3 * size {
            let at = bytes.at().saturating_sub((rest % size) as u64);
            let what = "a coordinate, or the infinities that end the file";
            return Err(bytes.short(at, rest % size, what, size));
        }
    }
}

/// Track scalars of MRtrix.
#[derive(Debug, Default)]
pub(crate) struct Scalars {
    /// Whether values are stored as float64 rather than float32.
    pub(crate) double: bool,
    /// The values of the points of all streamlines.
    pub(crate) values: Vec<f64>,
    /// The number of values of each streamline.
    pub(crate) lengths: Vec<u64>,
}

/// Reads track scalars of MRtrix (`.tsf`).
///
/// A NaN ends a streamline, an infinity the file.
///
/// # Errors
/// I/O; a header that is too long. Malformed: another format; a file that ends before its infinity, or whose header states another number of
/// streamlines.
pub(crate) fn scalars(path: &Path) -> Result<Scalars, ConvertError> {
    let header = header(path, "mrtrix track scalars")?;
    let mut bytes = Bytes::open(path)?;
    bytes.skip(header.data, "values from the byte that the header states")?;
    let double = header.stored.double;
    let (mut values, mut lengths, mut open) = (Vec::new(), Vec::new(), 0);
    loop {
        let value = match (double, header.stored.big) {
            (false, false) => F32::<LittleEndian>::from_bytes(bytes.take(VALUE)?)
                .get()
                .into(),
            (false, true) => F32::<BigEndian>::from_bytes(bytes.take(VALUE)?)
                .get()
                .into(),
            (true, false) => F64::<LittleEndian>::from_bytes(bytes.take(VALUE)?).get(),
            (true, true) => F64::<BigEndian>::from_bytes(bytes.take(VALUE)?).get(),
        };
        if value.is_finite() {
            values.push(value);
            open += 1;
        } else if value.is_nan() {
            lengths.push(open);
            open = 0;
        } else {
            // Some writers end the last streamline only by the infinity.
            lengths.extend((open > 0).then_some(open));
            break;
        }
    }
    let read = wide(lengths.len());
    match header.count.filter(|count| *count != read) {
        Some(count) => {
            let found = format!("values of {read} streamlines");
            Err(bytes.bad(found, format!("{count}, as the header states")))
        }
        None => Ok(Scalars {
            double,
            values,
            lengths,
        }),
    }
}

/// The expected text in errors at the end of a truncated file.
const VALUE: &str = "a value, or the infinity that ends the file";

/// Decodes three numbers of four or eight bytes; `None` if there are fewer bytes.
fn triplet_of(raw: &[u8], stored: NumberFormat) -> Option<[f64; 3]> {
    match (stored.double, stored.big) {
        (false, false) => numbers(raw, |one: F32<LittleEndian>| one.get().into()),
        (false, true) => numbers(raw, |one: F32<BigEndian>| one.get().into()),
        (true, false) => numbers(raw, F64::<LittleEndian>::get),
        (true, true) => numbers(raw, F64::<BigEndian>::get),
    }
}

fn numbers<T: Wire + Copy>(raw: &[u8], number: impl Fn(T) -> f64) -> Option<[f64; 3]> {
    let [x, y, z] = T::several(raw, 3)? else {
        return None;
    };
    Some([*x, *y, *z].map(number))
}

/// Reads the line that names the format, and `key: value` lines to the line `END`.
fn header(path: &Path, magic: &str) -> Result<TckHeader, ConvertError> {
    let mut bytes = Bytes::open(path)?;
    let mut members: Map<String, Value> = Map::new();
    let (mut stored, mut data, mut count) = (None, None, None);
    let (mut line, mut last) = (Vec::new(), String::new());
    for number in 1_u64.. {
        let place = InFile::Line(number);
        let bad =
            |found: String, expected: &str| ConvertError::malformed(path, place, found, expected);
        line.clear();
        loop {
            if bytes.at() >= LONGEST_HEADER {
                return Err(ConvertError::limit(
                    path,
                    place,
                    "bytes of a header",
                    LONGEST_HEADER,
                ));
            }
            match bytes.maybe::<1>("a byte")? {
                Some([b'\n']) => break,
                Some([byte]) => line.push(byte),
                None => {
                    return Err(bad(
                        "the end of the file".to_owned(),
                        "a line END after the header",
                    ));
                }
            }
        }
        let Ok(text) = std::str::from_utf8(&line).map(str::trim) else {
            return Err(bad("bytes that are not UTF-8".to_owned(), "a line of text"));
        };
        if number == 1 {
            if text != magic {
                return Err(bad(shown(text), &shown(magic)));
            }
            continue;
        }
        if text == "END" {
            break;
        }
        let Some((key, value)) = text.split_once(':') else {
            // Long values continue in the next line.
            if !last.is_empty() && append_line(&mut members, &last, text) {
                continue;
            }
            return Err(bad(shown(text), "`key: value` or END"));
        };
        last.clear();
        let (key, value) = (key.trim(), value.trim());
        match key {
            "datatype" => {
                stored = Some(datatype(value).ok_or_else(|| {
                    bad(shown(value), "Float32LE, Float32BE, Float64LE or Float64BE")
                })?)
            }
            "file" => {
                let offset = value
                    .strip_prefix('.')
                    .map(str::trim)
                    .map(str::parse::<u64>);
                let Some(Ok(offset)) = offset else {
                    return Err(bad(
                        shown(value),
                        "`. N`: points of the same file, from byte N",
                    ));
                };
                data = Some((offset, place));
            }
            "count" => {
                let value = value.parse::<u64>();
                count = Some(value.map_err(|_| bad(shown(text), "a number of streamlines"))?);
            }
            _ => {
                remember(&mut members, key, value);
                last.push_str(key);
            }
        }
    }
    let missing = |what: &str| {
        let found = format!("no line `{what}`");
        ConvertError::malformed(path, InFile::Whole, found, "one in the header")
    };
    let stored = stored.ok_or_else(|| missing("datatype"))?;
    let (data, place) = data.ok_or_else(|| missing("file"))?;
    if data < bytes.at() {
        let expected = format!("{} or more: the header ends there", bytes.at());
        return Err(ConvertError::malformed(
            path,
            place,
            format!("points from byte {data}"),
            expected,
        ));
    }
    Ok(TckHeader {
        stored,
        data,
        count,
        members,
    })
}

/// Adds a member; repeated keys make a list.
fn remember(members: &mut Map<String, Value>, key: &str, value: &str) {
    match members.get_mut(key) {
        None => {
            members.insert(key.to_owned(), json!(value));
        }
        Some(Value::Array(list)) => list.push(json!(value)),
        Some(one) => *one = json!([one.take(), value]),
    }
}

/// Appends a line to the last value of a member.
fn append_line(members: &mut Map<String, Value>, key: &str, line: &str) -> bool {
    let slot = match members.get_mut(key) {
        Some(Value::Array(list)) => list.last_mut(),
        other => other,
    };
    let Some(Value::String(text)) = slot else {
        return false;
    };
    text.push('\n');
    text.push_str(line);
    true
}

fn datatype(text: &str) -> Option<NumberFormat> {
    let (double, big) = match text.to_ascii_lowercase().as_str() {
        "float32le" => (false, false),
        "float32be" => (false, true),
        "float64le" => (true, false),
        "float64be" => (true, true),
        _ => return None,
    };
    Some(NumberFormat { double, big })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_that_come_again_are_kept() {
        let mut members = Map::new();
        for value in ["a", "b", "c"] {
            remember(&mut members, "history", value);
        }
        assert!(
            append_line(&mut members, "history", "d") && !append_line(&mut members, "other", "d")
        );
        assert_eq!(
            Value::Object(members),
            json!({"history": ["a", "b", "c\nd"]})
        );
    }

    #[test]
    fn number_types_are_those_of_the_format() {
        assert_eq!(
            datatype("Float32BE"),
            Some(NumberFormat {
                double: false,
                big: true
            })
        );
        assert_eq!(datatype("Int32LE"), None);
    }
}
