//! `zvf info`: the contents of a store.

mod facts;
mod sizes;
mod text;

use std::collections::BTreeMap;

use zvf_convert::SourceHeader;
use zvf_query::{Column, Outputs, Query, Table};
use zvf_store::{Names, Need, RawStore, Store};
use zvf_write::PartsStage;

use super::import_parts;
use crate::args::InfoArgs;
use crate::context::Context;
use crate::error::{CliError, Result};
use crate::output::{print_json, print_text};
use facts::{Facts, LevelFacts};

/// Runs `zvf info`.
///
/// # Errors
///
/// As the store says.
pub(crate) fn run(args: &InfoArgs, context: &mut Context<'_>) -> Result<()> {
    let url = args.store.as_str();
    let facts = match gather(args, context) {
        Ok(facts) => facts,
        // There is no store yet, but there are parts of one.
        Err(error) => match import_parts::status_of(url, context) {
            Ok(Some(status)) if status.stage != PartsStage::Committed => {
                return import_parts::print_status(url, &status, context);
            }
            _ => return Err(error.at(url)),
        },
    };
    context.warn(&facts.warnings);
    if context.common.json {
        print_json(&facts)
    } else {
        print_text(&facts.text())
    }
}

/// Reads the facts for the report.
fn gather(args: &InfoArgs, context: &mut Context<'_>) -> Result<Facts> {
    let url = args.store.as_str();
    let store = context.open(url, 0, Need::all())?;
    let raw = match args.sizes {
        true => Some(RawStore::open(url, &context.options().io)?),
        false => None,
    };
    let mut levels = Vec::new();
    for &number in store.levels() {
        let level = context.wait(store.level(number, &Need::all()))??;
        let usage = match &raw {
            Some(raw) => context.wait(raw.usage(&number.to_string()))??,
            None => None,
        };
        let counted = if args.count {
            Some(count(&store, number, context)?)
        } else {
            None
        };
        let mut facts = LevelFacts::of(&level, usage, counted);
        if let Some(raw) = &raw {
            facts.sizes = sizes::of(&facts, raw, context)?;
        }
        levels.push(facts);
    }
    let side = context.wait(store.side_groups())??;
    let formats: Vec<&str> = side.headers.iter().map(|one| one.format.as_str()).collect();
    // Headers that are damaged are among the problems of the side groups.
    let (frame, headers) = if side.problems.is_empty() {
        let frame = context.wait(SourceHeader::of_store(&store))??;
        (frame, context.wait(store.headers(&formats))??)
    } else {
        (None, BTreeMap::new())
    };
    let facts = Facts::of(url, &store, levels, side, headers);
    Ok(Facts {
        frame: frame.map(|frame| frame.document()),
        ..facts
    })
}

/// The number of rows in the own data of a level.
fn count(store: &Store, level: u32, context: &mut Context<'_>) -> Result<u64> {
    let query = Query {
        level,
        own_level_only: true,
        attributes: Names::None,
        columns: vec![Column::Row],
        outputs: Outputs {
            vertices: true,
            links: false,
            objects: false,
        },
        ..Query::default()
    };
    let progress = context.progress("vertices");
    let mut answer = context
        .wait(zvf_query::query(store, query))?
        .map_err(CliError::from)?;
    let mut rows = 0u64;
    while let Some((table, batch)) = context.wait(answer.next())?? {
        if table == Table::Vertices {
            let n = batch.num_rows() as u64;
            rows = rows.saturating_add(n);
            progress.add(n);
        }
    }
    Ok(rows)
}
