//! Edits of levels, arrays and families: members that repeat their path, each other, or numbers of their cells.

use crate::{Check, Finding};
use serde_json::{Value, json};
use zvf_format::keys::{parse_delta, parse_offsets};
use zvf_meta::rules::{Rule, absent_value, zarr_name};
use zvf_meta::{LinkFamilyDoc, LinkStore, ObjectIndexDoc, Role};

use super::RepairOptions;
use super::documents::{Look, RepairState, document_of, inside};
use super::edit::{Fix, Tier};

/// The location of the metadata of a level in its document.
const LEVEL: &str = "/attributes/zarr_vectors_level";
/// The checks of the declaration that link groups match fragments.
pub(crate) const LINK_GROUPS: [Check; 3] = [
    Check::LinkGroupCount,
    Check::LinkGroupRows,
    Check::LinkGroupFragment,
];
/// The source of a value that is derived from the path.
const PATH: &str = "its path";

/// Edits of levels, arrays and families.
pub(crate) fn edits(look: &Look<'_>, memory: &RepairState, options: &RepairOptions) -> Vec<Fix> {
    let mut edits = levels(look, memory, options);
    for finding in &look.report.findings {
        edits.extend(node(look, finding, options));
    }
    edits.extend(counts(look, options));
    edits
}

/// Edits of the documents of levels.
fn levels(look: &Look<'_>, memory: &RepairState, options: &RepairOptions) -> Vec<Fix> {
    let mut edits = Vec::new();
    for level in look.levels() {
        let key = format!("{level}/zarr.json");
        let found = |check: Check| look.of(check).any(|one| document_of(one) == key);
        let rule = |rule: Rule| found(Check::Document(rule));
        let at = |member: &str| format!("{LEVEL}/{member}");
        let counted = look.measured.levels.get(&level).and_then(|of| of.vertices);
        if let Some(count) = counted {
            let stated = look.level(level).map_or(0, |doc| doc.vertex_count);
            let check = if memory.counts.contains(&level) {
                Some(Check::DocumentReads)
            } else {
                let wrong = found(Check::VertexCount) && options.may_count(stated, count);
                wrong.then_some(Check::VertexCount)
            };
            if let Some(check) = check {
                let why = "the rows of its cells";
                let edit = Fix::set(&key, &at("vertex_count"), count, check, why);
                edits.push(edit.tier(Tier::Counted));
            }
        }
        // The claim may be the only sign that a fragment is damaged, unless all rows are there and only the order of fragments is wrong.
        let mut untiled = look
            .of(Check::FragmentsTile)
            .filter(|one| one.place.level == Some(level))
            .peekable();
        if untiled.peek().is_some()
            && untiled.all(|one| options.accept_loss || one.place.row.is_none())
        {
            let why = "the fragments of a chunk do not tile its rows";
            edits.push(Fix::remove(
                &key,
                &at("fragments_tile"),
                Check::FragmentsTile,
                why,
            ));
        }
        for check in LINK_GROUPS {
            if look.of(check).any(|one| one.place.level == Some(level)) {
                let why = "the link groups of a chunk do not match its fragments";
                edits.push(Fix::remove(&key, &at("fragment_link_groups"), check, why));
                break;
            }
        }
        if rule(Rule::LevelNumber) {
            let check = Check::Document(Rule::LevelNumber);
            edits.push(Fix::set(&key, &at("level"), level, check, PATH));
        }
        if rule(Rule::LevelParentAbsent) {
            let check = Check::Document(Rule::LevelParentAbsent);
            let why = "level 0 has no parent";
            edits.push(Fix::set(&key, &at("parent_level"), Value::Null, check, why));
        }
        if level == 0 && rule(Rule::LevelPreservesIds) {
            let check = Check::Document(Rule::LevelPreservesIds);
            let why = "level 0 has no parent whose ids it could preserve";
            edits.push(Fix::remove(&key, &at("preserves_object_ids"), check, why));
        }
        if rule(Rule::LevelZeroBins) {
            edits.extend(bins_of_zero(look, &key));
        }
        if rule(Rule::LevelSplitDims) {
            edits.extend(split_dims(look, &key, level));
        }
    }
    edits
}

/// Removes the bins of level 0 if the root states the same ones.
fn bins_of_zero(look: &Look<'_>, key: &str) -> Vec<Fix> {
    let (Some(root), Some(doc)) = (&look.root, look.level(0)) else {
        return Vec::new();
    };
    let base = root.base_bin_shape();
    let check = Check::Document(Rule::LevelZeroBins);
    let members = [("bin_shape", doc.bin_shape), ("bin_size", doc.bin_size)];
    let known = members
        .into_iter()
        .filter_map(|(name, bins)| Some((name, bins?)));
    let same = known.filter(|(_, bins)| bins == base);
    same.map(|(name, _)| {
        let why = "the root has the same bins";
        Fix::remove(key, &format!("{LEVEL}/{name}"), check, why)
    })
    .collect()
}

fn split_dims(look: &Look<'_>, key: &str, level: u32) -> Option<Fix> {
    let name = look.level(level)?.chunk_attribute_name?;
    let axes = look
        .root
        .as_ref()?
        .axes()
        .iter()
        .map(|axis| axis.name.clone());
    let dims: Vec<String> = std::iter::once(name).chain(axes).collect();
    let check = Check::Document(Rule::LevelSplitDims);
    let why = "its attribute and the axes";
    Some(Fix::set(
        key,
        &format!("{LEVEL}/chunk_dims"),
        dims,
        check,
        why,
    ))
}

/// Edits of an array, a family or an object index for one finding.
fn node(look: &Look<'_>, finding: &Finding, options: &RepairOptions) -> Vec<Fix> {
    let key = document_of(finding);
    let Some((level, path)) = inside(&key).filter(|(_, path)| !path.is_empty()) else {
        return Vec::new();
    };
    let check = finding.check;
    let one = |member: &str, value: Option<Value>, why: &str| -> Vec<Fix> {
        let pointer = format!("/attributes/{member}");
        let edit = value.map(|value| Fix::set(&key, &pointer, value, check, why));
        edit.into_iter().collect()
    };
    match check {
        Check::ObjectIdsSorted => one(
            "object_ids_sorted",
            Some(Value::from(false)),
            "the ids are not ascending",
        )
        .into_iter()
        .map(|edit| Fix {
            key: format!("{level}/object_index/zarr.json"),
            ..edit
        })
        .collect(),
        Check::Document(rule) => match rule {
            Rule::Discriminator | Rule::DiscriminatorThere => {
                one("zv_array", word(path).map(Value::from), PATH)
            }
            Rule::AttributeName => one("name", own_name(look, level, path, &key), PATH),
            Rule::LinkDelta => one("level_delta", delta(path).map(Value::from), PATH),
            Rule::LinkOffsets => one("offsets", offsets(path).map(|list| json!(list)), PATH),
            Rule::LinkPerm => {
                let why = "the policy of its family";
                one(
                    "has_perm",
                    has_perm(look, level, path).map(Value::from),
                    why,
                )
            }
            Rule::LinkWidth => widths(look, level, path, check),
            Rule::FamilyPolicy => policy(look, level, path, check),
            Rule::FamilyRank | Rule::IndexRank => {
                let rank = look.key_rank(level);
                one("sid_ndim", rank.map(Value::from), "the axes of the level")
            }
            Rule::FamilyDirected => {
                let why = "links between levels are directed";
                one("directed", Some(Value::from(true)), why)
            }
            Rule::Encoding => {
                let fragments = matches!(
                    Role::of(path),
                    Some(Role::VertexFragments | Role::LinkFragments)
                );
                let word = fragments.then(|| Value::from("fragment_index_v1"));
                one("encoding", word, "the only encoding of fragments")
            }
            Rule::RowShape => one("row_shape", row_shape(look, level, &key), "its cells"),
            Rule::GroupCount => {
                let rows = group_count(look, level, &key, options);
                one("num_groups", rows.map(Value::from), "its shape")
            }
            Rule::TypedShape => {
                let shape = table_shape(look, level, path, &key);
                one("shape", shape.map(|shape| json!(shape)), "its shape")
            }
            Rule::TypedDtype | Rule::DtypeThere => {
                one("dtype", data_type(look, path, &key), "its data type")
            }
            Rule::GridOriginZero => {
                let why = "an origin of zeros is omitted";
                vec![Fix::remove(
                    &key,
                    "/attributes/chunk_grid_origin",
                    check,
                    why,
                )]
            }
            Rule::VlenFill => {
                let why = "a missing cell is empty";
                vec![Fix::set(&key, "/fill_value", "", check, why)]
            }
            Rule::ObjectIds | Rule::Manifests => rows_of_index(look, level, check, options)
                .into_iter()
                .collect(),
            _ => Vec::new(),
        },
        _ => Vec::new(),
    }
}

/// The value of `zv_array` for a node.
fn word(path: &str) -> Option<&'static str> {
    let parts: Vec<&str> = path.split('/').collect();
    match parts.as_slice() {
        ["object_index"] => Some("object_index"),
        ["links", _] => Some("links_family"),
        ["link_attributes", _, _] => Some("link_attribute_family"),
        _ => Role::of(path)?.discriminator(),
    }
}

/// The name of an attribute, from its path.
fn name(path: &str) -> Option<&str> {
    let parts: Vec<&str> = path.split('/').collect();
    match parts.as_slice() {
        ["link_attributes", name, _] => Some(name),
        _ => Role::of(path)?.attribute_name(),
    }
}

/// The name of an attribute, from its path; `None` if its document states the name of another attribute of its kind: the two folders may be swapped.
fn own_name(look: &Look<'_>, level: u32, path: &str, key: &str) -> Option<Value> {
    let own = name(path)?;
    let document = look.value(key)?;
    let stated = document.pointer("/attributes/name").and_then(Value::as_str);
    let is_of_another = stated.is_some_and(|stated| {
        let mut parts: Vec<&str> = path.split('/').collect();
        if let Some(part) = parts.get_mut(1) {
            *part = stated;
        }
        let other = format!("{level}/{}/zarr.json", parts.join("/"));
        look.bytes(&other).is_some()
    });
    (!is_of_another).then(|| Value::from(own))
}

/// The delta of a link family, or of an array in it, from its path.
fn delta(path: &str) -> Option<i32> {
    let parts: Vec<&str> = path.split('/').collect();
    let (["links", delta, ..] | ["link_attributes", _, delta, ..]) = parts.as_slice() else {
        return None;
    };
    parse_delta(delta).ok()
}

/// The offsets of all endpoints of a link except the first, from the last part of the path.
fn offsets(path: &str) -> Option<Vec<Vec<i64>>> {
    let (_, segment) = Role::of(path)?.link_path()?;
    if segment == "self" {
        return Some(Vec::new());
    }
    let ends = segment.split('_').count();
    let rank = segment.split('_').next()?.split('.').count();
    let mut parts = vec![0_i64; ends.checked_mul(rank)?];
    let count = parse_offsets(segment, rank, ends.checked_add(1)?, &mut parts).ok()?;
    let parts = parts.get(..count)?;
    Some(parts.chunks(rank.max(1)).map(<[i64]>::to_vec).collect())
}

pub(crate) fn family_of(
    look: &Look<'_>,
    level: u32,
    path: &str,
) -> Option<(String, LinkFamilyDoc)> {
    let parts: Vec<&str> = path.split('/').collect();
    let (["links", delta, ..] | ["link_attributes", _, delta, ..]) = parts.as_slice() else {
        return None;
    };
    let key = format!("{level}/links/{delta}/zarr.json");
    let doc = LinkFamilyDoc::parse(look.bytes(&key)?).ok()?;
    Some((key, doc))
}

fn has_perm(look: &Look<'_>, level: u32, path: &str) -> Option<bool> {
    let (_, family) = family_of(look, level, path)?;
    let zero = offsets(path)?.iter().flatten().all(|&part| part == 0);
    Some(family.has_perm(delta(path)?, zero))
}

/// Number of endpoints of a link of a family, if the paths of all its arrays agree.
fn ends(look: &Look<'_>, level: u32, path: &str) -> Option<u32> {
    let delta = path.split('/').nth(1)?;
    let prefix = format!("{level}/links/{delta}/");
    let keys = look.measured.documents.keys();
    let mut agreed = None;
    for key in keys.filter(|key| key.starts_with(&prefix)) {
        let Some((_, path)) = inside(key).filter(|(_, path)| path.split('/').count() == 3) else {
            continue;
        };
        let ends = u32::try_from(offsets(path)?.len().checked_add(1)?).ok()?;
        if agreed.is_some_and(|agreed| agreed != ends) {
            return None;
        }
        agreed = Some(ends);
    }
    agreed
}

/// Corrects the link widths of an array and its family, which disagree, from the paths of the family's arrays.
fn widths(look: &Look<'_>, level: u32, path: &str, check: Check) -> Vec<Fix> {
    let (Some(ends), Some((family, doc))) = (ends(look, level, path), family_of(look, level, path))
    else {
        return Vec::new();
    };
    let why = "the paths of the family's arrays";
    let at = "/attributes/link_width";
    let array = format!("{level}/{path}/zarr.json");
    let mut edits = vec![Fix::set(&array, at, ends, check, why)];
    if doc.link_width != Some(ends) {
        edits.push(Fix::set(&family, at, ends, check, why));
    }
    edits
}

fn policy(look: &Look<'_>, level: u32, path: &str, check: Check) -> Vec<Fix> {
    let Some((family, doc)) = family_of(look, level, path) else {
        return Vec::new();
    };
    let mut edits = Vec::new();
    if doc.link_width.is_none_or(|width| width == 0)
        && let Some(ends) = ends(look, level, path)
    {
        let why = "the paths of the family's arrays";
        edits.push(Fix::set(
            &family,
            "/attributes/link_width",
            ends,
            check,
            why,
        ));
    }
    if doc.sid_ndim.is_none()
        && let Some(rank) = look.key_rank(level)
    {
        let why = "the axes of the level";
        edits.push(Fix::set(&family, "/attributes/sid_ndim", rank, check, why));
    }
    edits
}

/// The shape of a row, if cells have as many values per row as there are channel names.
fn row_shape(look: &Look<'_>, level: u32, key: &str) -> Option<Value> {
    let path = key.strip_suffix("/zarr.json")?;
    let width = *look.measured.levels.get(&level)?.widths.get(path)?;
    let names = look.array(key)?.attributes.channel_names?;
    (u64::try_from(names.len()) == Ok(width)).then(|| json!([width]))
}

/// The value of `dtype` for a table, from the `data_type` of its document, if a third member agrees with it: the declaration in the root, else the fill
/// value.
fn data_type(look: &Look<'_>, path: &str, key: &str) -> Option<Value> {
    let role = Role::of(path)?;
    let doc = look.array(key)?;
    let name = zarr_name(&doc.data_type.name).filter(|name| *name == doc.data_type.name)?;
    let declared = match role {
        Role::ObjectAttribute { name } => {
            let specs = look.root.as_ref()?.zarr_vectors.attribute_specs.as_ref();
            let spec =
                specs.and_then(|specs| specs.get("object")?.get(name)?.get("dtype")?.as_str());
            spec.map(zarr_name)
        }
        Role::GroupAttribute { .. } => None,
        _ => return None,
    };
    let is_absent = |name: &str| absent_value(name).as_ref() == Some(&doc.fill_value);
    let agrees = match (declared, doc.attributes.dtype.as_deref()) {
        (Some(declared), _) => declared == Some(name),
        (None, Some(stated)) => is_absent(name) && !zarr_name(stated).is_some_and(is_absent),
        (None, None) => {
            let says_absent = doc.attributes.fill_sentinel_meaning.as_deref() == Some("absent");
            !says_absent || absent_value(name).is_none() || is_absent(name)
        }
    };
    agrees.then(|| Value::from(name))
}

/// The number of rows that a table must have, as the document of the object index or the shape of the array of groups states it.
fn rows_of(look: &Look<'_>, level: u32, role: Role<'_>) -> Option<u64> {
    match role {
        Role::ObjectAttribute { .. } | Role::ObjectIds => {
            let index = look.bytes(&format!("{level}/object_index/zarr.json"))?;
            ObjectIndexDoc::parse(index).ok()?.num_objects
        }
        Role::GroupAttribute { .. } => {
            let groups = look.array(&format!("{level}/groups/zarr.json"))?;
            groups.shape.first().copied()
        }
        _ => None,
    }
}

/// The shape of a table's array, if other members confirm every number in which the `shape` attribute differs from it.
fn table_shape(look: &Look<'_>, level: u32, path: &str, key: &str) -> Option<Vec<u64>> {
    let doc = look.array(key)?;
    let stated = doc.attributes.shape.as_ref()?;
    let (&rows, channels) = doc.shape.split_first()?;
    let rows_agree =
        stated.first() == Some(&rows) || rows_of(look, level, Role::of(path)?) == Some(rows);
    let names = doc.attributes.channel_names.as_ref();
    let named = names.and_then(|names| u64::try_from(names.len()).ok());
    let channels_agree = stated.get(1..) == Some(channels)
        || matches!(channels, [channels] if named == Some(*channels));
    (rows_agree && channels_agree).then_some(doc.shape)
}

/// The number of groups, from the shape of their array, if the number of names or the rows of attributes confirm it, or if the loss of the others is
/// accepted.
fn group_count(look: &Look<'_>, level: u32, key: &str, options: &RepairOptions) -> Option<u64> {
    let doc = look.array(key)?;
    let rows = doc.shape.first().copied()?;
    let names = doc.attributes.group_names.as_ref();
    let named = names.is_some_and(|names| u64::try_from(names.len()) == Ok(rows));
    let tables = format!("{level}/group_attributes/");
    let tables = look
        .measured
        .documents
        .keys()
        .filter(|one| one.starts_with(&tables));
    let mut lengths = tables
        .filter_map(|one| look.array(one)?.shape.first().copied())
        .peekable();
    let confirmed = named || lengths.peek().is_some();
    let agrees = confirmed && lengths.all(|length| length == rows);
    (agrees || options.accept_loss).then_some(rows)
}

/// The number of rows of the tables of an object index, if manifests and ids have the same number.
fn rows_of_tables(look: &Look<'_>, level: u32) -> Option<u64> {
    let rows = |name: &str| {
        let doc = look.array(&format!("{level}/object_index/{name}/zarr.json"))?;
        <[u64; 1]>::try_from(doc.shape).ok().map(|[rows]| rows)
    };
    let (manifests, ids) = (rows("manifests")?, rows("object_ids")?);
    (manifests == ids).then_some(manifests)
}

/// Corrects the number of rows of an object index from its tables. If the index counts more present objects than that, rows may be lost.
fn rows_of_index(
    look: &Look<'_>,
    level: u32,
    check: Check,
    options: &RepairOptions,
) -> Option<Fix> {
    let rows = rows_of_tables(look, level)?;
    let key = format!("{level}/object_index/zarr.json");
    let index = ObjectIndexDoc::parse(look.bytes(&key)?).ok()?;
    if !options.may_count(index.num_present.unwrap_or(0), rows) {
        return None;
    }
    let why = "the length of its tables";
    Some(Fix::set(&key, "/attributes/num_objects", rows, check, why))
}

/// Corrects the counts of objects and links that have findings. A stated count above the counted one may be the only sign of a loss, so lowering it
/// requires [`RepairOptions::accept_loss`], unless other documents show that the stated count is impossible.
fn counts(look: &Look<'_>, options: &RepairOptions) -> Vec<Fix> {
    let mut edits = Vec::new();
    for rule in [Check::PresentCount, Check::Document(Rule::IndexCounts)] {
        for finding in look.of(rule) {
            let key = document_of(finding);
            let present = inside(&key).and_then(|(level, _)| {
                let doc = ObjectIndexDoc::parse(look.bytes(&key)?).ok()?;
                let stated = doc.num_present?;
                let present = look.measured.levels.get(&level)?.present;
                // More objects than rows, if index and tables agree on the rows, are impossible.
                let rows =
                    rows_of_tables(look, level).filter(|rows| doc.num_objects == Some(*rows));
                let impossible = rows.is_some_and(|rows| stated > rows);
                present.filter(|&found| impossible || options.may_count(stated, found))
            });
            if let Some(present) = present {
                let why = "its manifests";
                let at = "/attributes/num_present";
                let edit = Fix::set(&key, at, present, rule, why);
                edits.push(edit.tier(Tier::Counted));
            }
        }
    }
    for check in [Check::LinkCount, Check::Document(Rule::FamilyCounts)] {
        for finding in look.of(check) {
            let key = document_of(finding);
            let Some((level, path)) = inside(&key) else {
                continue;
            };
            let measured = delta(path).and_then(|delta| {
                let level = look.measured.levels.get(&level)?;
                level.families.get(&delta).copied()
            });
            let (Some(measured), Some((_, doc))) = (measured, family_of(look, level, path)) else {
                continue;
            };
            let links = doc.num_links;
            // A canonical family has one record for each link. If no link is missing, more records are impossible.
            let complete = links.is_some_and(|links| measured.links >= links);
            let impossible = doc.store == LinkStore::Canonical && complete;
            let members = [
                ("num_links", links, measured.links, false),
                (
                    "num_physical_records",
                    doc.num_physical_records,
                    measured.records,
                    impossible,
                ),
            ];
            for (name, stated, count, impossible) in members {
                if stated.is_some_and(|stated| impossible || options.may_count(stated, count)) {
                    let at = format!("/attributes/{name}");
                    let edit = Fix::set(&key, &at, count, check, "its cells");
                    edits.push(edit.tier(Tier::Counted));
                }
            }
        }
    }
    edits
}

#[cfg(test)]
mod tests {
    use super::{delta, name, offsets, word};

    #[test]
    fn paths_say_what_nodes_repeat() {
        assert_eq!(word("links/0"), Some("links_family"));
        assert_eq!(word("links/0/0.0.0"), Some("links"));
        assert_eq!(word("link_attributes/w/0"), Some("link_attribute_family"));
        assert_eq!(word("vertex_attributes"), None);
        assert_eq!(name("link_attributes/w/-1/0.0"), Some("w"));
        assert_eq!(delta("links/+2/0.0"), Some(2));
        assert_eq!(delta("vertices"), None);
        assert_eq!(
            offsets("links/0/+1.0_0.-2"),
            Some(vec![vec![1, 0], vec![0, -2]])
        );
        assert_eq!(offsets("links/0/self"), Some(Vec::new()));
        assert_eq!(offsets("links/0/x"), None);
    }
}
