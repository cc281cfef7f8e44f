//! Pictures compared with formulas, with plain loops over every pixel, and with reviewed pictures.

mod bundled;
mod golden;
mod made;
mod numbers;
mod seen;
mod shapes;
mod units;
mod vectors;
