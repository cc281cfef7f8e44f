//! The report of `zvf info` for people.

use std::collections::BTreeSet;
use std::fmt::{Display, Write as _};

use serde_json::Value;
use zvf_format::keys::format_delta;
use zvf_jobs::{ArrayInfo, ArraySize, InfoReport, LevelInfo, LinkInfo, StoreInfo};
use zvf_store::SideGroups;

use super::import_parts;
use crate::output::table::{TextTable, count, counted, joined, size};

/// Width of the column of names.
const NAME: usize = 13;
/// Most link arrays of a family that are named.
const SEGMENTS: usize = 6;

/// The report for people.
pub(super) fn text(report: &InfoReport) -> String {
    match report {
        InfoReport::Store(info) => of_store(info),
        InfoReport::Parts(info) => import_parts::text(info),
        _ => String::new(),
    }
}

fn of_store(info: &StoreInfo) -> String {
    let also = info.geometry_types.get(1..).unwrap_or_default().join(", ");
    let kind = match also.is_empty() {
        true => info.kind.clone(),
        false => format!("{} (also {also})", info.kind),
    };
    let corners = info.bounds.0.iter().zip(&info.bounds.1);
    let axes = info.axes.iter().zip(corners).map(|(axis, (lo, hi))| {
        let unit = axis.unit.iter().map(|unit| format!(" {unit}"));
        format!("{} {lo} to {hi}{}", axis.name, unit.collect::<String>())
    });
    let mut lines = vec![
        ("store", info.store.clone()),
        ("version", info.version.clone()),
        ("kind", kind),
        ("links", info.links_convention.clone()),
        ("bounds", joined(axes, ", ")),
        ("chunks", product(&info.chunk_shape)),
    ];
    let mut more = |name, value: Option<String>| lines.extend(value.map(|value| (name, value)));
    let list = |names: &[String]| (!names.is_empty()).then(|| names.join(", "));
    more("bins", info.bin_shape.as_deref().map(product));
    let offset = info.coordinate_offset.as_deref().map(product);
    more("offset", offset.map(|offset| offset.replace(" x ", ", ")));
    more("capabilities", list(&info.capabilities));
    more("required", list(&info.required_capabilities));
    more("manifests", info.manifest_layout.clone());
    let crs = info.crs.as_ref().filter(|crs| !crs.is_null());
    more("crs", crs.map(Value::to_string));
    lines.extend(frames(info));
    lines.extend(side(&info.side));
    let mut more = |name, value: Option<String>| lines.extend(value.map(|value| (name, value)));
    more(
        "absent",
        list(&info.absent_parts).map(|parts| format!("parts {parts}")),
    );
    let stale = info.stale_chunks.as_ref().map(|stale| match stale.len() {
        0 => "coarse levels, of objects that were edited".to_owned(),
        n => format!(
            "coarse levels, in {} that were edited",
            counted(n as u64, "chunk")
        ),
    });
    more("stale", stale);
    more("metadata", list(&info.user_metadata));
    lines.extend(info.hints.iter().map(|hint| ("hint", hint.clone())));
    let mut out = String::new();
    for (name, line) in lines {
        let _ = writeln!(out, "{name:<NAME$}{line}");
    }
    out.push('\n');
    out.push_str(&levels_table(info));
    for level in &info.levels {
        level_text(level, &mut out);
    }
    if let Some(entries) = &info.history {
        let _ = writeln!(out, "\nhistory: {}", counted(entries.len() as u64, "job"));
        for entry in entries {
            let by = entry["zvf"].as_str().unwrap_or("?");
            // A call from Python is not a job.
            let did = entry.get("job").unwrap_or(&entry["call"]);
            let _ = writeln!(out, "  zvf {by}  {did}");
        }
    }
    out
}

/// The frame of a tractogram and its map, and affines that were applied; one line for each row.
fn frames(info: &StoreInfo) -> Vec<(&'static str, String)> {
    let mut lines = Vec::new();
    let list = |value: &Value| {
        let numbers = value.as_array().filter(|numbers| !numbers.is_empty());
        numbers.map(|numbers| product(numbers))
    };
    if let Some(frame) = &info.frame {
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
    for (format, affine) in &info.applied_affine {
        lines.push(("transformed", format!("positions of {format} files, by")));
        matrix("", affine, &mut lines);
    }
    lines
}

fn levels_table(info: &StoreInfo) -> String {
    // Sizes are present with `--sizes` only.
    let sized = info.levels.iter().any(|level| level.bytes.is_some());
    let columns = |sizes: [String; 2]| sized.then_some(sizes).into_iter().flatten();
    let mut names = ["level", "vertices", "chunks", "objects"]
        .map(str::to_owned)
        .to_vec();
    names.extend(columns(["size", "files"].map(str::to_owned)));
    names.extend(["chunk shape", "bin shape"].map(str::to_owned));
    let mut table = TextTable::new(names);
    for level in &info.levels {
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

fn level_text(level: &LevelInfo, out: &mut String) {
    let additive = level.is_additive().then(|| {
        let more = joined(&level.complete_with, ", ");
        format!("additive, complete with level {more}")
    });
    let made = level.parent_level.map(|parent| {
        let method = level
            .coarsening_method
            .as_deref()
            .unwrap_or("unknown method");
        let sparsity = match level.object_sparsity < 1.0 {
            true => format!(
                ", 1 in {} objects kept",
                (1.0 / level.object_sparsity).round()
            ),
            false => String::new(),
        };
        format!("made from level {parent} ({method}{sparsity})")
    });
    let flags = [
        (level.fragments_tile, "fragments tile"),
        (
            level.fragment_link_groups,
            "groups of links follow fragments",
        ),
        (level.shared_fragments, "fragments may be shared"),
        (level.preserves_object_ids, "keeps object ids"),
    ];
    let mut traits: Vec<String> = additive.into_iter().chain(made).collect();
    traits.extend(
        flags
            .iter()
            .filter(|(set, _)| *set)
            .map(|(_, text)| (*text).to_owned()),
    );
    let chunked = level.chunk_attribute.iter();
    traits.extend(chunked.map(|name| format!("chunked by {name}")));
    let gap = if traits.is_empty() { "" } else { ": " };
    let _ = writeln!(out, "\nlevel {}{gap}{}", level.level, traits.join(", "));
    let mut table = TextTable::new(["array", "type", "chunks", "grid", "stored as", "remarks"]);
    for array in level.arrays.iter().filter(|array| !is_link(&array.path)) {
        add_array(array, &mut table);
    }
    out.push_str(&table.render(2));
    if let Some(index) = &level.object_index {
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
    if let Some(groups) = &level.groups {
        let names = first(groups, 8, ", …", ", ");
        let _ = writeln!(out, "  groups: {} ({names})", count(groups.len() as u64));
    }
    for family in &level.links {
        links_line(family, out, &level.arrays);
    }
    for refused in &level.refused {
        let _ = writeln!(out, "  not read: {}: {}", refused.path, refused.why);
    }
    if let Some(sizes) = &level.sizes {
        out.push_str(&sizes_text(level.level, sizes));
    }
}

/// Writes the line of a link family; `arrays` are all arrays of its level.
fn links_line(family: &LinkInfo, out: &mut String, arrays: &[ArrayInfo]) {
    let links = family
        .links
        .map(|links| format!("{} records, ", count(links)));
    let directed = if family.directed {
        "directed"
    } else {
        "undirected"
    };
    let delta = format_delta(family.delta).to_string();
    let own = |array: &&ArrayInfo| {
        is_link(&array.path) && array.path.split('/').nth(2) == Some(delta.as_str())
    };
    let forms: BTreeSet<_> = arrays.iter().filter(own).map(form).collect();
    let attributes = match family.attributes.is_empty() {
        true => String::new(),
        false => format!(", with {}", family.attributes.join(", ")),
    };
    let _ = writeln!(
        out,
        "  links {delta}: {}{} endpoints, {directed}, {}{attributes}, {} in {} ({})",
        links.unwrap_or_default(),
        family.width,
        family.store,
        joined(forms, " and "),
        counted(family.segments.len() as u64, "array"),
        first(&family.segments, SEGMENTS, " …", " "),
    );
}

/// The first `most` names, and `mark` if there are more.
fn first(names: &[String], most: usize, mark: &str, between: &str) -> String {
    match names.get(..most).filter(|first| first.len() < names.len()) {
        Some(first) => first.join(between) + mark,
        None => names.join(between),
    }
}

/// Adds a line for each row of an affine except the last, which is constant. `name` is in the first line.
fn matrix(name: &'static str, rows: &Value, lines: &mut Vec<(&'static str, String)>) {
    let rows = rows.as_array().map(Vec::as_slice).unwrap_or_default();
    let mut table = TextTable::new([""; 4]);
    for row in rows.split_last().map_or(rows, |(_, rows)| rows) {
        let numbers = row.as_array().into_iter().flatten();
        // Zero is printed without a sign.
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

/// A line for each group of the store beside its levels.
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

/// How cells are stored: the codecs of an array, or the kind of container if each cell has its own codecs.
fn form(array: &ArrayInfo) -> String {
    match &*array.container {
        "grid" | "sharded grid" | "table" => array.codecs.as_deref().unwrap_or_default().join("+"),
        other => other.to_owned(),
    }
}

fn add_array(array: &ArrayInfo, table: &mut TextTable) {
    let width = array.width.filter(|width| *width > 1);
    let width = width.map(|width| format!(" x {width}")).unwrap_or_default();
    let shards = array.shard_shape.as_deref();
    let remarks = [
        shards.map(|shape| format!("shards of {}", product(shape))),
        array.categories.map(|n| counted(n, "category")),
        array.unit.clone(),
        array.description.clone(),
    ];
    table.row([
        below_level(&array.path).to_owned(),
        format!("{}{width}", array.dtype),
        dashed(array.chunks),
        product(&array.shape),
        form(array),
        joined(remarks.into_iter().flatten(), ", "),
    ]);
}

/// Joins values with ` x `.
fn product<T: Display>(values: &[T]) -> String {
    joined(values, " x ")
}

/// The table of the sizes of a level's arrays.
fn sizes_text(level: u32, sizes: &[ArraySize]) -> String {
    let mut table = TextTable::new(["array", "codec", "files", "bytes", "ratio"]);
    for one in sizes {
        let codec = one.codec.as_deref().unwrap_or("of each cell");
        let ratio = one.ratio.map(|ratio| format!("{ratio:.3}"));
        table.row([
            below_level(&one.path).to_owned(),
            codec.to_owned(),
            count(one.files),
            count(one.bytes),
            dashed(ratio),
        ]);
    }
    format!("\nsizes of level {level}\n{}", table.render(2))
}

/// The text of a value, or a dash if there is none.
fn dashed(value: Option<impl ToString>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| value.to_string())
}

/// The path of an array below its level.
fn below_level(path: &str) -> &str {
    path.split_once('/').map_or(path, |(_, name)| name)
}
