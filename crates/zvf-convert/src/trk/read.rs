//! TRK: TrackVis streamlines, a header of 1000 bytes and binary points of either byte order.

use std::ops::Range;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use zvf_meta::Affine;
use zvf_write::{JsonObject, Kind, NumberType, narrow};

use crate::Format;
use crate::bytes::Bytes;
use crate::error::{ConvertError, Place, shown};
use crate::found::{Found, draft};
use crate::frame::{self, Space};
use crate::ids;
use crate::options::Options;
use crate::shape::Extent;
use crate::sink::Sink;
use crate::tracks::{Census, Chains, Columns, Visit};

const HEADER: usize = 1000;
/// Where the affine is.
const AFFINE: usize = 440;
/// Names that a header has room for, of scalars and of properties.
const NAMES: usize = 10;

/// Files to be read again.
#[derive(Debug)]
pub(crate) struct Trk {
    files: Vec<PathBuf>,
    /// The ids of the streamlines of each file.
    ids: Vec<Range<i64>>,
    batch: usize,
    space: Space,
    scalars: Vec<Columns>,
    properties: Vec<Columns>,
}

/// What the first 1000 bytes say.
#[derive(Debug, PartialEq)]
struct Header {
    big: bool,
    scalars: Vec<Columns>,
    properties: Vec<Columns>,
    /// Streamlines; `None` where the header does not tell.
    count: Option<u64>,
    /// What it states of the voxels.
    frame: JsonObject,
    /// From the positions of the file to millimetres of the scanner, or why there is no map.
    map: Result<Affine, String>,
}

impl Trk {
    pub(crate) fn survey(
        files: &[PathBuf],
        kind: Kind,
        options: &Options,
    ) -> Result<(Self, Found), ConvertError> {
        let space = options.space.unwrap_or_default().of(Format::Trk);
        let mut extent = Extent::new(3);
        let mut first: Option<Header> = None;
        let mut counts = Vec::with_capacity(files.len());
        for file in files {
            let mut census = Census::of(file, &mut extent, options.limits.vertices);
            let header = parse(file, space, &mut census)?;
            counts.push(census.chains);
            let Some(known) = &first else {
                first = Some(header);
                continue;
            };
            let same = [
                ("frame", known.frame == header.frame),
                ("scalars", known.scalars == header.scalars),
                ("properties", known.properties == header.properties),
            ];
            if let Some((what, _)) = same.iter().find(|(_, same)| !same) {
                let expected = format!("the {what} of the first file");
                return Err(ConvertError::malformed(
                    file,
                    Place::Whole,
                    format!("other {what}"),
                    expected,
                ));
            }
        }
        let Some(Header {
            scalars,
            properties,
            mut frame,
            map,
            ..
        }) = first
        else {
            return Err(ConvertError::usage("files", "none", "at least one"));
        };
        let mut spec = draft(kind, &["x", "y", "z"], NumberType::F32).with_unit("millimeter");
        spec.vertex_attributes = scalars.iter().map(Columns::spec).collect();
        spec.object_attributes = properties.iter().map(Columns::spec).collect();
        let notes = notes(&frame, space, map.is_ok());
        frame::state(&mut frame, space, map.as_ref().ok());
        let found = Found {
            extent,
            objects: counts.iter().sum(),
            links: 0,
            spec,
            frame: Some(Value::Object(frame)),
            stated: true,
            notes,
        };
        let reader = Self {
            files: files.to_vec(),
            ids: ids::ranges(options.ids, files, &counts)?,
            batch: options.batch,
            space,
            scalars,
            properties,
        };
        Ok((reader, found))
    }

    pub(crate) fn read(&self, sink: &mut dyn Sink) -> Result<(), ConvertError> {
        let mut chains = Chains::new(sink, self.batch, &self.scalars, &self.properties);
        for (file, ids) in self.files.iter().zip(&self.ids) {
            chains.begin(ids.start);
            let header = parse(file, self.space, &mut chains)?;
            chains.check(file, ids.end)?;
            if header.scalars != self.scalars || header.properties != self.properties {
                let expected = "those of when the file was looked at";
                return Err(ConvertError::malformed(
                    file,
                    Place::Whole,
                    "other columns",
                    expected,
                ));
            }
        }
        chains.flush()
    }
}

/// What was done with the positions, and what the header left open.
fn notes(header: &JsonObject, space: Space, mapped: bool) -> Vec<String> {
    let mut notes = Vec::new();
    if space == Space::Voxelmm {
        notes.push(frame::NOT_SCANNER.to_owned());
        if !mapped {
            notes.push("the header has no usable affine: no export can convert them".to_owned());
        }
        return notes;
    }
    notes.push("positions are millimetres of the scanner (RAS+): the affine was applied, and is kept in `headers/trk`".to_owned());
    if header.get("voxel_to_rasmm").is_none_or(Value::is_null) {
        notes
            .push("the header has no affine: the identity was applied, as nibabel does".to_owned());
    }
    if header
        .get("voxel_order")
        .and_then(Value::as_str)
        .is_none_or(str::is_empty)
    {
        notes.push("the header has no voxel order: LPS was taken, as nibabel does".to_owned());
    }
    notes
}

/// Reads one file.
fn parse(path: &Path, space: Space, visit: &mut dyn Visit) -> Result<Header, ConvertError> {
    let mut bytes = Bytes::open(path)?;
    let head: [u8; HEADER] = bytes.take("the header")?;
    let header = header(path, &head)?;
    let number = |raw: [u8; 4]| if header.big { raw.map_be() } else { raw };
    let float = |raw: [u8; 4]| f32::from_le_bytes(number(raw));
    let width = |columns: &[Columns]| columns.iter().map(|one| one.count).sum::<usize>();
    let mut scalars = vec![0.0_f32; width(&header.scalars)];
    let mut properties = vec![0.0_f32; width(&header.properties)];
    let map = match (&header.map, space) {
        (_, Space::Voxelmm) => None,
        (Ok(map), _) => Some(map),
        (Err(why), _) => {
            let place = Place::Byte(AFFINE as u64);
            let expected = "a header from which scanner millimetres follow, or `--space file` to keep positions as they are";
            return Err(ConvertError::malformed(path, place, why, expected));
        }
    };
    let mut done = 0_u64;
    loop {
        if header.count == Some(done) {
            if bytes.maybe::<1>("nothing")?.is_some() {
                let found = format!("more bytes behind the last of {done} streamlines");
                return Err(bytes.bad(found, "the end of the file"));
            }
            break;
        }
        let place = bytes.at();
        let Some(raw) = bytes.maybe("a number of points")? else {
            let Some(count) = header.count else {
                break;
            };
            let found = format!("the end of the file after {done} streamlines");
            return Err(bytes.bad(found, format!("{count}, as the header says")));
        };
        let points = i32::from_le_bytes(number(raw));
        if points < 0 {
            let place = Place::Byte(place);
            let found = format!("{points} points");
            return Err(ConvertError::malformed(path, place, found, "0 or more"));
        }
        for _ in 0..points {
            let mut position = [0.0_f64; 3];
            for value in &mut position {
                let read = float(bytes.take("a coordinate")?);
                if !read.is_finite() {
                    return Err(bytes.bad(read.to_string(), "a finite coordinate"));
                }
                *value = f64::from(read);
            }
            if let Some(map) = map {
                let from = position;
                map.apply(&from, &mut position);
                // Rounded here, once, so that what is surveyed is what is stored.
                position = position.map(|value| f64::from(narrow(value)));
                if position.iter().any(|value| !value.is_finite()) {
                    return Err(bytes.bad(
                        format!("{from:?}"),
                        "a point that float32 holds behind the affine",
                    ));
                }
            }
            for value in &mut scalars {
                *value = float(bytes.take("a scalar")?);
            }
            visit.point(position, &scalars)?;
        }
        for value in &mut properties {
            *value = float(bytes.take("a property")?);
        }
        visit.end(&properties)?;
        done += 1;
    }
    Ok(header)
}

/// Bytes of the other order.
trait Turn {
    fn map_be(self) -> Self;
}

impl<const N: usize> Turn for [u8; N] {
    fn map_be(mut self) -> Self {
        self.reverse();
        self
    }
}

/// Fields of a header, by their place.
#[derive(Debug, Clone, Copy)]
struct Fields<'a> {
    path: &'a Path,
    bytes: &'a [u8; HEADER],
    big: bool,
}

impl<'a> Fields<'a> {
    fn raw<const N: usize>(&self, at: usize) -> [u8; N] {
        let mut out = [0; N];
        if let Some(bytes) = self
            .bytes
            .get(at..)
            .and_then(|rest| rest.first_chunk::<N>())
        {
            out = *bytes;
        }
        if self.big { out.map_be() } else { out }
    }

    fn i16(&self, at: usize) -> i16 {
        i16::from_le_bytes(self.raw(at))
    }

    fn i32(&self, at: usize) -> i32 {
        i32::from_le_bytes(self.raw(at))
    }

    fn floats(&self, at: usize, count: usize) -> Vec<f32> {
        let places = (0..count).map(|number| at + 4 * number);
        places.map(|at| f32::from_le_bytes(self.raw(at))).collect()
    }

    fn text(&self, at: usize, length: usize) -> &'a [u8] {
        self.bytes.get(at..at + length).unwrap_or_default()
    }

    #[cold]
    fn bad(
        &self,
        at: usize,
        found: impl Into<String>,
        expected: impl Into<String>,
    ) -> ConvertError {
        ConvertError::malformed(self.path, Place::Byte(at as u64), found, expected)
    }

    /// Columns of scalars or properties: how many there are stands at `count`, ten names of 20 bytes at `names`.
    fn columns(
        &self,
        count: usize,
        names: usize,
        word: &str,
    ) -> Result<Vec<Columns>, ConvertError> {
        let stated = self.i16(count);
        let Ok(total) = usize::try_from(stated) else {
            return Err(self.bad(count, format!("{stated} {word}"), "0 or more"));
        };
        let mut columns: Vec<Columns> = Vec::new();
        let mut left = total;
        for slot in 0..NAMES {
            let at = names + 20 * slot;
            let field = self.text(at, 20);
            let mut parts = field.split(|&byte| byte == 0);
            let name = parts.next().unwrap_or_default();
            if name.is_empty() || left == 0 {
                continue;
            }
            let Ok(name) = std::str::from_utf8(name) else {
                return Err(self.bad(at, "bytes that are no UTF-8", format!("a name of {word}")));
            };
            // One name may stand for several columns: the number follows behind the zero.
            let more: Vec<u8> = parts.next().unwrap_or_default().to_vec();
            let width = match std::str::from_utf8(&more).map(str::trim) {
                Ok("") => 1,
                Ok(text) => match text.parse::<usize>() {
                    Ok(width) if width > 0 => width,
                    _ => return Err(self.bad(at, shown(text), "the number of columns of a name")),
                },
                Err(_) => return Err(self.bad(at, "bytes that are no UTF-8", "a number")),
            };
            if width > left {
                let found = format!("{width} columns of {}", shown(name));
                return Err(self.bad(at, found, format!("at most {left}, of {total} in all")));
            }
            if columns.iter().any(|other| other.name == name) {
                return Err(self.bad(at, format!("{} again", shown(name)), "a name of its own"));
            }
            left -= width;
            columns.push(Columns {
                name: name.to_owned(),
                count: width,
            });
        }
        if left > 0 {
            // Columns beyond the names have that of all of them.
            if columns.iter().any(|other| other.name == word) {
                return Err(self.bad(
                    names,
                    format!("{} with columns left over", shown(word)),
                    "another name",
                ));
            }
            columns.push(Columns {
                name: word.to_owned(),
                count: left,
            });
        }
        Ok(columns)
    }
}

fn header(path: &Path, bytes: &[u8; HEADER]) -> Result<Header, ConvertError> {
    let mut fields = Fields {
        path,
        bytes,
        big: false,
    };
    if fields.text(0, 5) != b"TRACK" {
        let found = shown(&String::from_utf8_lossy(fields.text(0, 5)));
        return Err(fields.bad(0, found, "\"TRACK\""));
    }
    if fields.i32(996) != 1000 {
        fields.big = true;
        if fields.i32(996) != 1000 {
            return Err(fields.bad(
                996,
                "another size",
                "a header size of 1000 in either byte order",
            ));
        }
    }
    let version = fields.i32(992);
    if !matches!(version, 1..=3) {
        return Err(fields.bad(992, format!("version {version}"), "1, 2 or 3"));
    }
    let count = fields.i32(988);
    let Ok(count) = u64::try_from(count) else {
        return Err(fields.bad(988, format!("{count} streamlines"), "0 or more"));
    };
    let scalars = fields.columns(36, 38, "scalars")?;
    let properties = fields.columns(238, 240, "properties")?;
    let affine = fields.floats(AFFINE, 16);
    // Before version 2 the header had no affine, and a zero in its corner means that it was not set.
    let set = version >= 2 && affine.get(15).is_some_and(|corner| *corner != 0.0);
    let rows: Vec<&[f32]> = affine.chunks(4).collect();
    let text = |at: usize| {
        let text = fields.text(at, 4).split(|&byte| byte == 0).next();
        String::from_utf8_lossy(text.unwrap_or_default()).into_owned()
    };
    let frame = json!({
        "source": "trk",
        "space": "voxelmm",
        "voxel_to_rasmm": if set { json!(rows) } else { Value::Null },
        "dimensions": [fields.i16(6), fields.i16(8), fields.i16(10)],
        "voxel_sizes": fields.floats(12, 3),
        "origin": fields.floats(24, 3),
        "voxel_order": text(948),
        "original_voxel_order": text(952),
        "image_orientation_patient": fields.floats(956, 6),
    });
    let frame = frame.as_object().cloned().unwrap_or_default();
    let map = frame::grid("trk", &frame).and_then(|grid| grid.to_rasmm());
    Ok(Header {
        big: fields.big,
        scalars,
        properties,
        count: (count > 0).then_some(count),
        frame,
        map,
    })
}
