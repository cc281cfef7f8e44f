//! Missing cells of the chunks that were read.

use std::sync::atomic::Ordering;

use crate::columns::attribute::Cell;
use crate::reader::{Decoded, Reader};

/// Counts of missing cells.
#[derive(Debug, Clone, Default)]
pub(crate) struct Gaps {
    /// Listed chunks without vertices.
    absent: u64,
    /// For each column of the reader, how many chunks have no cell of it.
    missing: Vec<u64>,
    /// For each column of the reader, how many chunks have values of some rows only.
    short: Vec<u64>,
}

impl Gaps {
    /// Empty counts for this number of columns.
    pub(crate) fn new(columns: usize) -> Self {
        Self {
            absent: 0,
            missing: vec![0; columns],
            short: vec![0; columns],
        }
    }

    /// Counts a chunk. Counts its missing columns only if the answer has rows of the chunk (`rows`), or rows were tested by the column.
    pub(crate) fn count(&mut self, reader: &Reader, chunk: &Decoded, rows: bool) {
        self.absent += u64::from(chunk.absent);
        let counts = self.missing.iter_mut().zip(&mut self.short);
        let cells = chunk.cells.iter().zip(counts).enumerate();
        let counted = |index: usize| rows || (chunk.filtered && reader.tests(index));
        for (_, (cell, (missing, short))) in cells.filter(|(index, _)| counted(*index)) {
            *missing += u64::from(matches!(cell, Cell::Missing));
            *short += u64::from(matches!(cell, Cell::Short { .. }));
        }
    }

    /// Adds the counts of other chunks of the same reader.
    pub(crate) fn add(&mut self, other: &Self) {
        self.absent += other.absent;
        let missing = self.missing.iter_mut().zip(&other.missing);
        let short = self.short.iter_mut().zip(&other.short);
        for (sum, more) in missing.chain(short) {
            *sum += more;
        }
    }

    /// Warnings about gaps in the columns that are `shown` or that conditions test, and the reader's own warnings.
    pub(crate) fn warnings(&self, reader: &Reader, shown: impl Fn(usize) -> bool) -> Vec<String> {
        let level = reader.number;
        let mut warnings = Vec::new();
        // If the store lists no chunks and the server cannot list, every chunk inside the bounds is requested, and most are absent.
        if self.absent > 0 && !reader.level.vertices().presence().is_listed() {
            let absent = self.absent;
            warnings.push(format!(
                "level {level}, vertices: {absent} listed chunks have no object"
            ));
        }
        if reader.short.load(Ordering::Relaxed) {
            warnings.push(format!(
                "level {level}: fragments cover only a part of the rows of their chunk: the dtype of vertices may be too short"
            ));
        }
        if reader.displaced.load(Ordering::Relaxed) {
            warnings.push(format!(
                "level {level}: rows are stored in other chunks than chunk_shape determines: it is wrong, or the dtype of vertices is"
            ));
        }
        let counts = self.missing.iter().zip(&self.short);
        let columns = reader.columns.iter().zip(counts).enumerate();
        let told = |index: usize| shown(index) || reader.tests(index);
        for (_, (column, (missing, short))) in columns.filter(|(index, _)| told(*index)) {
            let name = &column.name;
            let wider = column.wider.as_ref();
            if wider.is_some_and(|wider| wider.load(Ordering::Relaxed)) {
                warnings.push(format!(
                    "level {level}, attribute {name}: row_shape states one value a row, but cells hold more: read as they are"
                ));
            }
            if *missing > 0 {
                warnings.push(format!(
                    "level {level}, attribute {name}: no cell for {missing} chunks, values are null"
                ));
            }
            if *short > 0 {
                let unknown = match column.declared {
                    Some(_) => "",
                    None => {
                        "; no document states how many values a row has: if it has several, they are wrong here"
                    }
                };
                warnings.push(format!(
                    "level {level}, attribute {name}: fewer rows than vertices in {short} chunks, values of appended vertices are null{unknown}"
                ));
            }
        }
        warnings
    }
}
