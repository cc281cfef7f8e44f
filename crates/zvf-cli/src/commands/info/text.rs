//! What `zvf info` says to people.

use std::fmt::Write as _;

use serde_json::Value;

use zvf_format::keys::format_delta;

use zvf_store::SideGroups;

use super::facts::{ArrayFacts, Facts, LevelFacts};
use crate::output::table::{TextTable, count, counted, size};

/// Width of the names at the left.
const NAME: usize = 13;
/// Link arrays of one family that are named.
const SEGMENTS: usize = 6;

impl Facts {
    /// The text.
    pub(super) fn text(&self) -> String {
        let mut out = String::new();
        let mut head = |name: &str, value: &str| {
            let _ = writeln!(out, "{name:<NAME$}{value}");
        };
        head("store", &self.store);
        head("version", &self.version);
        let more = self
            .geometry_types
            .iter()
            .skip(1)
            .cloned()
            .collect::<Vec<_>>()
            .join(", ");
        head(
            "kind",
            &if more.is_empty() {
                self.kind.clone()
            } else {
                format!("{} (also {more})", self.kind)
            },
        );
        head("links", &self.links_convention);
        let axes: Vec<String> = self
            .axes
            .iter()
            .zip(self.bounds.0.iter().zip(&self.bounds.1))
            .map(|(axis, (lo, hi))| {
                let unit = axis
                    .unit
                    .as_deref()
                    .map(|unit| format!(" {unit}"))
                    .unwrap_or_default();
                format!("{} {lo} to {hi}{unit}", axis.name)
            })
            .collect();
        head("bounds", &axes.join(", "));
        head("chunks", &product(&self.chunk_shape));
        if let Some(bins) = &self.base_bin_shape {
            head("bins", &product(bins));
        }
        if let Some(offset) = &self.coordinate_offset {
            head("offset", &product(offset).replace(" x ", ", "));
        }
        if !self.capabilities.is_empty() {
            head("capabilities", &self.capabilities.join(", "));
        }
        if !self.required.is_empty() {
            head("required", &self.required.join(", "));
        }
        if let Some(layout) = &self.manifest_layout {
            head("manifests", layout);
        }
        if let Some(crs) = self.crs.as_ref().filter(|crs| !crs.is_null()) {
            head("crs", &crs.to_string());
        }
        for (name, line) in self.frames() {
            head(name, &line);
        }
        for (name, line) in side(&self.side) {
            head(name, &line);
        }
        if !self.absent_parts.is_empty() {
            head("absent", &format!("parts {}", self.absent_parts.join(", ")));
        }
        if let Some(stale) = &self.stale {
            let chunks = counted(stale.len() as u64, "chunk");
            let what = match stale.is_empty() {
                true => "coarse levels, of objects that were edited".to_owned(),
                false => format!("coarse levels, in {chunks} that were edited"),
            };
            head("stale", &what);
        }
        if !self.user_metadata.is_empty() {
            head("metadata", &self.user_metadata.join(", "));
        }
        for hint in self.hints() {
            let _ = writeln!(out, "{:<NAME$}{hint}", "hint");
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
            let numbers = value.as_array().into_iter().flatten();
            let numbers: Vec<String> = numbers.map(Value::to_string).collect();
            (!numbers.is_empty()).then(|| numbers.join(" x "))
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
        for (format, affine) in &self.transforms {
            lines.push(("transformed", format!("positions of {format} files, by")));
            matrix("", affine, &mut lines);
        }
        lines
    }

    fn levels_table(&self) -> String {
        // Sizes are present with `--sizes` only.
        let sized = self.levels.iter().any(|level| level.usage.is_some());
        let columns = |sizes: [String; 2]| sized.then_some(sizes).into_iter().flatten();
        let head = |names: &[&str]| names.iter().map(ToString::to_string).collect::<Vec<_>>();
        let mut names = head(&["level", "vertices", "chunks", "objects"]);
        names.extend(columns(["size", "files"].map(str::to_owned)));
        names.extend(head(&["chunk shape", "bin shape"]));
        let mut table = TextTable::new(names);
        for level in &self.levels {
            let dash = || "-".to_owned();
            let counted = if level.counted { " counted" } else { "" };
            let objects = level.objects.as_ref();
            let mut row = vec![
                level.level.to_string(),
                format!("{}{counted}", level.vertices),
                level.chunks.to_string(),
                objects.map_or_else(dash, |objects| objects.count().to_string()),
            ];
            let usage = level.usage;
            row.extend(columns([
                usage.map_or_else(dash, |usage| size(usage.bytes)),
                usage.map_or_else(dash, |usage| usage.objects.to_string()),
            ]));
            row.push(product(&level.chunk_shape));
            row.push(level.bin_shape.as_deref().map_or_else(dash, product));
            table.row(row);
        }
        table.render(0)
    }
}

impl LevelFacts {
    fn text(&self, out: &mut String) {
        let mut traits = Vec::new();
        traits.extend(self.additive.then(|| {
            let more: Vec<String> = self.chain.iter().skip(1).map(ToString::to_string).collect();
            format!("additive, complete with level {}", more.join(", "))
        }));
        traits.extend(self.parent.map(|parent| {
            let method = self.method.as_deref().unwrap_or("unknown method");
            let sparsity = if self.sparsity < 1.0 {
                format!(", 1 in {} objects kept", (1.0 / self.sparsity).round())
            } else {
                String::new()
            };
            format!("made from level {parent} ({method}{sparsity})")
        }));
        traits.extend(self.tile.then(|| "fragments tile".to_owned()));
        let follow = || "groups of links follow fragments".to_owned();
        traits.extend(self.link_groups.then(follow));
        traits.extend(
            self.shared_fragments
                .then(|| "fragments may be shared".to_owned()),
        );
        traits.extend(
            self.preserves_object_ids
                .then(|| "keeps object ids".to_owned()),
        );
        traits.extend(
            self.chunk_attribute
                .as_ref()
                .map(|name| format!("chunked by {name}")),
        );
        let gap = if traits.is_empty() { "" } else { ": " };
        let _ = writeln!(out, "\nlevel {}{gap}{}", self.level, traits.join(", "));
        let mut table = TextTable::new(["array", "type", "chunks", "grid", "stored as", "remarks"]);
        for array in self.arrays.iter().filter(|array| !is_link(&array.path)) {
            array.row(&mut table);
        }
        out.push_str(&table.render(2));
        if let Some(objects) = &self.objects {
            let layout = &objects.layout;
            let present = objects
                .present
                .map(|present| format!(", {} with fragments", count(present)))
                .unwrap_or_default();
            let deleted = match objects.deleted {
                0 => String::new(),
                deleted => format!(", {} of deleted objects", count(deleted)),
            };
            let sorted = if objects.ids_sorted == Some(true) {
                ", ids sorted"
            } else {
                ""
            };
            let _ = writeln!(
                out,
                "  objects: {}{deleted}{present}, {layout}{sorted}",
                counted(objects.rows, "row")
            );
        }
        if let Some(groups) = &self.groups {
            let names: Vec<&str> = groups.iter().take(8).map(String::as_str).collect();
            let more = if groups.len() > names.len() {
                ", …"
            } else {
                ""
            };
            let _ = writeln!(
                out,
                "  groups: {} ({}{more})",
                count(groups.len() as u64),
                names.join(", ")
            );
        }
        for family in &self.links {
            let links = family
                .links
                .map(|links| format!("{} records, ", count(links)))
                .unwrap_or_default();
            let directed = if family.directed {
                "directed"
            } else {
                "undirected"
            };
            let delta = format_delta(family.delta).to_string();
            let own = self.arrays.iter().filter(|array| {
                is_link(&array.path) && array.path.split('/').nth(2) == Some(delta.as_str())
            });
            let mut forms: Vec<String> = own.map(ArrayFacts::form).collect();
            forms.sort_unstable();
            forms.dedup();
            let mut segments: Vec<&str> = family
                .segments
                .iter()
                .take(SEGMENTS)
                .map(String::as_str)
                .collect();
            if family.segments.len() > SEGMENTS {
                segments.push("…");
            }
            let attributes = if family.attributes.is_empty() {
                String::new()
            } else {
                format!(", with {}", family.attributes.join(", "))
            };
            let _ = writeln!(
                out,
                "  links {delta}: {links}{} endpoints, {directed}, {}{attributes}, {} in {} ({})",
                family.width,
                family.store,
                forms.join(" and "),
                counted(family.segments.len() as u64, "array"),
                segments.join(" "),
            );
        }
        for refused in &self.refused {
            let _ = writeln!(out, "  not read: {}: {}", refused.path, refused.why);
        }
        if let Some(sizes) = &self.sizes {
            out.push_str(&super::sizes::text(self.level, sizes));
        }
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
        let mut line = format!(
            "{} objects (types {})",
            number(parametric.objects),
            types.join(", ")
        );
        if !parametric.attributes.is_empty() {
            let _ = write!(line, ", with {}", parametric.attributes.join(", "));
        }
        if let Some(groups) = parametric.groups {
            let _ = write!(line, ", {}", counted(groups, "group"));
        }
        lines.push(("parametric", line));
    }
    for kind in &side.composite {
        let mut line = format!(
            "level {} also holds {}: {} vertices in {} chunks",
            kind.level,
            kind.kind,
            number(kind.vertices),
            number(kind.chunks)
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
        let members: Vec<String> = header
            .members
            .iter()
            .map(|(name, bytes)| format!("{name} ({bytes} bytes)"))
            .collect();
        lines.push((
            "header",
            format!("{}: {}", header.format, members.join(", ")),
        ));
    }
    if let Some(packing) = &side.packing {
        let line = format!(
            "{}, up to {} chunks together",
            packing.layout,
            number(packing.size)
        );
        lines.push(("packed", line));
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
        let short = self
            .path
            .split_once('/')
            .map_or(self.path.as_str(), |(_, name)| name);
        let width = self
            .width
            .filter(|width| *width > 1)
            .map(|width| format!(" x {width}"))
            .unwrap_or_default();
        let mut remarks = Vec::new();
        remarks.extend(
            self.shard_shape
                .as_ref()
                .map(|shape| format!("shards of {}", product(shape))),
        );
        remarks.extend(self.categories.map(|n| counted(n, "category")));
        remarks.extend(self.unit.clone());
        remarks.extend(self.description.clone());
        table.row([
            short.to_owned(),
            format!("{}{width}", self.dtype),
            self.chunks
                .map_or_else(|| "-".to_owned(), |chunks| chunks.to_string()),
            product(&self.shape),
            self.form(),
            remarks.join(", "),
        ]);
    }
}

/// Numbers with a multiplication sign between.
fn product<T: ToString>(values: &[T]) -> String {
    values
        .iter()
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join(" x ")
}
