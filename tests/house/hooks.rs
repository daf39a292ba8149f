//! Hooks of the preload library: what else stands somewhere of a function that has one.

use std::collections::BTreeSet;
use std::path::Path;

use crate::sources::Source;

const FOLDER: &str = "capture/preload/src";

/// The system calls of Linux that a function of the C library may have the name of.
const SYSTEM_CALLS: &str = "\
    accept accept4 access acct add_key adjtimex alarm bind bpf brk capget capset chdir chmod chown \
    chroot clock_adjtime clock_getres clock_gettime clock_nanosleep clock_settime clone clone3 close \
    close_range connect copy_file_range creat delete_module dup dup2 dup3 epoll_create epoll_create1 \
    epoll_ctl epoll_pwait epoll_pwait2 epoll_wait eventfd eventfd2 execve execveat exit exit_group \
    faccessat faccessat2 fadvise64 fallocate fanotify_init fanotify_mark fchdir fchmod fchmodat \
    fchown fchownat fcntl fdatasync fgetxattr finit_module flistxattr flock fork fremovexattr \
    fsconfig fsetxattr fsmount fsopen fspick fstat fstatfs fsync ftruncate futex futex_waitv \
    futimesat get_mempolicy get_robust_list getcpu getcwd getdents getdents64 getegid geteuid getgid \
    getgroups getitimer getpeername getpgid getpgrp getpid getppid getpriority getrandom getresgid \
    getresuid getrlimit getrusage getsid getsockname getsockopt gettid gettimeofday getuid getxattr \
    init_module inotify_add_watch inotify_init inotify_init1 inotify_rm_watch io_cancel io_destroy \
    io_getevents io_pgetevents io_setup io_submit io_uring_enter io_uring_register io_uring_setup \
    ioctl ioperm iopl ioprio_get ioprio_set kcmp kexec_file_load kexec_load keyctl kill \
    landlock_add_rule landlock_create_ruleset landlock_restrict_self lchown lgetxattr link linkat \
    listen listxattr llistxattr lremovexattr lseek lsetxattr lstat madvise mbind membarrier \
    memfd_create memfd_secret migrate_pages mincore mkdir mkdirat mknod mknodat mlock mlock2 \
    mlockall mmap mount mount_setattr move_mount move_pages mprotect mq_getsetattr mq_notify mq_open \
    mq_timedreceive mq_timedsend mq_unlink mremap msgctl msgget msgrcv msgsnd msync munlock \
    munlockall munmap name_to_handle_at nanosleep newfstatat open open_by_handle_at open_tree openat \
    openat2 pause perf_event_open personality pidfd_getfd pidfd_open pidfd_send_signal pipe pipe2 \
    pivot_root pkey_alloc pkey_free pkey_mprotect poll ppoll prctl pread64 preadv preadv2 prlimit64 \
    process_madvise process_mrelease process_vm_readv process_vm_writev pselect6 ptrace pwrite64 \
    pwritev pwritev2 quotactl quotactl_fd read readahead readlink readlinkat readv reboot recvfrom \
    recvmmsg recvmsg remap_file_pages removexattr rename renameat renameat2 request_key rmdir rseq \
    rt_sigaction rt_sigpending rt_sigprocmask rt_sigqueueinfo rt_sigsuspend rt_sigtimedwait \
    rt_tgsigqueueinfo sched_get_priority_max sched_get_priority_min sched_getaffinity sched_getattr \
    sched_getparam sched_getscheduler sched_rr_get_interval sched_setaffinity sched_setattr \
    sched_setparam sched_setscheduler sched_yield seccomp select semctl semget semop semtimedop \
    sendfile sendmmsg sendmsg sendto set_mempolicy set_mempolicy_home_node set_robust_list \
    set_tid_address setdomainname setfsgid setfsuid setgid setgroups sethostname setitimer setns \
    setpgid setpriority setregid setresgid setresuid setreuid setrlimit setsid setsockopt \
    settimeofday setuid setxattr shmat shmctl shmdt shmget shutdown sigaltstack signalfd signalfd4 \
    socket socketpair splice stat statfs statx swapoff swapon symlink symlinkat sync sync_file_range \
    syncfs sysinfo syslog tee tgkill time timer_create timer_delete timer_getoverrun timer_gettime \
    timer_settime timerfd_create timerfd_gettime timerfd_settime times tkill truncate umask umount2 \
    uname unlink unlinkat unshare userfaultfd utime utimensat utimes vfork vhangup vmsplice wait4 \
    waitid write writev";

/// Those that are hooked and still go past their hook through `syscall`. To get shorter alone.
const PAST: &str = "\
    access chdir chmod chown creat faccessat fchmodat fork getcwd getpgid getpriority getsid link \
    linkat lstat mkdir mkdirat open openat pipe pipe2 readlink readlinkat rename renameat renameat2 \
    rmdir sched_rr_get_interval sched_yield setpgid setpriority socketpair stat statx symlink \
    symlinkat truncate unlink unlinkat utime utimensat utimes wait4";

/// Functions that may wait and in which the C library lets a thread be cancelled.
const WAIT: &str = "\
    accept accept4 aio_suspend clock_nanosleep cnd_timedwait cnd_wait connect epoll_pwait \
    epoll_pwait2 epoll_wait eventfd_read eventfd_write lockf mq_receive mq_send mq_timedreceive \
    mq_timedsend msgrcv msgsnd nanosleep pause poll ppoll pselect pthread_clockjoin_np \
    pthread_cond_clockwait pthread_cond_timedwait pthread_cond_wait pthread_join \
    pthread_timedjoin_np read readv recv recvfrom recvmmsg recvmsg select sem_clockwait \
    sem_timedwait sem_wait send sendmmsg sendmsg sendto sigpause sigsuspend sigtimedwait sigwait \
    sigwaitinfo sleep system tcdrain thrd_join thrd_sleep usleep wait wait3 wait4 waitid waitpid \
    write writev __poll_chk __ppoll_chk __read_chk __recv_chk __recvfrom_chk";

/// Kinds of calls that no test looks for by their names. To get shorter alone.
const UNSEEN: &str =
    "BIND SET_OPTION IOCTL ERROR_QUEUE PEER_NAME GET_OPTION LOOKS_UP LOOKED_UP WAIT";

fn has(words: &str, name: &str) -> bool {
    words.split_whitespace().any(|it| it == name)
}

fn file<'s>(sources: &'s [Source], name: &str) -> &'s Source {
    let path = Path::new(FOLDER).join(name);
    let found = sources.iter().find(|it| it.path == path);
    found.unwrap_or_else(|| panic!("no {}", path.display()))
}

fn says(source: &Source, word: &str) -> bool {
    source.tokens.iter().any(|it| it.text == word)
}

/// The hooks of all files, each with the other names of the same one.
fn hooks(sources: &[Source]) -> Vec<(&Path, Vec<&'static str>)> {
    let mut found = Vec::new();
    for source in sources.iter().filter(|it| it.path.starts_with(FOLDER)) {
        let mut words = source.tokens.iter().map(|it| it.text).peekable();
        // 0: outside of `hook!`.
        let mut depth = 0;
        while let Some(word) = words.next() {
            match word {
                "hook" if depth == 0 && words.next_if_eq(&"!").is_some() => {
                    depth = usize::from(words.next_if_eq(&"{").is_some());
                }
                "{" if depth > 0 => depth += 1,
                "}" if depth > 0 => depth -= 1,
                "fn" if depth == 1 => {
                    let names: Vec<&str> = words.by_ref().take_while(|it| *it != "[").collect();
                    let names = names.into_iter().filter(|it| *it != "|").collect();
                    found.push((source.path.as_path(), names));
                }
                _ => {}
            }
        }
    }
    found
}

/// What is wrong with the hooks of a house.
pub fn wrong(sources: &[Source]) -> Vec<String> {
    let mut wrong = Vec::new();
    let (by_number, own_number) = (
        file(sources, "by_number.rs"),
        file(sources, "own_number.rs"),
    );
    let points = file(sources, "points.rs");
    let all = hooks(sources);
    for (path, names) in &all {
        let is_answered = names.iter().any(|name| {
            let number = name.to_uppercase();
            says(by_number, name) || says(by_number, &number) || says(own_number, &number)
        });
        for name in names {
            let path = path.display();
            if has(SYSTEM_CALLS, name) && is_answered == has(PAST, name) {
                wrong.push(match is_answered {
                    false => format!(
                        "{path}: {name} is a system call as well, and goes past its hook through \
                         `syscall`: give it a line in `hooks!` of {FOLDER}/by_number.rs"
                    ),
                    true => format!("{name} is answered by number: take it out of `PAST`"),
                });
            }
            if has(WAIT, name) && !says(points, &format!("\"{name}\"")) {
                wrong.push(format!(
                    "{path}: a thread may be cancelled while it waits in {name}, and would not be in a \
                     replay: give it a line in {FOLDER}/points.rs"
                ));
            }
        }
    }
    let is_hooked = |name: &str| all.iter().any(|(_, names)| names.contains(&name));
    let gone = PAST.split_whitespace().filter(|name| !is_hooked(name));
    wrong.extend(gone.map(|name| format!("{name} has no hook: take it out of `PAST`")));
    wrong
}

/// The kinds of calls that no test of the command looks for, as `CallId` has them, with their names.
fn unseen(sources: &[Source]) -> Vec<(&'static str, &'static str)> {
    let kinds = sources
        .iter()
        .filter(|it| it.path.ends_with("capture/shared/src/call.rs"))
        .flat_map(|it| it.tokens.windows(4))
        .filter(|it| ["numbers", "more"].contains(&it[3].text) && it[2].text.starts_with('"'))
        .map(|it| (it[1].text, it[2].text));
    let is_of_house = |it: &&Source| it.path.starts_with("tests/house");
    let tests = sources.iter().filter(|it| it.path.starts_with("tests"));
    let words: BTreeSet<&str> = tests
        .filter(|it| !is_of_house(it))
        .flat_map(|it| it.tokens.iter().map(|it| it.text))
        .collect();
    kinds
        .filter(|(kind, name)| !words.contains(kind) && !words.contains(name))
        .collect()
}

#[test]
fn every_kind_of_call_is_looked_for_by_a_test() {
    let sources = crate::sources::read(Path::new(env!("CARGO_MANIFEST_DIR")));
    let unseen = unseen(&sources);
    for (kind, name) in &unseen {
        assert!(
            has(UNSEEN, kind),
            "no test looks for {name}, CallId::{kind}: that it is recorded, and answered in a replay, is \
             shown by a program of tests/programs that makes it"
        );
    }
    for kind in UNSEEN.split_whitespace() {
        let is_unseen = unseen.iter().any(|it| it.0 == kind);
        assert!(
            is_unseen,
            "a test looks for {kind}: take it out of `UNSEEN`"
        );
    }
}

#[test]
fn hooks_stand_wherever_they_have_to() {
    let sources = crate::sources::read(Path::new(env!("CARGO_MANIFEST_DIR")));
    let found = hooks(&sources);
    assert!(found.len() > 150, "{} hooks", found.len());
    let wrong = wrong(&sources);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_hook_that_stands_nowhere_else_is_told() {
    let source = |name: &str, text: &str| {
        Source::new(
            Path::new(FOLDER).join(name),
            "capture/preload",
            text.to_owned(),
        )
    };
    let hooked = "hook! { fn sysinfo[real](place: *mut u8) -> i32 { real(place) } \
                  fn mq_receive | other[real]() -> i32 { if true { real() } else { 0 } } \
                  fn times[real]() -> i32 { 0 } } fn access() {}";
    let house = [
        source("clocks.rs", hooked),
        source(
            "by_number.rs",
            "hooks! { TIMES 100 153 => clocks::times(a); }",
        ),
        source("own_number.rs", ""),
        source("points.rs", "const POINTS: &[&str] = &[\"read\"];"),
    ];
    let names: Vec<_> = hooks(&house).into_iter().map(|(_, names)| names).collect();
    assert_eq!(
        names,
        [vec!["sysinfo"], vec!["mq_receive", "other"], vec!["times"]]
    );
    let wrong = wrong(&house);
    let told = |what: &str| wrong.iter().filter(|it| it.contains(what)).count();
    assert_eq!(
        (
            told("sysinfo is a system call"),
            told("waits in mq_receive")
        ),
        (1, 1)
    );
    assert_eq!(
        told("has no hook: take it out"),
        PAST.split_whitespace().count()
    );
    assert_eq!(
        wrong.len(),
        2 + PAST.split_whitespace().count(),
        "{wrong:#?}"
    );
}
