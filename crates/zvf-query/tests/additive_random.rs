//! Chains of levels of random lines against brute force.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use zvf_query::{BBox, Query, Select};

use crate::additive::{edges, lines, stack, text};
use crate::make::Line;
use crate::support::{ask, block_on, column, memory, sorted};

/// A vertex, and whether it follows the previous vertex of its line.
type Row = ([f32; 3], bool);

/// Levels of lines: ids, and lines whose vertices differ in their second coordinate.
fn random_lines() -> impl Strategy<Value = Vec<Vec<Line>>> {
    let one = (
        0_i64..6,
        proptest::collection::vec((0.0_f32..50.0, 0.0_f32..50.0), 0..6),
    );
    let level = proptest::collection::vec(one, 0..6);
    proptest::collection::vec(level, 2..4).prop_map(|levels| {
        let mut next = 0.0;
        levels
            .into_iter()
            .map(|lines| {
                let mut seen = BTreeSet::new();
                lines
                    .into_iter()
                    .filter(|(id, _)| seen.insert(*id))
                    .map(|(id, line)| {
                        let line = line.into_iter().map(|(x, z)| {
                            next += 0.5;
                            [x, next, z]
                        });
                        (id, line.collect())
                    })
                    .collect()
            })
            .collect()
    })
}

fn random_box() -> impl Strategy<Value = Option<BBox>> {
    let corner = (-5.0_f64..40.0, 1.0_f64..45.0);
    let bbox = (corner.clone(), corner).prop_map(|(x, z)| {
        BBox::new(vec![x.0, -1.0, z.0], vec![x.0 + x.1, 100.0, z.0 + z.1]).unwrap()
    });
    proptest::option::of(bbox)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn lines_by_object_are_what_went_in(
        levels in random_lines(), bbox in random_box(), ids in proptest::collection::vec(0_i64..7, 0..5),
        limit in proptest::option::of(0_u64..30), whole in any::<bool>(), batch_rows in 1_usize..9
    ) {
        block_on(async {
            let sizes = [10.0, 20.0, 10.0];
            let store = memory(&stack(&lines(&levels, &sizes))).await;
            let kept = |p: &[f32; 3]| bbox.as_ref().is_none_or(|bbox| bbox.contains(&p.map(f64::from)));
            // Every object of the answer: its rows, and which of them follow the previous row.
            let mut expected: Vec<(i64, Vec<Row>)> = Vec::new();
            let mut truncated = false;
            let mut left = limit.unwrap_or(u64::MAX) as usize;
            'ids: for id in &ids {
                let own: Vec<&Vec<[f32; 3]>> = levels.iter()
                    .flat_map(|level| level.iter().filter(|(of, _)| of == id).map(|(_, line)| line)).collect();
                if own.is_empty() {
                    continue;
                }
                let hit = own.iter().any(|line| line.iter().any(kept));
                if whole && bbox.is_some() && !hit {
                    continue;
                }
                let mut rows = Vec::new();
                for line in own {
                    let mut before = false;
                    for p in line {
                        let now = whole || kept(p);
                        if now {
                            rows.push((*p, before));
                        }
                        before = now;
                    }
                }
                if rows.len() > left {
                    truncated = true;
                    if !whole {
                        rows.truncate(left);
                        if !rows.is_empty() {
                            expected.push((*id, rows));
                        }
                    }
                    break 'ids;
                }
                left -= rows.len();
                expected.push((*id, rows));
            }
            if whole {
                expected.retain(|(_, rows)| !rows.is_empty());
            }
            let query = Query {
                bbox: bbox.clone(), objects: Some(ids.clone()), ignore_missing: true, limit, batch_rows,
                select: if whole { Select::Objects } else { Select::Vertices },
                ..Query::default()
            };
            // Ids require an object index on some level.
            if levels.iter().all(Vec::is_empty) {
                return;
            }
            let got = ask(&store, query).await.unwrap();
            let flat: Vec<&Row> = expected.iter().flat_map(|(_, rows)| rows).collect();
            assert_eq!(got.column("position"), flat.iter().map(|(p, _)| text(p)).collect::<Vec<_>>());
            let links: Vec<Vec<usize>> = flat.iter().enumerate().filter(|(_, (_, after))| *after)
                .map(|(at, _)| vec![at - 1, at]).collect();
            assert_eq!(sorted(got.links()), links);
            assert_eq!(got.all.summary.truncated, truncated);
            let objects = got.objects.as_ref().unwrap();
            let found: Vec<(String, String)> = column(objects, "object_id").into_iter().zip(column(objects, "length")).collect();
            let lengths: Vec<(String, String)> = expected.iter().map(|(id, rows)| (id.to_string(), rows.len().to_string())).collect();
            assert_eq!(found, lengths);
        });
    }

    #[test]
    fn lines_in_chunk_order_are_what_went_in(
        levels in random_lines(), bbox in random_box(), limit in proptest::option::of(0_u64..30), batch_rows in 1_usize..9
    ) {
        block_on(async {
            let store = memory(&stack(&lines(&levels, &[10.0, 20.0, 10.0]))).await;
            let kept = |p: &[f32; 3]| bbox.as_ref().is_none_or(|bbox| bbox.contains(&p.map(f64::from)));
            let whole = Query { bbox: bbox.clone(), batch_rows, ..Query::default() };
            let all = ask(&store, whole.clone()).await.unwrap();
            // One level after the other, each row once.
            let positions = all.column("position");
            let mut from = 0;
            for level in &levels {
                let expected: Vec<String> = level.iter().flat_map(|(_, line)| line).filter(|p| kept(p)).map(text).collect();
                assert_eq!(sorted(positions[from..from + expected.len()].to_vec()), sorted(expected.clone()));
                from += expected.len();
            }
            assert_eq!(from, positions.len());
            let got = ask(&store, Query { limit, ..whole }).await.unwrap();
            let most = limit.map_or(positions.len(), |limit| positions.len().min(limit as usize));
            assert_eq!(got.column("position"), positions[..most]);
            assert_eq!(got.all.summary.truncated, most < positions.len());
            let inside: BTreeSet<&String> = positions[..most].iter().collect();
            let mut expected = Vec::new();
            let mut counts: BTreeMap<i64, usize> = BTreeMap::new();
            for (id, line) in levels.iter().flatten() {
                let rows: Vec<String> = line.iter().map(text).collect();
                *counts.entry(*id).or_default() += rows.iter().filter(|row| inside.contains(row)).count();
                expected.extend(rows.windows(2).filter(|pair| pair.iter().all(|row| inside.contains(row)))
                    .map(|pair| pair.join(" | ")));
            }
            assert_eq!(edges(&got), sorted(expected));
            if let Some(objects) = got.objects.as_ref() {
                let found: BTreeMap<String, String> = column(objects, "object_id").into_iter().zip(column(objects, "vertices")).collect();
                let counts: BTreeMap<String, String> = counts.into_iter().filter(|(_, count)| *count > 0)
                    .map(|(id, count)| (id.to_string(), count.to_string())).collect();
                assert_eq!(found, counts);
            }
        });
    }
}
