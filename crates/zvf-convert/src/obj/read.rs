//! OBJ: Wavefront meshes, one vertex or face a line.

use std::path::{Path, PathBuf};

use zvf_write::{AttributeSpec, Batch, Kind};

use crate::error::{ConvertError, InFile, shown};
use crate::found::{FirstPass, Stated, draft, float_type};
use crate::names;
use crate::options::Options;
use crate::shape::VertexExtent;
use crate::sink::Sink;
use crate::text::{TextLines, single_holds};

/// Statements that are skipped, with their names in notes.
const SKIPPED: [(&str, &str); 12] = [
    ("vn", "normals"),
    ("vt", "texture coordinates"),
    ("vp", "parameters"),
    ("g", "names of groups"),
    ("o", "names of objects"),
    ("s", "smoothing groups"),
    ("usemtl", "materials"),
    ("mtllib", "materials"),
    ("usemap", "materials"),
    ("maplib", "materials"),
    ("l", "lines"),
    ("p", "points"),
];

/// The files, and the results of the first pass that the second pass needs.
#[derive(Debug)]
pub(crate) struct Obj {
    files: Vec<(PathBuf, i64)>,
    options: Options,
    color: bool,
    width: usize,
}

/// A line with a vertex or a face.
#[derive(Debug)]
enum ObjLine<'a> {
    /// x, y, z, and the numbers after them: a weight, a colour, or nothing.
    Vertex([f64; 3], &'a [f64]),
    /// Vertex numbers, counted from 0 in the file.
    Face(&'a [u64]),
}

/// The result of the first pass.
#[derive(Debug, Default)]
struct ObjSurvey {
    /// The skipped statements, by their names in notes.
    skipped: Vec<&'static str>,
    /// Number of faces with three, with four, and with more corners.
    widths: [u64; 3],
    /// Number of triangles into which faces of four or more corners can be cut.
    cut: u64,
    /// Number of vertices with a colour, with a weight, and with neither.
    colored: u64,
    weighted: u64,
    plain: u64,
    /// Whether positions need float64, and whether colours do.
    doubles: [bool; 2],
}

impl Obj {
    pub(crate) fn survey(
        files: &[PathBuf],
        options: &Options,
    ) -> Result<(Self, FirstPass), ConvertError> {
        let (ids, by_name) = names::ids(files, options.ids)?;
        let mut extent = VertexExtent::new(3);
        let mut seen = ObjSurvey::default();
        for file in files {
            options.check_stop()?;
            // The highest vertex number in a face, and its place: faces may come before their vertices.
            let mut highest: Option<(u64, InFile)> = None;
            let mut vertices = 0_u64;
            parse(file, options, Some(&mut seen), &mut |item, place| {
                match item {
                    ObjLine::Vertex(position, _) => {
                        extent.add(&position);
                        vertices += 1;
                        if extent.count() > options.limits.vertices {
                            let limit = options.limits.vertices;
                            return Err(ConvertError::limit(file, place, "vertices", limit));
                        }
                    }
                    ObjLine::Face(face) => {
                        for &vertex in face {
                            if highest.is_none_or(|(known, _)| vertex > known) {
                                highest = Some((vertex, place));
                            }
                        }
                    }
                }
                Ok(())
            })?;
            if let Some((vertex, place)) = highest.filter(|(vertex, _)| *vertex >= vertices) {
                let found = format!("vertex {}", vertex.saturating_add(1));
                let expected = format!("one of the {vertices} of the file");
                return Err(ConvertError::malformed(file, place, found, expected));
            }
        }
        let color = seen.colored > 0;
        if color && seen.plain + seen.weighted > 0 {
            let found = format!("{} vertices with a colour and others without", seen.colored);
            let path = files.first().map_or_else(PathBuf::new, Clone::clone);
            let expected = "a colour for all or for none";
            return Err(ConvertError::malformed(
                &path,
                InFile::Whole,
                found,
                expected,
            ));
        }
        let [triangles, quads, more] = seen.widths;
        let width = if triangles == 0 && more == 0 && quads > 0 {
            4
        } else {
            3
        };
        let mut notes = vec![names::note(&ids, by_name, options.ids)];
        if width == 3 && quads + more > 0 {
            notes.push(format!(
                "{} faces of four or more corners beside {triangles} triangles: cut into triangles from their first corner",
                quads + more
            ));
        }
        if seen.weighted > 0 {
            notes.push(format!(
                "weights of {} vertices are not kept",
                seen.weighted
            ));
        }
        notes.extend(
            seen.skipped
                .iter()
                .map(|what| format!("{what} are not kept")),
        );
        let [position, colors] = seen.doubles;
        let mut spec = draft(Kind::Mesh, &["x", "y", "z"], float_type(!position))
            .with_link_width(width)
            .with_object_attribute(AttributeSpec::text("name"));
        if color {
            let color = AttributeSpec::number("color", float_type(!colors));
            spec = spec.with_vertex_attribute(color.with_channel_names(["r", "g", "b"]));
        }
        let links = if width == 4 {
            quads
        } else {
            triangles + seen.cut
        };
        let found = FirstPass {
            extent,
            objects: ids.len() as u64,
            links,
            spec,
            frame: None,
            stated: Stated::Names,
            notes,
        };
        let reader = Self {
            files: files.iter().cloned().zip(ids).collect(),
            options: options.clone(),
            color,
            width,
        };
        Ok((reader, found))
    }

    pub(crate) fn read(&self, sink: &mut dyn Sink) -> Result<(), ConvertError> {
        let mut first = 0_u64;
        for (file, id) in &self.files {
            let next = self.vertices(file, *id, first, sink)?;
            self.links(file, first, next, sink)?;
            first = next;
            sink.objects(&names::object(*id, file))?;
        }
        Ok(())
    }

    fn vertices(
        &self,
        file: &Path,
        id: i64,
        mut count: u64,
        sink: &mut dyn Sink,
    ) -> Result<u64, ConvertError> {
        let mut held = (Vec::new(), Vec::new());
        let push = |held: &mut (Vec<f64>, Vec<f64>), sink: &mut dyn Sink| {
            let owner = [(id, held.0.len() / 3)];
            let (positions, colors) = std::mem::take(held);
            let mut batch = Batch::new(positions).with_object_runs(&owner[..]);
            if self.color {
                batch = batch.with_attribute("color", colors);
            }
            sink.batch(&batch).map_err(ConvertError::from)
        };
        parse(file, &self.options, None, &mut |item, place| {
            let ObjLine::Vertex(position, more) = item else {
                return Ok(());
            };
            held.0.extend(position);
            count += 1;
            if self.color {
                if more.len() != 3 {
                    let found = "a vertex without a colour";
                    return Err(ConvertError::malformed(
                        file,
                        place,
                        found,
                        "one, as in the first pass: the file changed while it was read",
                    ));
                }
                held.1.extend_from_slice(more);
            }
            if held.0.len() / 3 >= self.options.batch {
                push(&mut held, sink)?;
            }
            Ok(())
        })?;
        if !held.0.is_empty() {
            push(&mut held, sink)?;
        }
        Ok(count)
    }

    fn links(
        &self,
        file: &Path,
        first: u64,
        next: u64,
        sink: &mut dyn Sink,
    ) -> Result<(), ConvertError> {
        let mut held: Vec<u64> = Vec::new();
        let push = |held: &mut Vec<u64>, sink: &mut dyn Sink| {
            let none: [f64; 0] = [];
            let mut batch = Batch::new(&none[..])
                .with_object_runs(Vec::new())
                .with_links_between_batches(std::mem::take(held));
            if self.color {
                batch = batch.with_attribute("color", &none[..]);
            }
            sink.batch(&batch).map_err(ConvertError::from)
        };
        parse(file, &self.options, None, &mut |item, place| {
            let ObjLine::Face(face) = item else {
                return Ok(());
            };
            let mut number = |vertex: u64| match first.checked_add(vertex) {
                Some(vertex) if vertex < next => {
                    held.push(vertex);
                    Ok(())
                }
                _ => {
                    let found = format!("vertex {}", vertex.saturating_add(1));
                    let expected = format!("one of the {} of the file", next - first);
                    Err(ConvertError::malformed(file, place, found, expected))
                }
            };
            if face.len() == self.width {
                face.iter().try_for_each(|&vertex| number(vertex))?;
            } else if let Some((&corner, rest)) = face.split_first() {
                if self.width != 3 {
                    let found = format!("a face of {} corners", face.len());
                    return Err(ConvertError::malformed(
                        file,
                        place,
                        found,
                        "4, as in the first pass: the file changed while it was read",
                    ));
                }
                for pair in rest.windows(2) {
                    number(corner)?;
                    pair.iter().try_for_each(|&vertex| number(vertex))?;
                }
            }
            if held.len() / self.width >= self.options.batch {
                push(&mut held, sink)?;
            }
            Ok(())
        })?;
        if !held.is_empty() {
            push(&mut held, sink)?;
        }
        Ok(())
    }
}

type VisitLine<'a> = dyn FnMut(ObjLine<'_>, InFile) -> Result<(), ConvertError> + 'a;

/// Calls `visit` with each vertex and face of a file, and counts them in `seen`.
fn parse(
    path: &Path,
    options: &Options,
    mut seen: Option<&mut ObjSurvey>,
    visit: &mut VisitLine<'_>,
) -> Result<(), ConvertError> {
    let mut lines = TextLines::open(path, options.limits.line)?;
    let mut vertices = 0_u64;
    let mut face: Vec<u64> = Vec::new();
    let mut numbers: Vec<f64> = Vec::new();
    while lines.step()? {
        lines.continued()?;
        let line = lines.content()?;
        if line.ends_with('\\') {
            return Err(lines.bad(
                "a line that continues on the next one",
                "each statement on one line",
            ));
        }
        let mut fields = line.split_ascii_whitespace();
        match fields.next() {
            None => {}
            Some("v") => {
                numbers.clear();
                let count = fields.clone().count();
                if !matches!(count, 3 | 4 | 6) {
                    let expected = "3 numbers, 4 with a weight, or 6 with a colour";
                    return Err(lines.bad(format!("{count} numbers of a vertex"), expected));
                }
                for (at, field) in fields.enumerate() {
                    let value = lines.finite(field, "a coordinate")?;
                    if let Some(seen) = seen.as_deref_mut()
                        && let Some(double) = seen.doubles.get_mut(usize::from(at >= 3))
                    {
                        *double |= !single_holds(field, value);
                    }
                    numbers.push(value);
                }
                if let Some(seen) = seen.as_deref_mut() {
                    let slot = match count {
                        3 => &mut seen.plain,
                        4 => &mut seen.weighted,
                        _ => &mut seen.colored,
                    };
                    *slot += 1;
                }
                if let Some((position, more)) = numbers.split_first_chunk::<3>() {
                    visit(ObjLine::Vertex(*position, more), lines.place())?;
                }
                vertices += 1;
            }
            Some("f") => {
                face.clear();
                for field in fields {
                    if face.len() as u64 >= options.limits.held {
                        let limit = options.limits.held;
                        return Err(ConvertError::limit(
                            path,
                            lines.place(),
                            "corners of a face",
                            limit,
                        ));
                    }
                    face.push(corner(&lines, field, vertices)?);
                }
                if face.len() < 3 {
                    return Err(lines.bad(format!("{} corners of a face", face.len()), "3 or more"));
                }
                if let Some(seen) = seen.as_deref_mut() {
                    let slot = (face.len() - 3).min(2);
                    if let Some(count) = seen.widths.get_mut(slot) {
                        *count += 1;
                    }
                    if face.len() > 3 {
                        seen.cut = seen.cut.saturating_add(face.len() as u64 - 2);
                    }
                }
                visit(ObjLine::Face(&face), lines.place())?;
            }
            Some(word) => {
                let Some((_, what)) = SKIPPED.iter().find(|(known, _)| *known == word) else {
                    return Err(lines.bad(shown(word), "v, f, or another statement of OBJ"));
                };
                if let Some(seen) = seen.as_deref_mut()
                    && !seen.skipped.contains(what)
                {
                    seen.skipped.push(what);
                }
            }
        }
    }
    Ok(())
}

/// Parses a corner, `v`, `v/vt`, `v//vn` or `v/vt/vn`, and returns its vertex number from 0. `v` counts from 1, or, if negative, back from the last
/// vertex before this line.
fn corner(lines: &TextLines, field: &str, vertices: u64) -> Result<u64, ConvertError> {
    let number = field.split('/').next().unwrap_or(field);
    let expected = "the number of a vertex, from 1, or from -1 backwards";
    let wrong = || lines.bad(shown(field), expected);
    for (at, part) in field.split('/').enumerate().skip(1) {
        if at > 2 || !(part.is_empty() || part.parse::<i64>().is_ok()) {
            return Err(wrong());
        }
    }
    let number: i64 = number.parse().map_err(|_| wrong())?;
    let found = if number > 0 {
        number.unsigned_abs().checked_sub(1)
    } else {
        vertices
            .checked_sub(number.unsigned_abs())
            .filter(|_| number < 0)
    };
    found.ok_or_else(wrong)
}
