//! What another program does beside a window of an X server: it lets go of a file over it, as a file manager
//! does that (XDND 5), and asks for what was copied.

use std::error::Error;
use std::path::Path;

use x11rb::CURRENT_TIME;
use x11rb::connection::Connection;
use x11rb::protocol::Event;
use x11rb::protocol::xproto::{
    Atom, ClientMessageEvent, ConnectionExt, CreateWindowAux, EventMask, PropMode,
    SELECTION_NOTIFY_EVENT, SelectionNotifyEvent, SelectionRequestEvent, WindowClass,
};
use x11rb::rust_connection::RustConnection;
use x11rb::wrapper::ConnectionExt as _;

const VERSION: u32 = 5;
/// Where on the screen: x in the upper half, y in the lower one.
const PLACE: u32 = 400 << 16 | 300;

type Failed = Box<dyn Error>;

fn atom(server: &RustConnection, name: &str) -> Result<Atom, Failed> {
    Ok(server.intern_atom(false, name.as_bytes())?.reply()?.atom)
}

/// A window of one's own that nobody sees.
fn own_window(server: &RustConnection, screen: usize) -> Result<u32, Failed> {
    let root = server.setup().roots[screen].root;
    let own = server.generate_id()?;
    let (only, look) = (WindowClass::INPUT_ONLY, CreateWindowAux::new());
    server.create_window(0, own, root, 0, 0, 1, 1, 0, only, 0, &look)?;
    Ok(own)
}

/// The text that was copied last; `None` where nobody offers one.
///
/// # Errors
/// The X server cannot be spoken to.
pub fn copied(display: &str) -> Result<Option<String>, Failed> {
    let (server, screen) = x11rb::connect(Some(display))?;
    let own = own_window(&server, screen)?;
    let selection = atom(&server, "CLIPBOARD")?;
    let [text, kept] = [atom(&server, "UTF8_STRING")?, atom(&server, "COPIED")?];
    server.convert_selection(own, selection, text, kept, CURRENT_TIME)?;
    server.flush()?;
    loop {
        if let Event::SelectionNotify(told) = server.wait_for_event()? {
            if told.property == x11rb::NONE {
                return Ok(None);
            }
            let got = server.get_property(true, own, kept, text, 0, u32::MAX / 4)?;
            return Ok(Some(String::from_utf8(got.reply()?.value)?));
        }
    }
}

/// Lets go of a file over a window; returns when the window has taken it.
///
/// # Errors
/// The X server cannot be spoken to, or the window takes no files.
pub fn let_go(display: &str, window: u32, path: &Path) -> Result<(), Failed> {
    let (server, screen) = x11rb::connect(Some(display))?;
    let own = own_window(&server, screen)?;
    let selection = atom(&server, "XdndSelection")?;
    server.set_selection_owner(own, selection, CURRENT_TIME)?;
    let list = atom(&server, "text/uri-list")?;
    let [status, finished] = [atom(&server, "XdndStatus")?, atom(&server, "XdndFinished")?];
    let copy = atom(&server, "XdndActionCopy")?;
    let say = |kind: &str, rest: [u32; 4]| -> Result<(), Failed> {
        let [a, b, c, d] = rest;
        let kind = atom(&server, kind)?;
        let message = ClientMessageEvent::new(32, window, kind, [own, a, b, c, d]);
        server.send_event(false, window, EventMask::NO_EVENT, message)?;
        Ok(server.flush()?)
    };
    say("XdndEnter", [VERSION << 24, list, 0, 0])?;
    say("XdndPosition", [0, PLACE, CURRENT_TIME, copy])?;
    let text = format!("file://{}\r\n", path.display());
    let (mut is_told, mut is_taken, mut is_dropped) = (false, false, false);
    loop {
        match server.wait_for_event()? {
            Event::SelectionRequest(asked) => {
                answer(&server, &asked, text.as_bytes())?;
                is_told = true;
            }
            Event::ClientMessage(message) if message.type_ == status => {
                is_taken = message.data.as_data32()[1] & 1 == 1;
                if !is_taken {
                    return Err("the window takes no files".into());
                }
            }
            Event::ClientMessage(message) if message.type_ == finished => return Ok(()),
            _ => {}
        }
        if is_told && is_taken && !is_dropped {
            is_dropped = true;
            say("XdndDrop", [0, CURRENT_TIME, 0, 0])?;
        }
    }
}

fn answer(
    server: &RustConnection,
    asked: &SelectionRequestEvent,
    text: &[u8],
) -> Result<(), Failed> {
    let &SelectionRequestEvent {
        time,
        requestor,
        selection,
        target,
        property,
        ..
    } = asked;
    server.change_property8(PropMode::REPLACE, requestor, property, target, text)?;
    let notice = SelectionNotifyEvent {
        response_type: SELECTION_NOTIFY_EVENT,
        sequence: 0,
        time,
        requestor,
        selection,
        target,
        property,
    };
    server.send_event(false, requestor, EventMask::NO_EVENT, notice)?;
    Ok(server.flush()?)
}
