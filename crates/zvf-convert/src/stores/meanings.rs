//! What attributes of two stores state about their values beside the type: names of channels, numbers for missing values.

use std::collections::BTreeMap;

use zvf_store::{Deltas, LinkFamily, Names, Need, Store};
use zvf_write::AttributeSpec;

use crate::ConvertError;
use crate::error::shown;

/// The names of channels, unless they are those that a store without names has.
pub(super) fn channel_names(one: &AttributeSpec) -> Option<&[String]> {
    let names = one.channel_names.as_deref()?;
    let mut numbered = names.iter().enumerate();
    let usual = numbered.all(|(at, name)| *name == format!("ch{at}"));
    (!usual).then_some(names)
}

/// Whether a description states the number that stands for missing values, as `zvf import --nulls NUMBER` writes it.
pub(super) fn is_missing_mark(description: &str) -> bool {
    let number = description.strip_suffix(" is a missing value");
    number.is_some_and(|number| number.parse::<i64>().is_ok())
}

/// What two attributes of one name state differently although their values look alike: the names of channels, or the numbers for missing values.
/// Returns what was found in `one`, and what `own` has.
pub(super) fn other_meaning(one: &AttributeSpec, own: &AttributeSpec) -> Option<(String, String)> {
    if let (Some(found), Some(expected)) = (channel_names(one), channel_names(own))
        && found != expected
    {
        let found = format!("the channels {}", found.join(", "));
        let ways = "`zvf query --attributes` leaves it out";
        return Some((found, format!("{} ({ways})", expected.join(", "))));
    }
    let (found, expected) = (one.description.as_deref()?, own.description.as_deref()?);
    let differ = found != expected && is_missing_mark(found) && is_missing_mark(expected);
    let ways = "`zvf import --nulls` with one number for all files";
    differ.then(|| (found.to_owned(), format!("{expected} ({ways})")))
}

/// The attributes of level 0 with the names of their channels and their descriptions, by what they are of and their names.
async fn meanings(
    store: &Store,
) -> Result<BTreeMap<(&'static str, String), AttributeSpec>, ConvertError> {
    let need = Need {
        vertex_attributes: Names::All,
        object_attributes: Names::All,
        link_attributes: Names::All,
        link_deltas: Deltas::List(vec![0]),
        ..Need::nothing()
    };
    let level = store.level(0, &need).await?;
    let vertices = level.vertex_attributes().iter();
    let vertices = vertices.map(|one| ("vertices", &one.name, one.array.attributes()));
    let links = level.links(0).map_or(&[][..], LinkFamily::attributes);
    let links = links.iter().filter_map(|one| {
        let array = one.arrays.iter().flatten().next()?;
        Some(("links", &one.name, array.attributes()))
    });
    let rows = vertices.chain(links);
    let rows = rows.map(|(of, name, stored)| ((of, name.clone()), stored));
    let objects = level.object_attributes().iter();
    let objects = objects.map(|one| (("objects", one.name().to_owned()), one.attributes()));
    let all = rows.chain(objects).map(|(key, stored)| {
        let mut spec = AttributeSpec::text(&key.1);
        spec.description.clone_from(&stored.description);
        spec.channel_names.clone_from(&stored.channel_names);
        (key, spec)
    });
    Ok(all.collect())
}

/// Checks that attributes of two stores mean the same; see [`other_meaning`].
pub(super) async fn check_meanings(store: &Store, own: &Store) -> Result<(), ConvertError> {
    let ours = meanings(own).await?;
    for ((of, name), theirs) in meanings(store).await? {
        let ours = ours.get(&(of, name.clone()));
        if let Some((found, expected)) = ours.and_then(|ours| other_meaning(&theirs, ours)) {
            let what = format!("{}: attribute {} of {of}", store.url(), shown(&name));
            let expected = format!("as in {}: {expected}", own.url());
            return Err(ConvertError::usage(what, found, expected));
        }
    }
    Ok(())
}
