/*
 * netreel.hpp - netreel.h for C++17 and newer: handles that close themselves and move, views of bytes,
 * errors as values that throw where you ask for it.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 *
 *     netreel::load().or_throw();                                // once in each module, before all else
 *     auto recorder = netreel::recorder::open({"player.reel"}).value();
 *     auto thread = recorder.open_thread().value();              // throws netreel::error
 *     if (auto socket = thread.open_socket(local))               // or is asked
 *         number = *socket;
 *
 * ERRORS. What makes a handle returns a result<T>: it is true and dereferences where it came to be;
 * value() throws netreel::error where it did not. All else returns a netreel::code: true where it is no
 * error, or_throw() throws. Nothing else throws, and without exceptions (-fno-exceptions) value() and
 * or_throw() are not there. Before load, and where an older library lacks a function, the code is
 * NETREEL_E_UNSUPPORTED: an engine goes on as it would without netreel.
 *
 * THREADS, POINTERS, FORK and DEATH are as netreel.h says. No event allocates memory;
 * open_socket does where it fails, for its sentence.
 */
#ifndef NETREEL_HPP
#define NETREEL_HPP

#include <netreel.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#if (__cplusplus >= 202002L || (defined(_MSVC_LANG) && _MSVC_LANG >= 202002L)) && __has_include(<span>)
#include <span>
#define NETREEL_SPAN 1
#endif
#if defined(__cpp_exceptions) || defined(_CPPUNWIND)
#include <stdexcept>
#define NETREEL_EXCEPTIONS 1
#endif

namespace netreel {

// ---- Bytes ----

#ifdef NETREEL_SPAN
template <class T> using view = std::span<T>;
#else
/** A pointer and a length: what std::span is from C++20 on. */
template <class T> class view {
public:
    constexpr view() noexcept = default;
    constexpr view(T *first, std::size_t count) noexcept : first_(first), count_(count) {}
    template <std::size_t N> constexpr view(T (&array)[N]) noexcept : view(array, N) {}
    template <class C, class = std::enable_if_t<
                           std::is_convertible_v<decltype(std::declval<C &>().data()), T *>>>
    constexpr view(C &&of) noexcept : view(of.data(), of.size()) {}

    constexpr T *data() const noexcept { return first_; }
    constexpr std::size_t size() const noexcept { return count_; }
    constexpr bool empty() const noexcept { return count_ == 0; }
    constexpr T *begin() const noexcept { return first_; }
    constexpr T *end() const noexcept { return first_ + count_; }
    constexpr T &operator[](std::size_t place) const noexcept { return first_[place]; }

private:
    T *first_ = nullptr;
    std::size_t count_ = 0;
};
#endif

using bytes = view<const std::byte>; /**< to be read */
using room = view<std::byte>;        /**< to be written into */

inline bytes bytes_at(const void *first, std::uint64_t length) noexcept
{
    return {static_cast<const std::byte *>(first), static_cast<std::size_t>(length)};
}

inline room room_at(void *first, std::uint64_t length) noexcept
{
    return {static_cast<std::byte *>(first), static_cast<std::size_t>(length)};
}

namespace detail {
template <class T, class = void> struct has_elements : std::false_type {};
template <class T>
struct has_elements<T, std::void_t<decltype(std::declval<const T &>().data())>> : std::true_type {};
} // namespace detail

/** The bytes of a text, a vector, an array, a view; or of an object as it lies in memory. */
template <class T> bytes bytes_of(const T &of) noexcept
{
    if constexpr (std::is_convertible_v<const T &, std::string_view>) {
        const std::string_view text = of;
        return bytes_at(text.data(), text.size());
    } else if constexpr (detail::has_elements<T>::value) {
        static_assert(std::is_trivially_copyable_v<std::remove_reference_t<decltype(*of.data())>>,
                      "its elements have to be bytes as they lie in memory");
        return bytes_at(of.data(), of.size() * sizeof *of.data());
    } else {
        static_assert(std::is_trivially_copyable_v<T> && !std::is_pointer_v<T>,
                      "it has to be bytes as it lies in memory: see bytes_at for a pointer and a length");
        return bytes_at(&of, sizeof of);
    }
}

/** A text out of bytes. */
inline std::string_view text_of(bytes of) noexcept
{
    return {reinterpret_cast<const char *>(of.data()), of.size()};
}

// ---- Errors ----

namespace detail {
inline netreel_api table{};

template <class... P, class... A>
std::int32_t call(std::int32_t (*function)(P...), A... arguments) noexcept
{
    return function ? function(arguments...) : NETREEL_E_UNSUPPORTED;
}

inline std::string said(std::int32_t value)
{
    if (value == NETREEL_E_VERSION)
        return "this libnetreel does not serve version " + std::to_string(NETREEL_API_VERSION) +
               " of its table: build the program with the header of the library that it finds";
    if (!table.error_text)
        return value == NETREEL_E_ARGUMENT
                   ? "netreel::load was given no function: there is no libnetreel, or no netreel_load in it"
                   : "netreel is not loaded: call netreel::load and look at what it returns";
    if (value == NETREEL_E_UNSUPPORTED && table.size < sizeof table)
        return "this libnetreel is older than the program, and lacks the function or the option: "
               "take the one of the header";
    return table.error_text();
}
} // namespace detail

/** The table of netreel.h; all its functions are NULL before load. */
inline const netreel_api &table() noexcept { return detail::table; }

#ifdef NETREEL_EXCEPTIONS
class error : public std::runtime_error {
public:
    error(std::int32_t came, const std::string &text) : std::runtime_error(text), code(came) {}
    std::int32_t code; /**< NETREEL_E_... */
};
#endif

/** What a function of netreel.h returned: NETREEL_OK and above is no error. */
class code {
public:
    constexpr code(std::int32_t came) noexcept : value(came) {}
    explicit constexpr operator bool() const noexcept { return value >= 0; }
    const char *name() const noexcept { return table().code_name ? table().code_name(value) : ""; }
    /** The sentence of this thread's last error: ask before the next call. */
    std::string text() const { return value < 0 ? detail::said(value) : std::string(); }
#ifdef NETREEL_EXCEPTIONS
    code or_throw() const
    {
        if (value < 0)
            throw error(value, detail::said(value));
        return *this;
    }
#endif
    std::int32_t value;
};

struct failure {
    std::int32_t code; /**< NETREEL_E_... */
    std::string text;  /**< what is wrong, and what to do */
};

/** A T, or why there is none. */
template <class T> class [[nodiscard]] result {
public:
    result(T value) : held_(std::in_place_index<0>, std::move(value)) {}
    result(failure why) : held_(std::in_place_index<1>, std::move(why)) {}
    explicit operator bool() const noexcept { return held_.index() == 0; }
    T &operator*() & noexcept { return *std::get_if<0>(&held_); }
    T &&operator*() && noexcept { return std::move(*std::get_if<0>(&held_)); }
    T *operator->() noexcept { return std::get_if<0>(&held_); }
    /** Only where it is false. */
    const failure &why() const noexcept { return *std::get_if<1>(&held_); }
#ifdef NETREEL_EXCEPTIONS
    T value() &&
    {
        if (!*this)
            throw error(why().code, why().text);
        return std::move(**this);
    }
#endif

private:
    std::variant<T, failure> held_;
};

namespace detail {
/** `made` where the call came to something. */
template <class T> result<T> come(std::int32_t value, T made)
{
    if (value < 0)
        return failure{value, said(value)};
    return result<T>(std::move(made));
}

/** A struct of netreel.h that knows its size. */
template <class T> struct sized : T {
    sized() noexcept : T() { this->size = sizeof(T); }
};

/**
 * A handle that is closed once. A destructor, and an assignment, closes and has nobody to tell: where
 * another thread is inside a call of the handle, the library refuses, and the handle stays open without
 * anybody who could close it. close() says NETREEL_E_BUSY then, and keeps it.
 */
template <class H, class Close> class handle {
public:
    handle() noexcept = default;
    explicit handle(H *adopted) noexcept : held_(adopted) {}
    handle(handle &&other) noexcept : held_(other.release()) {}
    handle &operator=(handle &&other) noexcept
    {
        if (this != &other)
            reset(other.release());
        return *this;
    }
    ~handle() { reset(); }
    explicit operator bool() const noexcept { return held_ != nullptr; }
    /** For functions of netreel.h. */
    H *get() const noexcept { return held_; }
    /** It is yours to close. */
    H *release() noexcept { return std::exchange(held_, nullptr); }

protected:
    std::int32_t close_unless_busy(std::int32_t (*function)(H *)) noexcept
    {
        const std::int32_t came = call(function, held_);
        if (came != NETREEL_E_BUSY)
            held_ = nullptr;
        return came;
    }
    void reset(H *next = nullptr) noexcept
    {
        if (H *old = std::exchange(held_, next))
            Close{}(old);
    }

private:
    H *held_ = nullptr;
};

struct close_recorder {
    void operator()(netreel_recorder *of) const noexcept
    {
        call(table.close, of, static_cast<netreel_summary *>(nullptr));
    }
};
struct close_thread {
    void operator()(netreel_thread *of) const noexcept { call(table.thread_close, of); }
};
struct close_replay {
    void operator()(netreel_replay *of) const noexcept { call(table.replay_close, of); }
};

inline const char *or_null(const std::string &text) noexcept
{
    return text.empty() ? nullptr : text.c_str();
}
} // namespace detail

/**
 * Fills the table, once in each program and each shared library of it, before other threads use it.
 * Who loads the library by hand gives `netreel_load` as dlsym or GetProcAddress found it.
 */
inline code load(netreel_load_fn from)
{
    if (!from)
        return NETREEL_E_ARGUMENT;
    return from(&detail::table, sizeof detail::table, NETREEL_API_VERSION);
}

/** The same of the library that the program is linked with. */
inline code load() { return load(&netreel_load); }

// ---- Addresses ----

/** Reads a sockaddr_in or sockaddr_in6. */
inline code from_sockaddr(const void *address, std::uint32_t length, netreel_endpoint &read) noexcept
{
    return detail::call(table().endpoint_from_sockaddr, address, length, &read);
}

/** Writes one. `length`: the room, and then the bytes written. */
inline code to_sockaddr(const netreel_endpoint &from, void *address, std::uint32_t &length) noexcept
{
    return detail::call(table().endpoint_to_sockaddr, &from, address, &length);
}

// ---- Recording ----

using summary = detail::sized<netreel_summary>;

/** netreel_options with strings that are its own. Zeros and empty texts are the defaults. */
struct options {
    std::string path; /**< the reel: NAME.reel */
    std::string node = {}, engine = {}, build = {};
    std::string start = {}; /**< start conditions, any bytes: see append */
    std::vector<std::string> args = {};
    std::vector<std::pair<std::string, std::string>> wires = {}, hashes = {}; /**< name, text */
    std::vector<std::pair<std::string, std::uint64_t>> seeds = {};
    std::uint32_t flags = 0; /**< NETREEL_REPLACE and so on */
    std::uint8_t session[16] = {};
    std::uint64_t buffer_bytes = 0;
    std::uint32_t threads_max = 0;
    std::uint64_t ring_ms = 0, rotate_bytes = 0, rotate_ms = 0, keep_bytes = 0, keep_ms = 0;
    std::uint64_t max_bytes = 0, max_ms = 0;
};

/** Adds bytes to start conditions, or to any other text of bytes. */
inline void append(std::string &to, bytes of) { to.append(text_of(of)); }

/** What one thread records. For one thread at a time. */
class thread : public detail::handle<netreel_thread, detail::close_thread> {
public:
    using handle::handle;

    /** NETREEL_E_BUSY: another thread is inside a call; it is still open. */
    code close() noexcept { return close_unless_busy(table().thread_close); }
    /** Switches the whole reel on or off. */
    code switch_on(bool on) noexcept { return detail::call(table().switch_on, get(), on ? 1 : 0); }
    /** Its number in the reel. */
    result<std::uint32_t> open_socket(const netreel_endpoint &local)
    {
        std::uint32_t number = 0;
        const std::int32_t came = detail::call(table().socket_opened, get(), &local, &number);
        return detail::come(came, number);
    }
    code socket_closed(std::uint32_t socket) noexcept
    {
        return detail::call(table().socket_closed, get(), socket);
    }
    /** Before the send; `sent`, which may be NULL, is for send_result. */
    code packet_sent(std::uint32_t socket, const netreel_endpoint &to, bytes packet,
                     netreel_sent *sent = nullptr) noexcept
    {
        return detail::call(table().packet_sent, get(), socket, &to, packet.data(), packet.size(), sent);
    }
    /** Bytes taken, or -errno. */
    code send_result(const netreel_sent &sent, std::int64_t came) noexcept
    {
        return detail::call(table().send_result, get(), &sent, came);
    }
    /** Both around `send`, which sends and returns the bytes taken or -errno. */
    template <class Send>
    std::int64_t send(std::uint32_t socket, const netreel_endpoint &to, bytes packet, Send &&send)
    {
        netreel_sent sent{};
        packet_sent(socket, to, packet, &sent);
        const std::int64_t came = std::forward<Send>(send)();
        send_result(sent, came);
        return came;
    }
    code packet_received(std::uint32_t socket, const netreel_endpoint &from, bytes packet) noexcept
    {
        return detail::call(table().packet_received, get(), socket, &from, packet.data(), packet.size());
    }
    code poll_empty(std::uint32_t socket) noexcept
    {
        return detail::call(table().poll_empty, get(), socket);
    }
    code receive_failed(std::uint32_t socket, std::int32_t os_error) noexcept
    {
        return detail::call(table().receive_failed, get(), socket, os_error);
    }
    code input(bytes call) noexcept
    {
        return detail::call(table().input, get(), call.data(), call.size());
    }
    /** `time` is the game's own. */
    code tick(std::uint64_t tick, std::uint64_t time) noexcept
    {
        return detail::call(table().tick, get(), tick, time);
    }
    code clock_read(std::uint64_t value) noexcept
    {
        return detail::call(table().clock_read, get(), value);
    }
    code random_drawn(std::uint64_t value) noexcept
    {
        return detail::call(table().random_drawn, get(), value);
    }
    code note(std::string_view text) noexcept
    {
        return detail::call(table().note, get(), text.data(), text.size());
    }
    code snapshot(bytes state) noexcept
    {
        return detail::call(table().snapshot, get(), state.data(), state.size());
    }

    // What the game believes of its objects.
    code believes_created(std::uint64_t object, std::uint64_t owner = NETREEL_NO_OWNER) noexcept
    {
        return detail::call(table().believes_created, get(), object, owner);
    }
    code believes_destroyed(std::uint64_t object) noexcept
    {
        return detail::call(table().believes_destroyed, get(), object);
    }
    code believes_owner(std::uint64_t object, std::uint64_t owner) noexcept
    {
        return detail::call(table().believes_owner, get(), object, owner);
    }
    code believes_value(std::uint64_t object, const char *property, view<const double> numbers) noexcept
    {
        return detail::call(table().believes_value, get(), object, property, numbers.data(),
                            static_cast<std::uint32_t>(numbers.size()));
    }
    code believes_text(std::uint64_t object, const char *property, std::string_view text) noexcept
    {
        return detail::call(table().believes_text, get(), object, property, text.data(), text.size());
    }
};

/** A reel under way. For all threads at once; its destructor ends it as close does. */
class recorder : public detail::handle<netreel_recorder, detail::close_recorder> {
public:
    using handle::handle;

    static result<recorder> open(const options &options);
    result<thread> open_thread()
    {
        netreel_thread *made = nullptr;
        const std::int32_t came = detail::call(table().thread_open, get(), &made);
        return detail::come(came, thread(made));
    }
    /** Ring mode: keeps the window that ends now. */
    code trigger(const char *why = nullptr) noexcept
    {
        return detail::call(table().trigger, get(), why);
    }
    /** What it came to; NETREEL_E_STOPPED where a write failed. */
    result<summary> close()
    {
        summary total;
        return detail::come(detail::call(table().close, release(), static_cast<netreel_summary *>(&total)),
                            total);
    }
};

inline result<recorder> recorder::open(const options &of)
{
    std::vector<const char *> args;
    std::vector<netreel_text> wires, hashes;
    std::vector<netreel_seed> seeds;
    for (const auto &arg : of.args)
        args.push_back(arg.c_str());
    for (const auto &[name, text] : of.wires)
        wires.push_back({name.c_str(), text.c_str()});
    for (const auto &[name, text] : of.hashes)
        hashes.push_back({name.c_str(), text.c_str()});
    for (const auto &[name, value] : of.seeds)
        seeds.push_back({name.c_str(), value});

    detail::sized<netreel_options> given;
    given.flags = of.flags;
    given.path = of.path.c_str();
    given.node = detail::or_null(of.node);
    given.engine = detail::or_null(of.engine);
    given.build = detail::or_null(of.build);
    given.start = of.start.data();
    given.start_length = of.start.size();
    given.args = args.data();
    given.wires = wires.data();
    given.seeds = seeds.data();
    given.hashes = hashes.data();
    given.args_count = static_cast<std::uint32_t>(args.size());
    given.wires_count = static_cast<std::uint32_t>(wires.size());
    given.seeds_count = static_cast<std::uint32_t>(seeds.size());
    given.hashes_count = static_cast<std::uint32_t>(hashes.size());
    for (int place = 0; place < 16; ++place)
        given.session[place] = of.session[place];
    given.buffer_bytes = of.buffer_bytes;
    given.threads_max = of.threads_max;
    given.ring_ms = of.ring_ms;
    given.rotate_bytes = of.rotate_bytes;
    given.rotate_ms = of.rotate_ms;
    given.keep_bytes = of.keep_bytes;
    given.keep_ms = of.keep_ms;
    given.max_bytes = of.max_bytes;
    given.max_ms = of.max_ms;

    netreel_recorder *made = nullptr;
    const std::int32_t came =
        detail::call(table().open, static_cast<const netreel_options *>(&given), &made);
    return detail::come(came, recorder(made));
}

// ---- Replay ----

struct step : detail::sized<netreel_step> {
    bool is_tick() const noexcept { return kind == NETREEL_STEP_TICK; }
    bool is_input() const noexcept { return kind == NETREEL_STEP_INPUT; }
    /** INPUT: what was given to input; until the next `next`. */
    bytes input() const noexcept { return bytes_at(call, call_length); }
};

struct packet : detail::sized<netreel_packet> {
    bool received() const noexcept { return kind == NETREEL_RECEIVED; }
};

struct report : detail::sized<netreel_report> {
    bool exact() const noexcept { return outcome == NETREEL_EXACT; }
};

/**
 * A reel that answers the layer: clock, random, receive and send are called as those of netreel::world
 * (netreel_layer.hpp) are. On one thread. From the first divergence on they say nothing.
 */
class replay : public detail::handle<netreel_replay, detail::close_replay> {
public:
    using handle::handle;

    static result<replay> open(const char *path)
    {
        netreel_replay *made = nullptr;
        const std::int32_t came = detail::call(table().replay_open, path, &made);
        return detail::come(came, replay(made));
    }
    /** NETREEL_E_BUSY: another thread is inside a call; it is still open. */
    code close() noexcept { return close_unless_busy(table().replay_close); }
    /** The start conditions; until close. */
    bytes start() const noexcept
    {
        const void *first = nullptr;
        std::uint64_t length = 0;
        detail::call(table().replay_start, get(), &first, &length);
        return bytes_at(first, length);
    }
    /** Where this socket was bound; NETREEL_E_ARGUMENT: there is none. */
    code socket(std::uint32_t socket, netreel_endpoint &local) noexcept
    {
        return detail::call(table().replay_socket, get(), socket, &local);
    }
    /** Whether there is a next tick or call. */
    bool next(step &next) noexcept
    {
        const std::int32_t came =
            detail::call(table().replay_next, get(), static_cast<netreel_step *>(&next));
        return came == NETREEL_OK && next.kind != NETREEL_STEP_END;
    }
    /** For who runs the game again: the tick, or call, that the reel must have next. */
    code tick(std::uint64_t tick) noexcept { return detail::call(table().replay_tick, get(), tick); }
    code input(bytes call) noexcept
    {
        return detail::call(table().replay_input, get(), call.data(), call.size());
    }
    code receive(std::uint32_t socket, room into, packet &packet) noexcept
    {
        return detail::call(table().replay_receive, get(), socket, static_cast<void *>(into.data()),
                            into.size(), static_cast<netreel_packet *>(&packet));
    }
    /** `came`, which may be NULL: bytes taken or -errno, as recorded. */
    code send(std::uint32_t socket, const netreel_endpoint &to, bytes packet,
              std::int64_t *came = nullptr) noexcept
    {
        return detail::call(table().replay_send, get(), socket, &to, packet.data(), packet.size(), came);
    }
    code clock(std::uint64_t &value) noexcept
    {
        return detail::call(table().replay_clock, get(), &value);
    }
    code random(std::uint64_t &value) noexcept
    {
        return detail::call(table().replay_random, get(), &value);
    }
    /** What it has come to so far; its text until close. */
    netreel::report report() const noexcept
    {
        netreel::report so_far;
        so_far.text = "";
        detail::call(table().replay_report, get(), static_cast<netreel_report *>(&so_far));
        return so_far;
    }
};

} // namespace netreel

#endif
