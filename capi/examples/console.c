/*
 * console [ADDRESS [TOKEN]]: a game without a network that people and scripts can command.
 *
 * cc console.c -I ../include -L ../../target/release -lnetreel
 *
 * It prints where its console listens. `netreel console GAME=127.0.0.1:PORT` speaks to it, and so do
 * `nc` and the scripts of `netreel run`, which know the console by `console = "127.0.0.1:{port}"`.
 */
#define _POSIX_C_SOURCE 200809L
#include <netreel.h>

#include <stdio.h>
#include <string.h>
#include <time.h>

enum { SPAWN, THROW, MODE, CHAT, SLOWLY, QUIT };

static const netreel_parameter throw_parameters[] = {
    {"BOX", NULL, NETREEL_ARGUMENT_INTEGER, 0},
    {"FORCE", NULL, NETREEL_ARGUMENT_NUMBER, 1},
};
static const netreel_parameter mode_parameters[] = {
    {"MODE", "host owner", NETREEL_ARGUMENT_ONE_OF, 0},
};
static const netreel_parameter chat_parameters[] = {
    {"TEXT", NULL, NETREEL_ARGUMENT_REST, 0},
};
/* Their places are the numbers above. */
static const netreel_command commands[] = {
    {"spawn", "A new box", NULL, 0, 0},
    {"throw", "Throws a box away", throw_parameters, 2, 0},
    {"set mode", "How boxes migrate", mode_parameters, 1, 0},
    {"chat", "To everybody", chat_parameters, 1, 0},
    {"slowly", "Answers after ten ticks", NULL, 0, 0},
    {"quit", "Ends the game", NULL, 0, 0},
};

static netreel_api net;

/* The game. */
static int boxes = 40;
static uint64_t slow_request; /* 0: nobody waits */
static uint64_t slow_tick;

static void answer(netreel_console *console, uint64_t id, int done, const char *text)
{
    net.console_answer(console, id, done, text, strlen(text));
}

static void obey(netreel_console *console, const netreel_request *request, uint64_t tick)
{
    char text[300];
    const netreel_value *given = request->arguments;
    switch (request->command) {
    case SPAWN:
        snprintf(text, sizeof text, "box %d", ++boxes);
        break;
    case THROW:
        if (given[0].integer > boxes) {
            answer(console, request->id, 0, "there is no such box");
            return;
        }
        snprintf(text, sizeof text, "threw %d with %.1f", (int)given[0].integer,
                 request->arguments_count > 1 ? given[1].number : 1.0);
        break;
    case SLOWLY:
        slow_request = request->id;
        slow_tick = tick + 10;
        return;
    case QUIT:
        snprintf(text, sizeof text, "bye");
        break;
    default:
        snprintf(text, sizeof text, "%s with %u bytes", given[0].text,
                 (unsigned)request->binary_length);
        break;
    }
    answer(console, request->id, 1, text);
}

/* Whether the game goes on. */
static int tick_console(netreel_console *console, uint64_t tick)
{
    netreel_request request;
    int goes_on = 1;
    request.size = sizeof request;
    if (slow_request != 0 && tick >= slow_tick) {
        answer(console, slow_request, 1, "at last");
        slow_request = 0;
    }
    while (net.console_take(console, &request) == NETREEL_OK &&
           request.kind != NETREEL_REQUEST_NONE) {
        if (request.kind == NETREEL_REQUEST_SCRIPT) {
            answer(console, request.id, 0, "this game has no scripts");
            continue;
        }
        if (request.command == QUIT)
            goes_on = 0;
        obey(console, &request, tick);
    }
    return goes_on;
}

int main(int argc, char **argv)
{
    const struct timespec pause = {0, 10000000};
    netreel_console_options options;
    netreel_console *console;
    netreel_endpoint local;
    uint64_t tick;
    if (netreel_load(&net, sizeof net, NETREEL_API_VERSION) != NETREEL_OK)
        return 2;
    if (!net.console_open) /* the library is older than this header */
        return 2;
    memset(&options, 0, sizeof options);
    options.size = sizeof options;
    options.address = argc > 1 ? argv[1] : NULL;
    options.token = argc > 2 ? argv[2] : NULL;
    options.commands = commands;
    options.commands_count = sizeof commands / sizeof *commands;
    if (net.console_open(&options, &console) != NETREEL_OK) {
        fprintf(stderr, "no console: %s\n", net.error_text());
        return 1;
    }
    net.console_local(console, &local);
    printf("console %u\n", (unsigned)local.port);
    fflush(stdout);
    for (tick = 0; tick_console(console, tick); ++tick)
        nanosleep(&pause, NULL); /* the rest of the game's tick */
    return net.console_close(console) == NETREEL_OK ? 0 : 3;
}
