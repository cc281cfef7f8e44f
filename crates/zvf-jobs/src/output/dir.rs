//! Writes a result as a directory with one Arrow IPC file for each table.

use std::path::{Path, PathBuf};

use arrow_array::RecordBatch;
use arrow_schema::Schema;
use zvf_query::Table;

use super::{Staged, TableFile, TableFormat};
use crate::error::Result;

/// The tables and the names of their files.
const FILES: [(Table, &str); 3] = [
    (Table::Vertices, "vertices.arrow"),
    (Table::Links, "links.arrow"),
    (Table::Objects, "objects.arrow"),
];

/// The file of the groups, with a row for each group: `object_ids`, `name` and the attributes of groups.
pub(crate) const GROUPS: &str = "groups.arrow";

/// Writes tables to the files of a directory.
pub(crate) struct DirSink {
    tables: Vec<(Table, &'static str, TableFile)>,
    grouped: bool,
    staged: Staged,
}

impl DirSink {
    /// Begins the directory `path` with a file for every table that has a schema.
    ///
    /// # Errors
    ///
    /// Usage: `path` contains anything other than an earlier result. I/O.
    pub(crate) fn create<'s>(
        path: &Path,
        schema: impl Fn(Table) -> Option<&'s Schema>,
    ) -> Result<Self> {
        let mut names = FILES.map(|(_, name)| name).to_vec();
        names.push(GROUPS);
        let staged = Staged::directory(path, &names)?;
        let mut tables = Vec::new();
        for (table, name) in FILES {
            if let Some(schema) = schema(table) {
                tables.push((
                    table,
                    name,
                    TableFile::create(&staged.path().join(name), TableFormat::Arrow, schema)?,
                ));
            }
        }
        Ok(Self {
            tables,
            grouped: false,
            staged,
        })
    }

    /// Writes the table of groups.
    ///
    /// # Errors
    ///
    /// I/O.
    pub(crate) fn groups(&mut self, groups: &RecordBatch) -> Result<()> {
        let file = self.staged.path().join(GROUPS);
        let mut file = TableFile::create(&file, TableFormat::Arrow, groups.schema_ref())?;
        file.write(groups)?;
        file.finish()?;
        self.grouped = true;
        Ok(())
    }

    /// Appends rows of one table; tables without a file are left out.
    ///
    /// # Errors
    ///
    /// I/O.
    pub(crate) fn write(&mut self, table: Table, batch: &RecordBatch) -> Result<()> {
        match self.tables.iter_mut().find(|(own, _, _)| *own == table) {
            Some((_, _, file)) => file.write(batch),
            None => Ok(()),
        }
    }

    /// Completes all tables and moves the directory to its path. Returns the paths of the files.
    ///
    /// # Errors
    ///
    /// I/O.
    pub(crate) fn finish(self) -> Result<Vec<PathBuf>> {
        let Self {
            tables,
            grouped,
            staged,
        } = self;
        let mut names = Vec::new();
        for (_, name, file) in tables {
            file.finish()?;
            names.push(name);
        }
        names.extend(grouped.then_some(GROUPS));
        let path = staged.commit()?;
        Ok(names.into_iter().map(|name| path.join(name)).collect())
    }
}
