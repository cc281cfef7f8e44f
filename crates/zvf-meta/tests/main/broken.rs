//! Breaks every rule in one way, in a store that is otherwise valid.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use zvf_meta::rules::{Problem, RULES, Rule, Severity, check_documents, check_root};
use zvf_meta::{MetaError, RootDoc};

use crate::base::documents;
use crate::breaks::{
    ARRAYS, FAMILIES, KEYS, LEVELS, ROOT, SCALES, VERTICES, attribute, translation, zv,
};

/// A root document that breaks one rule, with a short description.
type RootBreak = (Rule, &'static str, fn() -> Value);

/// Root documents that cannot be made from the two-dimensional store; only the root is checked.
const AXES: &[RootBreak] = &[
    (Rule::AxesCount, "a line", || {
        axes_only(json!([{"name": "x", "type": "space"}]))
    }),
    (Rule::AxesOrder, "time behind space", || {
        axes_only(
            json!([{"name": "x", "type": "space"}, {"name": "t", "type": "time"}, {"name": "y"}]),
        )
    }),
];

fn axes_only(axes: Value) -> Value {
    let dims = axes.as_array().map_or(0, Vec::len);
    json!({"zarr_format": 3, "node_type": "group", "attributes": {
        "zarr_vectors": {"zv_version": "0.9.2", "chunk_shape": vec![1; dims], "geometry_types": ["point_cloud"],
            "bounds": [vec![0; dims], vec![1; dims]]},
        "multiscales": [{"version": "0.4", "axes": axes, "metadata": {"format": "zarr_vectors"}}],
        "ome": {"version": "0.6", "type": "collection", "name": "s", "nodes": [],
            "attributes": {"scene": {"coordinateSystems": [{"axes": axes}]}}}}})
}

/// The violated rules; notes count only if `rule` is a note.
fn fired(rule: Rule, problems: &[Problem]) -> BTreeSet<Rule> {
    problems
        .iter()
        .filter(|one| one.severity > Severity::Note || one.rule == rule)
        .map(|one| one.rule)
        .collect()
}

fn assert_fires(rule: Rule, problems: &[Problem], what: &str) {
    assert_eq!(
        fired(rule, problems),
        BTreeSet::from([rule]),
        "{what}: {problems:#?}"
    );
    for problem in problems {
        assert!(problem.path.contains("zarr.json#"), "{problem}");
        assert_ne!(problem.found, problem.expected, "{problem}");
        assert_eq!(problem.severity, problem.rule.severity());
    }
}

#[test]
fn the_made_store_breaks_no_rule() {
    let checked = check_documents(&documents().bytes());
    assert!(
        checked.unreadable.is_empty() && checked.problems.is_empty(),
        "{checked:#?}"
    );
}

#[test]
fn every_rule_fires_alone() -> Result<(), MetaError> {
    let mut covered = BTreeSet::new();
    let mut wrong = Vec::new();
    for (index, (rule, apply)) in [ROOT, SCALES, LEVELS, ARRAYS, FAMILIES]
        .into_iter()
        .flatten()
        .enumerate()
    {
        let mut store = documents();
        apply(&mut store);
        let checked = check_documents(&store.bytes());
        // All violations are tried before any failure is reported.
        if !checked.unreadable.is_empty()
            || fired(*rule, &checked.problems) != BTreeSet::from([*rule])
        {
            let problems: Vec<_> = checked.problems.iter().map(ToString::to_string).collect();
            wrong.push(format!(
                "{index} {rule}: {:?} {problems:#?}",
                checked.unreadable
            ));
        } else {
            assert_fires(*rule, &checked.problems, rule.name());
        }
        covered.insert(*rule);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    for (rule, what, document) in AXES {
        let root = RootDoc::parse(document().to_string().as_bytes())?;
        assert_fires(*rule, &check_root(&root), what);
        covered.insert(*rule);
    }
    let missing: Vec<_> = RULES
        .iter()
        .filter(|info| !covered.contains(&info.rule))
        .collect();
    assert!(missing.is_empty(), "no test breaks {missing:#?}");
    Ok(())
}

#[test]
fn a_flood_of_bad_keys_is_cut() {
    let mut store = documents();
    let keys: Vec<String> = (0..1000).map(|index| format!("x{index:04}")).collect();
    store.set(VERTICES, KEYS, json!(keys));
    let checked = check_documents(&store.bytes());
    assert_eq!(checked.problems.len(), zvf_meta::rules::MOST_PROBLEMS);
}

#[test]
fn unreadable_documents_are_named_and_the_rest_is_checked() {
    let mut store = documents();
    attribute(&mut store, VERTICES, "dtype", json!(5));
    attribute(&mut store, "1/vertices", "zv_array", json!("links"));
    let checked = check_documents(&store.bytes());
    let unreadable: Vec<_> = checked
        .unreadable
        .iter()
        .map(|(key, error)| format!("{key}: {error}"))
        .collect();
    assert_eq!(
        unreadable,
        ["0/vertices/zarr.json: /attributes/dtype is number 5, expected a string"]
    );
    let problems: Vec<_> = checked.problems.iter().map(ToString::to_string).collect();
    let expected = "error discriminator: 1/vertices/zarr.json#/attributes/zv_array is \"links\", expected \"vertices\"";
    assert_eq!(problems, [expected]);
}

#[test]
fn t35_the_offset_may_stand_in_the_translation_of_level_0() {
    let mut store = documents();
    zv(&mut store, "coordinate_offset", json!([1000, 2000]));
    assert!(check_documents(&store.bytes()).problems.is_empty());
    translation(&mut store, 0, json!([1000, 2000]));
    assert!(check_documents(&store.bytes()).problems.is_empty());
    translation(&mut store, 0, json!([1000, 2001]));
    assert_fires(
        Rule::TranslationBase,
        &check_documents(&store.bytes()).problems,
        "another offset",
    );
}
