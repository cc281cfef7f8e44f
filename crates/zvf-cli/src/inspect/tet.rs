//! TET files (`docs/tet.md`): superblock, directory, chunk index, footer. Errors are detected by the strict checks of `zvf-tet`.

use zvf_format::U64;
use zvf_tet::layout::{
    DirectoryHead, FLAG_FOOTER, FooterTail, IndexEntry, IndexHeader, MAX_RANK, RecordHead,
    Superblock,
};
use zvf_tet::{DType, FooterPlace, TetFile, TileCodec};

use super::dump::{Stopped, Walk};

/// Dumps a file, then runs the reader's checks.
pub(crate) fn walk(walk: &mut Walk<'_, '_>) -> Result<(), Stopped> {
    let bytes = walk.rest();
    let _ = parts(walk);
    let dump = &mut *walk.dump;
    let file = TetFile::from_bytes(bytes.to_vec()).map_err(|error| {
        let at = error.fault().map_or(0, zvf_tet::TetError::at);
        dump.fault(at, error.to_string())
    })?;
    let proof = file.proof();
    let order = match proof.canonical {
        true => "canonical order",
        false => "another order",
    };
    let gaps = match proof.packed {
        true => "packed",
        false => "with gaps or in another order",
    };
    dump.conclude(format!(
        "readable by the strict rules; entries in {order}, payloads {gaps}"
    ));
    for warning in proof.warnings.iter() {
        let (class, what, at) = (warning.class.name(), warning.what, warning.at);
        let count = warning.count;
        dump.conclude(format!(
            "warning {class}: {what} at byte {at}, {count} in all"
        ));
    }
    Ok(())
}

fn parts(walk: &mut Walk<'_, '_>) -> Result<(), Stopped> {
    let length = walk.left();
    walk.dump.section("superblock");
    let block = walk.structure::<Superblock>(|block, field| {
        if field.name == "flags" {
            field.value = format!("{:#x}", block.flags.get());
            field.meaning = match block.flags.get() & FLAG_FOOTER {
                0 => "no footer",
                _ => "a footer at the end of the file",
            }
            .into();
        }
    })?;
    let datasets = block.dataset_count.get();
    if datasets > 0 {
        walk.dump.section("directory");
        walk.structure::<DirectoryHead>(|_, _| {})?;
        for number in 0..datasets {
            record(walk, number)?;
        }
        index(walk)?;
    }
    let footer = match block.flags.get() & FLAG_FOOTER {
        0 => 0,
        // Spills before the JSON count as payloads.
        _ => FooterPlace::parse(walk.rest(), length, walk.at())
            .map_or(0, |place| place.json_len)
            .saturating_add(size_of::<FooterTail>() as u64)
            .min(walk.left()),
    };
    let end = walk.left().saturating_sub(footer);
    if end > 0 {
        walk.dump.section("payloads");
        walk.take(end, "payloads")?;
        let meaning = "tiles, each at the position in its entry";
        walk.note("payloads", format_args!("{end} bytes"), meaning);
    }
    if footer > 0 {
        walk.dump.section("footer");
        let json = walk.left().saturating_sub(size_of::<FooterTail>() as u64);
        let text = String::from_utf8_lossy(walk.take(json, "json")?);
        walk.note("json", text, "history and metadata");
        walk.structure::<FooterTail>(|_, _| {})?;
    }
    Ok(())
}

fn record(walk: &mut Walk<'_, '_>, number: u32) -> Result<(), Stopped> {
    walk.dump.section(format_args!("dataset {number}"));
    let head = walk.structure::<RecordHead>(|head, field| {
        if field.name == "dtype" {
            let name = DType::from_tag(head.dtype.get()).map(DType::name);
            field.meaning = name.unwrap_or("unknown type").into();
        }
    })?;
    let length = u64::from(head.name_len.get());
    let name = String::from_utf8_lossy(walk.take(length, "name")?);
    walk.note("name", format_args!("{name:?}"), "");
    let padding = head.padded_name() - length;
    if padding > 0 {
        walk.take(padding, "padding")?;
        walk.note("padding", "", "to a multiple of 8");
    }
    let rank = usize::try_from(head.ndim.get()).unwrap_or(MAX_RANK);
    for what in ["shape", "chunk_shape"] {
        for axis in 0..rank.min(MAX_RANK) {
            let extent = walk.value::<U64>(what)?;
            walk.note(format_args!("{what}[{axis}]"), extent, "");
        }
    }
    Ok(())
}

fn index(walk: &mut Walk<'_, '_>) -> Result<(), Stopped> {
    walk.dump.section("chunk index");
    let head = walk.structure::<IndexHeader>(|_, _| {})?;
    let (count, bytes) = (head.entry_count.get(), size_of::<IndexEntry>() as u64);
    walk.rows((count, bytes), 0, "entries", |walk, number| {
        walk.dump.section(format_args!("entry {number}"));
        let entry = walk.structure::<IndexEntry>(|entry, field| {
            if field.name == "codec" {
                let name = entry.codec().map(TileCodec::name);
                field.meaning = name.unwrap_or("unknown codec").into();
            }
        });
        entry.map(drop)
    })
}
