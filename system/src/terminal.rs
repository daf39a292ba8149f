//! The terminal that a person sits at.

pub use here::{SingleKeys, size};

#[cfg(unix)]
mod here {
    /// How many rows and columns the terminal of the error output has, where it says so.
    pub fn size() -> Option<(u16, u16)> {
        let mut size = libc::winsize {
            ws_row: 0,
            ws_col: 0,
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        // SAFETY: the call writes into `size`, which has the layout that it asks for.
        let told = unsafe { libc::ioctl(libc::STDERR_FILENO, libc::TIOCGWINSZ, &raw mut size) };
        let known = told == 0 && size.ws_col > 0 && size.ws_row > 0;
        known.then_some((size.ws_row, size.ws_col))
    }

    /// The standard input gives each key at once, Ctrl-C among them, and does not show it, until this is
    /// dropped.
    pub struct SingleKeys(libc::termios);

    impl SingleKeys {
        /// `None` where it is no terminal.
        pub fn begin() -> Option<SingleKeys> {
            // SAFETY: a structure of plain values, which the call fills in.
            let mut mode: libc::termios = unsafe { std::mem::zeroed() };
            // SAFETY: as above.
            if unsafe { libc::tcgetattr(libc::STDIN_FILENO, &raw mut mode) } != 0 {
                return None;
            }
            let before = mode;
            // Ctrl-C is a key as well: the terminal is to be left as it was found.
            mode.c_lflag &= !(libc::ICANON | libc::ECHO | libc::ISIG);
            mode.c_cc[libc::VMIN] = 1;
            mode.c_cc[libc::VTIME] = 0;
            // SAFETY: the mode is the terminal's own, changed in flags alone.
            let set =
                unsafe { libc::tcsetattr(libc::STDIN_FILENO, libc::TCSANOW, &raw const mode) };
            (set == 0).then_some(SingleKeys(before))
        }
    }

    impl Drop for SingleKeys {
        fn drop(&mut self) {
            // SAFETY: what `begin` was given by the same terminal.
            unsafe { libc::tcsetattr(libc::STDIN_FILENO, libc::TCSANOW, &raw const self.0) };
        }
    }
}

#[cfg(windows)]
mod here {
    use windows_sys::Win32::System::Console::{
        CONSOLE_SCREEN_BUFFER_INFO, ENABLE_ECHO_INPUT, ENABLE_LINE_INPUT, ENABLE_PROCESSED_INPUT,
        GetConsoleMode, GetConsoleScreenBufferInfo, GetStdHandle, STD_ERROR_HANDLE,
        STD_INPUT_HANDLE, SetConsoleMode,
    };

    /// How many rows and columns the terminal of the error output has, where it says so.
    pub fn size() -> Option<(u16, u16)> {
        // SAFETY: a structure of numbers.
        let mut told: CONSOLE_SCREEN_BUFFER_INFO = unsafe { std::mem::zeroed() };
        // SAFETY: the call writes into `told`, and refuses a handle that is no console.
        let known = unsafe {
            GetConsoleScreenBufferInfo(GetStdHandle(STD_ERROR_HANDLE), &raw mut told) != 0
        };
        let length = |from: i16, to: i16| u16::try_from(to.checked_sub(from)?.checked_add(1)?).ok();
        let window = told.srWindow;
        let size = (
            length(window.Top, window.Bottom)?,
            length(window.Left, window.Right)?,
        );
        (known && size.0 > 0 && size.1 > 0).then_some(size)
    }

    /// The standard input gives each key at once, Ctrl-C among them, and does not show it, until this is
    /// dropped.
    pub struct SingleKeys(u32);

    impl SingleKeys {
        /// `None` where it is no terminal.
        pub fn begin() -> Option<SingleKeys> {
            let mut before = 0;
            let lines = ENABLE_ECHO_INPUT | ENABLE_LINE_INPUT | ENABLE_PROCESSED_INPUT;
            // SAFETY: the calls refuse a handle that is no console.
            unsafe {
                let input = GetStdHandle(STD_INPUT_HANDLE);
                let is_set = GetConsoleMode(input, &raw mut before) != 0
                    && SetConsoleMode(input, before & !lines) != 0;
                is_set.then_some(SingleKeys(before))
            }
        }
    }

    impl Drop for SingleKeys {
        fn drop(&mut self) {
            // SAFETY: what `begin` was given by the same console.
            unsafe { SetConsoleMode(GetStdHandle(STD_INPUT_HANDLE), self.0) };
        }
    }
}
