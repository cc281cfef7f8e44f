//! What the program of `cargo xtask soak` shares with the trials: numbers drawn by a seed, servers of other people, an S3 server in memory, and
//! a proxy before them that fails now and then.

pub mod bucket;
pub mod draw;
pub mod locks;
pub mod proxy;
pub mod servers;
