//! Tests of whole stores: the bundled ones and small ones made in memory.

mod bundled;
mod codecs;
mod damage;
mod limits;
mod oracle;
mod requests;
mod support;
