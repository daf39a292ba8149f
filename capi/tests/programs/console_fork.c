/* console_fork: a child with its parent's console. Returns the number of the first thing that went wrong. */
#define _POSIX_C_SOURCE 200809L
#include <netreel.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

int main(void)
{
    netreel_console_options options;
    netreel_console *console;
    netreel_request request;
    netreel_api net;
    int status;
    pid_t pid;
    if (netreel_load(&net, sizeof net, NETREEL_API_VERSION) != NETREEL_OK)
        return 1;
    memset(&options, 0, sizeof options);
    options.size = sizeof options;
    if (net.console_open(&options, &console) != NETREEL_OK)
        return 2;
    request.size = sizeof request;
    pid = fork();
    if (pid == 0) {
        if (net.console_take(console, &request) != NETREEL_E_FORKED)
            _exit(3);
        if (net.console_answer(console, 1, 1, "", 0) != NETREEL_E_FORKED)
            _exit(4);
        /* It must not wait for a thread that is its parent's. */
        _exit(net.console_close(console) == NETREEL_OK ? 0 : 5);
    }
    if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0)
        return 6;
    if (net.console_take(console, &request) != NETREEL_OK)
        return 7;
    return net.console_close(console) == NETREEL_OK ? 0 : 8;
}
