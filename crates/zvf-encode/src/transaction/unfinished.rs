//! What a marker states about an unfinished change: its edits, and the groups of levels that it writes.

use serde_json::{Value, json};

/// Possible remains of unfinished changes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct UnfinishedChanges {
    /// Ids of edits.
    pub(crate) edits: Vec<String>,
    /// Groups of levels that the root did not name when their writer began.
    pub(crate) groups: Vec<String>,
}

impl UnfinishedChanges {
    pub(crate) fn is_empty(&self) -> bool {
        self.edits.is_empty() && self.groups.is_empty()
    }

    /// Parses a marker; `None` for another kind of change, which only the command that began it can finish.
    pub(crate) fn of(marker: &Value) -> Option<Self> {
        let mut left = Self::default();
        let details = marker.get("details")?;
        // A new store with a root is complete: only its marker was not removed.
        if details.as_object().is_some_and(serde_json::Map::is_empty) {
            return Some(left);
        }
        let edit = details
            .get("edit")
            .map(|id| id.as_str().filter(|id| is_id(id)));
        if let Some(id) = edit {
            left.edits.push(id?.to_owned());
        } else {
            left.groups = pyramid_groups(marker)?;
        }
        let list = |name: &str| {
            let list = marker.pointer("/after")?.get(name)?.as_array()?;
            let texts = list.iter().map(|one| one.as_str().map(str::to_owned));
            texts.collect::<Option<Vec<String>>>()
        };
        if marker.get("after").is_some() {
            left.edits
                .extend(list("edits")?.into_iter().filter(|id| is_id(id)));
            let groups = json!({"details": {"pyramid": list("groups")?}});
            left.groups.extend(pyramid_groups(&groups)?);
        }
        Some(left)
    }
}

fn is_id(id: &str) -> bool {
    zvf_store::writing::Redo::new(id, [], []).is_ok()
}

/// The groups that a marker names; `None` if it names a group that no pyramid writes, because such a group must not be removed.
fn pyramid_groups(marker: &Value) -> Option<Vec<String>> {
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

    use super::pyramid_groups;

    #[test]
    fn only_what_a_pyramid_writes_is_cleared() {
        let marker = |names: &[&str]| json!({"details": {"pyramid": names}});
        assert_eq!(
            pyramid_groups(&marker(&["1", "0/links/+2"])).unwrap().len(),
            2
        );
        assert_eq!(pyramid_groups(&marker(&["0/links"])).unwrap().len(), 1);
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
            assert_eq!(pyramid_groups(&marker(&["1", name])), None, "{name}");
        }
        assert_eq!(pyramid_groups(&json!({"details": {}})), None);
    }
}
