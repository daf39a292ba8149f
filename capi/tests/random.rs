//! Any calls at all: with handles made up, so in a process of its own.

mod support;

use std::mem::zeroed;
use std::ptr::null_mut;

use netreel::HANDLES_MAX;
use netreel::types::*;
use support::table::{NOTHING, api, c_path, call, options, peer, text};

/// One number after the other from a seed.
struct Seed(u64);

impl Seed {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

/// Any calls in any order with any handles end with a code that the header has.
#[test]
fn a_hundred_thousand_calls_at_random_do_no_harm() {
    let folder = tempfile::tempdir().unwrap();
    let api = api();
    let mut seed = Seed(7);
    let mut handles = vec![NOTHING];
    let mut files = 0;
    for _ in 0..100_000 {
        let chosen = handles[seed.below(handles.len() as u64) as usize];
        let handle = match seed.below(20) {
            0 => Handle(std::ptr::without_provenance_mut(
                seed.below(1 << 31) as usize
            )),
            1 => Handle(chosen.0.wrapping_byte_add(1 << seed.below(40))),
            _ => chosen,
        };
        let (number, bytes) = (seed.below(4) as u32, [7u8; 64]);
        let (bytes, length) = (bytes.as_ptr().cast(), seed.below(65));
        let mut endpoint = peer();
        endpoint.family = seed.below(8) as u16;
        let mut sent = CSent::default();
        let mut new = NOTHING;
        let mut buffer = [0u8; 64];
        // SAFETY: zeros are values of these.
        let (mut step, mut packet, mut report): (CStep, CPacket, CReport) = unsafe { zeroed() };
        // SAFETY: as above.
        let (mut console, mut request): (CConsoleOptions, CRequest) = unsafe { zeroed() };
        console.size = size_of::<CConsoleOptions>() as u32;
        request.size = seed.below(90) as u32;
        step.size = seed.below(60) as u32;
        packet.size = seed.below(50) as u32;
        report.size = seed.below(66) as u32;
        let code = match seed.below(430) {
            0..4 => {
                files += 1;
                let path = c_path(&folder.path().join(format!("{}.reel", files % 5)));
                let mut options = options(&path);
                options.flags = REPLACE;
                options.buffer_bytes = 1;
                options.threads_max = 2;
                options.start = bytes;
                options.start_length = length;
                call!(api, open(&options, &mut new))
            }
            4..8 => {
                let path = c_path(&folder.path().join(format!("{number}.reel")));
                call!(api, replay_open(path.as_ptr(), &mut new))
            }
            8..10 => call!(api, close(handle, null_mut())),
            10..20 => call!(api, thread_close(handle)),
            20..23 => call!(api, replay_close(handle)),
            23..50 => call!(api, thread_open(handle, &mut new)),
            50..55 => call!(api, switch_on(handle, number as i32)),
            55..60 => call!(api, trigger(handle, c"why".as_ptr())),
            60..80 => call!(api, socket_opened(handle, &endpoint, &mut 0)),
            80..90 => call!(api, socket_closed(handle, number)),
            90..140 => call!(
                api,
                packet_sent(handle, number, &endpoint, bytes, length, &mut sent)
            ),
            140..160 => {
                sent.number = seed.below(300);
                call!(api, send_result(handle, &sent, i64::from(number) - 2))
            }
            160..200 => call!(
                api,
                packet_received(handle, number, &endpoint, bytes, length)
            ),
            200..220 => call!(api, poll_empty(handle, number)),
            220..230 => call!(api, receive_failed(handle, number, -1)),
            230..250 => call!(api, input(handle, bytes, length)),
            250..270 => call!(api, tick(handle, length, length)),
            270..290 => call!(api, clock_read(handle, u64::MAX - length)),
            290..300 => call!(api, random_drawn(handle, length)),
            300..310 => call!(api, note(handle, bytes.cast(), length)),
            310..330 => call!(api, replay_next(handle, &mut step)),
            330..350 => call!(
                api,
                replay_receive(
                    handle,
                    number,
                    buffer.as_mut_ptr().cast(),
                    length,
                    &mut packet
                )
            ),
            350..360 => call!(
                api,
                replay_send(handle, number, &endpoint, bytes, length, null_mut())
            ),
            360..370 => call!(api, replay_clock(handle, &mut sent.number)),
            370..380 => call!(api, replay_random(handle, &mut sent.number)),
            390..395 => call!(api, believes_created(handle, length, u64::from(number))),
            395..400 => call!(
                api,
                believes_text(handle, length, c"name".as_ptr(), bytes.cast(), length)
            ),
            400..401 => call!(api, console_open(&console, &mut new)),
            401..415 => call!(api, console_take(handle, &mut request)),
            415..420 => call!(api, console_local(handle, &mut endpoint)),
            420..424 => call!(api, console_answer(handle, length, 1, bytes.cast(), length)),
            424..426 => call!(api, console_close(handle)),
            380..390 => call!(api, replay_socket(handle, number, &mut endpoint)),
            _ => call!(api, replay_report(handle, &mut report)),
        };
        assert!((E_NO_RING..=END).contains(&code), "{code}: {}", text(&api));
        if new != NOTHING {
            handles.push(new);
        }
        if handles.len() > 60 {
            // Close some, so that there is always room for new ones.
            let gone = handles.swap_remove(1);
            call!(api, close(gone, null_mut()));
            call!(api, thread_close(gone));
            call!(api, replay_close(gone));
            call!(api, console_close(gone));
        }
    }
    for handle in handles {
        call!(api, close(handle, null_mut()));
        call!(api, thread_close(handle));
        call!(api, replay_close(handle));
        call!(api, console_close(handle));
    }
    for entry in std::fs::read_dir(folder.path()).unwrap() {
        let path = entry.unwrap().path();
        if path
            .extension()
            .is_some_and(|extension| extension == "reel")
        {
            let reel = netreel_record::open(path).unwrap();
            assert_eq!(reel.for_each(|_| {}).damaged, []);
        }
    }
    assert!(files > 500 && HANDLES_MAX > 60);
}
