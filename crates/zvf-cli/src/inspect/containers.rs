//! Containers of cells: the `vlen-bytes` framing, shards, and the packed chunks of versions before 0.9. Their elements are not decoded here; the
//! requested element becomes [`Walk::element`].

use bytes::Bytes;
use zvf_format::shard::{ShardEntry, ShardIndex, ShardTail};
use zvf_format::vlen::{ElementHead, VlenChunk, VlenHead};
use zvf_meta::Codec;
use zvf_store::{CellFacts, Limits, undo_codecs};

use super::dump::{Stopped, Walk};
use crate::output::table::counted;

/// Takes the framing of a `vlen-bytes` chunk apart: a count, then length and bytes of each element. The default element is the first.
pub(crate) fn vlen(walk: &mut Walk<'_, '_>, known: &CellFacts) -> Result<(), Stopped> {
    let bytes = walk.rest();
    let expected = known.elements.or_else(|| VlenChunk::count(bytes));
    walk.judge(VlenChunk::parse(bytes, expected.unwrap_or(0)));
    walk.dump
        .section("vlen-bytes chunk: n elements, each a length and that many bytes");
    let count = walk.structure::<VlenHead>(|_, _| {})?.count.get();
    let wanted = known.element.unwrap_or(0);
    walk.table(
        u64::from(count),
        (0, Some(wanted)),
        "elements",
        |walk, i| {
            let head = walk.structure::<ElementHead>(|_, field| {
                field.meaning += &format!(" of element {i}");
            })?;
            let bytes = walk.take(u64::from(head.length.get()), "element")?;
            let meaning = match bytes.len() {
                0 => "empty: the same as absent",
                _ if i == wanted => "decoded below",
                _ => "",
            };
            let value = format_args!("{} bytes", bytes.len());
            walk.note(format_args!("element {i}"), value, meaning);
            if i == wanted {
                walk.element = Some(bytes);
            }
            Ok(())
        },
    )?;
    walk.trailing("after the last element; readers ignore it")
}

/// Takes a shard apart: inner chunks back to back, then the index with their places.
pub(crate) fn shard(walk: &mut Walk<'_, '_>, known: &CellFacts) -> Result<(), Stopped> {
    let bytes = walk.rest();
    let entries = known.entries.or_else(|| guess_entries(bytes)).unwrap_or(1);
    let index = ShardIndex::parse(bytes, entries);
    walk.judge(index.and_then(|index| index.check()));
    walk.dump
        .section("shard: inner chunks back to back, then the index");
    let index = index.map_err(|_| Stopped)?;
    let data = index.data().len() as u64;
    walk.take(data, "inner chunks")?;
    let meaning = "inner chunks in any order; the index has the position of each";
    walk.note("data", format_args!("{data} bytes"), meaning);
    walk.dump.section(format_args!(
        "shard index: {entries} entries in C order of the inner chunks"
    ));
    walk.table(entries, (0, known.element), "entries", |walk, i| {
        let entry = walk.value::<ShardEntry>("entry")?;
        let (name, below) = (format!("entry {i}"), known.element == Some(i));
        if entry.is_absent() {
            let meaning = "offset and length 2^64 - 1: no such inner chunk";
            walk.note(name, "absent", meaning);
        } else {
            let value = format_args!("{} bytes at {}", entry.nbytes, entry.offset);
            let below = if below { ", decoded below" } else { "" };
            walk.note(name, value, format_args!("inner chunk {i}{below}"));
        }
        Ok(())
    })?;
    walk.structure::<ShardTail>(|tail, field| {
        field.value = format!("{:#010x}", tail.checksum.get());
    })?;
    sum(&index).map_err(|text| walk.fault_last(text))?;
    let present = index.entries().iter().filter(|one| !one.is_absent());
    let present = present.count();
    walk.conclude(format!("{present} of {entries} inner chunks are present"))?;
    let wanted = known.element.and_then(|i| usize::try_from(i).ok());
    walk.element = wanted.and_then(|i| index.get(i));
    Ok(())
}

/// Compares the checksum after the index of a shard.
fn sum(index: &ShardIndex<'_>) -> Result<(), String> {
    let bytes = Bytes::copy_from_slice(index.bytes());
    let codecs = [Codec::named("crc32c")];
    let decoded = undo_codecs("index", &codecs, bytes, &Limits::default());
    let text = |error| zvf_jobs::words::fold(&error).replacen("index: ", "", 1);
    decoded.map(drop).map_err(text)
}

/// The smallest number of entries, at most 4096, for which the checksum at the end of a shard is valid.
pub(crate) fn guess_entries(bytes: &[u8]) -> Option<u64> {
    (1..=4096).find(|entries| {
        // The checksum is computed only if the first entry is valid.
        ShardIndex::parse(bytes, *entries).is_ok_and(|index| {
            let first = index.entries().first();
            first.is_some_and(|first| first.is_absent() || index.get(0).is_some())
                && sum(&index).is_ok()
        })
    })
}

/// Takes a packed chunk apart. Its index is in its document (specification 0.7, section 2.6).
pub(crate) fn packed(walk: &mut Walk<'_, '_>, known: &CellFacts) -> Result<(), Stopped> {
    walk.dump.section(
        "packed chunks: the blobs of several keys back to back; `shard_index` has the position of each",
    );
    let (all, count) = (walk.rest(), known.packed.len() as u64);
    let mut entries = known.packed.iter();
    walk.table(count, (0, known.element), "keys", |walk, i| {
        let (key, offset, length) = entries.next().ok_or(Stopped)?;
        let range = usize::try_from(*offset).ok().zip(usize::try_from(*length).ok());
        let range = range.and_then(|(offset, length)| all.get(offset..)?.get(..length));
        let Some(bytes) = range else {
            return Err(walk.fault_here(format!(
                "shard_index of {key:?}: found {length} bytes at {offset}, expected an end of at most {}",
                all.len()
            )));
        };
        let wanted = known.element == Some(i);
        let meaning = if wanted { "decoded below" } else { "" };
        walk.dump.remark(key, format_args!("{length} bytes at {offset}"), meaning);
        if wanted {
            walk.element = Some(bytes);
        }
        Ok(())
    })?;
    walk.conclude(counted(count, "packed chunk"))
}
