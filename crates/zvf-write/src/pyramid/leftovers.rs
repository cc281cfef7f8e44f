//! What an interrupted pyramid may have left of levels that no root names.

use serde_json::Value;

use super::spec::MOST_LEVELS;
use crate::WriteError;
use crate::target::Target;

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

/// The groups that a marker names, if they are such as a pyramid writes: nothing else is ever removed.
pub(crate) fn leftovers(marker: &Value) -> Option<Vec<String>> {
    let named = marker.pointer("/details/pyramid")?.as_array()?;
    let known = |name: &str| {
        let number = name.strip_prefix("0/links/+").unwrap_or(name);
        name == "0/links" || number.parse::<u32>().is_ok_and(|number| number > 0)
    };
    named
        .iter()
        .map(|name| name.as_str().filter(|name| known(name)).map(str::to_owned))
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::leftovers;

    #[test]
    fn only_what_a_pyramid_writes_is_cleared() {
        let marker = |names: &[&str]| json!({"details": {"pyramid": names}});
        assert_eq!(leftovers(&marker(&["1", "0/links/+2"])).unwrap().len(), 2);
        assert_eq!(leftovers(&marker(&["0/links"])).unwrap().len(), 1);
        for name in [
            "0",
            "",
            "..",
            "0/vertices",
            "1/../0",
            "-1",
            "0/links/+0",
            "0/links/0",
        ] {
            assert_eq!(leftovers(&marker(&["1", name])), None, "{name}");
        }
        assert_eq!(leftovers(&json!({"details": {}})), None);
    }
}
