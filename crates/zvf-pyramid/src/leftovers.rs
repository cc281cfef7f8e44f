//! What an interrupted pyramid may have left of levels that no root names.

use super::spec::MOST_LEVELS;
use zvf_write::WriteError;
use zvf_write::target::Target;

/// Everything that a pyramid may have written below the root of a store of one level.
pub(crate) fn groups(target: &Target) -> Result<Vec<String>, WriteError> {
    let mut groups: Vec<String> = (1..=MOST_LEVELS).map(|level| level.to_string()).collect();
    if target.exists("0/links/zarr.json")? {
        groups.extend((1..=MOST_LEVELS).map(|delta| format!("0/links/+{delta}")));
    } else {
        groups.push("0/links".to_owned());
    }
    Ok(groups)
}
