//! SWC: neuron trees, one node per line: `id type x y z radius parent`.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::path::{Path, PathBuf};

use serde_json::Value;
use zvf_meta::{Affine, units};
use zvf_write::{AttributeSpec, Batch, Kind, NumberType};

use crate::error::{ConvertError, InFile, shown};
use crate::found::{FirstPass, Stated, draft, float_type};
use crate::names;
use crate::options::{FileLimits, Options};
use crate::shape::VertexExtent;
use crate::sink::Sink;
use crate::text::{TextLines, single_holds};

/// Files to be read again.
#[derive(Debug)]
pub(crate) struct Swc {
    files: Vec<(PathBuf, i64)>,
    limits: FileLimits,
}

/// One file in memory.
#[derive(Debug, Default)]
struct SwcTree {
    ids: Vec<i64>,
    types: Vec<i32>,
    positions: Vec<f64>,
    radii: Vec<f64>,
    /// (child, parent), as indices of nodes in the order of the file.
    links: Vec<u64>,
    /// The unit that a comment states, with the number before it.
    unit: Option<(f64, &'static str)>,
    /// Comments about scale or unit that could not be parsed.
    unread: Vec<String>,
}

/// Whether float32 is enough for positions and radii.
#[derive(Debug)]
struct Precision {
    positions: bool,
    radii: bool,
}

impl Swc {
    pub(crate) fn survey(
        files: &[PathBuf],
        kind: Kind,
        options: &Options,
    ) -> Result<(Self, FirstPass, Option<Affine>), ConvertError> {
        let (ids, by_name) = names::ids(files, options.ids)?;
        let mut extent = VertexExtent::new(3);
        let mut single = Precision {
            positions: true,
            radii: true,
        };
        let mut links = 0_u64;
        let mut unit: Option<Option<(f64, &str)>> = None;
        let mut unread: Vec<String> = Vec::new();
        for file in files {
            options.check_stop()?;
            let tree = parse(file, &options.limits, &mut single)?;
            unread.extend(tree.unread);
            let own = tree.unit;
            if *unit.get_or_insert(own) != own {
                let text = |unit: Option<(f64, &str)>| match unit {
                    Some((factor, name)) => format!("the unit {factor} {name}"),
                    None => "no unit".to_owned(),
                };
                let expected = format!(
                    "{} as in the first file; `zvf append` converts units",
                    text(unit.flatten())
                );
                return Err(ConvertError::malformed(
                    file,
                    InFile::Whole,
                    text(own),
                    expected,
                ));
            }
            for position in tree.positions.chunks(3) {
                extent.add(position);
            }
            if extent.count() > options.limits.vertices {
                let limit = options.limits.vertices;
                return Err(ConvertError::limit(file, InFile::Whole, "vertices", limit));
            }
            links = links.saturating_add(tree.links.chunks(2).count() as u64);
        }
        let mut spec = draft(kind, &["x", "y", "z"], float_type(single.positions))
            .with_vertex_attribute(AttributeSpec::number("radius", float_type(single.radii)))
            .with_vertex_attribute(AttributeSpec::number("type", NumberType::I32))
            .with_vertex_attribute(AttributeSpec::number("node_id", NumberType::I64));
        spec = spec.with_object_attribute(AttributeSpec::text("name"));
        let mut notes = vec![names::note(&ids, by_name, options.ids)];
        unread.dedup();
        for comment in unread.iter().take(3) {
            notes.push(format!(
                "the comment {} is not applied: --scale and --unit state scale and unit",
                shown(comment)
            ));
        }
        let explicit =
            options.unit.is_some() || options.scale.is_some() || options.affine.is_some();
        let mut own = None;
        if let Some((factor, name)) = unit.flatten() {
            if explicit {
                notes.push(format!(
                    "the header states {factor} {name}: the given unit, scale or affine is used instead"
                ));
            } else {
                spec = spec.with_unit(name);
                own = (factor != 1.0).then(|| Affine::of_scale(&[factor; 3]));
            }
        }
        let found = FirstPass {
            extent,
            objects: ids.len() as u64,
            links,
            spec,
            frame: None,
            stated: match unit.flatten() {
                Some(_) if !explicit => Stated::Units,
                _ => Stated::Names,
            },
            notes,
        };
        let reader = Self {
            files: files.iter().cloned().zip(ids).collect(),
            limits: options.limits,
        };
        Ok((reader, found, own))
    }

    pub(crate) fn read(&self, sink: &mut dyn Sink) -> Result<(), ConvertError> {
        for (file, id) in &self.files {
            let mut single = Precision {
                positions: true,
                radii: true,
            };
            let tree = parse(file, &self.limits, &mut single)?;
            let owner = [(*id, tree.ids.len())];
            let batch = Batch::new(tree.positions)
                .with_object_runs(&owner[..])
                .with_attribute("radius", tree.radii)
                .with_attribute("type", tree.types)
                .with_attribute("node_id", tree.ids)
                .with_links(tree.links);
            sink.batch(&batch)?;
            sink.objects(&names::object(*id, file))?;
        }
        Ok(())
    }
}

/// The unit of length that a comment states, with a number before it: `units: um`, or the member `units` of the JSON object that navis
/// writes after `Meta:`.
fn stated_unit(comment: &str) -> Option<(f64, &'static str)> {
    let comment = comment.trim();
    if let Some(json) = comment.strip_prefix("Meta:") {
        let meta: Value = serde_json::from_str(json).ok()?;
        return units::parse(meta.get("units")?.as_str()?).ok();
    }
    let (word, unit) = comment.split_once([':', '=', ' '])?;
    let named = ["unit", "units"]
        .iter()
        .any(|name| word.trim().eq_ignore_ascii_case(name));
    let unit = unit.trim_start_matches([':', '=', ' ']);
    named.then(|| units::parse(unit).ok())?
}

/// Whether a comment states a scale other than 1, or a unit.
fn states_units(comment: &str) -> bool {
    let mut words = comment
        .split([':', '=', ',', ' ', '\t'])
        .filter(|word| !word.is_empty());
    let first = words.next().unwrap_or_default().to_ascii_lowercase();
    match first.as_str() {
        "unit" | "units" => true,
        "scale" => words.any(|word| word.parse::<f64>().is_ok_and(|factor| factor != 1.0)),
        "meta" => comment.contains("\"units\""),
        _ => false,
    }
}

/// Reads one file. Parents may follow their children; every id is unique, every parent exists, and no node is its own
/// ancestor.
fn parse(
    path: &Path,
    limits: &FileLimits,
    single: &mut Precision,
) -> Result<SwcTree, ConvertError> {
    let mut lines = TextLines::open(path, limits.line)?;
    let mut tree = SwcTree::default();
    let mut places: HashMap<i64, u64> = HashMap::new();
    let mut parents: Vec<(i64, u64)> = Vec::new();
    while lines.step()? {
        if let Some(comment) = lines.comment() {
            let unit = stated_unit(comment);
            if unit.is_none() && tree.unread.len() < 3 && states_units(comment) {
                tree.unread.push(comment.trim().to_owned());
            }
            tree.unit = tree.unit.or(unit);
        }
        let line = lines.content()?;
        if line.is_empty() {
            continue;
        }
        let fields: Vec<&str> = line.split_whitespace().take(8).collect();
        let &[id, label, x, y, z, radius, parent] = &fields[..] else {
            let count = line.split_whitespace().count();
            let expected = "7: id, type, x, y, z, radius, parent";
            return Err(lines.bad(format!("{count} fields"), expected));
        };
        let place = tree.ids.len() as u64;
        if place >= limits.held {
            return Err(ConvertError::limit(
                path,
                lines.place(),
                "nodes of a skeleton",
                limits.held,
            ));
        }
        let whole = |field: &str, what: &str| {
            let expected = || format!("{what}, a whole number");
            field
                .parse::<i64>()
                .map_err(|_| lines.bad(shown(field), expected()))
        };
        let id = whole(id, "an id")?;
        if id < 0 {
            return Err(lines.bad(id.to_string(), "an id of 0 or more"));
        }
        let kind = whole(label, "a type")?;
        let kind = i32::try_from(kind)
            .map_err(|_| lines.bad(kind.to_string(), "a type of at most 32 bits"))?;
        for (field, what) in [(x, "x"), (y, "y"), (z, "z")] {
            let value = lines.finite(field, what)?;
            single.positions &= single_holds(field, value);
            tree.positions.push(value);
        }
        let value = lines.finite(radius, "a radius")?;
        single.radii &= single_holds(radius, value);
        tree.radii.push(value);
        let parent = whole(parent, "a parent")?;
        if parent < -1 {
            return Err(lines.bad(parent.to_string(), "the id of a parent, or -1"));
        }
        match places.entry(id) {
            Entry::Vacant(slot) => slot.insert(place),
            Entry::Occupied(_) => {
                return Err(lines.bad(format!("a second node {id}"), "different ids"));
            }
        };
        tree.ids.push(id);
        tree.types.push(kind);
        let InFile::Line(number) = lines.place() else {
            continue;
        };
        parents.push((parent, number));
    }
    let mut up: Vec<Option<u64>> = Vec::with_capacity(parents.len());
    for (&(parent, line), child) in parents.iter().zip(0_u64..) {
        if parent == -1 {
            up.push(None);
            continue;
        }
        let Some(&place) = places.get(&parent) else {
            let found = format!("parent {parent}");
            let expected = "the id of a node of this file, or -1";
            return Err(ConvertError::malformed(
                path,
                InFile::Line(line),
                found,
                expected,
            ));
        };
        up.push(Some(place));
        tree.links.extend([child, place]);
    }
    if let Some(node) = on_cycle(&up) {
        let (id, line) = (tree.ids.get(node), parents.get(node));
        let found = format!(
            "node {} as an ancestor of itself",
            id.copied().unwrap_or_default()
        );
        let line = InFile::Line(line.map_or(0, |(_, line)| *line));
        return Err(ConvertError::malformed(path, line, found, "a tree"));
    }
    Ok(tree)
}

/// A node on a cycle of parents, if there is one.
fn on_cycle(up: &[Option<u64>]) -> Option<usize> {
    // 0: not seen; otherwise the number of the walk that visited the node.
    let mut seen = vec![0_usize; up.len()];
    for start in 0..up.len() {
        let walk = start + 1;
        let mut at = start;
        while let Some(mark) = seen.get_mut(at) {
            if *mark == walk {
                return Some(at);
            }
            if *mark != 0 {
                break;
            }
            *mark = walk;
            match up.get(at).copied().flatten().map(usize::try_from) {
                Some(Ok(next)) => at = next,
                _ => break,
            }
        }
    }
    None
}
