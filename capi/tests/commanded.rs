//! The console of an engine in C: the example as a program, and what the functions refuse.

mod support;

use std::ffi::{CStr, c_char};
use std::io::{BufRead, BufReader, Write};
use std::mem::zeroed;
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Command, Stdio};
use std::ptr::null;
use std::time::Duration;

use netreel::Api;
use netreel::types::*;
use netreel_console::Client;
use support::table::{NOTHING, api, call, text};
use support::{C99, checked, file};

const PATIENCE: Duration = Duration::from_secs(60);

struct Game {
    child: Child,
    at: SocketAddr,
    _folder: tempfile::TempDir,
}

impl Game {
    /// The example, listening; `None` where there is no compiler.
    fn start(arguments: &[&str]) -> Option<Game> {
        let folder = tempfile::tempdir().unwrap();
        let program = C99.build(&file("examples/console.c"), folder.path(), &[])?;
        let mut child = Command::new(program)
            .args(arguments)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let mut printed = BufReader::new(child.stdout.take().unwrap());
        printed.read_line(&mut line).unwrap();
        let port = line.trim().strip_prefix("console ").unwrap();
        let at = SocketAddr::from(([127, 0, 0, 1], port.parse().unwrap()));
        Some(Game {
            child,
            at,
            _folder: folder,
        })
    }

    fn client(&self, token: Option<&str>) -> Client {
        Client::connect(self.at, token, PATIENCE).unwrap()
    }

    fn quit(mut self, client: &mut Client) {
        assert_eq!(said(client, "quit"), (true, "bye".to_owned()));
        assert!(self.child.wait().unwrap().success());
    }
}

impl Drop for Game {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn said(client: &mut Client, line: &str) -> (bool, String) {
    let answer = client.command(line, PATIENCE).unwrap();
    (answer.ok, answer.text)
}

#[test]
fn a_game_in_c_is_commanded() {
    let Some(game) = Game::start(&[]) else {
        return;
    };
    let mut client = game.client(None);
    let mut check = |line: &str, ok: bool, expected: &str| {
        assert_eq!(said(&mut client, line), (ok, expected.to_owned()), "{line}");
    };
    check("spawn", true, "box 41");
    check("throw 41 2.5", true, "threw 41 with 2.5");
    check("throw 41", true, "threw 41 with 1.0");
    check("throw 99", false, "there is no such box");
    check("set mode owner", true, "owner with 0 bytes");
    check("chat  he said \"hi\"", true, "he said \"hi\" with 0 bytes");
    check("slowly", true, "at last");
    // What is wrong never reaches the game.
    check(
        "throw it",
        false,
        "BOX: \"it\" is no whole number; write `throw BOX [FORCE]`",
    );
    check(
        "set mode all",
        false,
        "MODE: \"all\" is none of host, owner; write `set mode host|owner`",
    );
    let (ok, help) = said(&mut client, "help");
    assert!(ok && help.contains("throw BOX [FORCE]"), "{help}");
    let completed = client.complete("set mode ", PATIENCE).unwrap();
    assert_eq!(completed, ["host", "owner"]);
    let script = client.script("return 1", PATIENCE).unwrap();
    assert_eq!(
        (script.ok, script.text.as_str()),
        (false, "this game has no scripts")
    );
    game.quit(&mut client);
}

#[test]
fn who_lacks_the_token_commands_nothing() {
    let Some(game) = Game::start(&["127.0.0.1:0", "a long secret"]) else {
        return;
    };
    assert!(Client::connect(game.at, Some("another"), PATIENCE).is_err());
    let mut stranger = TcpStream::connect(game.at).unwrap();
    stranger.write_all(b"quit\n").unwrap();
    let mut told = String::new();
    BufReader::new(stranger).read_line(&mut told).unwrap();
    assert!(told.contains("give the token first"), "{told}");
    let mut client = game.client(Some("a long secret"));
    assert_eq!(said(&mut client, "spawn"), (true, "box 41".to_owned()));
    game.quit(&mut client);
}

#[test]
fn beyond_loopback_a_token_is_needed() {
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = C99.build(&file("examples/console.c"), folder.path(), &[]) else {
        return;
    };
    let output = Command::new(program).arg("0.0.0.0:0").output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let printed = String::from_utf8_lossy(&output.stderr);
    assert!(
        printed.contains("can be reached from other machines"),
        "{printed}"
    );
}

fn opened(api: &Api, change: impl FnOnce(&mut CConsoleOptions)) -> (i32, Handle) {
    // SAFETY: zeros are a value.
    let mut options: CConsoleOptions = unsafe { zeroed() };
    options.size = u32::try_from(size_of::<CConsoleOptions>()).unwrap();
    change(&mut options);
    let mut console = NOTHING;
    let code = call!(api, console_open(&options, &mut console));
    (code, console)
}

fn command(name: &CStr, parameters: &[CParameter]) -> CCommand {
    CCommand {
        name: name.as_ptr(),
        about: null(),
        parameters: parameters.as_ptr(),
        parameters_count: u32::try_from(parameters.len()).unwrap(),
        reserved: 0,
    }
}

fn parameter(name: &CStr, kind: u32, optional: u32) -> CParameter {
    CParameter {
        name: name.as_ptr(),
        words: null(),
        kind,
        optional,
    }
}

fn check_refused(commands: &[CCommand], expected: &str) {
    let api = api();
    let (code, console) = opened(&api, |options| {
        options.commands = commands.as_ptr();
        options.commands_count = u32::try_from(commands.len()).unwrap();
    });
    let told = text(&api);
    assert_eq!((code, console), (E_ARGUMENT, NOTHING), "{told}");
    assert!(told.contains(expected), "{told}");
}

#[test]
fn commands_that_cannot_be_are_refused_with_their_place() {
    let rest = parameter(c"TEXT", ARGUMENT_REST, 0);
    let whole = parameter(c"BOX", ARGUMENT_INTEGER, 0);
    let left_out = parameter(c"FORCE", ARGUMENT_NUMBER, 1);
    let check = |parameters: &[CParameter], expected: &str| {
        check_refused(&[command(c"throw", parameters)], expected);
    };
    check_refused(&[command(c"", &[])], "command 0 (\"\"): a name is a word");
    check_refused(&[command(c"pick  up", &[])], "one blank between them");
    check_refused(&[command(c"help", &[])], "answers this one itself");
    let twice = [command(c"spawn", &[]), command(c"spawn", &[])];
    check_refused(&twice, "command 1 (\"spawn\"): there are two of this name");
    check(&[rest, whole], "behind NETREEL_ARGUMENT_REST comes none");
    check(&[left_out, whole], "all may be");
    check(&[parameter(c"A B", ARGUMENT_TEXT, 0)], "one has no blanks");
    check(&[parameter(c"MODE", ARGUMENT_ONE_OF, 0)], "words is to say");
    check(&[parameter(c"A", 5, 0)], "there is no kind 5");
    check(&[parameter(c"A", 0, 2)], "optional is 0 or 1");
}

#[test]
fn addresses_that_cannot_be_are_refused() {
    let api = api();
    let at = |address: &CStr| opened(&api, |options| options.address = address.as_ptr()).0;
    assert_eq!(at(c"localhost"), E_ARGUMENT);
    assert!(text(&api).contains("is no address and port"));
    assert_eq!(at(c"0.0.0.0:0"), E_ARGUMENT);
    assert!(text(&api).contains("give it a token"));
    // An address of documentation is nobody's here (RFC 5737).
    let elsewhere = opened(&api, |options| {
        options.address = c"192.0.2.1:0".as_ptr();
        options.token = c"secret".as_ptr();
    });
    assert_eq!(elsewhere.0, E_IO);
}

#[test]
fn handles_and_ids_that_are_wrong_are_refused() {
    let api = api();
    let (code, console) = opened(&api, |_| {});
    assert_eq!(code, OK);
    // SAFETY: zeros are a value.
    let mut request: CRequest = unsafe { zeroed() };
    assert_eq!(call!(api, console_take(console, &mut request)), E_ARGUMENT);
    request.size = u32::try_from(size_of::<CRequest>()).unwrap();
    (request.kind, request.id) = (7, 7);
    assert_eq!(call!(api, console_take(console, &mut request)), OK);
    assert_eq!((request.kind, request.id), (REQUEST_NONE, 0));
    let done: *const c_char = c"done".as_ptr();
    assert_eq!(
        call!(api, console_answer(console, 7, 1, done, 4)),
        E_ARGUMENT
    );
    assert!(text(&api).contains("no request 7 waits"));
    assert_eq!(call!(api, thread_close(console)), E_KIND);
    assert_eq!(call!(api, console_close(console)), OK);
    assert_eq!(call!(api, console_take(console, &mut request)), E_CLOSED);
    assert_eq!(call!(api, console_close(NOTHING)), E_HANDLE);
}

#[test]
fn a_request_that_nobody_answered_is_refused_at_the_end() {
    let api = api();
    let spawn = [command(c"spawn", &[])];
    let (_, console) = opened(&api, |options| {
        (options.commands, options.commands_count) = (spawn.as_ptr(), 1);
    });
    let mut local = CEndpoint::default();
    assert_eq!(call!(api, console_local(console, &mut local)), OK);
    let at = SocketAddr::from(([127, 0, 0, 1], local.port));
    let asks = std::thread::spawn(move || {
        let mut client = Client::connect(at, None, PATIENCE).unwrap();
        client.command("spawn", PATIENCE).unwrap()
    });
    // SAFETY: zeros are a value.
    let mut request: CRequest = unsafe { zeroed() };
    request.size = u32::try_from(size_of::<CRequest>()).unwrap();
    while request.kind == REQUEST_NONE {
        assert_eq!(call!(api, console_take(console, &mut request)), OK);
        std::thread::sleep(Duration::from_millis(1));
    }
    // SAFETY: the library says that it stays until it is answered.
    let line = unsafe { CStr::from_ptr(request.line) };
    assert_eq!(
        (line, request.command, request.arguments_count),
        (c"spawn", 0, 0)
    );
    assert_eq!(call!(api, console_close(console)), OK);
    let answer = asks.join().unwrap();
    assert_eq!(
        (answer.ok, answer.text.as_str()),
        (false, "the node gave no answer")
    );
}

#[test]
fn a_forked_child_leaves_the_console_to_its_parent() {
    let folder = tempfile::tempdir().unwrap();
    let source = file("tests/programs/console_fork.c");
    if let Some(program) = C99.build(&source, folder.path(), &[]) {
        checked(&mut Command::new(program));
    }
}
