//! The text of a script: where it stands, and whether it is Lua.

use mlua::Lua;

/// A script and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Script {
    /// What errors call it: its file.
    pub name: String,
    /// Lines of the file before its first.
    pub lines_before: usize,
    /// Its text.
    pub text: String,
}

/// A text of the scenario's, with errors that name its lines as the file has them.
pub(crate) fn chunk(lua: &Lua, script: &Script) -> mlua::chunk::Chunk<'static> {
    let text = "\n".repeat(script.lines_before) + &script.text;
    lua.load(text).set_name(format!("@{}", script.name))
}

/// Whether a script is Lua; else the line and what is wrong there.
pub(crate) fn compiles(script: &Script) -> Result<(), (usize, String)> {
    let lua = Lua::new();
    let compiled = chunk(&lua, script).into_function();
    let Err(error) = compiled else {
        return Ok(());
    };
    let text = match &error {
        mlua::Error::SyntaxError { message, .. } => message.clone(),
        error => error.to_string(),
    };
    let behind = text.strip_prefix(&format!("{}:", script.name));
    let placed = behind
        .and_then(|text| text.split_once(':'))
        .and_then(|(line, why)| Some((line.parse().ok()?, why.trim().to_owned())));
    Err(placed.unwrap_or((1, text)))
}
