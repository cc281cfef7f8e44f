//! One JSON object per line, members in column order.

use std::io::{self, Write};

use super::{Style, TableWriter, batch_with_times, write_json_str, write_value};
use arrow_array::RecordBatch;
use arrow_schema::Schema;

/// Writes one table as newline-delimited JSON.
#[derive(Debug)]
pub struct NdjsonWriter<W> {
    out: W,
    /// `{"name":` and `,"name":` before each value.
    heads: Vec<String>,
    line: String,
}

impl<W: Write> NdjsonWriter<W> {
    /// Begins a file; nothing is written yet.
    #[must_use]
    pub fn new(out: W, schema: &Schema) -> Self {
        let heads = schema.fields().iter().enumerate().map(|(i, field)| {
            let mut head = String::from(if i == 0 { "{" } else { "," });
            write_json_str(&mut head, field.name());
            head.push(':');
            head
        });
        Self {
            out,
            heads: heads.collect(),
            line: String::new(),
        }
    }
}

impl<W: Write> TableWriter for NdjsonWriter<W> {
    fn write(&mut self, batch: &RecordBatch) -> io::Result<()> {
        let batch = &batch_with_times(batch)?;
        for row in 0..batch.num_rows() {
            self.line.clear();
            for (head, column) in self.heads.iter().zip(batch.columns()) {
                self.line.push_str(head);
                write_value(&mut self.line, column.as_ref(), row, Style::Json);
            }
            self.line
                .push_str(if self.heads.is_empty() { "{}\n" } else { "}\n" });
            self.out.write_all(self.line.as_bytes())?;
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> io::Result<()> {
        self.out.flush()
    }
}
