//! A shard: inner chunks back to back, then the index with their places.

use bytes::Bytes;
use zvf_format::shard::{ShardEntry, ShardIndex, ShardTail};
use zvf_meta::Codec;
use zvf_store::{Limits, undo_codecs};

use super::dump::{Dump, Stopped, Walk};
use super::place::Known;

/// Takes a shard apart, but not its inner chunks. Returns the bytes of the requested inner chunk, if it exists.
pub(crate) fn walk<'a>(
    dump: &mut Dump,
    bytes: &'a [u8],
    known: &Known,
) -> Result<Option<&'a [u8]>, Stopped> {
    let entries = known.entries.or_else(|| guess_entries(bytes)).unwrap_or(1);
    let index = ShardIndex::parse(bytes, entries);
    let verdict = index.and_then(|index| index.check());
    let mut checksum = Ok(());
    Walk::new(dump, bytes).judged(verdict, |walk| {
        walk.section("shard: inner chunks back to back, then the index");
        let index = index.map_err(|_| Stopped)?;
        table(walk, &index, known)?;
        checksum = sum(&index).map_err(|text| walk.fault_last(text));
        checksum?;
        let present = index.entries().iter().filter(|one| !one.is_absent());
        walk.conclude(format!(
            "{} of {entries} inner chunks are present",
            present.count()
        ))
    });
    let index = verdict.and(index).map_err(|_| Stopped)?;
    checksum?;
    let wanted = known.element.and_then(|i| usize::try_from(i).ok());
    Ok(wanted.and_then(|i| index.get(i)))
}

fn table(walk: &mut Walk<'_, '_>, index: &ShardIndex<'_>, known: &Known) -> Result<(), Stopped> {
    let data = index.data().len() as u64;
    walk.take(data, "inner chunks")?;
    walk.note(
        "data",
        format!("{data} bytes"),
        "inner chunks in any order; the index says where each lies",
    );
    let entries = index.entries().len();
    walk.section(format!(
        "shard index: {entries} entries in C order of the inner chunks"
    ));
    let (shown, mut hidden) = (walk.shown(), 0);
    for i in 0..entries as u64 {
        let entry = walk.value::<ShardEntry>("entry")?;
        let wanted = Some(i) == known.element;
        if i >= shown && !wanted {
            hidden += 1;
            continue;
        }
        walk.more(std::mem::take(&mut hidden), "entries")?;
        let (value, meaning) = match entry.is_absent() {
            true => (
                "absent".to_owned(),
                "offset and length 2^64 - 1: no such inner chunk".to_owned(),
            ),
            false => (
                format!("{} bytes at {}", entry.nbytes, entry.offset),
                format!(
                    "inner chunk {i}{}",
                    if wanted { ", taken apart below" } else { "" }
                ),
            ),
        };
        walk.note(&format!("entry {i}"), value, meaning);
    }
    walk.more(hidden, "entries")?;
    walk.structure::<ShardTail>(true, |tail, field| {
        field.value = format!("{:#010x}", tail.checksum.get());
    })?;
    Ok(())
}

/// Compares the checksum after the index.
fn sum(index: &ShardIndex<'_>) -> Result<(), String> {
    let bytes = Bytes::copy_from_slice(index.bytes());
    let codecs = [Codec::named("crc32c")];
    match undo_codecs("index", &codecs, bytes, &Limits::default()) {
        Ok(_) => Ok(()),
        Err(error) => Err(crate::error::fold(&error).replacen("index: ", "", 1)),
    }
}

/// The number of entries for which the checksum at the end is right.
pub(crate) fn guess_entries(bytes: &[u8]) -> Option<u64> {
    (1..=4096).find(|entries| {
        // A checksum is computed only for counts of entries with a possible first entry.
        ShardIndex::parse(bytes, *entries).is_ok_and(|index| {
            let first = index.entries().first();
            first.is_some_and(|first| first.is_absent() || index.get(0).is_some())
                && sum(&index).is_ok()
        })
    })
}
