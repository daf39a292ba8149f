/*
 * What netreel.hpp says that it does: `handles REEL`. Prints what is not so, and ends with 1 then.
 */
#include <netreel_console.hpp>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <new>

static std::size_t allocations = 0;

void *operator new(std::size_t size)
{
    ++allocations;
    if (void *made = std::malloc(size))
        return made;
    std::abort();
}
void operator delete(void *of) noexcept { std::free(of); }
void operator delete(void *of, std::size_t) noexcept { std::free(of); }

static int wrong = 0;

static void check(bool so, const char *what)
{
    if (!so) {
        std::cout << "not so: " << what << '\n';
        ++wrong;
    }
}

static void bytes()
{
    const std::uint16_t array[] = {1, 2};
    const std::vector<std::uint32_t> vector = {1, 2, 3};
    const netreel::bytes view = netreel::bytes_of(vector);
    check(netreel::bytes_of(array).size() == 4 && netreel::bytes_of(vector).size() == 12,
          "bytes of arrays and vectors are those of their elements");
    check(netreel::bytes_of(view).data() == view.data() && netreel::bytes_of(view).size() == 12,
          "bytes of a view are what it shows");
    check(netreel::bytes_of("text").size() == 4 && netreel::bytes_of(std::string("ab\0c", 4)).size() == 4,
          "bytes of a text are its characters");
    check(netreel::bytes_of(std::uint64_t(7)).size() == 8, "bytes of an object are its memory");
}

static void errors()
{
    netreel::thread none;
    check(!none, "a handle that was never opened is false");
    check(none.tick(1, 2).value == NETREEL_E_UNSUPPORTED, "before load nothing is recorded");
    auto early = netreel::replay::open("none.reel");
    check(!early && early.why().text.find("netreel::load") != std::string::npos,
          "before load it is said what to do");
    check(netreel::load(nullptr).value == NETREEL_E_ARGUMENT, "no function is no library");
    check(netreel::load(nullptr).text().find("no function") != std::string::npos, "and says so");
    check(static_cast<bool>(netreel::load()), "it loads");
    check(none.tick(1, 2).value == NETREEL_E_HANDLE, "then the library refuses no handle");
    auto missing = netreel::replay::open("none.reel");
    check(!missing && missing.why().code == NETREEL_E_REEL, "a result says why");
    check(std::string_view(netreel::code(missing.why().code).name()) == "NETREEL_E_REEL",
          "codes have names");
#ifdef NETREEL_EXCEPTIONS
    try {
        auto never = netreel::replay::open("none.reel").value();
        check(false, "value() throws");
    } catch (const netreel::error &thrown) {
        check(thrown.code == NETREEL_E_REEL && *thrown.what() != '\0', "value() throws code and text");
    }
    try {
        none.note("nobody hears it").or_throw();
        check(false, "or_throw() throws");
    } catch (const std::exception &thrown) {
        check(*thrown.what() != '\0', "or_throw() throws the sentence");
    }
#endif
}

static std::int32_t of_another_version(netreel_api *, std::uint32_t, std::uint32_t)
{
    return NETREEL_E_VERSION;
}
/** An older library, that has no console. */
static std::int32_t older(netreel_api *into, std::uint32_t, std::uint32_t version)
{
    const std::uint32_t size = offsetof(netreel_api, console_open);
    *into = {};
    const std::int32_t came = netreel_load(into, size, version);
    into->size = size;
    return came;
}
static int closes = 0;
static std::int32_t busy_once(netreel_thread *) { return ++closes == 1 ? NETREEL_E_BUSY : NETREEL_OK; }
static std::int32_t with_a_busy_thread(netreel_api *into, std::uint32_t size, std::uint32_t version)
{
    const std::int32_t came = netreel_load(into, size, version);
    into->thread_close = busy_once;
    return came;
}

static void other_libraries()
{
    const auto refused = netreel::load(of_another_version).text();
    check(refused.find("does not serve version 1") != std::string::npos, "a failed load is told");
    netreel::load(older);
    check(!netreel::replay::open("none.reel"), "an earlier error");
    auto none = netreel::console::open({});
    check(!none && none.why().text.find("older than the program") != std::string::npos,
          "what a library lacks is told");
    netreel::load(with_a_busy_thread);
    std::uint32_t stands_for_one = 0;
    netreel::thread thread(reinterpret_cast<netreel_thread *>(&stands_for_one));
    check(thread.close().value == NETREEL_E_BUSY && thread, "a busy handle is kept");
    check(thread.close() && !thread && closes == 2, "and is closed later");
    netreel::load();
}

static void record(const char *path)
{
    netreel::options options{path};
    options.node = "A";
    options.start = "start";
    options.args = {"game", "--fast"};
    options.seeds = {{"world", 7}};
    options.hashes = {{"map", "beef"}};
    options.session[0] = 9;
    auto opened = netreel::recorder::open(options);
    check(static_cast<bool>(opened), "a reel is opened");
    auto again = netreel::recorder::open(options);
    check(!again && again.why().code == NETREEL_E_EXISTS, "twice it is refused");

    netreel::recorder recorder = *std::move(opened);
    check(recorder.trigger().value == NETREEL_E_NO_RING, "without a ring nothing is triggered");
    netreel::thread first = *recorder.open_thread();
    netreel::thread thread = std::move(first);
    check(!first && thread, "a handle moves");
    netreel_endpoint self{4, 7000, 0, 0, {127, 0, 0, 1}}, other{};
    const std::uint32_t socket = *thread.open_socket(self);

    const std::size_t before = allocations;
    std::uint8_t address[128];
    std::uint32_t size = sizeof address;
    netreel::to_sockaddr(self, address, size);
    netreel::from_sockaddr(address, size, other);
    check(other.port == 7000, "addresses go both ways");
    const char packet[] = {1, 2, 3};
    for (std::uint64_t tick = 0; tick < 100; ++tick) {
        thread.tick(tick, tick);
        thread.input(netreel::bytes_of("call"));
        thread.clock_read(tick);
        thread.random_drawn(tick);
        thread.packet_received(socket, self, netreel::bytes_of(packet));
        thread.poll_empty(socket);
        thread.receive_failed(socket, 111);
        netreel_sent sent{};
        thread.packet_sent(socket, self, netreel::bytes_of(packet), &sent);
        thread.send_result(sent, 3);
        check(thread.send(socket, self, netreel::bytes_of(packet), [] { return -90; }) == -90,
              "what sending returned is handed on");
        thread.note("a note");
        thread.snapshot(netreel::bytes_of(tick));
        thread.believes_created(tick, 3);
        const double place[] = {1, 2, 3};
        thread.believes_value(tick, "position", place);
        thread.believes_text(tick, "name", "Bob");
        thread.believes_owner(tick, 4);
        thread.believes_destroyed(tick);
    }
    check(allocations == before, "events allocate nothing");
    thread.switch_on(false);
    check(thread.note("off").value == NETREEL_OFF, "it can be switched off");
    thread.switch_on(true);
    thread.socket_closed(socket);
    check(thread.close() && !thread, "a closed handle is false");
    check(thread.close().value == NETREEL_E_HANDLE, "and is closed once");
    auto summary = recorder.close();
    check(summary && summary->dropped == 0 && summary->files == 1, "a recording has a sum");
}

static void replayed(const char *path)
{
    auto opened = netreel::replay::open(path);
    // A reel with a pause in it cannot be replayed, and says so.
    check(!opened && opened.why().code == NETREEL_E_NOT_REPLAYABLE, "a pause is no replay");

    const std::string short_path = std::string(path) + ".short.reel";
    {
        netreel::options options{short_path};
        options.start = "start";
        auto recorder = *netreel::recorder::open(options);
        auto thread = *recorder.open_thread();
        netreel_endpoint self{4, 7000, 0, 0, {127, 0, 0, 1}};
        const auto socket = *thread.open_socket(self);
        thread.tick(5, 6);
        thread.input(netreel::bytes_of("go"));
        thread.clock_read(77);
        thread.random_drawn(78);
        thread.packet_received(socket, self, netreel::bytes_of("hey"));
    } // closed by leaving it
    for (const bool own_loop : {false, true}) {
        auto replay = *netreel::replay::open(short_path.c_str());
        check(netreel::text_of(replay.start()) == "start", "start conditions come back");
        netreel_endpoint local{};
        check(replay.socket(0, local) && local.port == 7000, "and where sockets were bound");
        if (own_loop) {
            replay.tick(5);
            replay.input(netreel::bytes_of("go"));
        } else {
            netreel::step step;
            check(replay.next(step) && step.is_tick() && step.tick == 5, "the tick");
            check(replay.next(step) && step.is_input() && netreel::text_of(step.input()) == "go",
                  "the call");
        }
        std::uint64_t value = 0;
        check(replay.clock(value) && value == 77, "the clock");
        check(replay.random(value) && value == 78, "chance");
        std::byte buffer[16];
        netreel::packet came;
        check(replay.receive(0, buffer, came) && came.received() && came.length == 3, "the packet");
        netreel::step end;
        check(own_loop || !replay.next(end), "the end");
        check(replay.report().exact(), "an exact replay");
        const netreel_endpoint to{4, 1, 0, 0, {127, 0, 0, 1}};
        check(replay.send(0, to, netreel::bytes_of("no")).value == NETREEL_E_DIVERGED,
              "a send that is not there diverges");
        check(!replay.report().exact() && *replay.report().text != '\0', "and is told");
        check(static_cast<bool>(replay.close()), "it closes");
    }
    std::remove(short_path.c_str());
}

static void console()
{
    netreel::console_options options;
    options.commands = {{"throw", "Throws a box", {{"BOX"}, {"FORCE", NETREEL_ARGUMENT_NUMBER, true}}}};
    auto console = *netreel::console::open(options);
    netreel_endpoint local{};
    check(console.local(local) && local.port != 0, "a console listens");
    netreel::request request;
    check(console.take(request) && !request, "nobody asks");
    check(request.given().empty() && request.text().empty() && request.attached().empty(),
          "and no arguments");
    check(console.answer(1, true, "done").value == NETREEL_E_ARGUMENT, "nobody waits");
    options.address = "0.0.0.0:0";
    check(!netreel::console::open(options), "a console for all needs a token");
    options.token = "secret";
    check(static_cast<bool>(netreel::console::open(options)), "and listens with one");
}

int main(int argc, char **argv)
{
    if (argc != 2)
        return 2;
    bytes();
    errors();
    other_libraries();
    record(argv[1]);
    replayed(argv[1]);
    console();
    return wrong == 0 ? 0 : 1;
}
