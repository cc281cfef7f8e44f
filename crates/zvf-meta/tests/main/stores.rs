//! The bundled stores: every document parses, is written back completely and breaks no rule.

use std::collections::BTreeMap;
use std::error::Error;

use serde_json::Value;
use zvf_meta::rules::{Severity, check_documents};
use zvf_meta::{
    ArrayDoc, GroupDoc, LevelDoc, LinkAttributeFamilyDoc, LinkFamilyDoc, NodeKind, ObjectIndexDoc,
    RootDoc, group_discriminator, node_kind,
};

type Outcome = Result<(), Box<dyn Error>>;

fn documents(case: &str) -> Result<BTreeMap<String, Vec<u8>>, Box<dyn Error>> {
    let mut files = zvf_testkit::files(case)?;
    files.retain(|key, _| key.ends_with("zarr.json"));
    assert!(files.contains_key("zarr.json"), "{case} has a root");
    Ok(files)
}

#[test]
fn good_stores_break_no_rule() -> Outcome {
    for case in zvf_testkit::cases()? {
        let checked = check_documents(&documents(&case)?);
        assert!(
            checked.unreadable.is_empty(),
            "{case}: {:?}",
            checked.unreadable
        );
        for problem in &checked.problems {
            println!("{case}: {problem}");
            assert!(problem.severity < Severity::Warning, "{case}: {problem}");
        }
    }
    Ok(())
}

/// The document as this crate writes it.
fn rewritten(key: &str, bytes: &[u8]) -> Result<String, Box<dyn Error>> {
    Ok(match node_kind(bytes)? {
        NodeKind::Array => {
            let array = ArrayDoc::parse(bytes)?;
            assert_eq!(
                array.to_value(),
                serde_json::from_str::<Value>(&array.to_json())?,
                "{key}"
            );
            array.to_json()
        }
        NodeKind::Group if key == "zarr.json" => RootDoc::parse(bytes)?.to_json(),
        NodeKind::Group if key.matches('/').count() == 1 => LevelDoc::parse(bytes)?.to_json(),
        NodeKind::Group => {
            let group = GroupDoc::parse(bytes)?;
            let group = match group_discriminator(&group) {
                Some("object_index") => ObjectIndexDoc::from_group(group)?.to_group(),
                Some("links_family") => LinkFamilyDoc::from_group(group)?.to_group(),
                Some("link_attribute_family") => {
                    LinkAttributeFamilyDoc::from_group(group)?.to_group()
                }
                _ => group,
            };
            // The reference writes the same group in either of two forms.
            if bytes.contains(&b'\n') {
                group.to_json()
            } else {
                group.to_json_line()
            }
        }
    })
}

#[test]
fn every_document_comes_back_byte_for_byte() -> Outcome {
    let mut count = 0;
    for case in zvf_testkit::cases()? {
        for (key, bytes) in documents(&case)? {
            let text = std::str::from_utf8(&bytes)?;
            assert_eq!(rewritten(&key, &bytes)?, text, "{case} {key}");
            count += 1;
        }
    }
    assert!(count > 400, "{count} documents");
    Ok(())
}
