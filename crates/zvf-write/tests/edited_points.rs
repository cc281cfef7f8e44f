//! Deletion of points in the model of edits.

use std::collections::BTreeSet;

use zvf_edit::Edit;
use zvf_write::WriteError;

use crate::edited::{Model, Order};
use crate::edited_draw::Draw;

impl Model {
    /// Deletes points by chunk and row; does nothing if vertices belong to objects.
    pub(crate) async fn step_points(
        &mut self,
        edit: &mut Edit,
        draw: &mut Draw,
        order: &Order,
    ) -> Result<(), WriteError> {
        if self.spec.has_objects() || order.spots.is_empty() {
            return Ok(());
        }
        let mut some: BTreeSet<usize> = (0..draw.below(9))
            .map(|_| draw.below(order.spots.len()))
            .collect();
        some.retain(|at| self.vertices.contains_key(&order.all[*at]));
        let spots: Vec<_> = some.iter().map(|at| order.spots[*at].clone()).collect();
        for at in &some {
            let n = order.all[*at];
            self.vertices.remove(&n);
            self.objects
                .values_mut()
                .for_each(|numbers| numbers.retain(|m| *m != n));
        }
        edit.delete_points(&spots).await
    }
}
