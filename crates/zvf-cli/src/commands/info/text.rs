//! What `zvf info` says to people.

use std::fmt::Write as _;

use zvf_format::keys::format_delta;

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
        if let Some(crs) = self.crs.as_ref().filter(|crs| !crs.is_null()) {
            head("crs", &crs.to_string());
        }
        if self.parametric {
            head("parametric", "yes");
        }
        if let Some(headers) = self.headers.as_ref().filter(|headers| !headers.is_empty()) {
            head("headers", &headers.join(", "));
        }
        if !self.user_metadata.is_empty() {
            head("metadata", &self.user_metadata.join(", "));
        }
        out.push('\n');
        out.push_str(&self.levels_table());
        for level in &self.levels {
            level.text(&mut out);
        }
        out
    }

    fn levels_table(&self) -> String {
        let mut table = TextTable::new([
            "level",
            "vertices",
            "chunks",
            "objects",
            "size",
            "files",
            "chunk shape",
            "bin shape",
        ]);
        for level in &self.levels {
            let dash = || "-".to_owned();
            table.row([
                level.level.to_string(),
                format!(
                    "{}{}",
                    level.vertices,
                    if level.counted { " counted" } else { "" }
                ),
                level.chunks.to_string(),
                level
                    .objects
                    .as_ref()
                    .map_or_else(dash, |objects| objects.rows.to_string()),
                level.usage.map_or_else(dash, |usage| size(usage.bytes)),
                level
                    .usage
                    .map_or_else(dash, |usage| usage.objects.to_string()),
                product(&level.chunk_shape),
                level.bin_shape.as_deref().map_or_else(dash, product),
            ]);
        }
        table.render(0)
    }
}

impl LevelFacts {
    fn text(&self, out: &mut String) {
        let mut traits = Vec::new();
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
        let mut table = TextTable::new(["array", "type", "chunks", "grid", "codecs", "remarks"]);
        for array in self
            .arrays
            .iter()
            .filter(|array| !array.path.contains("/links/"))
        {
            array.row(&mut table);
        }
        out.push_str(&table.render(2));
        if let Some(objects) = &self.objects {
            let layout = objects.layout.as_deref().unwrap_or("vlen_manifests_v1");
            let present = objects
                .present
                .map(|present| format!(", {} with fragments", count(present)))
                .unwrap_or_default();
            let sorted = if objects.sorted == Some(true) {
                ", ids sorted"
            } else {
                ""
            };
            let _ = writeln!(
                out,
                "  objects: {}{present}, {layout}{sorted}",
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
            let own = format!("{}/links/{}/", self.level, format_delta(family.delta));
            let codecs = self
                .arrays
                .iter()
                .find(|array| array.path.starts_with(&own))
                .map(|array| array.codecs.join("+"));
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
                "  links {}: {links}{} endpoints, {directed}, {}{attributes}, {} in {} ({})",
                format_delta(family.delta),
                family.width,
                family.store,
                codecs.unwrap_or_default(),
                counted(family.segments.len() as u64, "array"),
                segments.join(" "),
            );
        }
    }
}

impl ArrayFacts {
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
            self.codecs.join("+"),
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
