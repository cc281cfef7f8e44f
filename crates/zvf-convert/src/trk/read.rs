//! TRK: TrackVis streamlines, a header of 1000 bytes and binary points of either byte order.

use std::mem::offset_of;
use std::ops::Range;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use zerocopy::little_endian::{F32, I16};
use zerocopy::transmute;
use zvf_format::layout::Layout;
use zvf_meta::Affine;
use zvf_write::{JsonObject, Kind, NumberType};

use super::layout::{MAGIC, NAME, NAMES, TrkHead};
use super::points::{TrackPoints, read_properties};

use crate::Format;
use crate::bytes::Bytes;
use crate::error::{ConvertError, InFile, shown};
use crate::found::{FirstPass, Stated, draft};
use crate::frame::{self, Space};
use crate::ids;
use crate::options::Options;
use crate::shape::VertexExtent;
use crate::sink::Sink;
use crate::tracks::{ChainBatcher, ChainCensus, ChainVisitor, TrackColumns};

/// Files after the first pass, and what the second pass needs to read them again.
#[derive(Debug)]
pub(crate) struct Trk {
    files: Vec<PathBuf>,
    /// The ids of the streamlines of each file.
    ids: Vec<Range<i64>>,
    batch: usize,
    space: Space,
    scalars: Vec<TrackColumns>,
    properties: Vec<TrackColumns>,
}

/// The header of a file.
#[derive(Debug, PartialEq)]
struct TrkHeader {
    big: bool,
    scalars: Vec<TrackColumns>,
    properties: Vec<TrackColumns>,
    /// Number of streamlines; `None` if the header does not state it.
    count: Option<u64>,
    /// The voxel grid of the header.
    frame: JsonObject,
    /// The map from positions of the file to scanner millimetres, or why there is none.
    map: Result<Affine, String>,
}

impl Trk {
    pub(crate) fn survey(
        files: &[PathBuf],
        kind: Kind,
        options: &Options,
    ) -> Result<(Self, FirstPass), ConvertError> {
        let space = options.space.unwrap_or_default().of(Format::Trk);
        let mut extent = VertexExtent::new(3);
        let mut first: Option<TrkHeader> = None;
        let mut counts = Vec::with_capacity(files.len());
        for file in files {
            options.check_stop()?;
            let mut census = ChainCensus::of(file, &mut extent, options.limits.vertices);
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
                    InFile::Whole,
                    format!("other {what}"),
                    expected,
                ));
            }
        }
        let Some(TrkHeader {
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
        spec.vertex_attributes = scalars.iter().map(TrackColumns::spec).collect();
        spec.object_attributes = properties.iter().map(TrackColumns::spec).collect();
        let notes = notes(&frame, space, map.is_ok());
        frame::state(&mut frame, space, map.as_ref().ok());
        let found = FirstPass {
            extent,
            objects: counts.iter().sum(),
            links: 0,
            spec,
            frame: Some(Value::Object(frame)),
            stated: Stated::Units,
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
        let mut chains = ChainBatcher::new(sink, self.batch, &self.scalars, &self.properties);
        for (file, ids) in self.files.iter().zip(&self.ids) {
            chains.begin(ids.start);
            let header = parse(file, self.space, &mut chains)?;
            chains.check(file, ids.end)?;
            if header.scalars != self.scalars || header.properties != self.properties {
                return Err(ConvertError::file_changed(file, "other columns"));
            }
        }
        chains.flush()
    }
}

/// Notes about the map that was applied, and about missing information in the header.
fn notes(header: &JsonObject, space: Space, mapped: bool) -> Vec<String> {
    let mut notes = Vec::new();
    if space == Space::Voxelmm {
        notes.push(frame::NOT_SCANNER.to_owned());
        if !mapped {
            notes.push(
                "the header has no usable affine, so that no export can convert the positions"
                    .to_owned(),
            );
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
fn parse(
    path: &Path,
    space: Space,
    visit: &mut dyn ChainVisitor<f32>,
) -> Result<TrkHeader, ConvertError> {
    let mut bytes = Bytes::open(path)?;
    let head: [u8; size_of::<TrkHead>()] = bytes.take("the header")?;
    let header = header(path, &transmute!(head))?;
    let map = match (&header.map, space) {
        (_, Space::Voxelmm) => None,
        (Ok(map), _) => Some(map),
        (Err(why), _) => {
            let place = InFile::Byte(offset_of!(TrkHead, voxel_to_rasmm) as u64);
            let expected = "a header that maps positions to scanner millimetres, or `--space file` to keep positions as they are";
            return Err(ConvertError::malformed(path, place, why, expected));
        }
    };
    let width = |columns: &[TrackColumns]| columns.iter().map(|one| one.count).sum::<usize>();
    let mut points = TrackPoints::new(path, header.big, width(&header.scalars), map);
    let (mut properties, of_each) = (Vec::new(), width(&header.properties));
    let mut done = 0_u64;
    loop {
        if header.count == Some(done) {
            if bytes.maybe::<1>("nothing")?.is_some() {
                let found = format!("more bytes after the last of {done} streamlines");
                return Err(bytes.bad(found, "the end of the file"));
            }
            break;
        }
        let place = bytes.at();
        let Some(mut raw) = bytes.maybe::<4>("a number of points")? else {
            let Some(count) = header.count else {
                break;
            };
            let found = format!("the end of the file after {done} streamlines");
            return Err(bytes.bad(found, format!("{count}, as the header states")));
        };
        if header.big {
            raw.reverse();
        }
        let stated = i32::from_le_bytes(raw);
        let Ok(mut left) = usize::try_from(stated) else {
            let place = InFile::Byte(place);
            let found = format!("{stated} points");
            return Err(ConvertError::malformed(path, place, found, "0 or more"));
        };
        while left > 0 {
            let read = points.read(&mut bytes, left);
            // The points before a wrong one are visited first: errors about them, such as a limit, take precedence.
            visit.points(&points.positions, &points.scalars)?;
            left = left.saturating_sub(read?);
        }
        read_properties(&mut bytes, header.big, of_each, &mut properties)?;
        visit.end(&properties)?;
        done += 1;
    }
    Ok(header)
}

/// Columns of scalars or properties, from their number and the names of the first ten.
fn columns(
    path: &Path,
    (stated, count_at): (I16, usize),
    (names, names_at): (&[[u8; NAME]; NAMES], usize),
    word: &str,
) -> Result<Vec<TrackColumns>, ConvertError> {
    let Ok(total) = usize::try_from(stated.get()) else {
        return Err(bad(path, count_at, format!("{stated} {word}"), "0 or more"));
    };
    let mut columns: Vec<TrackColumns> = Vec::new();
    let mut left = total;
    for (slot, field) in names.iter().enumerate() {
        let at = names_at.saturating_add(NAME * slot);
        let bad = |found: String, expected: String| bad(path, at, found, expected);
        let mut parts = field.split(|&byte| byte == 0);
        let name = parts.next().unwrap_or_default();
        if name.is_empty() || left == 0 {
            continue;
        }
        let Ok(name) = std::str::from_utf8(name) else {
            return Err(bad(
                "bytes that are not UTF-8".to_owned(),
                format!("a name of {word}"),
            ));
        };
        // A name may apply to several columns; their number follows the terminating zero.
        let more: Vec<u8> = parts.next().unwrap_or_default().to_vec();
        let width = match std::str::from_utf8(&more).map(str::trim) {
            Ok("") => 1,
            Ok(text) => match text.parse::<usize>() {
                Ok(width) if width > 0 => width,
                _ => {
                    return Err(bad(
                        shown(text),
                        "the number of columns of a name".to_owned(),
                    ));
                }
            },
            Err(_) => {
                return Err(bad(
                    "bytes that are not UTF-8".to_owned(),
                    "a number".to_owned(),
                ));
            }
        };
        if width > left {
            let found = format!("{width} columns of {}", shown(name));
            return Err(bad(found, format!("at most {left}, of {total} in all")));
        }
        if columns.iter().any(|other| other.name == name) {
            return Err(bad(
                format!("a second name {}", shown(name)),
                "different names".to_owned(),
            ));
        }
        left -= width;
        columns.push(TrackColumns {
            name: name.to_owned(),
            count: width,
        });
    }
    if left > 0 {
        // The columns without a name share the name `word`.
        if columns.iter().any(|other| other.name == word) {
            let found = format!("columns without a name beside others named {}", shown(word));
            return Err(bad(path, names_at, found, "a name for all columns"));
        }
        columns.push(TrackColumns {
            name: word.to_owned(),
            count: left,
        });
    }
    Ok(columns)
}

#[cold]
fn bad(
    path: &Path,
    at: usize,
    found: impl Into<String>,
    expected: impl Into<String>,
) -> ConvertError {
    ConvertError::malformed(path, InFile::Byte(at as u64), found, expected)
}

fn header(path: &Path, stored: &TrkHead) -> Result<TrkHeader, ConvertError> {
    let magic = stored.magic.get(..MAGIC.len()).unwrap_or_default();
    if magic != MAGIC {
        let found = shown(&String::from_utf8_lossy(magic));
        return Err(bad(path, offset_of!(TrkHead, magic), found, "\"TRACK\""));
    }
    let is_whole =
        |head: &TrkHead| usize::try_from(head.header_size.get()) == Ok(size_of::<TrkHead>());
    let big = !is_whole(stored);
    let head = if big { stored.byte_swapped() } else { *stored };
    if !is_whole(&head) {
        let expected = "a header size of 1000 in either byte order";
        return Err(bad(
            path,
            offset_of!(TrkHead, header_size),
            "another header size",
            expected,
        ));
    }
    let version = head.version.get();
    if !matches!(version, 1..=3) {
        let found = format!("version {version}");
        return Err(bad(path, offset_of!(TrkHead, version), found, "1, 2 or 3"));
    }
    let Ok(count) = u64::try_from(head.count.get()) else {
        let found = format!("{} streamlines", head.count);
        return Err(bad(path, offset_of!(TrkHead, count), found, "0 or more"));
    };
    let scalars = columns(
        path,
        (head.scalars, offset_of!(TrkHead, scalars)),
        (&head.scalar_names, offset_of!(TrkHead, scalar_names)),
        "scalars",
    )?;
    let properties = columns(
        path,
        (head.properties, offset_of!(TrkHead, properties)),
        (&head.property_names, offset_of!(TrkHead, property_names)),
        "properties",
    )?;
    let affine = head.voxel_to_rasmm.map(|row| row.map(F32::get));
    // A zero in the corner means that the affine is not set; before version 2 there was none.
    let [.., [.., corner]] = affine;
    let set = version >= 2 && corner != 0.0;
    let text = |bytes: &[u8]| {
        let text = bytes.split(|&byte| byte == 0).next();
        String::from_utf8_lossy(text.unwrap_or_default()).into_owned()
    };
    let frame = json!({
        "source": "trk",
        "space": "voxelmm",
        "voxel_to_rasmm": if set { json!(affine) } else { Value::Null },
        "dimensions": head.dimensions.map(I16::get),
        "voxel_sizes": head.voxel_sizes.map(F32::get),
        "origin": head.origin.map(F32::get),
        "voxel_order": text(&head.voxel_order),
        "original_voxel_order": text(&head.original_voxel_order),
        "image_orientation_patient": head.image_orientation_patient.map(F32::get),
    });
    let frame = frame.as_object().cloned().unwrap_or_default();
    let map = frame::grid("trk", &frame).and_then(|grid| grid.to_rasmm());
    Ok(TrkHeader {
        big,
        scalars,
        properties,
        count: (count > 0).then_some(count),
        frame,
        map,
    })
}
