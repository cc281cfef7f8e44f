//! Concurrent reads with an error that does not depend on timing.

use futures::StreamExt;
use futures::future::BoxFuture;
use futures::stream::FuturesUnordered;

use crate::{Class, StoreError};

/// Runs all futures, and returns their results in order.
///
/// If several fail because of damage, the first in order is reported, regardless of which finished first: the same bytes give the same error. Other
/// errors (I/O, limits) end the work at once.
///
/// The futures are boxed, because the compiler does not prove the unboxed ones to be `Send`.
///
/// # Errors
/// As the futures.
pub(crate) async fn all_in_order<T>(
    work: Vec<BoxFuture<'_, Result<T, StoreError>>>,
) -> Result<Vec<T>, StoreError> {
    let mut running: FuturesUnordered<_> = work
        .into_iter()
        .enumerate()
        .map(|(at, one)| async move { (at, one.await) })
        .collect();
    let mut done: Vec<Option<T>> = (0..running.len()).map(|_| None).collect();
    let mut damage: Option<(usize, StoreError)> = None;
    while let Some((at, outcome)) = running.next().await {
        match outcome {
            Ok(value) => {
                if let Some(slot) = done.get_mut(at) {
                    *slot = Some(value);
                }
            }
            Err(error) if error.class() != Class::Malformed => return Err(error),
            Err(error) => {
                if damage.as_ref().is_none_or(|(first, _)| at < *first) {
                    damage = Some((at, error));
                }
            }
        }
        // Reads before the damaged one may still find damage; later ones are no longer needed.
        if let Some((first, _)) = &damage
            && done.iter().take(*first).all(Option::is_some)
        {
            break;
        }
    }
    match damage {
        Some((_, error)) => Err(error),
        None => Ok(done.into_iter().flatten().collect()),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use futures::FutureExt;
    use futures::future::BoxFuture;

    use super::all_in_order;
    use crate::StoreError;

    fn damaged(name: &str) -> StoreError {
        StoreError::malformed(name, "damage")
    }

    type Work = BoxFuture<'static, Result<u64, StoreError>>;

    fn after(millis: u64, outcome: Result<u64, StoreError>) -> Work {
        async move {
            tokio::time::sleep(Duration::from_millis(millis)).await;
            outcome
        }
        .boxed()
    }

    #[tokio::test(start_paused = true)]
    async fn the_first_damage_in_order_is_reported() {
        for waits in [[9, 5, 1, 0], [0, 1, 5, 9], [3, 9, 0, 1]] {
            let [a, b, c, d] = waits;
            let work = vec![
                after(a, Ok(1)),
                after(b, Err(damaged("b"))),
                after(c, Err(damaged("c"))),
                after(d, Ok(4)),
            ];
            let told = all_in_order(work).await.map_err(|error| error.to_string());
            assert!(
                told.as_ref().is_err_and(|text| text.starts_with('b')),
                "{told:?}"
            );
        }
        let work = vec![after(5, Ok(1)), after(1, Ok(2)), after(3, Ok(3))];
        assert_eq!(all_in_order(work).await.ok(), Some(vec![1, 2, 3]));
    }

    #[tokio::test(start_paused = true)]
    async fn other_errors_end_the_work_at_once() {
        let begun = tokio::time::Instant::now();
        let work = vec![
            after(1000, Ok(1)),
            after(1, Err(StoreError::misuse("no"))),
            after(0, Err(damaged("c"))),
        ];
        let told = all_in_order(work).await.map_err(|error| error.to_string());
        assert!(
            told.as_ref().is_err_and(|text| text.contains("no")),
            "{told:?}"
        );
        assert!(begun.elapsed() < Duration::from_millis(1000));
    }
}
