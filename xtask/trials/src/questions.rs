//! What is asked of the bundled stores.

use anyhow::Result;
use zvf_query::{BBox, Query};
use zvf_testkit::{BoxQuery, Case};

/// One question whose answer is known from what went into the store.
#[derive(Debug, Clone, PartialEq)]
pub enum Question {
    /// The rows inside a box.
    Box(BoxQuery),
    /// Whole objects, in this order.
    Objects(Vec<i64>),
    /// The objects of a group.
    Group(u64),
}

impl Question {
    /// The query.
    ///
    /// # Errors
    ///
    /// For a box with its corners exchanged.
    pub fn query(&self) -> Result<Query> {
        Ok(match self {
            Self::Box(asked) => Query {
                level: asked.level,
                bbox: Some(BBox::new(asked.lo.clone(), asked.hi.clone())?),
                ..Query::default()
            },
            Self::Objects(ids) => Query {
                objects: Some(ids.clone()),
                ..Query::default()
            },
            Self::Group(group) => Query {
                groups: Some(vec![*group]),
                ..Query::default()
            },
        })
    }
}

/// Questions of a bundled store, about `most` of them: every box, every group, all objects together, and single objects.
#[must_use]
pub fn questions(case: &Case, most: usize) -> Vec<Question> {
    let mut all: Vec<Question> = case.queries.iter().cloned().map(Question::Box).collect();
    all.extend(case.groups.keys().copied().map(Question::Group));
    if !case.objects.is_empty() {
        // The last first: the order is the caller's.
        let ids = case.objects.keys().rev().copied().collect();
        all.push(Question::Objects(ids));
    }
    let left = most.saturating_sub(all.len());
    let step = (case.objects.len() / left.max(1)).max(1);
    let single = case.objects.keys().step_by(step).take(left);
    all.extend(single.map(|id| Question::Objects(vec![*id])));
    all
}
