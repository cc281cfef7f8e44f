//! Random edits: after every commit, the store is read and compared with a model.

use std::collections::BTreeSet;

use proptest::prelude::*;
use zvf_edit::{Edit, vacuum};
use zvf_store::Class;
use zvf_testkit::sample;

use crate::edited::Model;
use crate::edited_draw::{Draw, STORES, spec};
use crate::support::{ADDRESS, Memory, block_on};

/// Number of sequences to try; `ZVF_EDIT_CASES` sets another number.
fn cases() -> u32 {
    let asked = std::env::var("ZVF_EDIT_CASES").ok();
    let asked = asked.and_then(|count| count.parse().ok());
    asked.unwrap_or_else(|| sample::cases(1000, 60))
}

async fn keys(memory: &Memory) -> BTreeSet<String> {
    let files = memory.files().await.into_iter();
    files.map(|(key, _)| key).collect()
}

async fn run(which: usize, seed: u64, edits: &[Vec<u8>]) {
    let mut draw = Draw(seed);
    let memory = Memory::default();
    let mut model = Model::new(spec(which, &mut draw));
    model.write(&memory, &mut draw).await;
    for operations in edits {
        let mut order = model.order(&memory).await;
        let attributes = model.spec.links.attributes.len();
        let mut edit = Edit::open(ADDRESS, memory.options()).await.unwrap();
        for what in operations {
            model
                .step(&mut edit, *what, &mut draw, Some(&order))
                .await
                .unwrap();
            order.is_present = false;
        }
        if model.links.is_empty() && model.spec.links.attributes.len() > attributes {
            // Nothing is left that could have the attribute: the store does not change.
            let mut before = memory.files().await;
            before.retain(|key, _| !key.starts_with("zvf-"));
            let error = edit.commit().await.unwrap_err();
            assert_eq!(error.class(), Class::Misuse, "{error}");
            assert!(memory.files().await == before, "the store changed");
            return;
        }
        edit.commit().await.unwrap();
        model.check(&memory).await;
        memory.check_clean().await;
        if draw.below(4) == 0 {
            let before = keys(&memory).await;
            let done = vacuum(ADDRESS, memory.options()).await.unwrap();
            let after = keys(&memory).await;
            if done.leftovers > 0 {
                let gone: Vec<_> = before.difference(&after).collect();
                panic!("left over: {gone:?}");
            }
            // An edit removes its own leftover files.
            assert_eq!(done.rows, model.vacuumed() as u64);
            model.check(&memory).await;
            memory.check_clean().await;
        }
    }
    keep(&memory, &format!("{which}-{seed:x}.zarrvectors")).await;
}

/// Keeps the edited store in the folder `ZVF_EDIT_KEEP`, if that is set, so that other readers can read it.
async fn keep(memory: &Memory, name: &str) {
    let Ok(folder) = std::env::var("ZVF_EDIT_KEEP") else {
        return;
    };
    for (key, bytes) in memory.files().await {
        let path = std::path::Path::new(&folder).join(name).join(key);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), max_shrink_iters: 400, ..ProptestConfig::default() })]

    #[test]
    fn sequences_of_edits_are_read_as_the_model_says(
        which in 0..STORES,
        seed in any::<u64>(),
        edits in prop::collection::vec(prop::collection::vec(0_u8..12, 1..4), 1..4),
    ) {
        block_on(run(which, seed, &edits));
    }
}

/// Sequences that once failed.
#[test]
fn sequences_that_went_wrong_do_not_again() {
    block_on(run(
        1,
        5_649_057_298_883_518_658,
        &[vec![4, 2, 2], vec![7, 6], vec![5, 6]],
    ));
}
