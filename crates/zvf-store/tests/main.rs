//! Tests of whole stores: the bundled ones and small ones made in memory.

mod backends;
mod bundled;
mod codecs;
mod damage;
mod limits;
mod oracle;
mod requests;
mod support;
mod traps;
