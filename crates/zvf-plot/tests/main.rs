//! Pictures against formulas, against plain loops over every pixel, and against those that were looked at.

mod bundled;
mod golden;
mod made;
mod numbers;
mod seen;
mod shapes;
mod vectors;
