//! TET files (`docs/tet.md`): superblock, directory, chunk index, footer. `zvf-tet` determines errors, with its strict checks.

use zvf_format::U64;
use zvf_tet::layout::{
    DirectoryHead, FLAG_FOOTER, FooterTail, IndexEntry, IndexHeader, MAX_RANK, RecordHead,
    Superblock,
};
use zvf_tet::{DType, FooterPlace, TetFile, TileCodec};

use super::dump::{Dump, Field, Stopped, Walk};

/// Dumps a file, then runs the reader's checks.
pub(crate) fn walk(dump: &mut Dump, bytes: &[u8]) {
    let _ = parts(&mut Walk::new(dump, bytes));
    match TetFile::from_bytes(bytes.to_vec()) {
        Ok(file) => {
            let proof = file.proof();
            let order = if proof.canonical {
                "canonical order"
            } else {
                "another order"
            };
            let gaps = if proof.packed {
                "packed"
            } else {
                "with gaps or in another order"
            };
            dump.conclude(format!(
                "readable by the strict rules; entries in {order}, payloads {gaps}"
            ));
            for warning in proof.warnings.iter() {
                let (class, what, at, count) = (
                    warning.class.name(),
                    warning.what,
                    warning.at,
                    warning.count,
                );
                dump.conclude(format!(
                    "warning {class}: {what} at byte {at}, {count} in all"
                ));
            }
        }
        Err(error) => {
            let at = error.fault().map_or(0, zvf_tet::TetError::at);
            dump.fault(at, error.to_string());
        }
    }
}

fn parts(walk: &mut Walk<'_, '_>) -> Result<(), Stopped> {
    walk.section("superblock");
    let block = walk.structure::<Superblock>(true, |block, field| {
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
        walk.section("directory");
        walk.structure::<DirectoryHead>(true, |_, _| {})?;
        for number in 0..datasets {
            record(walk, number)?;
        }
        index(walk)?;
    }
    let footer = match block.flags.get() & FLAG_FOOTER {
        0 => 0,
        _ => footer_length(walk),
    };
    let end = walk.left().saturating_sub(footer);
    if end > 0 {
        walk.section("payloads");
        walk.take(end, "payloads")?;
        let meaning = "tiles, each where its entry says";
        walk.note("payloads", format!("{end} bytes"), meaning);
    }
    if footer > 0 {
        walk.section("footer");
        let json = walk.left().saturating_sub(size_of::<FooterTail>() as u64);
        let text = String::from_utf8_lossy(walk.take(json, "json")?).into_owned();
        walk.note("json", text, "history and metadata");
        walk.structure::<FooterTail>(true, |_, _| {})?;
    }
    Ok(())
}

fn record(walk: &mut Walk<'_, '_>, number: u32) -> Result<(), Stopped> {
    walk.section(format!("dataset {number}"));
    let head = walk.structure::<RecordHead>(true, |head, field| {
        if field.name == "dtype" {
            let name = DType::from_tag(head.dtype.get()).map(DType::name);
            field.meaning = name.unwrap_or("no type that is known").into();
        }
    })?;
    let length = u64::from(head.name_len.get());
    let name = String::from_utf8_lossy(walk.take(length, "name")?).into_owned();
    walk.note("name", format!("{name:?}"), "");
    let padding = head.padded_name() - length;
    walk.take(padding, "padding")?;
    if padding > 0 {
        walk.note("padding", "", "to a multiple of 8");
    }
    let rank = usize::try_from(head.ndim.get()).unwrap_or(MAX_RANK);
    for what in ["shape", "chunk_shape"] {
        for axis in 0..rank.min(MAX_RANK) {
            let extent = walk.value::<U64>(what)?;
            walk.note(&format!("{what}[{axis}]"), extent.to_string(), "");
        }
    }
    Ok(())
}

fn index(walk: &mut Walk<'_, '_>) -> Result<(), Stopped> {
    walk.section("chunk index");
    let head = walk.structure::<IndexHeader>(true, |_, _| {})?;
    let count = head.entry_count.get();
    let shown = count.min(walk.shown());
    for number in 0..shown {
        walk.section(format!("entry {number}"));
        walk.structure::<IndexEntry>(true, |entry: &IndexEntry, field: &mut Field| {
            if field.name == "codec" {
                let name = entry.codec().map(TileCodec::name);
                field.meaning = name.unwrap_or("no codec that is known").into();
            }
        })?;
    }
    let hidden = count.saturating_sub(shown);
    let bytes = hidden.saturating_mul(size_of::<IndexEntry>() as u64);
    walk.skip_rows(bytes, hidden, "entries")
}

/// Bytes of the footer's JSON and end, as stated by its end; spills before it count as payloads.
fn footer_length(walk: &Walk<'_, '_>) -> u64 {
    let place = FooterPlace::parse(walk.rest(), walk.len(), walk.at());
    let json = place.map_or(0, |place| place.json_len);
    json.saturating_add(size_of::<FooterTail>() as u64)
        .min(walk.left())
}
