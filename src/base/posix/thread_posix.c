// Threads start with all signals blocked: the mask is inherited, so it is set around the start.
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#if defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include "base/thread.h"

#define NAME_LIMIT 16

typedef struct start_s {
  leat_thread_fn_t fn;
  void* data;
  char name[NAME_LIMIT];
} start_t;

static void* run_thread(void* data) {
  start_t start = *(start_t*)data;
  free(data);
#if defined(__linux__)
  pthread_setname_np(pthread_self(), start.name);
#endif
  start.fn(start.data);
  return NULL;
}

leat_status_t leat_thread_start(const char* name, leat_thread_fn_t fn, void* data,
                                leat_thread_t* out_thread) {
  start_t* start = malloc(sizeof(*start));
  int error = -1;
  if (start) {
    start->fn = fn;
    start->data = data;
    snprintf(start->name, sizeof(start->name), "%s", name);
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    error = pthread_create(&out_thread->handle, NULL, run_thread, start);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
  }
  if (error == 0) return leat_ok_status();
  free(start);
  return leat_make_status(LEAT_RESOURCE_EXHAUSTED,
                          "Starting a thread failed for '%s': error is %d, must be 0", name, error);
}

void leat_thread_join(leat_thread_t thread) { pthread_join(thread.handle, NULL); }

void leat_thread_detach(leat_thread_t thread) { pthread_detach(thread.handle); }

int64_t leat_thread_id(void) {
#if defined(__linux__)
  return syscall(SYS_gettid);
#else
  return (int64_t)(intptr_t)pthread_self();
#endif
}

void leat_thread_describe(int64_t* out_id, char out_name[NAME_LIMIT]) {
  *out_id = leat_thread_id();
  out_name[0] = 0;
#if defined(__linux__)
  pthread_getname_np(pthread_self(), out_name, NAME_LIMIT);
#endif
}

void leat_thread_name_of(uint32_t process, uint32_t thread, char out_name[NAME_LIMIT]) {
  ssize_t size = 0;
#if defined(__linux__)
  char path[64];
  snprintf(path, sizeof path, "/proc/%u/task/%u/comm", process, thread);
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file >= 0) {
    size = read(file, out_name, NAME_LIMIT - 1);
    close(file);
  }
#endif
  out_name[size > 0 ? size : 0] = 0;
  out_name[strcspn(out_name, "\n")] = 0;
}
