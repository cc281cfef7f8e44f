//! What `zvf info` says to people.

use std::collections::BTreeSet;
use std::fmt::{Display, Write as _};

use serde_json::Value;

use zvf_format::keys::format_delta;

use zvf_store::SideGroups;

use super::facts::{ADD, ArrayFacts, Facts, LevelFacts, LinkFacts};
use super::sizes::{self, below_level, dashed};
use crate::output::table::{TextTable, count, counted, joined, size};

/// Width of the names at the left.
const NAME: usize = 13;
/// Link arrays of one family that are named.
const SEGMENTS: usize = 6;

impl Facts {
    /// The text.
    pub(super) fn text(&self) -> String {
        let also = self.geometry_types.get(1..).unwrap_or_default().join(", ");
        let kind = match also.is_empty() {
            true => self.kind.clone(),
            false => format!("{} (also {also})", self.kind),
        };
        let corners = self.bounds.0.iter().zip(&self.bounds.1);
        let axes = self.axes.iter().zip(corners).map(|(axis, (lo, hi))| {
            let unit = axis.unit.iter().map(|unit| format!(" {unit}"));
            format!("{} {lo} to {hi}{}", axis.name, unit.collect::<String>())
        });
        let mut lines = vec![
            ("store", self.store.clone()),
            ("version", self.version.clone()),
            ("kind", kind),
            ("links", self.links_convention.clone()),
            ("bounds", joined(axes, ", ")),
            ("chunks", product(&self.chunk_shape)),
        ];
        let mut more = |name, value: Option<String>| lines.extend(value.map(|value| (name, value)));
        let list = |names: &[String]| (!names.is_empty()).then(|| names.join(", "));
        more("bins", self.bin_shape.as_deref().map(product));
        let offset = self.coordinate_offset.as_deref().map(product);
        more("offset", offset.map(|offset| offset.replace(" x ", ", ")));
        more("capabilities", list(&self.capabilities));
        more("required", list(&self.required_capabilities));
        more("manifests", self.manifest_layout.clone());
        let crs = self.crs.as_ref().filter(|crs| !crs.is_null());
        more("crs", crs.map(Value::to_string));
        lines.extend(self.frames());
        lines.extend(side(&self.side));
        let mut more = |name, value: Option<String>| lines.extend(value.map(|value| (name, value)));
        more(
            "absent",
            list(&self.absent_parts).map(|parts| format!("parts {parts}")),
        );
        let stale = self.stale_chunks.as_ref().map(|stale| match stale.len() {
            0 => "coarse levels, of objects that were edited".to_owned(),
            n => format!(
                "coarse levels, in {} that were edited",
                counted(n as u64, "chunk")
            ),
        });
        more("stale", stale);
        more("metadata", list(&self.user_metadata));
        lines.extend(self.hints.iter().map(|hint| ("hint", hint.clone())));
        let mut out = String::new();
        for (name, line) in lines {
            let _ = writeln!(out, "{name:<NAME$}{line}");
        }
        out.push('\n');
        out.push_str(&self.levels_table());
        for level in &self.levels {
            level.text(&mut out);
        }
        out
    }

    /// The frame of a tractogram and its map, and affines that were applied; a line a row.
    fn frames(&self) -> Vec<(&'static str, String)> {
        let mut lines = Vec::new();
        let list = |value: &Value| {
            let numbers = value.as_array().filter(|numbers| !numbers.is_empty());
            numbers.map(|numbers| product(numbers))
        };
        if let Some(frame) = &self.frame {
            let text = |key: &str| frame[key].as_str().filter(|text| !text.is_empty());
            let mut parts = vec![match text("space") {
                _ if !frame["problem"].is_null() => {
                    format!("unknown: {}", text("problem").unwrap_or_default())
                }
                Some("rasmm") => "rasmm, scanner RAS+ millimetres".to_owned(),
                Some("voxelmm") => {
                    "voxelmm, TrackVis millimetres from the corner of the first voxel".to_owned()
                }
                _ => "unknown: the header does not state it".to_owned(),
            }];
            parts.extend(list(&frame["voxel_sizes"]).map(|sizes| format!("voxels of {sizes} mm")));
            parts.extend(list(&frame["dimensions"]).map(|size| format!("image of {size}")));
            parts.extend(text("voxel_order").map(|order| format!("order {order}")));
            lines.push((
                "frame",
                format!(
                    "{} ({})",
                    parts.join(", "),
                    text("place").unwrap_or_default()
                ),
            ));
            for (name, key) in [
                ("voxel→rasmm", "voxel_to_rasmm"),
                ("voxmm→rasmm", "voxelmm_to_rasmm"),
            ] {
                matrix(name, &frame[key], &mut lines);
            }
        }
        for (format, affine) in &self.applied_affine {
            lines.push(("transformed", format!("positions of {format} files, by")));
            matrix("", affine, &mut lines);
        }
        lines
    }

    fn levels_table(&self) -> String {
        // Sizes are present with `--sizes` only.
        let sized = self.levels.iter().any(|level| level.bytes.is_some());
        let columns = |sizes: [String; 2]| sized.then_some(sizes).into_iter().flatten();
        let mut names = ["level", "vertices", "chunks", "objects"]
            .map(str::to_owned)
            .to_vec();
        names.extend(columns(["size", "files"].map(str::to_owned)));
        names.extend(["chunk shape", "bin shape"].map(str::to_owned));
        let mut table = TextTable::new(names);
        for level in &self.levels {
            let counted = if level.vertices_counted {
                " counted"
            } else {
                ""
            };
            let mut row = vec![
                level.level.to_string(),
                format!("{}{counted}", level.vertices),
                level.chunks.to_string(),
                dashed(level.objects),
            ];
            row.extend(columns([
                dashed(level.bytes.map(size)),
                dashed(level.files),
            ]));
            row.push(product(&level.chunk_shape));
            row.push(dashed(level.bin_shape.as_deref().map(product)));
            table.row(row);
        }
        table.render(0)
    }
}

impl LevelFacts {
    fn text(&self, out: &mut String) {
        let additive = (self.refinement == ADD).then(|| {
            let more = joined(&self.complete_with, ", ");
            format!("additive, complete with level {more}")
        });
        let made = self.parent_level.map(|parent| {
            let method = self
                .coarsening_method
                .as_deref()
                .unwrap_or("unknown method");
            let sparsity = match self.object_sparsity < 1.0 {
                true => format!(
                    ", 1 in {} objects kept",
                    (1.0 / self.object_sparsity).round()
                ),
                false => String::new(),
            };
            format!("made from level {parent} ({method}{sparsity})")
        });
        let flags = [
            (self.fragments_tile, "fragments tile"),
            (
                self.fragment_link_groups,
                "groups of links follow fragments",
            ),
            (self.shared_fragments, "fragments may be shared"),
            (self.preserves_object_ids, "keeps object ids"),
        ];
        let mut traits: Vec<String> = additive.into_iter().chain(made).collect();
        traits.extend(
            flags
                .iter()
                .filter(|(set, _)| *set)
                .map(|(_, text)| (*text).to_owned()),
        );
        let chunked = self.chunk_attribute.iter();
        traits.extend(chunked.map(|name| format!("chunked by {name}")));
        let gap = if traits.is_empty() { "" } else { ": " };
        let _ = writeln!(out, "\nlevel {}{gap}{}", self.level, traits.join(", "));
        let mut table = TextTable::new(["array", "type", "chunks", "grid", "stored as", "remarks"]);
        for array in self.arrays.iter().filter(|array| !is_link(&array.path)) {
            array.row(&mut table);
        }
        out.push_str(&table.render(2));
        if let Some(index) = &self.object_index {
            let mut line = counted(index.rows, "row");
            if index.deleted > 0 {
                let _ = write!(line, ", {} of deleted objects", count(index.deleted));
            }
            if let Some(present) = index.present {
                let _ = write!(line, ", {} with fragments", count(present));
            }
            let sorted = if index.ids_sorted == Some(true) {
                ", ids sorted"
            } else {
                ""
            };
            let _ = writeln!(out, "  objects: {line}, {}{sorted}", index.layout);
        }
        if let Some(groups) = &self.groups {
            let names = first(groups, 8, ", …", ", ");
            let _ = writeln!(out, "  groups: {} ({names})", count(groups.len() as u64));
        }
        for family in &self.links {
            family.line(out, &self.arrays);
        }
        for refused in &self.refused {
            let _ = writeln!(out, "  not read: {}: {}", refused.path, refused.why);
        }
        if let Some(sizes) = &self.sizes {
            out.push_str(&sizes::text(self.level, sizes));
        }
    }
}

impl LinkFacts {
    /// Writes the line of a link family; `arrays` are all arrays of its level.
    fn line(&self, out: &mut String, arrays: &[ArrayFacts]) {
        let links = self
            .links
            .map(|links| format!("{} records, ", count(links)));
        let directed = if self.directed {
            "directed"
        } else {
            "undirected"
        };
        let delta = format_delta(self.delta).to_string();
        let own = |array: &&ArrayFacts| {
            is_link(&array.path) && array.path.split('/').nth(2) == Some(delta.as_str())
        };
        let forms: BTreeSet<_> = arrays.iter().filter(own).map(ArrayFacts::form).collect();
        let attributes = match self.attributes.is_empty() {
            true => String::new(),
            false => format!(", with {}", self.attributes.join(", ")),
        };
        let _ = writeln!(
            out,
            "  links {delta}: {}{} endpoints, {directed}, {}{attributes}, {} in {} ({})",
            links.unwrap_or_default(),
            self.width,
            self.store,
            joined(forms, " and "),
            counted(self.segments.len() as u64, "array"),
            first(&self.segments, SEGMENTS, " …", " "),
        );
    }
}

/// The first of some names, and a mark where there are more.
fn first(names: &[String], most: usize, mark: &str, between: &str) -> String {
    match names.get(..most).filter(|first| first.len() < names.len()) {
        Some(first) => first.join(between) + mark,
        None => names.join(between),
    }
}

/// The first three rows of a matrix, a line each.
fn matrix(name: &'static str, rows: &Value, lines: &mut Vec<(&'static str, String)>) {
    let rows = rows.as_array().map(Vec::as_slice).unwrap_or_default();
    let mut table = TextTable::new([""; 4]);
    for row in rows.split_last().map_or(rows, |(_, rows)| rows) {
        let numbers = row.as_array().into_iter().flatten();
        // A zero has no sign for people.
        let plain = |number: &Value| match number.as_f64() {
            Some(0.0) => "0.0".to_owned(),
            _ => number.to_string(),
        };
        table.row(numbers.map(plain));
    }
    let text = table.render(0);
    for (at, line) in text.lines().skip(1).enumerate() {
        lines.push((if at == 0 { name } else { "" }, line.trim_end().to_owned()));
    }
}

/// Whether a path belongs to an array of links.
fn is_link(path: &str) -> bool {
    matches!(path.split('/').nth(1), Some("links" | "cross_chunk_links"))
}

/// A line for each thing beside the levels.
fn side(side: &SideGroups) -> Vec<(&'static str, String)> {
    let mut lines = Vec::new();
    let number = |n: Option<u64>| n.map_or_else(|| "?".to_owned(), count);
    if let Some(parametric) = &side.parametric {
        let types: Vec<&str> = parametric
            .types
            .iter()
            .map(|kind| kind.name.as_str())
            .collect();
        let objects = number(parametric.objects);
        let mut line = format!("{objects} objects (types {})", types.join(", "));
        if !parametric.attributes.is_empty() {
            let _ = write!(line, ", with {}", parametric.attributes.join(", "));
        }
        if let Some(groups) = parametric.groups {
            let _ = write!(line, ", {}", counted(groups, "group"));
        }
        lines.push(("parametric", line));
    }
    for kind in &side.composite {
        let (vertices, chunks) = (number(kind.vertices), number(kind.chunks));
        let mut line = format!(
            "level {} also holds {}: {vertices} vertices in {chunks} chunks",
            kind.level, kind.kind
        );
        if kind.links.is_some() || kind.link_width.is_some() {
            let _ = write!(line, ", {} links", number(kind.links));
        }
        if let Some(why) = &kind.links_refused {
            let _ = write!(line, " that cannot be used: {why}");
        }
        lines.push(("composite", line));
    }
    for header in &side.headers {
        let members = header.members.iter();
        let members = members.map(|(name, bytes)| format!("{name} ({bytes} bytes)"));
        let members = joined(members, ", ");
        lines.push(("header", format!("{}: {members}", header.format)));
    }
    if let Some(packing) = &side.packing {
        let (layout, size) = (&packing.layout, number(packing.size));
        lines.push(("packed", format!("{layout}, up to {size} chunks together")));
    }
    if !side.unknown.is_empty() {
        lines.push(("unknown", side.unknown.join(", ")));
    }
    lines
}

impl ArrayFacts {
    /// How cells are stored: the codecs of an array, or the kind of container where each cell has its own.
    fn form(&self) -> String {
        match self.container {
            "grid" | "sharded grid" | "table" => {
                self.codecs.as_deref().unwrap_or_default().join("+")
            }
            other => other.to_owned(),
        }
    }

    fn row(&self, table: &mut TextTable) {
        let width = self.width.filter(|width| *width > 1);
        let width = width.map(|width| format!(" x {width}")).unwrap_or_default();
        let shards = self.shard_shape.as_deref();
        let remarks = [
            shards.map(|shape| format!("shards of {}", product(shape))),
            self.categories.map(|n| counted(n, "category")),
            self.unit.clone(),
            self.description.clone(),
        ];
        table.row([
            below_level(&self.path).to_owned(),
            format!("{}{width}", self.dtype),
            dashed(self.chunks),
            product(&self.shape),
            self.form(),
            joined(remarks.into_iter().flatten(), ", "),
        ]);
    }
}

/// Numbers with a multiplication sign between.
fn product<T: Display>(values: &[T]) -> String {
    joined(values, " x ")
}
