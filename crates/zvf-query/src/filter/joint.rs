//! Values of objects and groups, and the parts of a condition that refer to vertices and to objects, such as `fa > 0.5 or object.length > 40` and
//! `x < start.x`.

use std::collections::HashMap;
use std::sync::Arc;

use zvf_store::format::dtype::{DType, DTypeKind};

use super::bind::BoundFilter;
use super::expr::Expr;
use super::operand::{Find, Operand, OperandType, Val};
use crate::QueryError;
use crate::error::OrBug;

/// A column of a table of objects or groups.
#[derive(Debug, Clone)]
pub(crate) struct Values {
    pub(crate) values: Vec<Val<'static>>,
    pub(crate) width: usize,
    pub(crate) kind: DTypeKind,
}

impl Values {
    /// A column of one value per row.
    pub(crate) fn new(values: Vec<Val<'static>>, kind: DTypeKind) -> Self {
        Self {
            values,
            width: 1,
            kind,
        }
    }

    /// The type of the column as an operand.
    pub(crate) fn operand_type(&self) -> OperandType {
        OperandType {
            dtype: DType::little(self.kind),
            categories: None,
            fill_code: None,
            axis: None,
            is_decoded: true,
        }
    }

    /// The values of one row.
    pub(crate) fn row(&self, row: usize) -> Option<&[Val<'static>]> {
        let start = row.saturating_mul(self.width);
        self.values.get(start..start.saturating_add(self.width))
    }

    /// Appends the rows of a column of the same type.
    pub(crate) fn append(&mut self, other: Self) {
        self.values.extend(other.values);
    }

    /// The values of some rows.
    ///
    /// # Errors
    /// Bug: a row that does not exist.
    pub(crate) fn rows(&self, rows: &[usize]) -> Result<Self, QueryError> {
        let mut values = Vec::with_capacity(rows.len().saturating_mul(self.width));
        for row in rows {
            values.extend_from_slice(self.row(*row).or_bug("an object without values")?);
        }
        Ok(Self {
            values,
            width: self.width,
            kind: self.kind,
        })
    }
}

/// The parts of a condition that refer to vertices and to objects, and the values of the objects that a query selects.
#[derive(Debug)]
pub(crate) struct Joint {
    /// The parts that refer to vertices alone.
    of_rows: Option<Expr>,
    /// The parts that refer to both. Their names are names of `columns`, of vertex attributes and of axes.
    condition: Expr,
    columns: Vec<(String, Values)>,
    /// The row of each object in the columns, by id.
    rows: HashMap<i64, usize>,
}

impl Joint {
    /// Combines the parts of a condition with the values of some objects. All columns have one row for each object.
    pub(crate) fn new(
        (of_rows, condition): (Option<Expr>, Expr),
        ids: &[i64],
        columns: Vec<(String, Values)>,
    ) -> Self {
        let rows = ids.iter().enumerate();
        Self {
            of_rows,
            condition,
            columns,
            rows: rows.map(|(row, id)| (*id, row)).collect(),
        }
    }

    /// The parts that refer to vertices alone.
    pub(crate) fn of_rows(&self) -> Option<&Expr> {
        self.of_rows.as_ref()
    }

    /// Whether a name refers to a value of objects.
    pub(crate) fn is_of_object(&self, name: &str) -> bool {
        self.columns.iter().any(|(column, _)| column == name)
    }
}

/// A [`Joint`], resolved for the columns of a level.
#[derive(Debug, Clone)]
pub(crate) struct BoundJoint {
    filter: BoundFilter,
    joint: Arc<Joint>,
    /// For each column of the reader, and then for the positions, whether the condition refers to it.
    tested: Vec<bool>,
}

impl BoundJoint {
    /// Resolves the condition. `find` returns the number and type of an attribute; an axis has the number `columns`, which means the positions.
    ///
    /// # Errors
    ///
    /// As [`BoundFilter::bind`].
    pub(crate) fn bind(
        joint: &Arc<Joint>,
        columns: usize,
        find: &Find<'_>,
    ) -> Result<Self, QueryError> {
        let filter = BoundFilter::bind(&joint.condition, &|name| {
            // The columns of objects are the operands after the positions.
            let own = (columns.saturating_add(1)..).zip(&joint.columns);
            let mut own = own.filter(|(_, (column, _))| column == name);
            match own.next() {
                Some((number, (_, values))) => Ok((number, values.operand_type())),
                None => find(name),
            }
        })?;
        let mut tested = vec![false; columns.saturating_add(1)];
        for name in joint.condition.names() {
            if !joint.is_of_object(&name)
                && let Some(tested) = tested.get_mut(find(&name)?.0)
            {
                *tested = true;
            }
        }
        Ok(Self {
            filter,
            joint: Arc::clone(joint),
            tested,
        })
    }

    /// Notes about parts of the condition that are easily misunderstood.
    pub(crate) fn remarks(&self) -> &[String] {
        &self.filter.remarks
    }

    /// The condition: its operands are the columns of the reader, the positions, and the values of the object.
    pub(crate) fn filter(&self) -> &BoundFilter {
        &self.filter
    }

    /// Whether the condition refers to a column of the reader. The number after the last column means the positions.
    pub(crate) fn tests(&self, column: usize) -> bool {
        self.tested.get(column) == Some(&true)
    }

    /// The values of an object.
    ///
    /// # Errors
    ///
    /// Bug: an object that the query does not select.
    pub(crate) fn object(&self, id: i64) -> Result<Vec<Operand<'_>>, QueryError> {
        let object = self.joint.rows.get(&id).copied();
        let object = object.or_bug("a condition without the values of an object")?;
        let values = self.joint.columns.iter();
        let values = values.map(|(_, values)| values.row(object).map(Operand::Constant));
        values
            .collect::<Option<Vec<_>>>()
            .or_bug("an object without values")
    }
}
