// A thread of our own, for the pool and for servers. It takes no signals (those stay with the
// program's threads) and bears a name that debuggers show.
#ifndef LEAT_BASE_THREAD_H_
#define LEAT_BASE_THREAD_H_

#include <pthread.h>

#include "base/status.h"

typedef struct leat_thread_s { pthread_t handle; } leat_thread_t;

typedef void (*leat_thread_fn_t)(void* data);

// RESOURCE_EXHAUSTED when the system has no more threads. |name| is cut to 15 bytes. Each thread is
// either joined or detached, once.
LEAT_MUST_USE leat_status_t leat_thread_start(const char* name, leat_thread_fn_t fn, void* data,
                                              leat_thread_t* out_thread);
void leat_thread_join(leat_thread_t thread);
void leat_thread_detach(leat_thread_t thread);

#endif  // LEAT_BASE_THREAD_H_
