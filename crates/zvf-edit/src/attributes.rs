//! Sets and adds attributes of vertices and objects.

use std::collections::{BTreeSet, HashMap};

use super::edit::{Added, Edit, Words};
use super::matching::{Scope, put_whole};
use super::ops;
use super::tables::AttributeTable;
use zvf_encode::batches::Categories;
use zvf_encode::error::OrBug;
use zvf_encode::tables::TableOf;
use zvf_encode::{AttributeSpec, AttributeType, NumberType, ObjectTable, Values, WriteError};
use zvf_format::int::signed;

impl Edit {
    pub(super) async fn take_objects(&mut self, table: &ObjectTable) -> Result<(), WriteError> {
        self.load_tables().await?;
        let unique: BTreeSet<i64> = table.ids.iter().copied().collect();
        if unique.len() != table.ids.len() {
            return Err(WriteError::input("objects", "an id twice", "each id once"));
        }
        for (name, _) in &table.attributes {
            if !self.tables.contains_key(name) {
                let what = format!("object attribute {name}");
                return Err(WriteError::input(
                    what,
                    "nothing",
                    "an attribute of this store",
                ));
            }
        }
        let index = self.index.as_mut().ok_or_else(ops::no_objects)?;
        for id in table.ids.iter() {
            if index.row(*id).is_none() {
                index.add(*id);
            }
        }
        self.revive(table.ids.iter().copied()).await?;
        let index = self.index.as_ref().or_bug("ids of no objects")?;
        let rows = table.ids.iter().map(|id| index.row(*id));
        let rows = rows
            .collect::<Option<Vec<usize>>>()
            .or_bug("an id without a row")?;
        let count = index.ids.len();
        self.tables.values_mut().for_each(|table| table.grow(count));
        for (name, values) in &table.attributes {
            let of_one = self.tables.get_mut(name).or_bug("values of no attribute")?;
            of_one.set(&rows, values)?;
            let absent = table.absent.get(name).into_iter().flatten();
            let absent = absent.filter_map(|row| rows.get(*row));
            absent.for_each(|row| of_one.forget(*row));
        }
        Ok(())
    }

    pub(super) async fn add_column(
        &mut self,
        spec: AttributeSpec,
        values: &Values,
    ) -> Result<(), WriteError> {
        let mut checked = self.state.spec.clone();
        checked.vertex_attributes.push(spec.clone());
        checked.check()?;
        let (mut words, mut stored) = (Words::default(), spec.clone());
        let mut coded = None;
        if spec.values == AttributeType::Category {
            let Values::Text(texts) = values else {
                let what = format!("vertex attribute {}", spec.name);
                return Err(WriteError::input(what, values.type_name(), "text"));
            };
            let mut categories = Categories::default();
            // A code for missing texts, because vertices without a text may be appended later.
            categories.code(None)?;
            let mut codes = Vec::new();
            for text in texts {
                codes.push(categories.code(text)?);
            }
            let dictionary = categories.finish()?;
            let mut bytes = Vec::new();
            for code in codes {
                dictionary.put(code.to_le_bytes(), &mut bytes)?;
            }
            stored.values = AttributeType::Number(dictionary.number);
            words = Words {
                texts: Some(dictionary.texts.iter().map(str::to_owned).collect()),
                missing: dictionary.missing.then_some(-1),
                changed: true,
            };
            coded = Some(Values::of_bytes(dictionary.number, &bytes));
        }
        let values = coded.as_ref().unwrap_or(values);
        let slots = self.state.all_slots()?;
        self.state.measure(slots.iter().copied()).await?;
        let rows: usize = slots.iter().map(|&slot| self.state.rows(slot)).sum();
        let bytes = ops::column_bytes("vertex attribute", &stored, values, rows)?;
        let width = zvf_encode::batches::row_size(&stored);
        self.state.add_column(&slots, &bytes, width)?;
        self.state.spec.vertex_attributes.push(stored);
        self.words.push(words);
        self.added.push(Added {
            scope: Scope::Vertex,
            spec,
        });
        Ok(())
    }

    /// Restores deleted objects as new ones, without values.
    pub(super) async fn revive(
        &mut self,
        ids: impl Iterator<Item = i64>,
    ) -> Result<(), WriteError> {
        let Some(index) = &self.index else {
            return Ok(());
        };
        let again: BTreeSet<i64> = ids.filter(|id| index.deleted.contains(id)).collect();
        self.leave_groups(&again).await?;
        let index = self.index.as_mut().or_bug("ids of no objects")?;
        let rows = index.revive(&mut self.state, again.into_iter()).await?;
        if rows.is_empty() {
            return Ok(());
        }
        self.load_tables().await?;
        for table in self.tables.values_mut() {
            rows.iter().for_each(|&row| table.forget(row));
        }
        self.fill_objects(rows.iter().copied())
    }

    pub(super) async fn add_table(&mut self, spec: AttributeSpec) -> Result<(), WriteError> {
        self.load_tables().await?;
        let mut checked = self.state.spec.clone();
        checked.object_attributes = self
            .tables
            .values()
            .map(|table| table.spec.clone())
            .collect();
        checked.object_attributes.push(spec.clone());
        checked.check()?;
        let count = self.index.as_ref().map_or(0, |index| index.ids.len());
        self.added.push(Added {
            scope: Scope::Object,
            spec: spec.clone(),
        });
        self.tables.insert(
            spec.name.clone(),
            AttributeTable::new(spec, TableOf::Objects, count),
        );
        Ok(())
    }

    /// Reads all object attributes, once.
    pub(super) async fn load_tables(&mut self) -> Result<(), WriteError> {
        let index = self.index.as_ref().ok_or_else(ops::no_objects)?;
        for array in self.state.level.object_attributes() {
            if !self.tables.contains_key(array.name()) {
                let mut table = AttributeTable::read(array, TableOf::Objects, index.before).await?;
                table.grow(index.ids.len());
                self.tables.insert(array.name().to_owned(), table);
            }
        }
        Ok(())
    }

    /// The codes of texts, for an attribute that stores codes; new texts get codes after the existing ones. `None` for other attributes.
    pub(super) fn codes(
        &mut self,
        name: &str,
        values: &Values,
    ) -> Result<Option<Values>, WriteError> {
        let found = self.state.attribute(name).and_then(|at| {
            let spec = self.state.spec.vertex_attributes.get(at)?;
            Some((self.words.get_mut(at)?, spec))
        });
        let Some((words, spec)) = found else {
            return Ok(None);
        };
        let Some(texts) = &mut words.texts else {
            return Ok(None);
        };
        let what = || format!("vertex attribute {name}");
        let (Values::Text(given), Some(number)) = (values, spec.values.number()) else {
            return Err(WriteError::input(what(), values.type_name(), "text"));
        };
        let mut bytes = Vec::new();
        let mut known: HashMap<String, i64> = HashMap::new();
        for (text, code) in texts.iter().zip(0..) {
            known.entry(text.clone()).or_insert(code);
        }
        for text in given {
            let code = match text {
                Some(text) => match known.get(text) {
                    Some(code) => *code,
                    None => {
                        words.changed = true;
                        texts.push(text.to_owned());
                        let code = signed(texts.len() - 1);
                        known.insert(text.to_owned(), code);
                        code
                    }
                },
                None => match words.missing.or_else(|| spare_code(number, texts.len())) {
                    Some(code) => {
                        words.changed |= words.missing.is_none();
                        words.missing = Some(code);
                        code
                    }
                    None => {
                        let expected = format!(
                            "a text for every vertex: all codes of {number} are in use, so that no text can be missing; --fill {name}=TEXT gives such vertices a text"
                        );
                        return Err(WriteError::input(what(), "a missing text", expected));
                    }
                },
            };
            let fits = put_code(number, code, &mut bytes);
            if !fits || (text.is_some() && Some(code) == words.missing) {
                let found = format!("{} different texts", texts.len());
                return Err(WriteError::input(
                    what(),
                    found,
                    format!(
                        "at most as many as {number} has codes; `zvf merge` makes a store of both, with wider codes"
                    ),
                ));
            }
        }
        Ok(Some(Values::of_bytes(number, &bytes)))
    }
}

/// A code for missing texts, for an attribute with `texts` texts that has none yet: -1, or for unsigned types the largest code, if it is not in use.
fn spare_code(number: NumberType, texts: usize) -> Option<i64> {
    let last = match number {
        NumberType::I8 | NumberType::I16 | NumberType::I32 | NumberType::I64 => return Some(-1),
        NumberType::U8 => i64::from(u8::MAX),
        NumberType::U16 => i64::from(u16::MAX),
        NumberType::U32 => i64::from(u32::MAX),
        NumberType::U64 => i64::MAX,
        NumberType::Bool | NumberType::F16 | NumberType::F32 | NumberType::F64 => return None,
    };
    (signed(texts) <= last).then_some(last)
}

/// Appends a code in stored form; returns `false` if the type cannot represent it.
fn put_code(number: NumberType, code: i64, out: &mut Vec<u8>) -> bool {
    let start = out.len();
    out.resize(start + number.size(), 0);
    let (_, stored) = out.split_at_mut(start);
    put_whole(number, code.into(), stored)
}
