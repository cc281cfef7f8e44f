//! Units and frames of what is appended, against those of the store.

use serde_json::Value;
use zvf_convert::{Frame, Import, Space};
use zvf_meta::{Axis, units};
use zvf_store::Store;

use crate::error::{CliError, Result};

/// The factors that bring positions along the axes that a file or folder states to those of a store; `None` where they are the same, or one
/// of the two states no unit.
///
/// # Errors
///
/// Usage: units that differ.
pub(super) fn unit_scale(stated: &[Axis], own: &[Axis], help: &str) -> Result<Option<Vec<f64>>> {
    for (own, theirs) in own.iter().zip(stated) {
        if let (Some(own_unit), Some(unit)) = (&own.unit, &theirs.unit)
            && !units::same(own_unit, unit)
        {
            return Err(CliError::usage(format!(
                "axis {}: found {unit} in the files, expected {own_unit} as in the store{help}",
                own.name
            )));
        }
    }
    Ok(None)
}

/// Refuses axes of other names or number than those of the store.
pub(super) fn check_axes(stated: &[Axis], own: &[Axis]) -> Result<()> {
    let names =
        |axes: &[Axis]| -> Vec<String> { axes.iter().map(|axis| axis.name.clone()).collect() };
    let (found, expected) = (names(stated), names(own));
    match found == expected {
        true => Ok(()),
        false => Err(CliError::usage(format!(
            "axes: found {}, expected {} as in the store",
            found.join(", "),
            expected.join(", ")
        ))),
    }
}

/// Refuses files of another unit or frame than the store's, as far as both say.
pub(super) fn check_import(import: &Import, store: &Store, own: Option<&Frame>) -> Result<()> {
    let help = "; --unit UNIT says in which the files are";
    unit_scale(&import.spec().axes, store.root().axes(), help)?;
    let theirs = import.frame().and_then(|frame| frame.get("space"));
    check_space(theirs.and_then(Value::as_str), own)
}

/// Refuses positions of another frame of a tractogram than the store's.
pub(super) fn check_space(theirs: Option<&str>, own: Option<&Frame>) -> Result<()> {
    let (Some(own), Some(theirs)) = (own, theirs) else {
        return Ok(());
    };
    if let Some(problem) = own.problem() {
        return Err(CliError::usage(format!(
            "frame: found {problem} in the store's {}, expected the frame of its positions: the files have {theirs}",
            own.place()
        )));
    }
    match own.space().map(Space::name) {
        Some(own_space) if own_space != theirs => Err(CliError::usage(format!(
            "frame: found positions in {theirs}, expected {own_space} as in the store's {}",
            own.place()
        ))),
        _ => Ok(()),
    }
}
