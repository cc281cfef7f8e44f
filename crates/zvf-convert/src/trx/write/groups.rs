//! Groups of a store as `groups/NAME.uint32` and `dpg/GROUP/NAME.TYPE`.

use std::collections::HashMap;
use std::io::{Seek, Write};

use zvf_store::{Names, Need, TypedArray};
use zvf_write::NumberType;

use super::super::layout::{GROUPS, OF_GROUPS, ending, file_name, number_type};
use crate::ConvertError;
use crate::answered::level_of_groups;
use crate::archive::ArchiveWriter;
use crate::export::job::ExportState;

/// Writes the groups of the level, with their members that are in the file.
pub(super) async fn write<W: Write + Seek>(
    job: &mut ExportState<'_>,
    ids: &[i64],
    archive: &mut ArchiveWriter<W>,
) -> Result<(), ConvertError> {
    let need = Need {
        groups: true,
        group_attributes: Names::All,
        ..Need::nothing()
    };
    let level = level_of_groups(job.store, job.options.query.level, &need).await?;
    let Some(groups) = level.groups() else {
        return Ok(());
    };
    // An object that the query returns twice becomes two streamlines.
    let mut places: HashMap<i64, Vec<u32>> = HashMap::new();
    for (number, id) in (0_u32..).zip(ids) {
        places.entry(*id).or_default().push(number);
    }
    let (mut names, mut unusable, mut absent) = (Vec::new(), Vec::new(), 0_u64);
    for group in 0..groups.len() {
        let name = groups.name(group);
        if !plain(&name) || names.contains(&name) {
            unusable.push(name);
            names.push(String::new());
            continue;
        }
        let mut bytes = Vec::new();
        for id in groups.members(group).await? {
            match places.get(&id) {
                Some(places) => bytes.extend(places.iter().flat_map(|place| place.to_le_bytes())),
                None => absent = absent.saturating_add(1),
            }
        }
        let done = archive.add(
            &format!("{GROUPS}/{}", file_name(&name, 1, "uint32")),
            &mut bytes.as_slice(),
        );
        done.map_err(|error| job.failed(error))?;
        names.push(name);
    }
    let mut left = Vec::new();
    for attribute in level.group_attributes() {
        let Some(kind) = ending_of(attribute).filter(|_| plain(attribute.name())) else {
            left.push(attribute.name().to_owned());
            continue;
        };
        let values = attribute.read().await?;
        for (row, group) in names.iter().enumerate() {
            let bytes = values.row(row).filter(|_| !group.is_empty());
            let Some(bytes) = bytes.filter(|bytes| !values.is_absent(row) && !is_nan(kind, bytes))
            else {
                continue;
            };
            let file = file_name(attribute.name(), values.width, kind);
            let name = format!("{OF_GROUPS}/{group}/{file}");
            let done = archive.add(&name, &mut &*bytes);
            done.map_err(|error| job.failed(error))?;
        }
    }
    job.grouped = true;
    job.not_kept(
        "groups without a name for a file",
        unusable.iter().map(String::as_str),
    );
    job.not_kept("attributes of groups", left.iter().map(String::as_str));
    if absent > 0 {
        job.note(format!(
            "{absent} members of groups are not among the streamlines of the file"
        ));
    }
    Ok(())
}

/// The ending of an attribute's number type.
fn ending_of(attribute: &TypedArray) -> Option<&'static str> {
    let number = NumberType::from_name(&attribute.dtype().to_string())?;
    ending(&number_type(&number.to_string())?)
}

/// Whether all numbers of a row are NaN, which the import writes for a group without a value.
fn is_nan(kind: &str, row: &[u8]) -> bool {
    let nan = |bytes: &[u8]| match (kind, bytes) {
        ("float16", [a, b]) => half::f16::from_le_bytes([*a, *b]).is_nan(),
        ("float32", bytes) => bytes
            .try_into()
            .is_ok_and(|bytes| f32::from_le_bytes(bytes).is_nan()),
        ("float64", bytes) => bytes
            .try_into()
            .is_ok_and(|bytes| f64::from_le_bytes(bytes).is_nan()),
        _ => false,
    };
    let size = match kind {
        "float16" => 2,
        "float32" => 4,
        "float64" => 8,
        _ => return false,
    };
    row.chunks(size).all(nan)
}

/// Whether a name is valid as a file name and is read back unchanged.
pub(super) fn plain(name: &str) -> bool {
    !name.is_empty() && !name.contains(['/', '\\', '.'])
}
