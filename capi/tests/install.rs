//! `./dev install-c`: a project outside the repository that copies one page builds, records and replays,
//! by CMake and by pkg-config, also where the folder was moved.

mod support;

use std::path::{Path, PathBuf};
use std::process::Command;

use support::{CPP17, Compiler, checked, file, is_here, library_folder, replay};

/// A folder with the tests' library alone.
fn built(folder: &Path) -> PathBuf {
    let built = folder.join("built");
    std::fs::create_dir(&built).unwrap();
    let library = library_folder().join("libnetreel.so");
    std::os::unix::fs::symlink(library, built.join("libnetreel.so")).unwrap();
    built
}

/// What was built in a folder, laid out in one that was moved since.
fn installed(folder: &Path, built: &Path) -> PathBuf {
    let (first, prefix) = (folder.join("first"), folder.join("prefix"));
    let mut dev = Command::new("bash");
    dev.arg(file("../dev")).arg("install-c").arg(&first);
    checked(dev.arg(built));
    std::fs::rename(first, &prefix).unwrap();
    prefix
}

/// The blocks of the page in a language, one behind the other.
fn page(language: &str) -> String {
    let page = std::fs::read_to_string(file("../docs/c-api.md")).unwrap();
    let fence = format!("```{language}\n");
    let blocks = page.split(&*fence).skip(1);
    let blocks = blocks.map(|block| block.split("```").next().unwrap());
    // Blocks of a list are indented.
    let lines: String = blocks.collect();
    lines.replace("\n  ", "\n").trim_start().to_owned()
}

fn check_records_and_replays(program: &Path, folder: &Path) {
    let reel = folder.join("player.reel");
    checked(support::run(program).arg("record").arg(&reel));
    let (exact, said) = replay(program, &reel, None);
    assert!(exact && said.starts_with("exact: "), "{said}");
}

/// A project of the page's program and lines of CMake.
fn project(folder: &Path) -> PathBuf {
    let project = folder.join("project");
    std::fs::create_dir(&project).unwrap();
    std::fs::write(project.join("game.cpp"), page("cpp")).unwrap();
    std::fs::write(project.join("CMakeLists.txt"), page("cmake")).unwrap();
    project
}

fn installed_beside_project(folder: &Path) -> (PathBuf, PathBuf) {
    (installed(folder, &built(folder)), project(folder))
}

fn configure(project: &Path, prefix: &Path) -> Command {
    let mut cmake = Command::new("cmake");
    cmake
        .arg("-S")
        .arg(project)
        .arg("-B")
        .arg(project.join("build"));
    cmake.arg(format!("-DCMAKE_PREFIX_PATH={}", prefix.display()));
    cmake
}

#[test]
fn a_project_of_cmake_that_copies_the_page_records_and_replays() {
    if !CPP17.is_here() || !is_here("cmake") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (prefix, project) = installed_beside_project(folder.path());
    checked(&mut configure(&project, &prefix));
    checked(
        Command::new("cmake")
            .arg("--build")
            .arg(project.join("build")),
    );
    check_records_and_replays(&project.join("build/game"), folder.path());
}

#[test]
fn cmake_is_told_that_another_version_is_wanted() {
    if !CPP17.is_here() || !is_here("cmake") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (prefix, project) = installed_beside_project(folder.path());
    let newer = page("cmake").replace("netreel 0.1", "netreel 9.1");
    std::fs::write(project.join("CMakeLists.txt"), newer).unwrap();
    let output = configure(&project, &prefix).output().unwrap();
    let said = support::text(&output);
    assert!(
        !output.status.success() && said.contains("compatible with requested version"),
        "{said}"
    );
}

#[test]
fn a_program_of_pkg_config_that_copies_the_page_records_and_replays() {
    if !CPP17.is_here() || !is_here("pkg-config") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (prefix, project) = installed_beside_project(folder.path());
    let mut asked = Command::new("pkg-config");
    asked.args(["--cflags", "--libs", "netreel"]);
    let flags = checked(asked.env("PKG_CONFIG_PATH", prefix.join("lib/pkgconfig")));
    let program = folder.path().join("game");
    let Compiler {
        command, standard, ..
    } = CPP17;
    let mut compiler = Command::new(command);
    compiler
        .args([standard, "-o"])
        .arg(&program)
        .arg(project.join("game.cpp"));
    compiler.args(flags.split_whitespace());
    checked(compiler.arg(format!("-Wl,-rpath,{}/lib", prefix.display())));
    check_records_and_replays(&program, folder.path());
}

/// A `netreel.dll` that serves nothing, with its import library: what CMake makes of them is tested.
fn library_for_windows(folder: &Path, compiler: &str) -> PathBuf {
    let built = folder.join("built");
    std::fs::create_dir(&built).unwrap();
    let source = built.join("netreel.c");
    let text = "__declspec(dllexport) int netreel_load(void *a, unsigned b, unsigned c)\n\
                { (void)a; (void)b; (void)c; return -11; }\n";
    std::fs::write(&source, text).unwrap();
    let mut command = Command::new(compiler);
    command
        .args(["-x", "c", "-shared", "-o"])
        .arg(built.join("netreel.dll"))
        .arg(source);
    let import = built.join("libnetreel.dll.a");
    checked(command.arg(format!("-Wl,--out-implib,{}", import.display())));
    built
}

#[test]
fn a_project_of_cmake_for_windows_that_copies_the_page_is_built() {
    let compiler = Compiler {
        command: "x86_64-w64-mingw32-g++",
        ..CPP17
    };
    if !compiler.is_here() || !is_here("cmake") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    // The library itself where `./dev windows` has built it: then the program runs too.
    let windows = support::windows::folder();
    let built = match &windows {
        Some(folder) => folder.clone(),
        None => library_for_windows(folder.path(), compiler.command),
    };
    let prefix = installed(folder.path(), &built);
    assert!(prefix.join("bin/netreel.dll").is_file());
    // There is no libdl for Windows.
    let flags = std::fs::read_to_string(prefix.join("lib/pkgconfig/netreel.pc")).unwrap();
    assert!(
        flags.contains("-lnetreel") && !flags.contains("-ldl"),
        "{flags}"
    );
    let project = project(folder.path());
    let mut cmake = configure(&project, &prefix);
    cmake.arg("-DCMAKE_SYSTEM_NAME=Windows");
    checked(cmake.arg(format!("-DCMAKE_CXX_COMPILER={}", compiler.command)));
    checked(
        Command::new("cmake")
            .arg("--build")
            .arg(project.join("build")),
    );
    let program = project.join("build/game.exe");
    assert!(program.with_file_name("netreel.dll").is_file());
    if let Some(windows) = windows {
        // What Wine lacks, which `./dev windows` has built.
        let lacking = "bcryptprimitives.dll";
        std::fs::copy(windows.join(lacking), program.with_file_name(lacking)).unwrap();
        check_records_and_replays(&program, folder.path());
    }
}
