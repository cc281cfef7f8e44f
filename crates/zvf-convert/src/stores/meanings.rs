//! Compares what the attributes of two stores state about the meaning of their values; see [`AttributeSpec::other_meaning`].

use std::collections::BTreeMap;

use zvf_store::{Deltas, LinkFamily, Names, Need, Store};
use zvf_write::AttributeSpec;

use crate::ConvertError;
use crate::error::shown;

/// Advice in errors about attributes with different meanings.
pub(super) const OTHER_WAYS: &str = "`zvf import --nulls` takes one number for all files, `zvf query --attributes` leaves an attribute out";

/// The attributes of level 0 with channel names and descriptions. The key is the table (vertices, objects or links) and the name.
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
    let links = links.iter();
    let links = links.filter_map(|one| Some(("links", &one.name, one.stated()?)));
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

/// Checks that attributes of two stores mean the same; see [`AttributeSpec::other_meaning`].
pub(super) async fn check_meanings(store: &Store, own: &Store) -> Result<(), ConvertError> {
    let ours = meanings(own).await?;
    for ((of, name), theirs) in meanings(store).await? {
        let ours = ours.get(&(of, name.clone()));
        if let Some((found, expected)) = ours.and_then(|ours| theirs.other_meaning(ours)) {
            let what = format!("{}: attribute {} of {of}", store.url(), shown(&name));
            let expected = format!("{expected} as in {} ({OTHER_WAYS})", own.url());
            return Err(ConvertError::usage(what, found, expected));
        }
    }
    Ok(())
}
