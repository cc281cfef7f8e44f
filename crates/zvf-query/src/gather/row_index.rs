//! Maps a row of a chunk to its rows in the answer: none, one, or one for each object with the row.

use std::sync::Arc;

use super::step::Piece;
use crate::QueryError;
use crate::columns::gather::Rows;
use crate::error::OrBug;
use crate::fragments::Fragments;
use crate::manifests::Entry;
use crate::row_map::Key;
use zvf_store::format::int;

/// Consecutive rows of a chunk that are consecutive rows of the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Span {
    start: u32,
    count: u32,
    pick: u32,
    out: u64,
}

/// An object, by its number in the answer, and one of its rows in the answer.
pub(crate) type Hit = (u32, u64);

/// The pieces of an answer by chunk and row.
#[derive(Debug, Default)]
pub(crate) struct RowIndex {
    /// By chunk; sorted, and either disjoint or single rows.
    spans: Vec<Vec<Span>>,
}

impl RowIndex {
    /// Sorts pieces by chunk. Takes 24 bytes for each piece that is a range of rows, and for each row of other pieces and of overlapping ranges.
    ///
    /// # Errors
    ///
    /// Bug: a piece whose chunk or fragment does not exist.
    pub(crate) fn new(
        pieces: &[Piece],
        fragments: &[Option<Arc<Fragments>>],
    ) -> Result<Self, QueryError> {
        let mut spans: Vec<Vec<Span>> = vec![Vec::new(); fragments.len()];
        for piece in pieces
            .iter()
            .filter(|piece| piece.slot != Entry::GAP && piece.taken > 0)
        {
            let rows = rows_of(piece, fragments)?;
            let into = spans.get_mut(int::index(piece.slot));
            let into = into.or_bug("a piece of no chunk")?;
            match (rows, &piece.positions) {
                (Rows::Range { start, count }, None) => {
                    into.push(Span {
                        start,
                        count,
                        pick: piece.pick,
                        out: piece.out,
                    });
                }
                (rows, None) => {
                    let singles = rows.iter().zip(piece.out..);
                    into.extend(singles.map(|(start, out)| Span {
                        start,
                        count: 1,
                        pick: piece.pick,
                        out,
                    }));
                }
                (rows, Some(positions)) => {
                    let kept = positions.iter().filter_map(|position| rows.get(*position));
                    let singles = kept.zip(piece.out..);
                    into.extend(singles.map(|(start, out)| Span {
                        start,
                        count: 1,
                        pick: piece.pick,
                        out,
                    }));
                }
            }
        }
        for chunk in &mut spans {
            chunk.sort_unstable();
            let overlap = chunk
                .windows(2)
                .any(|pair| matches!(pair, [a, b] if a.start + a.count > b.start));
            if overlap && chunk.iter().any(|span| span.count > 1) {
                let single = |span: &Span| {
                    let span = *span;
                    (0..span.count).map(move |at| Span {
                        start: span.start + at,
                        count: 1,
                        pick: span.pick,
                        out: span.out + u64::from(at),
                    })
                };
                *chunk = chunk.iter().flat_map(single).collect();
                chunk.sort_unstable();
            }
        }
        Ok(Self { spans })
    }

    /// The rows of the answer for a row of a chunk: the first one in each object, in the order of objects.
    pub(crate) fn hits(&self, key: Key, out: &mut Vec<Hit>) {
        self.all_hits(key, out);
        out.dedup_by_key(|(pick, _)| *pick);
    }

    /// All rows of the answer for a row of a chunk, ascending.
    pub(crate) fn all_hits(&self, key: Key, out: &mut Vec<Hit>) {
        out.clear();
        let Some(chunk) = self.spans.get(int::index(key.slot())) else {
            return;
        };
        let row = key.row();
        let after = chunk.partition_point(|span| span.start <= row);
        // Spans that begin at or before the row, in descending order; they are disjoint, or single rows.
        for span in chunk.get(..after).unwrap_or(&[]).iter().rev() {
            if row - span.start >= span.count {
                break;
            }
            out.push((span.pick, span.out + u64::from(row - span.start)));
        }
        out.sort_unstable();
    }
}

/// The rows of a piece's fragment.
pub(crate) fn rows_of<'a>(
    piece: &Piece,
    fragments: &'a [Option<Arc<Fragments>>],
) -> Result<Rows<'a>, QueryError> {
    let of_chunk = fragments.get(int::index(piece.slot));
    let rows = of_chunk.and_then(|of_chunk| of_chunk.as_ref()?.get(piece.fragment));
    rows.or_bug(format_args!(
        "fragment {} of chunk {} was not kept",
        piece.fragment, piece.slot
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use zvf_store::format::fragments::FragmentIndexBuilder;

    fn piece(pick: u32, fragment: u32, out: u64, taken: u32) -> Piece {
        Piece {
            pick,
            slot: 0,
            fragment,
            out,
            taken,
            positions: None,
            joined: false,
            ends: Some((true, true)),
        }
    }

    #[test]
    fn shared_rows_are_found_once_for_each_object() {
        let mut builder = FragmentIndexBuilder::new();
        builder.push_range(0, 4).unwrap();
        builder.push_range(2, 4).unwrap();
        builder.push_rows(&[7, 6]).unwrap();
        let fragments = [Some(Arc::new(
            Fragments::decode(&builder.finish(), 8).unwrap(),
        ))];
        let mut partial = piece(1, 1, 20, 2);
        partial.positions = Some(Box::new([0, 3]));
        let pieces = [
            piece(0, 0, 0, 4),
            piece(0, 2, 4, 2),
            piece(1, 0, 10, 4),
            partial,
            piece(1, 0, 30, 4),
        ];
        let index = RowIndex::new(&pieces, &fragments).unwrap();
        let hits = |row| {
            let mut out = Vec::new();
            index.hits(Key::new(0, row), &mut out);
            out
        };
        assert_eq!(hits(0), [(0, 0), (1, 10)]);
        assert_eq!(hits(2), [(0, 2), (1, 12)]);
        assert_eq!(hits(5), [(1, 21)]);
        assert_eq!(hits(6), [(0, 5)]);
        assert_eq!(hits(4), []);
        let mut out = Vec::new();
        index.hits(Key::OUTSIDE, &mut out);
        assert!(out.is_empty());
    }

    #[test]
    fn a_piece_whose_fragment_is_not_there_is_a_bug() {
        let mut builder = FragmentIndexBuilder::new();
        builder.push_range(0, 4).unwrap();
        let known = Arc::new(Fragments::decode(&builder.finish(), 4).unwrap());
        for fragments in [vec![], vec![None], vec![Some(known)]] {
            let error = RowIndex::new(&[piece(0, 1, 0, 4)], &fragments).unwrap_err();
            assert!(matches!(error, QueryError::Bug { .. }), "{error}");
        }
    }
}
