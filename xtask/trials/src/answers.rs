//! A whole answer as a value.

use std::collections::BTreeMap;

use anyhow::Result;
use arrow_array::RecordBatch;
use zvf_query::{Query, QueryError, Table, query};
use zvf_store::{OpenOptions, Store, StoreError};
use zvf_testkit::text::column;

/// Every table of an answer, whole. Two answers are equal when every value of every table is.
#[derive(Debug, Clone, PartialEq)]
pub struct Told {
    /// The vertex table.
    pub vertices: Option<RecordBatch>,
    /// The link table.
    pub links: Option<RecordBatch>,
    /// The object table.
    pub objects: Option<RecordBatch>,
    /// Warnings of the answer.
    pub warnings: Vec<String>,
}

/// Why there is no answer.
#[derive(Debug)]
pub enum Refused {
    /// The store could not be opened.
    Open(StoreError),
    /// The query failed.
    Query(QueryError),
}

impl std::fmt::Display for Refused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Open(error) => error.fmt(f),
            Self::Query(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Refused {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Open(error) => Some(error),
            Self::Query(error) => Some(error),
        }
    }
}

impl Refused {
    /// The class of the error.
    #[must_use]
    pub fn class(&self) -> zvf_store::Class {
        match self {
            Self::Open(error) => error.class(),
            Self::Query(error) => error.class(),
        }
    }

    /// The message with the messages of everything that it was caused by.
    #[must_use]
    pub fn full(&self) -> String {
        let mut text = self.to_string();
        let mut source = std::error::Error::source(self);
        while let Some(error) = source {
            text.push_str(": ");
            text.push_str(&error.to_string());
            source = error.source();
        }
        text
    }
}

/// Asks a store and reads the answer to its end.
///
/// # Errors
///
/// As the query.
pub async fn ask(store: &Store, asked: Query) -> Result<Told, QueryError> {
    let all = query(store, asked).await?.collect().await?;
    Ok(Told {
        vertices: all.table(Table::Vertices)?,
        links: all.table(Table::Links)?,
        objects: all.table(Table::Objects)?,
        warnings: all.summary.warnings,
    })
}

/// Opens a store, asks it and reads the answer to its end.
///
/// # Errors
///
/// As opening and the query.
pub async fn ask_cold(address: &str, options: OpenOptions, asked: Query) -> Result<Told, Refused> {
    let store = Store::open_with(address, options)
        .await
        .map_err(Refused::Open)?;
    ask(&store, asked).await.map_err(Refused::Query)
}

/// Rows of a table as text, of some columns.
///
/// # Errors
///
/// As [`column()`].
pub fn rows(batch: &RecordBatch, names: &[String]) -> Result<Vec<String>> {
    let columns: BTreeMap<&String, Vec<String>> = names
        .iter()
        .map(|name| Ok((name, column(batch, name)?)))
        .collect::<Result<_>>()?;
    let row = |row: usize| {
        let values = columns.iter().map(|(name, values)| {
            let value = values.get(row).map_or("", String::as_str);
            format!("{name}={value}")
        });
        values.collect::<Vec<_>>().join("; ")
    };
    Ok((0..batch.num_rows()).map(row).collect())
}
