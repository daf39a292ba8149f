/*
 * process LIBRARY REEL: loads the library at run time, records on two threads, forks, unloads the
 * library while it records, and goes on. Returns the number of the first thing that went wrong.
 */
#define _POSIX_C_SOURCE 200809L
#include <dlfcn.h>
#include <netreel.h>
#include <pthread.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static netreel_api net;
static netreel_recorder *recorder;

static void *other_thread(void *unused)
{
    netreel_thread *thread;
    uint64_t tick;
    if (net.thread_open(recorder, &thread) != NETREEL_OK)
        return unused;
    for (tick = 0; tick < 1000; ++tick)
        net.tick(thread, tick, 0);
    net.thread_close(thread);
    return NULL;
}

static int child(netreel_thread *thread)
{
    netreel_thread *fresh;
    if (net.note(thread, "child", 5) != NETREEL_E_FORKED)
        return 1;
    if (strstr(net.error_text(), "forked child") == NULL)
        return 2;
    if (net.thread_open(recorder, &fresh) != NETREEL_E_FORKED || fresh != NULL)
        return 3;
    if (net.close(recorder, NULL) != NETREEL_E_FORKED)
        return 4;
    return net.thread_close(thread) == NETREEL_OK ? 0 : 5;
}

int main(int argc, char **argv)
{
    netreel_options options;
    netreel_thread *thread, *fresh;
    netreel_load_fn load;
    pthread_t handle;
    void *library, *symbol;
    int status;
    pid_t pid;
    if (argc < 3 || (library = dlopen(argv[1], RTLD_NOW)) == NULL)
        return 10;
    symbol = dlsym(library, "netreel_load");
    memcpy(&load, &symbol, sizeof load);
    if (load == NULL || load(&net, sizeof net, NETREEL_API_VERSION) != NETREEL_OK)
        return 11;
    memset(&options, 0, sizeof options);
    options.size = sizeof options;
    options.path = argv[2];
    if (net.open(&options, &recorder) != NETREEL_OK ||
        net.thread_open(recorder, &thread) != NETREEL_OK)
        return 12;
    if (pthread_create(&handle, NULL, other_thread, NULL) != 0)
        return 13;
    if (net.note(thread, "parent", 6) != NETREEL_OK)
        return 14;
    pid = fork();
    if (pid == 0)
        _exit(child(thread));
    if (waitpid(pid, &status, 0) != pid || status != 0)
        return 15 + (WIFEXITED(status) ? WEXITSTATUS(status) : 99);
    pthread_join(handle, NULL);
    /* What the child closed is still open here: this thread gets a buffer of its own. */
    if (net.thread_open(recorder, &fresh) != NETREEL_OK ||
        net.note(thread, "after fork", 10) != NETREEL_OK ||
        net.note(fresh, "fresh", 5) != NETREEL_OK || net.thread_close(fresh) != NETREEL_OK)
        return 30;
    dlclose(library);
    if (net.note(thread, "after unload", 12) != NETREEL_OK)
        return 31;
    /* At the end of main all that is left open is cut off, and lost is nothing. */
    if (argc > 3)
        return 0;
    return net.thread_close(thread) == NETREEL_OK && net.close(recorder, NULL) == NETREEL_OK ? 0
                                                                                             : 32;
}
