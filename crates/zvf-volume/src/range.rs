//! Ranges in NumPy's notation: `0:10,5,::2`.

use zvf_grid::{Axis, Dims, Selection};

use crate::VolumeError;

/// A selection, and the axes that its result keeps: an axis with a single index is removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AxisRanges {
    /// The elements.
    pub selection: Selection,
    /// For each axis, whether it stays in the result.
    pub kept: Vec<bool>,
}

impl AxisRanges {
    /// Selects every element of an array.
    ///
    /// # Errors
    /// More axes than an array can have.
    pub fn all(shape: &[u64]) -> Result<Self, VolumeError> {
        Ok(Self {
            selection: Selection::all(shape)?,
            kept: vec![true; shape.len()],
        })
    }

    /// Parses a range: one item for each axis, separated by commas: `start:stop`, `start:stop:step` or one index. Negative numbers count from the
    /// end, `start` and `stop` are clipped to the axis, axes without an item are read whole, `...` stands for whole axes. Steps are at least 1.
    ///
    /// # Errors
    /// Misuse: an invalid text, more items than axes, more than one `...`, an index outside its axis.
    pub fn parse(text: &str, shape: &[u64]) -> Result<Self, VolumeError> {
        let wrong = |what: String| VolumeError::misuse(format!("range {text:?}: {what}"));
        let items: Vec<&str> = match text.trim() {
            "" => Vec::new(),
            text => text.split(',').map(str::trim).collect(),
        };
        let dots = items.iter().filter(|item| **item == "...").count();
        let given = items.len() - dots;
        if dots > 1 || given > shape.len() {
            let axes = shape.len();
            return Err(wrong(format!("{given} items for {axes} axes")));
        }
        let missing = shape.len() - given;
        let mut items: Vec<&str> = items
            .into_iter()
            .flat_map(|item| match item {
                "..." => vec![":"; missing],
                item => vec![item],
            })
            .collect();
        items.resize(shape.len(), ":");
        let mut axes = Vec::with_capacity(shape.len());
        let mut kept = Vec::with_capacity(shape.len());
        for (axis, (item, &extent)) in items.iter().zip(shape).enumerate() {
            let (range, stays) =
                one(item, extent).map_err(|what| wrong(format!("axis {axis}: {what}")))?;
            axes.push(range);
            kept.push(stays);
        }
        Ok(Self {
            selection: Selection::new(&axes, shape)?,
            kept,
        })
    }

    /// Extents of the result, without the axes that were removed by a single index.
    ///
    /// # Errors
    /// None for a range of this crate.
    pub fn result_shape(&self) -> Result<Dims, VolumeError> {
        let shape = self.selection.shape();
        let kept: Vec<u64> = shape
            .iter()
            .zip(&self.kept)
            .filter_map(|(&extent, &stays)| stays.then_some(extent))
            .collect();
        Ok(Dims::new(&kept)?)
    }
}

/// One item: the range, and whether the axis stays.
fn one(item: &str, extent: u64) -> Result<(Axis, bool), String> {
    let number = |text: &str| -> Result<Option<i128>, String> {
        match text.trim() {
            "" => Ok(None),
            text => match text.parse::<i64>() {
                Ok(number) => Ok(Some(i128::from(number))),
                Err(_) => Err(format!("{text:?} found, expected a number")),
            },
        }
    };
    let end = i128::from(extent);
    // Negative numbers count from the end.
    let from_end = |number: i128| if number < 0 { number + end } else { number };
    let clip = |number: i128| u64::try_from(from_end(number).clamp(0, end)).unwrap_or(0);
    let parts: Vec<&str> = item.split(':').collect();
    match parts.as_slice() {
        [index] => {
            let asked = number(index)?.ok_or("nothing found, expected an index or a range")?;
            let index = u64::try_from(from_end(asked))
                .ok()
                .filter(|one| *one < extent);
            let index =
                index.ok_or_else(|| format!("index {asked} found, the axis has {extent}"))?;
            Ok((Axis::at(index), false))
        }
        [start, stop] | [start, stop, _] => {
            let step = parts
                .get(2)
                .map_or(Ok(None), |step| number(step))?
                .unwrap_or(1);
            let step = u64::try_from(step).ok().filter(|step| *step >= 1);
            let step = step.ok_or("expected a step of at least 1")?;
            let start = number(start)?.map_or(0, clip);
            let stop = number(stop)?.map_or(extent, clip).max(start);
            Ok((Axis::new(start, stop, step), true))
        }
        _ => Err(format!("{item:?} found, expected start:stop:step")),
    }
}
