//! From text to a syntax tree: tokens, then items, fields and expressions, each with its place.

pub(crate) mod ast;
mod c_declaration;
mod expression;
mod field;
mod item;
mod layer;
pub(crate) mod lexer;
mod parser;
mod state;
mod statement;
mod test;
mod text;

pub(crate) use parser::parse;
#[cfg(test)]
pub(crate) use parser::{ITEMS, RESERVED};
