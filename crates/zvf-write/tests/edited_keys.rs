//! The attributes that split the chunks of the model of edits, besides position.

use zvf_query::{Filter, Query};
use zvf_write::{AttributeType, Values};

use crate::edited::Model;
use crate::edited_draw::Draw;
use crate::support::{ask, sorted};

/// Values that split chunks. A new store has the first three; an edit may add values that sort before or after them.
const GENES: [&str; 5] = ["m", "", "zoë", "a", "z"];
const PARTS: [i16; 5] = [5, -3, 300, -700, 12];

impl Model {
    /// The number of the value that splits chunks for a new vertex.
    pub(crate) fn some_key(&self, draw: &mut Draw, keys: usize) -> usize {
        match self.spec.chunk_by {
            Some(_) => draw.below(keys),
            None => 0,
        }
    }

    /// The values of some keys; `None` if chunks are split by position alone.
    pub(crate) fn keys(&self, keys: impl Iterator<Item = usize>) -> Option<Values> {
        let one = &self.spec.chunk_by.as_ref()?.attribute;
        Some(match one.values {
            AttributeType::Category => Values::texts(keys.map(|key| GENES[key])),
            _ => keys.map(|key| PARTS[key]).collect::<Vec<i16>>().into(),
        })
    }

    /// A value as a reader displays it, and as a filter names it.
    pub(crate) fn shown(&self, key: usize) -> (String, String) {
        match self.spec.chunk_by.as_ref().unwrap().attribute.values {
            AttributeType::Category => (GENES[key].to_owned(), format!("'{}'", GENES[key])),
            _ => (PARTS[key].to_string(), PARTS[key].to_string()),
        }
    }

    /// A filter by one value finds exactly the vertices with that value.
    pub(crate) async fn check_value(
        &self,
        store: &zvf_store::Store,
        key: usize,
        wanted: Vec<usize>,
    ) {
        let filter = Filter::parse(&format!("gene == {}", self.shown(key).1)).unwrap();
        let asked = Query {
            filter: Some(filter),
            ..Query::default()
        };
        assert_eq!(sorted(ask(store, asked).await.numbers()), wanted);
    }
}
