//! The JSON documents.

use zvf_meta::{ArrayDoc, GroupDoc, LevelDoc, LinkFamilyDoc, ObjectIndexDoc, RootDoc, node_kind};

/// Parses any bytes as every kind of document, and writes each parsed document again.
///
/// # Panics
///
/// When a document that was written from a parsed one does not parse, or writing is not stable.
pub fn document(data: &[u8]) {
    let _ = node_kind(data);
    let _ = ObjectIndexDoc::parse(data);
    let _ = LinkFamilyDoc::parse(data);
    if let Ok(root) = RootDoc::parse(data) {
        let _ = (
            root.gate(),
            root.axes(),
            root.kind(),
            root.links_convention(),
            root.level_transform(1),
        );
        stable(root.to_json(), |text| {
            RootDoc::parse(text).map(|again| again.to_json())
        });
    }
    if let Ok(level) = LevelDoc::parse(data) {
        stable(level.to_json(), |text| {
            LevelDoc::parse(text).map(|again| again.to_json())
        });
    }
    if let Ok(group) = GroupDoc::parse(data) {
        stable(group.to_json(), |text| {
            GroupDoc::parse(text).map(|again| again.to_json())
        });
    }
    if let Ok(array) = ArrayDoc::parse(data) {
        if let Some(keys) = &array.attributes.nonempty_chunks {
            let _ = keys.iter().count();
        }
        let _ = (array.sharding(), array.fill_number());
        stable(array.to_json(), |text| {
            ArrayDoc::parse(text).map(|again| again.to_json())
        });
    }
}

/// Checks that a written document parses, and that it is written as the same text again.
fn stable<E: std::fmt::Debug>(text: String, again: impl Fn(&[u8]) -> Result<String, E>) {
    assert_eq!(
        again(text.as_bytes()).expect("a written document parses"),
        text
    );
}
