//! Matches the rows of a table with links: by their ends, by a key, or in order.

use std::collections::HashSet;

use arrow_array::RecordBatch;
use zvf_encode::error::{OrBug, to_index};
use zvf_encode::{NumberType, Values, WriteError};
use zvf_format::int::wide;

use super::stated::{check_ends, check_level, check_order};
use super::{
    Matched, PairedRows, Search, by_rows, exclusive, ignored, in_order, key_column, no_way,
    not_a_key, row_major,
};
use crate::edit::Edit;
use crate::link_values::{FoundLink, LinkEndColumns};
use crate::matching::{Coding, Matching, Scope, TableKeys, listed, normalize, show};
use crate::tabular;

/// The number type of a link attribute, and its byte range in the attributes of a link.
type StoredField = (NumberType, std::ops::Range<usize>);

impl Edit {
    /// Sets values of several attributes of links; columns of the key are not set.
    pub(crate) async fn set_link_columns(
        &mut self,
        table: &RecordBatch,
        how: &Matching,
        given: &[(String, Values)],
    ) -> Result<Matched, WriteError> {
        let (pairs, found) = self.match_links(table, how, false).await?;
        for (name, given) in by_rows(table, given)? {
            let taken = given.take(pairs.from.iter().copied().map(Some), None)?;
            self.set_found_links(name, found.clone(), &taken)?;
        }
        Ok(pairs.matched)
    }

    /// Refuses attributes of links that are implied by the order of vertices.
    pub(super) fn check_links_stored(&self) -> Result<(), WriteError> {
        let spec = &self.state.spec;
        if spec.links.explicit || !(spec.kind.is_chain() || spec.takes_links()) {
            return Ok(());
        }
        let found =
            "links that the order of vertices implies: they are not stored, and have no attributes";
        let expected = match spec.takes_links() {
            true => {
                "stored links (`zvf import` with --edges and a column of values makes a store with them)"
            }
            false => "stored links, such as those of graphs",
        };
        Err(WriteError::input("attributes of links", found, expected))
    }

    /// Pairs rows of a table with links, and returns these links in the order of the pairs. If `whole`, links are numbered among
    /// all links of the store; else, if the table has the ends of links, only links near them are read.
    pub(super) async fn match_links(
        &mut self,
        table: &RecordBatch,
        how: &Matching,
        whole: bool,
    ) -> Result<(PairedRows, Vec<FoundLink>), WriteError> {
        self.check_links_stored()?;
        exclusive(Scope::Link, how)?;
        let rows = table.num_rows();
        let ends = match how.key.is_empty() {
            true => self.ends(table).await?,
            false => None,
        };
        match &ends {
            Some((by, ends)) => {
                check_level(table, by)?;
                if ends.ids.is_none() && by != "rows" {
                    check_ends(table, by)?;
                }
            }
            None if how.by_order => {
                check_level(table, "order")?;
                check_order(table, Scope::Link)?;
            }
            None => {}
        }
        let names = match &ends {
            Some((_, ends)) => Some(self.end_names(ends).await?),
            None => None,
        };
        // To set values by ends, only the links near these ends are needed.
        let all = match &names {
            Some(names) if !whole && !how.by_order => self.links_near(names).await?,
            _ => self.all_links().await?,
        };
        let of = wide(all.len());
        let pairs = match ends.zip(names) {
            Some(((by, _), names)) => {
                let at = self.places_of_links(&all, &names);
                let lost = at.iter().enumerate().filter(|(_, at)| at.is_none());
                let lost: Vec<usize> = lost.map(|(row, _)| row).collect();
                // Rows without a link whose vertices are linked: another row already has the link, or several links join the vertices and the order of ends differs.
                let joined: HashSet<_> = all
                    .iter()
                    .map(|(_, link)| self.joined(&link.ends))
                    .collect();
                let again = |row: &&usize| {
                    let ends = names.get(**row).and_then(Option::as_ref);
                    ends.is_some_and(|ends| joined.contains(&self.joined(ends)))
                };
                let again: Vec<usize> = lost.iter().filter(again).copied().collect();
                let message = |row: usize| {
                    let columns = tabular::columns(table, &by);
                    format!("link {row} ({})", show(&by, &columns, row))
                };
                let lacks = "no (further) link between the vertices of ";
                if how.ignore_missing && !again.is_empty() {
                    let found = format!(
                        "no further link between the vertices of {}",
                        listed(again.iter().map(|row| message(*row)))
                    );
                    let expected = "each link once, with its ends in the order of the store where several links join the same vertices";
                    return Err(WriteError::input("ends of links", found, expected));
                }
                let expected = "links of this store (--ignore-missing leaves out all others)";
                let ignored = ignored(("ends of links", lacks, expected), &lost, message, how)?;
                let found = at.iter().enumerate();
                let found = found.filter_map(|(row, at)| Some((wide((*at)?), row)));
                let found: Vec<(u64, usize)> = found.collect();
                let of = if whole { of } else { wide(found.len()) };
                let mut pairs = PairedRows::new(found, Scope::Link, (by, of), |_, _| false)?;
                pairs.matched.ignored = ignored;
                if how.by_order && (rows != all.len() || !pairs.from.is_sorted()) {
                    let expected = "the links in the order of the store";
                    return Err(WriteError::input(
                        "ends of links",
                        "another order",
                        expected,
                    ));
                }
                pairs
            }
            None if !how.key.is_empty() => {
                let (keys, ranges) = self.link_key(table, how)?;
                let mut search = Search::new(&keys, rows);
                let mut key = Vec::new();
                for (at, (_, link)) in all.iter().enumerate() {
                    key.clear();
                    let mut is_key = true;
                    for (number, range) in &ranges {
                        let start = key.len();
                        let value = link.attributes.get(range.clone());
                        key.extend_from_slice(value.or_bug("a link without this value")?);
                        let part = key.get_mut(start..).or_bug("a part of a key")?;
                        is_key &= normalize(*number, part);
                    }
                    if is_key {
                        search.take(wide(at), &key)?;
                    }
                }
                search.finish(Scope::Link, false, of, how)?
            }
            None if how.by_order => in_order(Scope::Link, rows, of)?,
            None => return Err(no_way(Scope::Link, rows)),
        };
        let mut all: Vec<Option<FoundLink>> = all.into_iter().map(Some).collect();
        let mut found = Vec::with_capacity(pairs.rows.len());
        for row in &pairs.rows {
            let one = all.get_mut(to_index("links", *row)?).and_then(Option::take);
            found.push(one.or_bug("a link that is there twice")?);
        }
        Ok((pairs, found))
    }

    /// The columns of a key of links, and the number types and byte ranges of their stored values.
    fn link_key(
        &self,
        table: &RecordBatch,
        how: &Matching,
    ) -> Result<(TableKeys, Vec<StoredField>), WriteError> {
        let attributes = &self.state.spec.links.attributes;
        let (mut columns, mut ranges) = (Vec::new(), Vec::new());
        for name in &how.key {
            let mut start = 0;
            let mut part = None;
            for one in attributes {
                let end = start + zvf_encode::batches::row_size(one);
                if one.name == *name {
                    part = Some((one, start..end));
                }
                start = end;
            }
            let Some((one, range)) = part else {
                let known: Vec<&str> = attributes.iter().map(|one| one.name.as_str()).collect();
                return Err(not_a_key(Scope::Link, name, &known));
            };
            let number = one.values.number().or_bug("links with texts")?;
            columns.push(key_column(
                table,
                name,
                Coding::Number(number),
                one.channels,
            )?);
            ranges.push((number, range));
        }
        let keys = TableKeys::new(columns, table.num_rows())?.checked(|_, _| false)?;
        Ok((keys, ranges))
    }

    /// The ends of links in a table, one link after another, with the name of their column; `None` if the table has no such column.
    async fn ends(
        &mut self,
        table: &RecordBatch,
    ) -> Result<Option<(String, LinkEndColumns)>, WriteError> {
        let width = self.state.spec.links.width;
        let count = table.num_rows();
        // As written by `zvf links`.
        let (chunks, rows) = (
            tabular::columns(table, "chunks"),
            tabular::columns(table, "rows"),
        );
        let rank = self.state.level.key_rank();
        let placed = tabular::width(&rows)? == width && tabular::width(&chunks)? == width * rank;
        if placed && width > 0 && tabular::columns(table, "vertices").is_empty() {
            let chunks = row_major("chunks", &chunks, count)?;
            let rows = row_major("rows", &rows, count)?;
            let ends = self.at_chunks(&chunks, &rows).await?;
            let ends = LinkEndColumns { ids: None, ends };
            return Ok(Some(("rows".to_owned(), ends)));
        }
        for by in ["vertices", "vertex"] {
            let columns = tabular::columns(table, by);
            let ids = tabular::plain(table, "object_id");
            if columns.is_empty() || (by == "vertex" && ids.is_none()) {
                continue;
            }
            let found = tabular::width(&columns)?;
            if found != width {
                let expected = format!("{width} for each link");
                return Err(WriteError::input(
                    format!("column {by}"),
                    format!("{found} ends"),
                    expected,
                ));
            }
            let ends = row_major(by, &columns, count)?.into_iter();
            let ends: Vec<Option<u64>> = ends.map(|end| u64::try_from(end?).ok()).collect();
            let ends = match by {
                "vertices" => self.numbered(ends).await?,
                _ => {
                    self.check_places_in_objects()?;
                    ends
                }
            };
            let ids = match (by, ids) {
                ("vertex", Some(ids)) => {
                    let ids = tabular::wholes("object_id", &ids)?.into_iter();
                    Some(ids.map(|id| i64::try_from(id?).ok()).collect())
                }
                _ => None,
            };
            let ends = LinkEndColumns { ids, ends };
            return Ok(Some((by.to_owned(), ends)));
        }
        Ok(None)
    }
}
