//! Axes and frame of a store that is appended to another one.

use zvf_convert::{Frame, Space};
use zvf_meta::Axis;

use crate::error::{CliError, Result};

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
