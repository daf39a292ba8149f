//! The header: clean in C99 and C++11, and laid out as the library has it.

mod support;

use std::mem::offset_of;
use std::process::Command;

use netreel::Api;
use netreel::types::{self, *};
use support::{C99, CPP11, Compiler, checked, file, library_folder, skipped};

fn check_clean(compiler: Compiler, standard: &'static str) {
    if !compiler.is_here() {
        return;
    }
    for header in ["include/netreel.h", "include/netreel_layer.h"] {
        let mut command = Compiler {
            standard,
            ..compiler
        }
        .strict();
        command.args(["-Wconversion", "-Wshadow", "-fsyntax-only"]);
        command.args(["-x", compiler.language]);
        checked(command.arg(file(header)));
    }
}

#[test]
fn the_header_is_clean_c99() {
    check_clean(C99, "-std=c99");
}

#[test]
fn the_header_is_clean_c17() {
    check_clean(C99, "-std=c17");
}

#[test]
fn the_header_is_clean_cpp11() {
    check_clean(CPP11, "-std=c++11");
}

#[test]
fn the_header_is_clean_cpp20() {
    check_clean(CPP11, "-std=c++20");
}

/// What a C program prints about the header, and what Rust has: one line each.
struct Lines {
    c: String,
    rust: Vec<String>,
}

macro_rules! layouts {
    ($lines:ident: $($c:ident $rust:ident { $($field:ident)* })*) => { $(
        let name = stringify!($c);
        $lines.say(&format!("sizeof({name})"), size_of::<$rust>() as i64);
        $(
            let field = stringify!($field);
            $lines.say(&format!("offsetof({name}, {field})"), offset_of!($rust, $field) as i64);
        )*
    )* };
}

macro_rules! constants {
    ($lines:ident: $($name:ident)*) => { $(
        $lines.say(concat!("NETREEL_", stringify!($name)), i64::from(types::$name));
    )* };
}

impl Lines {
    fn say(&mut self, expression: &str, value: i64) {
        self.c += &format!("    printf(\"{expression} %ld\\n\", (long)({expression}));\n");
        self.rust.push(format!("{expression} {value}"));
    }
}

fn lines() -> Lines {
    let mut lines = Lines {
        c: String::new(),
        rust: Vec::new(),
    };
    layouts! { lines:
        netreel_endpoint CEndpoint { family port flow scope address }
        netreel_text CText { name text }
        netreel_seed CSeed { name value }
        netreel_options COptions {
            size flags path node engine build start start_length args wires seeds hashes
            args_count wires_count seeds_count hashes_count session buffer_bytes threads_max
            reserved ring_ms rotate_bytes rotate_ms keep_bytes keep_ms max_bytes max_ms
        }
        netreel_summary CSummary {
            size files events dropped bytes files_deleted rotation_failed
        }
        netreel_sent CSent { number time_ns length }
        netreel_step CStep { size kind number moment_ns tick tick_time call call_length }
        netreel_packet CPacket { size kind length os_error from }
        netreel_report CReport {
            size outcome ticks inputs sends bytes event finished cut text
        }
        netreel_parameter CParameter { name words kind optional }
        netreel_command CCommand { name about parameters parameters_count reserved }
        netreel_console_options CConsoleOptions {
            size commands_count address token commands
        }
        netreel_value CValue { kind reserved integer number text text_length }
        netreel_request CRequest {
            size kind id command arguments_count arguments line line_length binary binary_length
        }
        netreel_api Api {
            size version error_text code_name endpoint_from_sockaddr endpoint_to_sockaddr
            open close trigger thread_open thread_close switch_on socket_opened socket_closed
            packet_sent send_result packet_received poll_empty receive_failed input tick
            clock_read random_drawn note snapshot replay_open replay_close replay_start
            replay_socket replay_next replay_tick replay_input replay_receive replay_send
            replay_clock replay_random replay_report believes_created believes_destroyed
            believes_owner believes_value believes_text console_open console_close
            console_local console_take console_answer
        }
    }
    constants! { lines:
        API_VERSION OK OFF DROPPED END E_ARGUMENT E_HANDLE E_CLOSED E_KIND E_BUSY E_EXISTS E_IO
        E_STOPPED E_FORKED E_LIMIT E_VERSION E_UNSUPPORTED E_REEL E_NOT_REPLAYABLE E_DIVERGED
        E_NO_RING E_INTERNAL REPLACE DROP_WHEN_FULL CLOCK_MONOTONIC ZSTD STEP_END STEP_TICK
        STEP_INPUT ARGUMENT_INTEGER ARGUMENT_NUMBER ARGUMENT_TEXT ARGUMENT_REST ARGUMENT_ONE_OF
        REQUEST_NONE REQUEST_COMMAND REQUEST_SCRIPT RECEIVED EMPTY FAILED EXACT DIVERGED
    }
    lines
}

fn check_layout(compiler: Compiler) {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("layout.c");
    let lines = lines();
    let text = format!(
        "#include <netreel.h>\n#include <stddef.h>\n#include <stdio.h>\n\
         int main(void)\n{{\n{}    return 0;\n}}\n",
        lines.c
    );
    std::fs::write(&source, text).unwrap();
    let Some(program) = compiler.build(&source, folder.path(), &[]) else {
        return;
    };
    let printed = checked(&mut Command::new(program));
    assert_eq!(printed.lines().collect::<Vec<_>>(), lines.rust);
}

#[test]
fn structs_and_constants_are_those_of_the_library_in_c() {
    check_layout(C99);
}

#[test]
fn structs_and_constants_are_those_of_the_library_in_cpp() {
    check_layout(CPP11);
}

/// The table's slots in the order of the header, for those that the tests above might not name.
#[test]
fn every_function_of_the_header_is_in_the_table_of_the_test() {
    let header = std::fs::read_to_string(file("include/netreel.h")).unwrap();
    let functions = header.matches("(*").count() - 1; // netreel_load_fn
    assert_eq!(functions * size_of::<usize>() + 8, size_of::<Api>());
}

#[test]
fn the_library_exports_one_function_and_a_place_for_breakpoints() {
    let library = library_folder().join("libnetreel.so");
    let Ok(output) = Command::new("nm")
        .args(["-D", "--defined-only"])
        .arg(library)
        .output()
    else {
        skipped("there is no nm here");
        return;
    };
    let symbols = String::from_utf8(output.stdout).unwrap();
    let names = symbols.lines().filter_map(|line| line.split(' ').nth(2));
    let expected = ["netreel_before_event", "netreel_load"];
    assert_eq!(names.collect::<Vec<_>>(), expected);
}
