//! Nineteen faults that a new user once saw in the window, and what would show each of them again. Tests
//! without a path are in this folder; `model/` is `inspector/model/tests`, `/tests` the command's.
//!
//! | fault | shown by |
//! |---|---|
//! | 1. zoomed far in, an arrow lies a lane off | `views/arrows.rs`: `a_line_that_is_cut_lies_where_the_whole_one_lies` |
//! | 2. the timeline vanishes when the window shrinks, and stays so | `manners.rs`: `panes_keep_their_proportions_through_sizes`; here: `the_timeline_stays_at_every_scale` |
//! | 3. a packet of 37 bytes lights bits 32..880 | `/tests/workspaces.rs`: `what_proves_something_of_a_packet_lights_no_bits_of_another` |
//! | 4. "no message is about one" where nobody was recorded | here: `where_nobody_was_recorded_the_head_of_objects_says_so` |
//! | 5. arrows that were seen end on the way | `views/arrows.rs`: `what_is_lost_ends_near_its_sender_and_what_is_unknown_at_its_receiver` |
//! | 6. bits of inner streams look like the packet's, and light nothing | `model/streams.rs`; `views.rs`: `a_stream_has_a_tab_and_its_fields_light_its_bytes` |
//! | 7. the command says "seen, acked", the window "seen" | `/tests/workspaces.rs`: `the_window_says_of_a_fate_what_the_command_says` |
//! | 8. labels pile up, proofs' numbers skip | `model/focus.rs`: `the_steps_below_a_finding_are_those_of_the_timeline`; the pictures of `/tests/workspaces.rs` |
//! | 9. contrast | `palette.rs`: `text_can_be_read_on_everything_that_it_stands_on`, `ribbons_are_told_from_the_panel_and_carry_text` |
//! | 10. without a wire three panes are empty | `odd.rs`: `every_pane_says_of_every_odd_session_what_there_is_and_what_not` |
//! | 11. Escape and clicks throw the selection away | `manners.rs`: `escape_in_the_filter_box_leaves_the_box_alone`, `a_click_near_an_arrow_keeps_the_story`, `a_right_click_takes_the_cursor_away` |
//! | 12. a click on an object leaves the packet | `manners.rs`: `a_click_on_an_object_brings_packet_table_and_tree_along` |
//! | 13. keys die at a button, no focus ring, no `?`, `/`, Ctrl+F | `manners.rs`: `keys_work_while_a_control_has_the_focus`, `slash_and_control_f_go_to_the_filter`, `a_question_mark_shows_all_keys_and_escape_closes_them`; here: `whatever_has_the_keyboard_has_a_ring` |
//! | 14. edges and dividers do not drag, the wheel does two things | `manners.rs`: `the_edges_of_the_frame_can_be_dragged`, `dividers_can_be_dragged_and_are_kept`, `the_wheel_zooms_over_the_objects_time_and_scrolls_over_their_names` |
//! | 15. a window that opens on one view has no way to others | `manners.rs`: `every_workspace_is_a_click_or_a_key_away` |
//! | 16. `late > 100`; an error is cut off; filters leave much as it was | `manners.rs`: `a_mistake_in_the_filter_is_shown_whole_with_what_to_write_instead`; `model/focus.rs`: `a_filter_narrows_findings_objects_and_the_strip_of_the_session` |
//! | 17. the table does not follow time, rows lag, the verdict quotes another finding | `manners.rs`: `the_table_follows_the_visible_time`, `a_row_far_down_is_there_in_the_frame_that_selects_it`; `model/focus.rs`: `the_verdict_quotes_the_finding_that_is_looked_at` |
//! | 18. nothing to see for 16 s | `model/opening.rs`: `the_first_frame_asks_nobody_what_all_packets_carry`; `manners.rs`: `a_beginning_is_shown_until_all_of_it_is_read_and_nobody_is_moved` |
//! | 19. a live recording is a frozen one; idle time is not folded | `manners.rs`: `a_session_that_grows_keeps_what_is_looked_at`; `model/ways.rs`: `days_without_packets_are_folded_on_every_scale_of_time` |

mod drive;
#[path = "../model/tests/fixture/mod.rs"]
mod fixture;

use drive::{Window, open};
use egui::{Color32, Key, Rect, Shape};
use egui_kittest::kittest::Queryable;
use netreel_inspector::{Workspace, theme};

/// The edges that are drawn in the colour of what has the keyboard.
fn rings(window: &Window) -> Vec<Rect> {
    fn gather(shape: &Shape, color: Color32, rings: &mut Vec<Rect>) {
        match shape {
            Shape::Vec(shapes) => shapes.iter().for_each(|it| gather(it, color, rings)),
            Shape::Rect(rect) if rect.stroke.color == color && rect.stroke.width == 2.0 => {
                rings.push(rect.rect);
            }
            _ => {}
        }
    }
    let mut rings = Vec::new();
    for clipped in &window.output().shapes {
        gather(&clipped.shape, theme::accent(), &mut rings);
    }
    rings
}

#[test]
fn whatever_has_the_keyboard_has_a_ring() {
    let mut window = open(fixture::race_model(), Workspace::Why);
    assert_eq!(rings(&window), []);
    let mut seen = Vec::new();
    for _ in 0..6 {
        window.key_press(Key::Tab);
        window.run();
        let focused = window.get_by(|node| node.is_focused());
        let around = focused.rect();
        let rings = rings(&window);
        let [ring] = rings.as_slice() else {
            panic!("rings around {around:?}: {rings:?}");
        };
        assert!(
            around.expand(2.0).contains_rect(*ring),
            "{ring:?} {around:?}"
        );
        seen.push(ring.min.x);
    }
    seen.dedup();
    assert!(seen.len() > 3, "it goes from one to the next: {seen:?}");
    window.key_press(Key::Escape);
    window.run();
    assert_eq!(rings(&window), []);
}

#[test]
fn the_timeline_stays_at_every_scale() {
    let mut window = open(fixture::race_model(), Workspace::Why);
    let height = |window: &Window| window.get_by_label("timeline").rect().height();
    for scale in [0.75, 1.3, 1.5, 2.0] {
        window.ctx.set_zoom_factor(scale);
        window.run();
        assert!(height(&window) > 90.0, "{} at {scale}", height(&window));
    }
    window.ctx.set_zoom_factor(1.0);
    window.run();
    assert!(height(&window) > 90.0);
}

#[test]
fn where_nobody_was_recorded_the_head_of_objects_says_so() {
    let (session, history) = fixture::observed_race();
    let model = netreel_inspector::Model::new(session, history);
    let window = open(model, Workspace::Why);
    let sentence = "no node was recorded: what they believed of objects is unknown";
    let texts = texts(&window);
    assert!(texts.iter().any(|it| it.contains(sentence)), "{texts:?}");
}

/// All that is written.
fn texts(window: &Window) -> Vec<String> {
    fn gather(shape: &Shape, texts: &mut Vec<String>) {
        match shape {
            Shape::Vec(shapes) => shapes.iter().for_each(|it| gather(it, texts)),
            Shape::Text(text) => texts.push(text.galley.text().to_owned()),
            _ => {}
        }
    }
    let mut texts = Vec::new();
    for clipped in &window.output().shapes {
        gather(&clipped.shape, &mut texts);
    }
    texts
}
