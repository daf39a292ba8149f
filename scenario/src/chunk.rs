//! The text of a script: where it stands, whether it is Lua, and its errors: each is a sentence with its
//! place in the file.

use mlua::{IntoLua, Lua, Value};

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

/// Calls a script. An error that is no text has no place: it is given one, and words.
pub(super) const GUARD: &str = r#"
local pcall, xpcall = pcall, xpcall
return function(script)
    local function words(value, depth)
        if type(value) ~= "table" or depth == 0 then return tostring(value) end
        local meta = getmetatable(value)
        if meta and meta.__tostring then return tostring(value) end
        local keys, parts = {}, {}
        for key in pairs(value) do keys[#keys + 1] = key end
        table.sort(keys, function(one, other) return tostring(one) < tostring(other) end)
        for _, key in ipairs(keys) do
            parts[#parts + 1] = tostring(key) .. " = " .. words(value[key], depth - 1)
        end
        return "{" .. table.concat(parts, ", ") .. "}"
    end
    local function placed(value)
        if type(value) == "string" or type(value) == "userdata" then return value end
        -- The script's own functions lie above this one and `error`.
        for level = 3, 32 do
            local _, at = pcall(error, "", level)
            if at ~= "" and not at:find("^guard:") then return at .. "error " .. words(value, 3) end
        end
        return "error " .. words(value, 3)
    end
    local is_done, why = xpcall(script, placed)
    if not is_done then error(why, 0) end
end
"#;

/// Whoever catches an error is given its sentence, as of an error that the script throws itself.
pub(super) fn says_errors(lua: &Lua) -> mlua::Result<()> {
    let said = lua.create_function(|lua, value: Value| match value {
        Value::Error(error) => told(&error).into_lua(lua),
        value => Ok(value),
    })?;
    lua.load(CATCHES).set_name("=catches").call(said)
}

const CATCHES: &str = r#"
local said = ...
local function caught(is_done, first, ...)
    if is_done then return is_done, first, ... end
    return is_done, said(first), ...
end
local pcall_, xpcall_, resume = pcall, xpcall, coroutine.resume
function pcall(...) return caught(pcall_(...)) end
function coroutine.resume(...) return caught(resume(...)) end
function xpcall(act, handler, ...)
    return xpcall_(act, function(error) return handler(said(error)) end, ...)
end
"#;

/// The sentence of an error, without the stack that Lua adds.
pub(super) fn told(error: &mlua::Error) -> String {
    match error {
        mlua::Error::CallbackError { cause, traceback } => match cause.as_ref() {
            mlua::Error::RuntimeError(why) => match place(traceback) {
                Some(place) => format!("{place}: {why}"),
                None => why.clone(),
            },
            cause => told(cause),
        },
        mlua::Error::RuntimeError(text) => {
            let end = text.find("\nstack traceback").unwrap_or(text.len());
            text[..end].to_owned()
        }
        error => error.to_string(),
    }
}

/// The first line of the script in a traceback: `zombie.lua:12`.
fn place(traceback: &str) -> Option<String> {
    let lines = traceback.lines().map(str::trim);
    let is_own = |line: &&str| !line.starts_with('[') && !line.starts_with("catches:");
    let mut calls = lines.filter(|line| is_own(line) && line.contains(": in "));
    let call = calls.next()?;
    call.split_once(": in ").map(|(place, _)| place.to_owned())
}
