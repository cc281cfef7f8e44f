//! Counts of points, lines or faces for each pixel.

use crate::pen::{Pen, PenPoint};

/// The number of shapes at each pixel.
#[derive(Debug, Clone)]
pub(crate) struct PixelCounts {
    width: usize,
    height: usize,
    counts: Vec<u32>,
}

impl PixelCounts {
    /// Counts of 0 for a picture of this size.
    ///
    /// # Cost
    ///
    /// 4 bytes for each pixel.
    pub(crate) fn new(width: usize, height: usize) -> Self {
        Self {
            width,
            height,
            counts: vec![0; width * height],
        }
    }

    /// Adds the counts of another thread.
    pub(crate) fn merge(&mut self, other: &Self) {
        for (mine, other) in self.counts.iter_mut().zip(&other.counts) {
            *mine = mine.saturating_add(*other);
        }
    }

    /// The counts, rows from the top.
    pub(crate) fn counts(&self) -> &[u32] {
        &self.counts
    }

    /// The largest count.
    pub(crate) fn most(&self) -> u32 {
        self.counts.iter().copied().max().unwrap_or(0)
    }

    fn add(&mut self, x: f32, y: f32) {
        if x >= 0.0 && y >= 0.0 && x < self.width as f32 && y < self.height as f32 {
            let at = y as usize * self.width + x as usize;
            if let Some(count) = self.counts.get_mut(at) {
                *count = count.saturating_add(1);
            }
        }
    }
}

impl Pen for PixelCounts {
    fn point(&mut self, vertex: &PenPoint) {
        self.add(vertex.x, vertex.y);
    }

    /// Counts every pixel along the line once, except the last one, which the next line of a chain counts.
    fn segment(&mut self, a: &PenPoint, b: &PenPoint) {
        let (dx, dy) = (b.x - a.x, b.y - a.y);
        let length = dx.abs().max(dy.abs());
        // Positions outside the picture are skipped.
        let (mut from, mut to) = (0.0_f32, 1.0_f32);
        for (start, change, size) in [(a.x, dx, self.width), (a.y, dy, self.height)] {
            if change != 0.0 {
                let ends = [-start / change, (size as f32 - start) / change];
                from = from.max(ends[0].min(ends[1]));
                to = to.min(ends[0].max(ends[1]));
            }
        }
        // Ends that float32 does not represent.
        if !length.is_finite() {
            return;
        }
        let steps = length.ceil().max(1.0);
        // The number of steps is bounded by the size of the picture, not by the length of the line.
        let (first, last) = ((from * steps) as i64, (to * steps).ceil() as i64);
        for step in first..last.min(steps as i64) {
            let share = step as f32 / steps;
            self.add(a.x + share * dx, a.y + share * dy);
        }
    }

    /// Counts the middle of the face.
    fn triangle(&mut self, corners: [&PenPoint; 3], _: [[f32; 3]; 3]) {
        let [a, b, c] = corners;
        self.add((a.x + b.x + c.x) / 3.0, (a.y + b.y + c.y) / 3.0);
    }
}
