//! Copies elements between two buffers in C order.

use crate::dims::same_rank;
use crate::{Dims, GridError, MAX_RANK};

/// One axis of a copy, in elements: `count` elements from `src` on, every `step`-th, are copied to `dst` and the following
/// indices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Run {
    /// First index in the source.
    pub src: u64,
    /// Distance of neighbouring indices in the source, at least 1.
    pub step: u64,
    /// First index in the target; the copied elements are adjacent there.
    pub dst: u64,
    /// Elements.
    pub count: u64,
}

impl Default for Run {
    fn default() -> Self {
        Self {
            src: 0,
            step: 1,
            dst: 0,
            count: 0,
        }
    }
}

/// Copies elements of `item` bytes from `src` (of `src_shape`) to `dst` (of `dst_shape`), both in C order, one [`Run`]
/// for each axis. Everything is checked before the first byte is copied. Bytes of `dst` outside the runs are unchanged.
///
/// Cost: a `memcpy` for each range that is contiguous in both buffers; with a step on the last axis, a loop over its elements.
///
/// # Errors
/// [`GridError::RankMismatch`], [`GridError::TooManyAxes`], [`GridError::BufferLength`] if a buffer does not have the
/// length that its shape and `item` need, [`GridError::OutOfBuffer`], [`GridError::TooLarge`].
pub fn copy(
    item: usize,
    src: &[u8],
    src_shape: &[u64],
    dst: &mut [u8],
    dst_shape: &[u64],
    runs: &[Run],
) -> Result<(), GridError> {
    let plan = CopyPlan::new(
        item,
        Some((src.len(), src_shape)),
        (dst.len(), dst_shape),
        runs,
    )?;
    plan.walk(0, plan.src, plan.dst, &mut |from, to, _| {
        plan.inner(src, from, dst, to);
    });
    Ok(())
}

/// Writes `value` (one element) to every element of `dst` (of `dst_shape`) in `runs`; `src` and `step` of the
/// runs are ignored.
///
/// # Errors
/// As [`copy`].
pub fn fill(
    value: &[u8],
    dst: &mut [u8],
    dst_shape: &[u64],
    runs: &[Run],
) -> Result<(), GridError> {
    let plan = CopyPlan::new(value.len(), None, (dst.len(), dst_shape), runs)?;
    let same = value
        .first()
        .filter(|first| value.iter().all(|byte| byte == *first));
    plan.walk(0, 0, plan.dst, &mut |_, to, bytes| {
        let Some(part) = dst.get_mut(to..to.saturating_add(bytes)) else {
            return;
        };
        match same {
            Some(byte) => part.fill(*byte),
            None => part
                .chunks_exact_mut(value.len().max(1))
                .for_each(|element| element.copy_from_slice(value)),
        }
    });
    Ok(())
}

/// One loop: its iterations, and the bytes from one to the next in both buffers.
#[derive(Debug, Clone, Copy, Default)]
struct Loop {
    count: usize,
    src: usize,
    dst: usize,
}

/// A checked copy: the first `outer` of `loops`, stored from the innermost, and inside them `count` elements of `item` bytes.
#[derive(Debug)]
struct CopyPlan {
    loops: [Loop; MAX_RANK],
    outer: usize,
    /// First byte in the source, and in the target.
    src: usize,
    dst: usize,
    /// The innermost copy: elements, bytes of each, and their distance in bytes in the source.
    count: usize,
    item: usize,
    stride: usize,
}

impl CopyPlan {
    /// Checks shapes, lengths and runs; merges axes that are contiguous in both buffers.
    fn new(
        item: usize,
        src: Option<(usize, &[u64])>,
        dst: (usize, &[u64]),
        runs: &[Run],
    ) -> Result<Self, GridError> {
        let rank = runs.len();
        let src_shape = match src {
            Some((bytes, shape)) => {
                same_rank(shape.len(), rank)?;
                length(bytes, shape, item)?;
                Some(shape)
            }
            None => None,
        };
        same_rank(dst.1.len(), rank)?;
        length(dst.0, dst.1, item)?;
        if rank > MAX_RANK {
            return Err(GridError::TooManyAxes { found: rank });
        }
        for (axis, run) in runs.iter().enumerate() {
            if let Some(extent) = src_shape.and_then(|shape| shape.get(axis)) {
                inside(axis, run.src, run.step, run.count, *extent)?;
            }
            inside(
                axis,
                run.dst,
                1,
                run.count,
                dst.1.get(axis).copied().unwrap_or(0),
            )?;
        }
        let mut plan = Self {
            loops: [Loop::default(); MAX_RANK],
            outer: 0,
            src: 0,
            dst: 0,
            count: 1,
            item,
            stride: item,
        };
        if runs.iter().any(|run| run.count == 0) || item == 0 {
            // Nothing to copy: one loop without iterations.
            plan.outer = 1;
            return Ok(plan);
        }
        plan.lay_out(src_shape, dst.1, runs)?;
        Ok(plan)
    }

    /// Computes strides from the last axis to the first.
    fn lay_out(
        &mut self,
        src_shape: Option<&[u64]>,
        dst_shape: &[u64],
        runs: &[Run],
    ) -> Result<(), GridError> {
        // Distance in bytes between neighbours on the axis. It fits, because the buffers are that long.
        let (mut src_stride, mut dst_stride) = (self.item, self.item);
        for (axis, run) in runs.iter().enumerate().rev() {
            // A fill has no source: its loops follow the target.
            let (from, step) = match src_shape {
                Some(_) => (small(run.src)?, run.step),
                None => (0, 1),
            };
            let count = small(run.count)?;
            self.src = add(self.src, mul(from, src_stride)?)?;
            self.dst = add(self.dst, mul(small(run.dst)?, dst_stride)?)?;
            // A single element has no distance to a next one, so its step, which may be huge, is ignored.
            let src_step = if count == 1 {
                src_stride
            } else {
                mul(src_stride, small(step)?)?
            };
            let whole = self.outer == 0
                && self.stride == self.item
                && src_step == mul(self.item, self.count)?
                && dst_stride == mul(self.item, self.count)?;
            if whole || count == 1 {
                // Adjacent to the inner axes: one longer run.
                self.count = mul(self.count, count)?;
            } else if self.outer == 0 && self.count == 1 && dst_stride == self.item {
                self.count = count;
                self.stride = src_step;
            } else {
                *self.slot()? = Loop {
                    count,
                    src: src_step,
                    dst: dst_stride,
                };
            }
            let to = small(dst_shape.get(axis).copied().unwrap_or(1))?;
            let of = match src_shape.and_then(|shape| shape.get(axis)) {
                Some(extent) => small(*extent)?,
                None => to,
            };
            src_stride = mul(src_stride, of)?;
            dst_stride = mul(dst_stride, to)?;
        }
        Ok(())
    }

    /// The next free loop, from the innermost outwards.
    fn slot(&mut self) -> Result<&mut Loop, GridError> {
        let at = self.outer;
        self.outer += 1;
        self.loops
            .get_mut(at)
            .ok_or(GridError::TooManyAxes { found: at })
    }

    /// Calls `each(from, to, bytes)` for every innermost run. The recursion is as deep as the number of loops, at most 16.
    fn walk(
        &self,
        depth: usize,
        src: usize,
        dst: usize,
        each: &mut impl FnMut(usize, usize, usize),
    ) {
        if depth == self.outer {
            each(src, dst, self.count.saturating_mul(self.item));
            return;
        }
        let Some(turn) = self.loops.get(self.outer - 1 - depth).copied() else {
            return;
        };
        for at in 0..turn.count {
            self.walk(depth + 1, src + at * turn.src, dst + at * turn.dst, each);
        }
    }

    /// One innermost run: a `memcpy`, or elements at a distance.
    fn inner(&self, src: &[u8], from: usize, dst: &mut [u8], to: usize) {
        let bytes = self.count * self.item;
        let Some(target) = dst.get_mut(to..to + bytes) else {
            return;
        };
        if self.stride == self.item {
            if let Some(source) = src.get(from..from + bytes) {
                target.copy_from_slice(source);
            }
            return;
        }
        let Some(source) = src.get(from..) else {
            return;
        };
        match self.item {
            1 => strided::<1>(source, self.stride, target),
            2 => strided::<2>(source, self.stride, target),
            4 => strided::<4>(source, self.stride, target),
            8 => strided::<8>(source, self.stride, target),
            16 => strided::<16>(source, self.stride, target),
            item => target
                .chunks_exact_mut(item)
                .zip(source.chunks(self.stride))
                .for_each(|(to, from)| {
                    if let Some(from) = from.get(..item) {
                        to.copy_from_slice(from);
                    }
                }),
        }
    }
}

/// Elements of `N` bytes at a distance of `stride` bytes.
fn strided<const N: usize>(source: &[u8], stride: usize, target: &mut [u8]) {
    let (target, _) = target.as_chunks_mut::<N>();
    for (to, from) in target.iter_mut().zip(source.chunks(stride)) {
        if let Some(from) = from.first_chunk::<N>() {
            *to = *from;
        }
    }
}

/// Compares the length of a buffer with its shape.
fn length(found: usize, shape: &[u64], item: usize) -> Result<(), GridError> {
    let found = u64::try_from(found).unwrap_or(u64::MAX);
    let expected = Dims::new(shape)?
        .count()
        .and_then(|n| n.checked_mul(u64::try_from(item).ok()?))
        .ok_or(GridError::TooLarge)?;
    if found == expected {
        Ok(())
    } else {
        Err(GridError::BufferLength { found, expected })
    }
}

/// Fails unless `count` elements from `start`, every `step`-th, are below `extent`.
fn inside(axis: usize, start: u64, step: u64, count: u64, extent: u64) -> Result<(), GridError> {
    let Some(last) = count.checked_sub(1) else {
        return Ok(());
    };
    let fits = last
        .checked_mul(step)
        .and_then(|far| far.checked_add(start))
        .is_some_and(|last| last < extent);
    if fits && step > 0 {
        Ok(())
    } else {
        Err(GridError::OutOfBuffer { axis })
    }
}

fn small(value: u64) -> Result<usize, GridError> {
    usize::try_from(value).map_err(|_| GridError::TooLarge)
}

fn mul(a: usize, b: usize) -> Result<usize, GridError> {
    a.checked_mul(b).ok_or(GridError::TooLarge)
}

fn add(a: usize, b: usize) -> Result<usize, GridError> {
    a.checked_add(b).ok_or(GridError::TooLarge)
}
