//! Compares documents that do not affect rows: headers of source files and metadata of users.

use std::collections::BTreeSet;

use serde_json::{Map, Value};
use zvf_store::meta::Kind;
use zvf_store::{Deltas, LinkFamily, Need, Store};

use super::Comparison;
use crate::QueryError;

/// The formats whose headers are found without a listing. Their headers determine the positions of tractograms.
const FORMATS: [&str; 3] = ["trk", "tck", "trx"];

/// Most characters of a value in a difference.
const MOST: usize = 200;

type Members = Map<String, Value>;

/// Compares the headers of source files, such as the frame of a tractogram.
pub(super) async fn headers(
    found: &mut Comparison,
    [old, new]: [&Store; 2],
) -> Result<(), QueryError> {
    let mut formats: BTreeSet<String> = FORMATS.map(str::to_owned).into();
    for store in [old, new] {
        let side = store.side_groups().await?;
        formats.extend(side.headers.into_iter().map(|header| header.format));
    }
    let formats: Vec<&str> = formats.iter().map(String::as_str).collect();
    let (old, new) = (old.headers(&formats).await?, new.headers(&formats).await?);
    for format in formats {
        let both = [old.get(format), new.get(format)];
        members(found, &format!("headers/{format}"), both);
    }
    Ok(())
}

/// Compares the user metadata of the root.
pub(super) fn of_root(found: &mut Comparison, stores: [&Store; 2]) {
    let metadata = stores.map(|store| store.root().user_metadata.as_ref());
    of_users(found, "", metadata);
}

/// Compares the user metadata of a level, and whether its links are directed.
pub(super) async fn of_level(
    found: &mut Comparison,
    [old, new]: [&Store; 2],
    number: u32,
) -> Result<(), QueryError> {
    let kind = old.kind();
    let need = Need {
        link_deltas: Deltas::List(vec![0]),
        ..Need::nothing()
    };
    let (old, new) = (
        old.level(number, &need).await?,
        new.level(number, &need).await?,
    );
    let metadata = [&old, &new].map(|level| level.doc().user_metadata.as_ref());
    of_users(found, &format!("level {number}, "), metadata);
    // The links of skeletons go from parent to child in either case.
    if let (Some(old), Some(new)) = (old.links(0), new.links(0))
        && kind != Kind::Skeleton
    {
        let word = |family: &LinkFamily| match family.directed() {
            true => "directed",
            false => "undirected",
        };
        let (old, new) = (word(old), word(new));
        if old != new {
            found.add(format!("level {number}, links"), format!("{old} and {new}"));
        }
    }
    Ok(())
}

fn of_users(found: &mut Comparison, place: &str, metadata: [Option<&Value>; 2]) {
    let all = metadata.map(|value| value.and_then(Value::as_object));
    members(found, &format!("{place}user_metadata"), all);
}

/// Compares the members of two objects; a missing object counts as one without members.
fn members(found: &mut Comparison, place: &str, both: [Option<&Members>; 2]) {
    let [old, new] = both.map(|members| members.filter(|members| !members.is_empty()));
    match (old, new) {
        (None, None) => {}
        (Some(_), None) => found.add(place, "in the first store only"),
        (None, Some(_)) => found.add(place, "in the second store only"),
        (Some(old), Some(new)) => {
            let names: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
            for name in names {
                let (old, new) = (old.get(name), new.get(name));
                if old != new {
                    let place = format!("{place}, member {name:?}");
                    found.add(place, format!("{} and {}", text(old), text(new)));
                }
            }
        }
    }
}

/// The value of a member, cut if it is long.
pub(super) fn text(value: Option<&Value>) -> String {
    let text = match value {
        None => "none".to_owned(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    };
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text,
    }
}
