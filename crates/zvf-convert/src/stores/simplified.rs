//! Simplifies lines by leaving out vertices (Ramer, Douglas and Peucker).

use zvf_meta::Metric;

/// The rows of a line that are kept, so that all others are at most `tolerance` away from the segment between the kept rows around them. Kept are
/// both ends and, recursively, the row of each part that is farthest from the segment between the part's ends; the first one of several.
///
/// # Cost
/// The number of rows times the depth of the recursion, which is the logarithm of the rows for evenly curved lines, and the number of kept rows
/// at worst.
pub(super) fn simplified<'p>(
    rows: &[usize],
    (tolerance, metric): (f64, Metric),
    position: impl Fn(usize) -> Option<&'p [f64]>,
) -> Option<Vec<usize>> {
    let place = |at: usize| position(*rows.get(at)?);
    let last = rows.len().checked_sub(1)?;
    let mut kept = vec![false; rows.len()];
    *kept.first_mut()? = true;
    *kept.last_mut()? = true;
    let mut parts = vec![(0, last)];
    while let Some((start, end)) = parts.pop() {
        let (a, b) = (place(start)?, place(end)?);
        let mut farthest = (0.0, start);
        for at in start + 1..end {
            let far = metric.square_to_segment(place(at)?, a, b);
            if far > farthest.0 {
                farthest = (far, at);
            }
        }
        if farthest.0 > tolerance * tolerance {
            *kept.get_mut(farthest.1)? = true;
            parts.push((start, farthest.1));
            parts.push((farthest.1, end));
        }
    }
    let kept = rows.iter().zip(kept).filter(|(_, kept)| *kept);
    Some(kept.map(|(row, _)| *row).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(points: &[[f64; 2]], tolerance: f64) -> Vec<usize> {
        let rows: Vec<usize> = (0..points.len()).collect();
        simplified(&rows, (tolerance, Metric::default()), |row| {
            points.get(row).map(|one| &one[..])
        })
        .unwrap()
    }

    #[test]
    fn what_is_near_enough_goes() {
        let points = [
            [0.0, 0.0],
            [1.0, 0.1],
            [2.0, -0.1],
            [3.0, 5.0],
            [4.0, 6.0],
            [5.0, 7.0],
        ];
        assert_eq!(kept(&points, 1.0), [0, 2, 3, 5]);
        assert_eq!(kept(&points, 0.0), [0, 1, 2, 3, 5]);
        assert_eq!(kept(&points, 100.0), [0, 5]);
        // Behind an end of a segment, its end is the nearest place.
        assert_eq!(kept(&[[0.0, 0.0], [9.0, 0.0], [5.0, 0.0]], 1.0), [0, 1, 2]);
        assert_eq!(kept(&[[0.0, 0.0], [3.0, 4.0], [0.0, 0.0]], 4.9), [0, 1, 2]);
        assert_eq!(kept(&[[0.0, 0.0], [1.0, 1.0]], 1.0), [0, 1]);
    }
}
