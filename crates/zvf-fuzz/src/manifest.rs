//! Manifests, ragged blobs and vlen-bytes chunks.

use zvf_format::manifest::{FragmentRefs, Manifest, ManifestBuilder};
use zvf_format::ragged::{RaggedBlob, RaggedBuilder};
use zvf_format::vlen::{VlenBuilder, VlenChunk, VlenDirectory};

use crate::split::parameters;

/// Most fragment numbers of one block that are iterated; a range may state 2^63 of them.
const WALK: usize = 64;

/// Parses and iterates an object manifest. Parameter: rank of its chunk coordinates.
///
/// # Panics
///
/// When the views of a manifest disagree, or a rewritten manifest decodes to something else.
pub fn manifest(data: &[u8]) {
    let ([rank], blob) = parameters(data);
    let rank = usize::from(rank % 8);
    let Ok(manifest) = Manifest::parse(blob, rank) else {
        return;
    };
    let mut builder = ManifestBuilder::new(rank).expect("a rank that parses can be written");
    let mut blocks = 0;
    for block in manifest.blocks() {
        blocks += 1;
        assert_eq!(block.chunk.len(), rank);
        assert!(block.fragments.iter().take(WALK).count() <= WALK);
        let _ = block.fragments.check(1000);
        let chunk: Vec<i64> = block
            .chunk
            .iter()
            .map(|component| component.get())
            .collect();
        let pushed = match block.fragments {
            FragmentRefs::One(fragment) => builder.push(&chunk, fragment),
            FragmentRefs::Range { start, count } => builder.push_range(&chunk, start, count),
            FragmentRefs::List(list) => builder.push_list(
                &chunk,
                &list
                    .iter()
                    .map(|fragment| fragment.get())
                    .collect::<Vec<_>>(),
            ),
        };
        if pushed.is_err() {
            // Legal to read, not to write: negative fragment numbers.
            return;
        }
    }
    assert_eq!(blocks, manifest.len());
    assert!(manifest.fragment_refs().take(WALK).count() as u64 <= manifest.fragment_count());
    let again = builder.finish();
    let again = Manifest::parse(&again, rank).expect("what we write, we read");
    let pairs = |found: &Manifest<'_>| -> Vec<(Vec<i64>, i64)> {
        let flat = found.fragment_refs().take(4 * WALK);
        flat.map(|(chunk, fragment)| (chunk.iter().map(|c| c.get()).collect(), fragment))
            .collect()
    };
    assert_eq!(pairs(&manifest), pairs(&again));
}

/// Parses and iterates a ragged blob.
///
/// # Panics
///
/// When the groups do not cover the data or a rewritten blob decodes to something else.
pub fn ragged(data: &[u8]) {
    let Ok(blob) = RaggedBlob::parse(data) else {
        return;
    };
    let mut builder = RaggedBuilder::new();
    let mut bytes = 0;
    for (g, group) in blob.iter().enumerate() {
        assert_eq!(blob.get(g), Some(group));
        bytes += group.len();
        builder.push(group);
    }
    assert_eq!(bytes, blob.data().len(), "groups cover the data");
    assert_eq!(blob.get(blob.len()), None);
    let again = builder.finish();
    let again = RaggedBlob::parse(&again).expect("what we write, we read");
    assert!(blob.iter().eq(again.iter()));
}

/// Parses and iterates a vlen-bytes chunk. Parameter: the expected number of elements; 255: the number that the chunk states.
///
/// # Panics
///
/// When the views disagree or a rewritten chunk decodes to something else.
pub fn vlen(data: &[u8]) {
    let ([count], chunk) = parameters(data);
    let stated = chunk
        .first_chunk()
        .map_or(0, |head| u32::from_le_bytes(*head));
    let expected = if count == 255 {
        u64::from(stated)
    } else {
        u64::from(count)
    };
    if let Ok(cell) = VlenChunk::parse_cell(chunk) {
        assert!(cell.len() < chunk.len());
    }
    let Ok(view) = VlenChunk::parse(chunk, expected) else {
        return;
    };
    assert_eq!(u64::from(view.len()), expected);
    let directory = VlenDirectory::build(&view);
    let mut builder = VlenBuilder::new();
    for (i, element) in (0_u32..).zip(view.iter()) {
        if i < 64 {
            assert_eq!(view.get(i), Some(element));
        }
        assert_eq!(directory.get(&view, i), Some(element));
        builder
            .push(element)
            .expect("an element that was read can be written");
    }
    assert_eq!(view.get(view.len()), None);
    let again = builder.finish();
    assert_eq!(again.len() + view.trailing().len(), chunk.len());
    assert!(chunk.starts_with(&again), "framing has one form");
}
