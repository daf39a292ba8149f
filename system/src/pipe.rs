//! What waits in a pipe.

pub use here::{wait, waiting};

#[cfg(unix)]
mod here {
    use std::io::PipeReader;

    use rustix::event::{PollFd, PollFlags, poll};

    /// How many bytes wait to be read.
    pub fn waiting(pipe: &PipeReader) -> u64 {
        rustix::io::ioctl_fionread(pipe).unwrap_or(0)
    }

    /// Waits until there is something to read, or nobody that writes any more. It may return earlier.
    pub fn wait(pipe: &PipeReader) {
        let _ = poll(&mut [PollFd::new(pipe, PollFlags::IN)], None);
    }
}

#[cfg(windows)]
mod here {
    use std::io::PipeReader;
    use std::os::windows::io::AsRawHandle;
    use std::time::Duration;

    use windows_sys::Win32::System::Pipes::PeekNamedPipe;

    const LOOK_EVERY: Duration = Duration::from_millis(2);

    fn peeked(pipe: &PipeReader) -> Option<u64> {
        let (mut waiting, nothing) = (0, std::ptr::null_mut());
        // SAFETY: the handle is open; the call writes one number and takes nothing out.
        let is_there = unsafe {
            let handle = pipe.as_raw_handle();
            PeekNamedPipe(
                handle,
                nothing,
                0,
                nothing.cast(),
                &raw mut waiting,
                nothing.cast(),
            )
        };
        (is_there != 0).then_some(waiting.into())
    }

    /// How many bytes wait to be read.
    pub fn waiting(pipe: &PipeReader) -> u64 {
        peeked(pipe).unwrap_or(0)
    }

    /// Waits until there is something to read, or nobody that writes any more. It may return earlier.
    pub fn wait(pipe: &PipeReader) {
        while peeked(pipe) == Some(0) {
            std::thread::sleep(LOOK_EVERY);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn what_was_written_waits() {
        let (reader, mut writer) = std::io::pipe().expect("a pipe");
        assert_eq!(waiting(&reader), 0);
        writer.write_all(b"four").expect("room");
        wait(&reader);
        assert_eq!(waiting(&reader), 4);
        drop(writer);
        wait(&reader);
    }
}
