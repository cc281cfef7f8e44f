//! The targets of drawing: pixels, counts for each pixel, or the elements of an SVG file.

/// A projected vertex.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct PenPoint {
    /// Pixels from the left.
    pub(crate) x: f32,
    /// Pixels from the top.
    pub(crate) y: f32,
    /// Grows with the distance.
    pub(crate) depth: f32,
    /// Scale at this vertex relative to the camera's target; the weight of its value in perspective correction.
    pub(crate) size: f32,
    /// Half of a line's width or a point's diameter, in pixels.
    pub(crate) radius: f32,
    /// Depth of one pixel towards the viewer.
    pub(crate) bulge: f32,
    /// A colour (0x00RRGGBB), or the bits of a number.
    pub(crate) value: u32,
    /// Whether `value` is a number.
    pub(crate) numeric: bool,
}

impl PenPoint {
    /// The vertex at a share of the projected line between two vertices.
    pub(crate) fn between(a: &Self, b: &Self, share: f32) -> Self {
        let mix = |a: f32, b: f32| a + share * (b - a);
        Self {
            x: mix(a.x, b.x),
            y: mix(a.y, b.y),
            depth: mix(a.depth, b.depth),
            size: mix(a.size, b.size),
            radius: mix(a.radius, b.radius),
            bulge: mix(a.bulge, b.bulge),
            value: Self::mix(a, b, share),
            numeric: a.numeric,
        }
    }

    /// The value at a share of the projected line between two vertices, with perspective correction.
    #[inline]
    pub(crate) fn mix(a: &Self, b: &Self, share: f32) -> u32 {
        if a.value == b.value {
            return a.value;
        }
        Self::blend([a, b, b], [1.0 - share, share, 0.0])
    }

    /// The value inside a projected triangle, by barycentric coordinates, with perspective correction.
    pub(crate) fn blend(corners: [&Self; 3], share: [f32; 3]) -> u32 {
        let [a, b, c] = corners;
        if a.value == b.value && b.value == c.value {
            return a.value;
        }
        let weights = [a.size * share[0], b.size * share[1], c.size * share[2]];
        let all = weights[0] + weights[1] + weights[2];
        let of = |values: [f32; 3]| {
            (values[0] * weights[0] + values[1] * weights[1] + values[2] * weights[2]) / all
        };
        if a.numeric {
            return of([a, b, c].map(|one| f32::from_bits(one.value))).to_bits();
        }
        let channel = |shift: u32| {
            let value = of([a, b, c].map(|one| (one.value >> shift & 255) as f32));
            (value.round() as u32 & 255) << shift
        };
        channel(16) | channel(8) | channel(0)
    }
}

/// Draws shapes.
pub(crate) trait Pen: Send + 'static {
    /// A dot.
    fn point(&mut self, vertex: &PenPoint);
    /// A line between two vertices.
    fn segment(&mut self, a: &PenPoint, b: &PenPoint);
    /// A face; normals are in view coordinates: right, up, towards the viewer.
    fn triangle(&mut self, corners: [&PenPoint; 3], normals: [[f32; 3]; 3]);
}
