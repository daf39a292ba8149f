//! A scenario with a mistake is told where it is and what could stand there.

use std::path::Path;

use netreel_scenario::Scenario;

/// What is said of a file with this text: `LINE:COLUMN: WHY`.
fn told(text: &str, set: &[(&str, &str)]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("it.toml");
    std::fs::write(&path, text).unwrap();
    let set: Vec<(String, String)> = set
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect();
    let mistake = Scenario::read(&path, &set).expect_err("there is a mistake in it");
    assert_eq!(Path::new(&mistake.file), path);
    format!("{}:{}: {}", mistake.line, mistake.column, mistake.why)
}

#[track_caller]
fn is_told(text: &str, told_as: &str) {
    let told = told(text, &[]);
    assert!(told.starts_with(told_as), "{told}\ninstead of\n{told_as}");
}

const NODE: &str = "[[node]]\nname = \"A\"\ncommand = [\"true\"]\n";

#[test]
fn a_scenario_without_a_mistake_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("it.toml");
    std::fs::write(&path, format!("script = 'start()'\n{NODE}")).unwrap();
    let scenario = Scenario::read(&path, &[]).unwrap();
    assert_eq!(scenario.name, "it");
    assert_eq!(scenario.nodes.len(), 1);
}

#[test]
fn what_is_no_toml() {
    is_told("name = \"a", "1:10: invalid basic string");
    is_told("name = \"a\"\nname = \"b\"", "2:1: duplicate key");
}

#[test]
fn a_key_that_there_is_not() {
    is_told(
        "nam = \"a\"",
        "1:1: unknown field `nam`, expected one of `name`",
    );
    let text = format!("script = ''\n{NODE}comand = [\"x\"]\n");
    is_told(
        &text,
        "5:1: unknown field `comand`, expected one of `name`, `role`, `command`",
    );
}

#[test]
fn a_value_of_another_kind() {
    is_told(
        "name = 3",
        "1:8: invalid type: integer `3`, expected a string",
    );
    let text = "script = ''\n[[node]]\nname = \"A\"\ncommand = \"true\"\n";
    is_told(
        text,
        "4:11: invalid type: string \"true\", expected a sequence",
    );
}

#[test]
fn a_limit_that_is_none() {
    is_told(
        "limit = 0.0\nscript = ''\n",
        "1:9: a limit is from 0.001 to 86400 seconds",
    );
}

#[test]
fn no_node_and_no_script() {
    is_told("script = ''\n", "1:1: there is no [[node]]");
    is_told(NODE, "1:1: there is no script: write script = '''...'''");
}

#[test]
fn a_script_twice_or_nowhere() {
    let twice = format!("script = ''\nfile = \"x.lua\"\n{NODE}");
    is_told(&twice, "2:8: write `script` or `file`, not both");
    let nowhere = format!("file = \"x.lua\"\n{NODE}");
    let told = told(&nowhere, &[]);
    assert!(
        told.starts_with("1:8: ") && told.contains("x.lua: No such file"),
        "{told}"
    );
}

#[test]
fn a_script_that_is_no_lua_is_told_by_the_line_of_the_file() {
    let text = format!("name = \"it\"\nscript = '''\nstart()\nif x\n'''\n{NODE}");
    is_told(&text, "5:1: 'then' expected near <eof>");
}

#[test]
fn a_node_without_a_name_or_a_command() {
    is_told(
        "script = ''\n[[node]]\ncommand = [\"x\"]\n",
        "2:1: this node has no name",
    );
    is_told(
        "script = ''\n[[node]]\nname = \"A\"\n",
        "2:1: node A has no command",
    );
    is_told(
        "script = ''\n[[node]]\nname = \"A\"\ncommand = []\n",
        "4:11: a command begins with a program",
    );
}

#[test]
fn a_name_that_is_no_file() {
    let text = "script = ''\n[[node]]\nname = \"../A\"\ncommand = [\"x\"]\n";
    is_told(text, "3:8: a node's name is of letters, digits");
}

#[test]
fn two_nodes_of_one_name() {
    is_told(
        &format!("script = ''\n{NODE}{NODE}"),
        "6:8: there are two nodes \"A\"",
    );
    let every = format!("script = ''\n[every]\nname = \"A\"\n{NODE}");
    is_told(&every, "3:8: every node has a name of its own");
}

#[test]
fn a_place_that_nobody_fills() {
    let text =
        "script = ''\n[values]\nspeed = 3\n[[node]]\nname = \"A\"\ncommand = [\"x\", \"{prot}\"]\n";
    is_told(
        text,
        "6:17: nobody fills {prot}; there are address, console, match, netreel, node, port,",
    );
    let open = "script = ''\n[[node]]\nname = \"A\"\ncommand = [\"{port\"]\n";
    is_told(open, "4:12: a { is not closed");
}

#[test]
fn a_value_that_is_taken_or_no_text() {
    let taken = format!("script = ''\n[values]\nport = 3\n{NODE}");
    is_told(&taken, "3:8: {port} is filled by the runner");
    let list = format!("script = ''\n[values]\nspeed = [3]\n{NODE}");
    is_told(
        &list,
        "3:9: the value speed is a text, a number, true or false",
    );
}

#[test]
fn a_value_that_is_set_and_that_there_is_not() {
    let text = format!("script = ''\n[values]\nmode = \"host\"\n{NODE}");
    let told = told(&text, &[("mod", "owner")]);
    assert_eq!(told, "1:1: --set mod: [values] has mode");
}

#[test]
fn a_start_or_a_console_that_is_none() {
    let node = |line: &str| format!("script = ''\n{NODE}{line}\n");
    let start =
        "5:9: a node starts as \"local\", as \"external\", or by a list with \"{command}\" in it";
    is_told(&node("start = \"ssh\""), start);
    is_told(&node("start = [\"ssh\", \"host\"]"), start);
    is_told(
        &node("console = \"7000\""),
        "5:11: a console is \"127.0.0.1:{port}\"",
    );
    let password = "5:11: a remote console has a password: name its file with token = \"FILE\"";
    is_told(&node("console = \"quake3:127.0.0.1:27960\""), password);
    is_told(
        &node("faults = \"link {from}\""),
        "5:10: what a console is told of faults",
    );
}

#[test]
fn a_file_that_is_not_there() {
    let mistake = Scenario::read(Path::new("/nowhere/it.toml"), &[]).unwrap_err();
    assert!(mistake.why.starts_with("cannot be read: "), "{mistake}");
}

#[test]
fn secrets_and_logs() {
    let from = "the secret key comes from { file = \"FILE\" } or { environment = \"VARIABLE\" }";
    is_told(
        "script = ''\n[secrets]\nkey = {}\n[[node]]\nname = \"A\"\n",
        &format!("3:7: {from}"),
    );
    let both = "key = { file = \"a\", environment = \"A\" }";
    is_told(
        &format!("script = ''\n[secrets]\n{both}\n[[node]]\nname = \"A\"\n"),
        &format!("3:7: {from}"),
    );
    is_told(
        "script = ''\n[[node]]\nname = \"A\"\ncommand = [\"cat\", \"{secret.key}\"]\n",
        "4:19: nobody fills {secret.key}; there are",
    );
    let secret = "[secrets]\nkey = { file = \"a\" }\n";
    is_told(
        &format!(
            "script = ''\n{secret}[[node]]\nname = \"A\"\nreach = [\"ssh\"]\ncommand = [\"{{secret.key}}\"]\n"
        ),
        "7:12: a secret is in a file of this machine",
    );
    is_told(
        "script = ''\nlog_limit = 0\n",
        "2:13: a log has from 1 to 1048576 MiB",
    );
}

#[test]
fn a_network_that_there_is_not() {
    is_told(
        &format!("network = \"mine\"\nscript = ''\n{NODE}"),
        "1:11: the network is \"own\", one that is made for each match, or \"machine\"",
    );
}

#[test]
fn a_node_elsewhere_in_a_network_of_here() {
    let text = format!("network = \"own\"\nscript = ''\n{NODE}start = \"external\"\n");
    is_told(
        &text,
        "1:11: node A is not started here, and cannot be in it",
    );
}

#[test]
fn an_address_of_a_node_is_a_place() {
    let text = "script = ''\n[[node]]\nname = 'A'\ncommand = ['true', '{address}', '{address.A}', '{address.}']\n";
    is_told(
        text,
        "4:48: nobody fills {address.}; there are address, console",
    );
}
