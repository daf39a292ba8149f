/*
 * netreel_console.hpp - the console of netreel.h for C++17 and newer.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 *
 *     auto console = netreel::console::open({{{"throw", "Throws a box", {{"BOX"}}}}}).value();
 *     netreel::request request;                                  // in each tick:
 *     while (console.take(request) && request)
 *         console.answer(request.id, true, "done");
 */
#ifndef NETREEL_CONSOLE_HPP
#define NETREEL_CONSOLE_HPP

#include <netreel.hpp>

namespace netreel {

namespace detail {
struct close_console {
    void operator()(netreel_console *of) const noexcept { call(table.console_close, of); }
};
} // namespace detail

/** An argument that a command takes; see netreel_parameter. */
struct parameter {
    std::string name;
    std::uint32_t kind = NETREEL_ARGUMENT_INTEGER;
    bool optional = false;
    std::string words = {}; /**< of ONE_OF */
};

struct command {
    std::string name, about = {};
    std::vector<parameter> parameters = {};
};

struct console_options {
    std::vector<command> commands;
    std::string address = {}, token = {}; /**< empty: a free port of loopback; none is needed */
};

/** What somebody asks; what it shows stays until it is answered. */
struct request : detail::sized<netreel_request> {
    explicit operator bool() const noexcept { return kind != NETREEL_REQUEST_NONE; }
    view<const netreel_value> given() const noexcept { return {arguments, arguments_count}; }
    std::string_view text() const noexcept
    {
        return {line, static_cast<std::size_t>(line_length)};
    }
    bytes attached() const noexcept { return bytes_at(binary, binary_length); }
};

/** Commands for people and scripts. For all threads at once. */
class console : public detail::handle<netreel_console, detail::close_console> {
public:
    using handle::handle;

    static result<console> open(const console_options &options);
    code close() noexcept { return detail::call(table().console_close, release()); }
    code local(netreel_endpoint &listens) noexcept
    {
        return detail::call(table().console_local, get(), &listens);
    }
    /** The next request: in each tick, until it is false. Never waits. */
    code take(request &next) noexcept
    {
        return detail::call(table().console_take, get(), static_cast<netreel_request *>(&next));
    }
    code answer(std::uint64_t id, bool done, std::string_view text) noexcept
    {
        return detail::call(table().console_answer, get(), id, done ? 1 : 0, text.data(), text.size());
    }
};

inline result<console> console::open(const console_options &of)
{
    std::vector<std::vector<netreel_parameter>> parameters;
    std::vector<netreel_command> commands;
    for (const command &each : of.commands) {
        auto &taken = parameters.emplace_back();
        for (const parameter &one : each.parameters)
            taken.push_back({one.name.c_str(), detail::or_null(one.words), one.kind, one.optional});
        commands.push_back({each.name.c_str(), detail::or_null(each.about), taken.data(),
                            static_cast<std::uint32_t>(taken.size()), 0});
    }
    detail::sized<netreel_console_options> given;
    given.commands = commands.data();
    given.commands_count = static_cast<std::uint32_t>(commands.size());
    given.address = detail::or_null(of.address);
    given.token = detail::or_null(of.token);
    netreel_console *made = nullptr;
    const std::int32_t came =
        detail::call(table().console_open, static_cast<const netreel_console_options *>(&given), &made);
    return detail::come(came, console(made));
}

} // namespace netreel

#endif
