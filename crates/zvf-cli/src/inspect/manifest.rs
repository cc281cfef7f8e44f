//! Manifests: the fragments of an object, in order.

use zvf_format::I64;
use zvf_format::manifest::{
    BlockMode, FragmentList, FragmentRun, Manifest, ManifestHead, OneFragment,
};
use zvf_store::CellFacts;

use super::dump::{Field, Stopped, Walk, reason};
use crate::output::table::{counted, joined};

/// Takes a manifest apart; without a key rank, every rank that fits exactly is tried.
pub(crate) fn walk(walk: &mut Walk<'_, '_>, known: &CellFacts) -> Result<(), Stopped> {
    let bytes = walk.rest();
    if bytes.is_empty() {
        walk.dump.section("manifest");
        return walk.conclude(
            "no bytes: the object is absent at this level, which reads as an empty manifest",
        );
    }
    let rank = known.key_rank.or_else(|| guess_rank(bytes)).unwrap_or(3);
    let manifest = walk.judge(Manifest::parse(bytes, rank));
    walk.dump.section(format_args!(
        "manifest: B blocks, each a chunk of {rank} components and its fragments"
    ));
    body(walk, rank)?;
    let references = manifest.map_or(0, |manifest| manifest.fragment_count());
    walk.conclude(format!(
        "the object is {}, their rows concatenated in this order",
        counted(references, "fragment")
    ))
}

/// Takes concatenated manifests apart (specification 0.7, section 10). If there are offsets, they state where each begins; otherwise each follows the
/// previous one.
pub(crate) fn concatenated(walk: &mut Walk<'_, '_>, known: &CellFacts) -> Result<(), Stopped> {
    let rank = known.key_rank.unwrap_or(3);
    walk.dump.section(format_args!(
        "manifests of all objects back to back, chunks of {rank} components; `offsets` has the start of each"
    ));
    // A table may or may not have one more offset, the end (section 10.2).
    let count = Some(known.offsets.len() as u64).filter(|count| *count > 0);
    let mut offsets = known.offsets.iter().copied().peekable();
    let (mut objects, more) = (0, "manifests, checked; name a row to see it");
    walk.table(count, (known.first_row, None), more, |walk, object| {
        objects += 1;
        let (start, bytes) = (walk.at(), walk.rest());
        if let Some(stated) = offsets.next().filter(|stated| *stated != start) {
            return Err(walk.fault_here(format!(
                "manifest of row {object}: the one before ends at {start}, expected {stated} as stated in `offsets`"
            )));
        }
        let empty = match offsets.peek() {
            Some(end) => *end == start,
            None => bytes.is_empty(),
        };
        let what = if empty { "no bytes: absent" } else { "" };
        walk.dump.remark(format_args!("row {object}"), what, "");
        if empty {
            return Ok(());
        }
        body(walk, rank)?;
        let length = usize::try_from(walk.at() - start).unwrap_or(usize::MAX);
        match Manifest::parse(bytes.get(..length).unwrap_or(bytes), rank) {
            Ok(_) => Ok(()),
            Err(error) => {
                let at = start.saturating_add(error.at());
                Err(walk.dump.fault(at, reason(&error)))
            }
        }
    })?;
    if walk.left() > 0 {
        return Err(walk.fault_here(format!(
            "manifests: found {} bytes after the last, expected the end",
            walk.left()
        )));
    }
    walk.conclude(counted(objects, "manifest"))
}

/// The key rank from 2 to 5 with which the bytes are a manifest; `None` if no rank or several ranks fit.
pub(crate) fn guess_rank(bytes: &[u8]) -> Option<usize> {
    let mut fitting = (2..=5).filter(|rank| Manifest::parse(bytes, *rank).is_ok());
    let first = fitting.next()?;
    fitting.next().is_none().then_some(first)
}

fn body(walk: &mut Walk<'_, '_>, rank: usize) -> Result<(), Stopped> {
    let head = walk.structure::<ManifestHead>(|head, field| {
        if head.blocks == 0 {
            field.meaning = "blocks: the object is empty".into();
        }
    })?;
    let more = "blocks in the same form, checked";
    let blocks = u64::from(head.blocks.get());
    walk.table(blocks, (0, None), more, |walk, b| block(walk, rank, b))
}

fn block(walk: &mut Walk<'_, '_>, rank: usize, b: u64) -> Result<(), Stopped> {
    let key = joined(walk.values::<I64>(rank as u64, "chunk component")?, ".");
    let meaning = format_args!("block {b}: absolute chunk coordinate");
    walk.note("chunk", &key, meaning);
    let mode = walk.structure::<BlockMode>(|block, field| {
        field.meaning = match block.mode {
            0 => "one fragment follows",
            1 => "a run of fragments follows: start, count",
            2 => "a list of fragments follows: n, then n numbers",
            _ => "unknown",
        }
        .into();
    })?;
    let one = |walk: &mut Walk<'_, '_>| {
        let of_chunk = |_: &_, field: &mut Field| {
            field.meaning = format!("fragment {} of chunk {key}", field.value);
        };
        walk.structure::<OneFragment>(of_chunk).map(drop)
    };
    match mode.mode {
        0 => one(walk),
        1 => {
            let run = walk.structure::<FragmentRun>(|run, field| {
                let (start, count) = (run.start.get(), run.count.get());
                let end = start.saturating_add(count);
                field.meaning = match field.name.as_str() {
                    "count" => format!("fragments {start}..{end} of chunk {key}"),
                    _ => String::new(),
                };
            });
            run.map(drop)
        }
        2 => {
            let list = walk.structure::<FragmentList>(|_, field| {
                field.meaning = format!("fragments of chunk {key}");
            })?;
            let count = u64::from(list.count.get());
            walk.table(count, (0, None), "fragments", |walk, _| one(walk))
        }
        mode => Err(walk.fault_last(format!("mode: found {mode}, expected 0, 1 or 2"))),
    }
}
