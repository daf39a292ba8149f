//! Clocks: the machine's, and a thread's share of a processor.

pub use here::{boot_id, monotonic_ns, processor_time};

#[cfg(unix)]
mod here {
    use std::time::Duration;

    use rustix::time::{ClockId, clock_gettime};

    /// Nanoseconds of the clock that all processes of the machine share and nobody sets.
    #[inline]
    pub fn monotonic_ns() -> u64 {
        let now = clock_gettime(ClockId::Monotonic);
        let seconds = (now.tv_sec as u64).wrapping_mul(1_000_000_000);
        seconds.wrapping_add(now.tv_nsec as u64)
    }

    /// What the calling thread has taken of a processor.
    pub fn processor_time() -> Duration {
        let time = clock_gettime(ClockId::ThreadCPUTime);
        let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
        Duration::new(seconds, u32::try_from(time.tv_nsec).unwrap_or(0))
    }

    /// What tells this run of this machine from all others: two processes that have the same read the
    /// same monotonic clock. Empty where nothing tells.
    pub fn boot_id() -> String {
        // Linux's; elsewhere there is no such file.
        let id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id");
        id.unwrap_or_default().trim().to_owned()
    }
}

#[cfg(windows)]
mod here {
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::time::Duration;

    use windows_sys::Wdk::System::SystemInformation::{
        NtQuerySystemInformation, SystemTimeOfDayInformation,
    };
    use windows_sys::Win32::Foundation::FILETIME;
    use windows_sys::Win32::System::Performance::{
        QueryPerformanceCounter, QueryPerformanceFrequency,
    };
    use windows_sys::Win32::System::Registry::{HKEY_LOCAL_MACHINE, RRF_RT_REG_SZ, RegGetValueW};
    use windows_sys::Win32::System::Threading::{GetCurrentThread, GetThreadTimes};
    use windows_sys::w;

    const SECOND_NS: u64 = 1_000_000_000;

    /// Nanoseconds of the clock that all processes of the machine share and nobody sets.
    #[inline]
    pub fn monotonic_ns() -> u64 {
        static FREQUENCY: AtomicU64 = AtomicU64::new(0);
        let mut frequency = FREQUENCY.load(Ordering::Relaxed);
        if frequency == 0 {
            let mut told = 0;
            // SAFETY: it writes a number.
            unsafe { QueryPerformanceFrequency(&raw mut told) };
            frequency = told.max(1) as u64;
            FREQUENCY.store(frequency, Ordering::Relaxed);
        }
        let mut counter = 0;
        // SAFETY: it writes a number.
        unsafe { QueryPerformanceCounter(&raw mut counter) };
        let (seconds, rest) = (counter as u64 / frequency, counter as u64 % frequency);
        seconds.wrapping_mul(SECOND_NS) + rest * SECOND_NS / frequency
    }

    /// What the calling thread has taken of a processor.
    pub fn processor_time() -> Duration {
        let nothing = FILETIME {
            dwLowDateTime: 0,
            dwHighDateTime: 0,
        };
        let (mut begun, mut ended, mut kernel, mut user) = (nothing, nothing, nothing, nothing);
        // SAFETY: it writes four times of this thread.
        unsafe {
            let (begun, ended) = (&raw mut begun, &raw mut ended);
            GetThreadTimes(
                GetCurrentThread(),
                begun,
                ended,
                &raw mut kernel,
                &raw mut user,
            );
        }
        let whole = |it: FILETIME| u64::from(it.dwHighDateTime) << 32 | u64::from(it.dwLowDateTime);
        // In steps of 100 ns.
        Duration::from_nanos((whole(kernel) + whole(user)) * 100)
    }

    /// What tells this run of this machine from all others: two processes that have the same read the
    /// same monotonic clock. Empty where nothing tells.
    ///
    /// It is made of the machine's number in the registry and of when it was started.
    pub fn boot_id() -> String {
        match (machine(), booted()) {
            (Some(machine), Some(booted)) => format!("{machine}-{booted:x}"),
            _ => String::new(),
        }
    }

    fn machine() -> Option<String> {
        let mut text = [0u16; 64];
        let mut bytes = size_of_val(&text) as u32;
        // SAFETY: it writes at most `bytes` bytes into `text`.
        let failed = unsafe {
            RegGetValueW(
                HKEY_LOCAL_MACHINE,
                w!("SOFTWARE\\Microsoft\\Cryptography"),
                w!("MachineGuid"),
                RRF_RT_REG_SZ,
                std::ptr::null_mut(),
                text.as_mut_ptr().cast(),
                &raw mut bytes,
            )
        };
        let text = text.get(..(bytes as usize / 2).checked_sub(1)?)?;
        (failed == 0).then(|| String::from_utf16_lossy(text))
    }

    /// When the machine was started, as `SYSTEM_TIMEOFDAY_INFORMATION` has it, less what the clock was
    /// set since.
    fn booted() -> Option<i64> {
        let mut told = [0i64; 6];
        let mut length = 0;
        // SAFETY: it writes at most 48 bytes.
        let failed = unsafe {
            let (place, room) = (told.as_mut_ptr().cast(), size_of_val(&told) as u32);
            NtQuerySystemInformation(SystemTimeOfDayInformation, place, room, &raw mut length)
        };
        (failed == 0 && length >= 8).then(|| told[0].wrapping_sub(told[4]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_does_not_go_back() {
        let first = monotonic_ns();
        assert!(first > 0 && monotonic_ns() >= first);
    }

    #[test]
    fn work_takes_processor_time() {
        let begun = processor_time();
        let until = monotonic_ns() + 100_000_000;
        while monotonic_ns() < until {
            std::hint::spin_loop();
        }
        assert!(processor_time() > begun);
    }

    #[test]
    fn one_machine_has_one_boot() {
        assert_eq!(boot_id(), boot_id());
    }
}
