//! STL: triangles by their corners, as text or as records of 50 bytes. Equal corners become one vertex.

use std::collections::HashMap;
use std::mem::offset_of;
use std::path::{Path, PathBuf};

use zerocopy::FromBytes;
use zvf_format::layout::Wire;
use zvf_write::{AttributeSpec, Batch, Kind};

use super::layout::{StlHead, Triangle};
use crate::bytes::Bytes;
use crate::error::{ConvertError, InFile, shown};
use crate::found::{FirstPass, Stated, draft, float_type};
use crate::names;
use crate::options::Options;
use crate::shape::VertexExtent;
use crate::sink::Sink;
use crate::text::{TextLines, single_holds};

/// Triangles that are read at once.
const BLOCK: usize = 1024;

/// Files to be read again.
#[derive(Debug)]
pub(crate) struct Stl {
    files: Vec<(PathBuf, i64)>,
    options: Options,
}

/// Facts about the files that the first pass collects.
#[derive(Debug)]
struct StlSurvey {
    /// Whether float32 preserves all coordinates.
    single: bool,
    /// Triangles with attribute bytes other than 0.
    marked: u64,
    solids: u64,
}

/// The vertices of a file; equal corners are merged.
#[derive(Debug, Default)]
struct Vertices {
    numbers: HashMap<[u64; 3], u64>,
}

impl Vertices {
    /// The vertex of a corner, and whether it is new.
    fn number(&mut self, corner: &[f64; 3]) -> (u64, bool) {
        // Normalizes -0.0 to 0.0.
        let key = corner.map(|value| (value + 0.0).to_bits());
        let next = self.numbers.len() as u64;
        let number = *self.numbers.entry(key).or_insert(next);
        (number, number == next)
    }

    fn check(&self, path: &Path, place: InFile, limit: u64) -> Result<(), ConvertError> {
        if self.numbers.len() as u64 > limit {
            return Err(ConvertError::limit(
                path,
                place,
                "vertices of an STL file",
                limit,
            ));
        }
        Ok(())
    }
}

impl Stl {
    pub(crate) fn survey(
        files: &[PathBuf],
        options: &Options,
    ) -> Result<(Self, FirstPass), ConvertError> {
        let (ids, by_name) = names::ids(files, options.ids)?;
        let mut extent = VertexExtent::new(3);
        let mut seen = StlSurvey {
            single: true,
            marked: 0,
            solids: 0,
        };
        let mut links = 0_u64;
        for file in files {
            options.check_stop()?;
            let mut vertices = Vertices::default();
            parse(file, options, &mut seen, &mut |corners, place| {
                for corner in &corners {
                    if vertices.number(corner).1 {
                        extent.add(corner);
                    }
                }
                links += 1;
                if extent.count() > options.limits.vertices {
                    let limit = options.limits.vertices;
                    return Err(ConvertError::limit(file, place, "vertices", limit));
                }
                vertices.check(file, place, options.limits.held)
            })?;
        }
        let mut notes = vec![
            names::note(&ids, by_name, options.ids),
            "corners at equal positions become one vertex; normals are not kept".to_owned(),
        ];
        if seen.marked > 0 {
            notes.push(format!(
                "attribute bytes of {} triangles are not kept",
                seen.marked
            ));
        }
        if seen.solids > files.len() as u64 {
            notes.push("the solids of a file become one object".to_owned());
        }
        let spec = draft(Kind::Mesh, &["x", "y", "z"], float_type(seen.single));
        let found = FirstPass {
            extent,
            objects: ids.len() as u64,
            links,
            spec: spec.with_object_attribute(AttributeSpec::text("name")),
            frame: None,
            stated: Stated::Names,
            notes,
        };
        let reader = Self {
            files: files.iter().cloned().zip(ids).collect(),
            options: options.clone(),
        };
        Ok((reader, found))
    }

    pub(crate) fn read(&self, sink: &mut dyn Sink) -> Result<(), ConvertError> {
        let mut first = 0_u64;
        for (file, id) in &self.files {
            let mut vertices = Vertices::default();
            let (mut positions, mut links): (Vec<f64>, Vec<u64>) = (Vec::new(), Vec::new());
            let push = |positions: &mut Vec<f64>, links: &mut Vec<u64>, sink: &mut dyn Sink| {
                let owner = [(*id, positions.len() / 3)];
                let owners = if positions.is_empty() {
                    &[][..]
                } else {
                    &owner[..]
                };
                let batch = Batch::new(std::mem::take(positions))
                    .with_object_runs(owners)
                    .with_links_between_batches(std::mem::take(links));
                sink.batch(&batch).map_err(ConvertError::from)
            };
            let mut seen = StlSurvey {
                single: true,
                marked: 0,
                solids: 0,
            };
            parse(file, &self.options, &mut seen, &mut |corners, place| {
                for corner in &corners {
                    let (number, new) = vertices.number(corner);
                    if new {
                        positions.extend(corner);
                    }
                    links.push(first.saturating_add(number));
                }
                vertices.check(file, place, self.options.limits.held)?;
                if links.len() / 3 >= self.options.batch {
                    push(&mut positions, &mut links, sink)?;
                }
                Ok(())
            })?;
            if !links.is_empty() {
                push(&mut positions, &mut links, sink)?;
            }
            first = first.saturating_add(vertices.numbers.len() as u64);
            sink.objects(&names::object(*id, file))?;
        }
        Ok(())
    }
}

type VisitTriangle<'a> = dyn FnMut([[f64; 3]; 3], InFile) -> Result<(), ConvertError> + 'a;

/// Reads one file. It is binary if its length matches the number of triangles in its header, because headers of binary
/// files may begin with `solid`, too.
fn parse(
    path: &Path,
    options: &Options,
    seen: &mut StlSurvey,
    visit: &mut VisitTriangle<'_>,
) -> Result<(), ConvertError> {
    let length = std::fs::metadata(path)
        .map_err(|error| ConvertError::io(path, error))?
        .len();
    let (mut bytes, mut raw) = (Bytes::open(path)?, Vec::new());
    bytes.block(size_of::<StlHead>(), &mut raw)?;
    let start = raw.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&raw).get(..5);
    let text = start.is_some_and(|start| start.eq_ignore_ascii_case(b"solid"));
    let Ok(head) = StlHead::ref_from_bytes(&raw) else {
        if text {
            return lines(path, options, seen, visit);
        }
        let expected = "\"solid\", or a header of 84 bytes";
        return Err(ConvertError::malformed(
            path,
            InFile::Whole,
            format!("{length} bytes"),
            expected,
        ));
    };
    let count = head.triangles.get();
    let (before, each) = (size_of::<StlHead>() as u64, size_of::<Triangle>() as u64);
    let wanted = before.saturating_add(each.saturating_mul(count.into()));
    if length != wanted {
        if text {
            return lines(path, options, seen, visit);
        }
        let found = format!("{length} bytes");
        let expected = format!("{wanted}, for {count} triangles");
        return Err(ConvertError::malformed(
            path,
            InFile::Byte(offset_of!(StlHead, triangles) as u64),
            found,
            expected,
        ));
    }
    seen.solids += 1;
    let mut left = usize::try_from(count).unwrap_or(usize::MAX);
    while left > 0 {
        let (at, wanted) = (bytes.at(), left.min(BLOCK));
        bytes.block(wanted.saturating_mul(size_of::<Triangle>()), &mut raw)?;
        let Some(triangles) = Triangle::several(&raw, wanted) else {
            let rest = raw.len() % size_of::<Triangle>();
            let at = bytes.at().saturating_sub(rest as u64);
            return Err(bytes.short(at, rest, "a triangle", size_of::<Triangle>()));
        };
        for (triangle, at) in triangles.iter().zip((at..).step_by(size_of::<Triangle>())) {
            let coordinates = triangle.corners.iter().flatten();
            if let Some((number, wrong)) = (1_u64..)
                .zip(coordinates)
                .find(|(_, one)| !one.get().is_finite())
            {
                let start = offset_of!(Triangle, corners) as u64;
                let place = InFile::Byte(at.saturating_add(start + 4 * number));
                let found = wrong.get().to_string();
                return Err(ConvertError::malformed(
                    path,
                    place,
                    found,
                    "a finite coordinate",
                ));
            }
            seen.marked += u64::from(triangle.attribute.get() != 0);
            let corners = triangle
                .corners
                .map(|corner| corner.map(|one| one.get().into()));
            visit(corners, InFile::Byte(at))?;
        }
        left = left.saturating_sub(wanted);
    }
    Ok(())
}

/// The keyword that the next line of a text file must begin with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    Solid,
    Facet,
    Loop,
    Vertex(usize),
    EndLoop,
    EndFacet,
}

impl Next {
    fn expected(self) -> &'static str {
        match self {
            Self::Solid => "solid",
            Self::Facet => "facet normal, or endsolid",
            Self::Loop => "outer loop",
            Self::Vertex(_) => "vertex and three numbers",
            Self::EndLoop => "endloop",
            Self::EndFacet => "endfacet",
        }
    }
}

fn lines(
    path: &Path,
    options: &Options,
    seen: &mut StlSurvey,
    visit: &mut VisitTriangle<'_>,
) -> Result<(), ConvertError> {
    let mut lines = TextLines::open(path, options.limits.line)?;
    let mut next = Next::Solid;
    let mut corners = [[0.0_f64; 3]; 3];
    while lines.step()? {
        let line = lines.content()?;
        let words: Vec<String> = line
            .split_ascii_whitespace()
            .take(6)
            .map(str::to_ascii_lowercase)
            .collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        next = match (next, words.as_slice()) {
            (next, []) => next,
            (Next::Solid, ["solid", ..]) => {
                seen.solids += 1;
                Next::Facet
            }
            (Next::Facet, ["endsolid", ..]) => Next::Solid,
            (Next::Facet, ["facet", "normal", _, _, _]) => Next::Loop,
            (Next::Loop, ["outer", "loop"]) => Next::Vertex(0),
            (Next::Vertex(at), ["vertex", x, y, z]) => {
                for (slot, field) in corners.iter_mut().skip(at).take(1).flatten().zip([x, y, z]) {
                    *slot = lines.finite(field, "a coordinate")?;
                    seen.single &= single_holds(field, *slot);
                }
                if at == 2 {
                    Next::EndLoop
                } else {
                    Next::Vertex(at + 1)
                }
            }
            (Next::EndLoop, ["endloop"]) => {
                visit(corners, lines.place())?;
                Next::EndFacet
            }
            (Next::EndFacet, ["endfacet"]) => Next::Facet,
            (next, _) => return Err(lines.bad(shown(line), next.expected())),
        };
    }
    if next != Next::Solid {
        return Err(lines.bad("the end of the file", next.expected()));
    }
    Ok(())
}
