//! Links of the model of edits: setting values, and adding an attribute.

use std::collections::{BTreeMap, HashMap};

use zvf_edit::{At, Edit};
use zvf_query::{Column, Query, Table, list_links};
use zvf_store::{Need, Store};
use zvf_write::{AttributeSpec, NumberType, Values, WriteError};

use crate::edited::{Model, Order};
use crate::edited_draw::Draw;
use crate::support::{ask, column};

fn numbers(text: &str) -> Vec<i64> {
    text.split(' ').map(|one| one.parse().unwrap()).collect()
}

impl Model {
    /// The ends of all stored links, in the order of their lists; none if links are implied.
    pub(crate) async fn listed(&self, store: &Store) -> Vec<Vec<i64>> {
        let level = store.level(0, &Need::all()).await.unwrap();
        if !self.spec.links.explicit || level.links(0).is_none_or(|links| links.width() == 0) {
            return Vec::new();
        }
        let asked = Query {
            columns: vec![Column::Chunk, Column::Row, Column::Attributes],
            ..Query::default()
        };
        let got = ask(store, asked).await.vertices;
        let mut known: HashMap<(Vec<i64>, i64), i64> = HashMap::new();
        if got.num_rows() > 0 {
            let rows = column(&got, "chunk").into_iter().zip(column(&got, "row"));
            for ((chunk, row), n) in rows.zip(column(&got, "n")) {
                known.insert((numbers(&chunk), row.parse().unwrap()), n.parse().unwrap());
            }
        }
        let answer = list_links(store, 0, 0, false).await.unwrap();
        let list = answer.collect().await.unwrap().table(Table::Links).unwrap();
        let Some(list) = list.filter(|list| list.num_rows() > 0) else {
            return Vec::new();
        };
        let ends = column(&list, "chunks")
            .into_iter()
            .zip(column(&list, "rows"));
        ends.map(|(chunks, rows)| {
            let (chunks, rows) = (numbers(&chunks), numbers(&rows));
            let chunks = chunks.chunks(chunks.len() / rows.len());
            let ends = chunks.zip(rows);
            ends.map(|(chunk, row)| known[&(chunk.to_vec(), row)])
                .collect()
        })
        .collect()
    }

    /// The identity of a link: its ends, in any order if links have no direction.
    fn key(&self, ends: &[i64]) -> Vec<i64> {
        let mut key = ends.to_vec();
        if !self.spec.links.directed {
            key.sort_unstable();
        }
        key
    }

    /// Gives links new values: the n-th occurrence of the same ends means the n-th link between them.
    fn set(&mut self, ends: &[Vec<i64>], values: &[u32]) {
        let mut places: BTreeMap<Vec<i64>, Vec<usize>> = BTreeMap::new();
        for (at, (ends, _)) in self.links.iter().enumerate().rev() {
            places.entry(self.key(ends)).or_default().push(at);
        }
        for (ends, value) in ends.iter().zip(values) {
            let at = places.get_mut(&self.key(ends)).unwrap().pop().unwrap();
            self.links[at].1 = value.to_string();
        }
    }

    /// Sets values of links, or adds the first ones.
    pub(crate) async fn step_links(
        &mut self,
        edit: &mut Edit,
        draw: &mut Draw,
        order: &Order,
    ) -> Result<(), WriteError> {
        let Order {
            all,
            objects,
            links,
            ..
        } = order;
        if links.is_empty() {
            return Ok(());
        }
        let drawn = |count: usize, draw: &mut Draw| -> Vec<u32> {
            (0..count).map(|_| draw.next() as u32).collect()
        };
        if self.spec.links.attributes.is_empty() {
            let w = AttributeSpec::number("w", NumberType::U32);
            let values = drawn(links.len(), draw);
            self.spec.links.attributes.push(w.clone());
            self.set(links, &values);
            return edit.add_link_attribute(w, &Values::from(values)).await;
        }
        let how = draw.below(3);
        if how == 0 {
            let values = drawn(links.len(), draw);
            self.set(links, &values);
            let values = Values::from(values);
            return edit.set_link_attribute("w", At::All, &values).await;
        }
        // Some of the links between the ends of one link, and perhaps those of another.
        let mut ends = Vec::new();
        let mut taken: Vec<Vec<i64>> = Vec::new();
        for _ in 0..2 {
            let (of_one, _) = &self.links[draw.below(self.links.len())];
            let key = self.key(of_one);
            if taken.contains(&key) {
                continue;
            }
            let same = self.links.iter().filter(|(ends, _)| self.key(ends) == key);
            let same: Vec<Vec<i64>> = same.map(|(ends, _)| ends.clone()).collect();
            ends.extend(same.into_iter().take(1 + draw.below(3)));
            taken.push(key);
        }
        let values = drawn(ends.len(), draw);
        self.set(&ends, &values);
        let values = Values::from(values);
        let rows: Vec<u64> = ends
            .iter()
            .flatten()
            .map(|n| all.iter().position(|other| other == n).unwrap() as u64)
            .collect();
        if how == 1 {
            return edit.set_link_attribute("w", At::Rows(&rows), &values).await;
        }
        let places: HashMap<i64, (i64, u64)> = objects
            .iter()
            .flat_map(|(id, numbers)| (0..).zip(numbers).map(move |(at, n)| (*n, (*id, at))))
            .collect();
        let places: Vec<(i64, u64)> = ends.iter().flatten().map(|n| places[n]).collect();
        edit.set_link_attribute("w", At::Objects(&places), &values)
            .await
    }
}
