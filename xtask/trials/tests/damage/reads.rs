//! Every way to read a store, and what came of it.

use anyhow::Result;
use arrow_array::RecordBatch;
use arrow_schema::Schema;
use zvf_convert::output::{
    ArrowWriter, CsvWriter, Style, TableWriter, batch_with_times, write_value,
};
use zvf_query::{BBox, Query, Table, list_links, list_objects, query};
use zvf_store::{Need, Store};
use zvf_validate::{Depth, Severity, ValidateOptions, validate};

use crate::alter::Case;
use crate::base::Base;
use crate::once;

/// One read of a store.
#[derive(Debug, Clone)]
pub(crate) enum Read {
    /// Everything of a level.
    Whole(u32),
    /// Half of what the bounds span.
    Box(u32, Vec<f64>, Vec<f64>),
    /// Whole objects.
    Get(u32, Vec<i64>),
    /// A group.
    Group(u64),
    /// The objects of a level.
    Objects(u32),
    /// The links of a level.
    Links(u32, i32),
}

/// What a read returned.
#[derive(Debug, Clone)]
pub(crate) struct Told {
    tables: Vec<Option<RecordBatch>>,
    pub(crate) warnings: Vec<String>,
}

impl Told {
    /// Names, types and values of the columns; units and descriptions are no part of it. Of tables without rows the names only: no
    /// value of them is another one.
    fn same(&self, other: &Self) -> bool {
        let columns = |batch: &RecordBatch| {
            let schema: &Schema = batch.schema_ref();
            let fields = schema.fields().iter();
            fields
                .map(|field| (field.name().clone(), field.data_type().clone()))
                .collect::<Vec<_>>()
        };
        let names = |batch: &RecordBatch| {
            let fields = columns(batch).into_iter();
            fields.map(|(name, _)| name).collect::<Vec<_>>()
        };
        self.tables.len() == other.tables.len()
            && self
                .tables
                .iter()
                .zip(&other.tables)
                .all(|pair| match pair {
                    (Some(one), Some(other)) if one.num_rows() == 0 && other.num_rows() == 0 => {
                        names(one) == names(other)
                    }
                    (Some(one), Some(other)) => {
                        columns(one) == columns(other) && one.columns() == other.columns()
                    }
                    (None, None) => true,
                    _ => false,
                })
    }

    /// How two answers differ, in few words.
    fn difference(&self, other: &Self) -> String {
        let shape = |told: &Self| {
            let tables = told.tables.iter().map(|table| match table {
                Some(batch) => format!("{}x{}", batch.num_rows(), batch.num_columns()),
                None => "none".to_owned(),
            });
            tables.collect::<Vec<_>>().join(" ")
        };
        let mut text = format!("{} -> {}", shape(self), shape(other));
        for pair in self.tables.iter().zip(&other.tables) {
            let (Some(one), Some(two)) = pair else {
                continue;
            };
            for (field, column) in one.schema_ref().fields().iter().zip(one.columns()) {
                if two.column_by_name(field.name()) != Some(column) {
                    text.push_str(&format!(" {}", field.name()));
                }
            }
        }
        text
    }
}

impl Read {
    pub(crate) async fn run(&self, store: &Store) -> Result<Told> {
        let answer = match self {
            Self::Whole(level) => {
                let asked = Query {
                    level: *level,
                    ..Query::default()
                };
                query(store, asked).await?
            }
            Self::Box(level, lo, hi) => {
                let asked = Query {
                    level: *level,
                    bbox: Some(BBox::new(lo.clone(), hi.clone())?),
                    ..Query::default()
                };
                query(store, asked).await?
            }
            Self::Get(level, ids) => {
                let asked = Query {
                    level: *level,
                    objects: Some(ids.clone()),
                    ..Query::default()
                };
                query(store, asked).await?
            }
            Self::Group(group) => {
                let asked = Query {
                    groups: Some(vec![*group]),
                    ..Query::default()
                };
                query(store, asked).await?
            }
            Self::Objects(level) => list_objects(store, *level, false).await?,
            Self::Links(level, delta) => list_links(store, *level, *delta, false).await?,
        };
        let all = answer.collect().await?;
        let tables = vec![
            all.table(Table::Vertices)?,
            all.table(Table::Links)?,
            all.table(Table::Objects)?,
        ];
        for table in tables.iter().flatten() {
            output(table)?;
        }
        Ok(Told {
            tables,
            warnings: all.summary.warnings,
        })
    }
}

/// Writes a table in every format that shows its values.
fn output(table: &RecordBatch) -> Result<()> {
    let schema = table.schema();
    let writers: [Box<dyn TableWriter>; 2] = [
        Box::new(CsvWriter::new(std::io::sink(), &schema)?),
        Box::new(ArrowWriter::new(std::io::sink(), &schema)?),
    ];
    for mut writer in writers {
        writer.write(table)?;
        writer.finish()?;
    }
    let table = batch_with_times(table)?;
    let mut text = String::new();
    for row in 0..table.num_rows() {
        for column in table.columns() {
            write_value(&mut text, column.as_ref(), row, Style::Json);
        }
    }
    Ok(())
}

/// All reads that a whole store answers.
pub(crate) async fn all_reads(store: &Store) -> Result<Vec<Read>> {
    let mut reads = Vec::new();
    for &number in store.levels() {
        reads.push(Read::Whole(number));
        let (lo, hi) = store.root().zarr_vectors.bounds.clone();
        let middle = |from: f64, pair: (&f64, &f64)| pair.0 + (pair.1 - pair.0) * from;
        let corner =
            |from: f64| -> Vec<f64> { lo.iter().zip(&hi).map(|pair| middle(from, pair)).collect() };
        if !lo.is_empty() {
            reads.push(Read::Box(number, corner(0.2), corner(0.6)));
        }
        let level = store.level(number, &Need::all()).await?;
        if let Some(index) = level.object_index() {
            let objects = Read::Objects(number);
            if objects.run(store).await.is_ok() {
                reads.push(objects);
            }
            let ids = index.ids_in(level.next_round()).await?;
            let count = usize::try_from(index.len())?;
            let mut some: Vec<i64> = Vec::new();
            for row in [count / 2, 0] {
                some.push(ids.id(u64::try_from(row)?));
            }
            some.dedup();
            let get = Read::Get(number, some);
            if get.run(store).await.is_ok() {
                reads.push(get);
            }
        }
        if number == 0 && level.groups().is_some_and(|groups| !groups.is_empty()) {
            reads.push(Read::Group(0));
        }
        for family in level.link_families() {
            let links = Read::Links(number, family.delta());
            if links.run(store).await.is_ok() {
                reads.push(links);
            }
        }
    }
    Ok(reads)
}

/// What came of all reads of a damaged store.
#[derive(Debug)]
pub(crate) enum Outcome {
    Right,
    Error,
    Warning,
    /// Another answer, of a fact that is stated in one place alone.
    Once,
    /// Another answer in silence.
    Wrong(String),
    /// A read fails, and the validator finds no error.
    Unseen(String),
}

impl Outcome {
    pub(crate) const NAMES: [&'static str; 6] = [
        "right",
        "error",
        "warning",
        "stated once: another store, as valid",
        "wrong",
        "failed read that validate does not find",
    ];

    pub(crate) fn name(&self) -> &'static str {
        let at = match self {
            Self::Right => 0,
            Self::Error => 1,
            Self::Warning => 2,
            Self::Once => 3,
            Self::Wrong(_) => 4,
            Self::Unseen(_) => 5,
        };
        Self::NAMES[at]
    }
}

/// Reads a damaged store in every way.
pub(crate) async fn outcome(base: &Base, case: &Case) -> Result<Outcome> {
    let options = base.options(Some(case)).await?;
    let mut failed = None;
    let mut different = None;
    let mut warned = false;
    match Store::open_with("memory:///", options.clone()).await {
        Err(error) => failed = Some(format!("open: {error}")),
        Ok(store) => {
            for (read, truth) in &base.truth {
                match read.run(&store).await {
                    Err(error) => failed = Some(format!("{read:?}: {error}")),
                    Ok(told) => {
                        let mut warnings = told
                            .warnings
                            .iter()
                            .chain(&store.warnings())
                            .cloned()
                            .collect::<Vec<_>>();
                        warnings.retain(|one| !base.warnings.contains(one));
                        if !warnings.is_empty() {
                            warned = true;
                        } else if !truth.same(&told) {
                            different = Some(format!("{read:?}: {}", truth.difference(&told)));
                        }
                    }
                }
            }
        }
    }
    if let Some(why) = &failed {
        let wanted = ValidateOptions::new(Depth::Multiscale).with_open(options);
        let found = validate("memory:///", &wanted).await;
        // What this release does not support is no damage: another one may read it.
        let supported = !why.contains("not supported");
        if supported && found.is_ok_and(|report| report.is_clean(Severity::Error)) {
            return Ok(Outcome::Unseen(why.clone()));
        }
    }
    if let Some(what) = different {
        return Ok(match once::is_stated_once(base, case) {
            true => Outcome::Once,
            false => Outcome::Wrong(what),
        });
    }
    Ok(match (failed, warned) {
        (Some(_), _) => Outcome::Error,
        (None, true) => Outcome::Warning,
        (None, false) => Outcome::Right,
    })
}
