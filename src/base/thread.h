// Threads of our own: those of the thread pool, of the streams of a device, of the network and of
// plugins. The library starts a thread only through this header, because two things must hold for
// each of them. A thread takes no signals: all are blocked in it, so that a program's handlers run
// on the program's own threads. It also bears a name, by which debuggers and `top` show it.
//
// A thread is either joined or detached, and only once:
//
//   leat_thread_t thread;
//   LEAT_RETURN_IF_ERROR(leat_thread_start("leat-timer", run, timer, &thread));
//   ...
//   leat_thread_join(thread);  // |timer| may be freed from here on
#ifndef LEAT_BASE_THREAD_H_
#define LEAT_BASE_THREAD_H_

#include <pthread.h>
#include <stdint.h>

#include "base/status.h"

typedef struct leat_thread_s { pthread_t handle; } leat_thread_t;

// What the thread runs; the thread ends when it returns.
typedef void (*leat_thread_fn_t)(void* data);

// Starts a thread that calls |fn|(|data|). |data| is not copied and must live until |fn| is done
// with it. |name| is copied, cut to 15 bytes. RESOURCE_EXHAUSTED when the system has no more
// threads or memory; |out_thread| is then not to be used.
LEAT_MUST_USE leat_status_t leat_thread_start(const char* name, leat_thread_fn_t fn, void* data,
                                              leat_thread_t* out_thread);
// Blocks until the thread has ended, and frees what the system keeps for it. A thread must not join
// itself.
void leat_thread_join(leat_thread_t thread);
// Lets the thread end on its own: the system frees its state then, and nobody may join it. The pool
// does so when its last owner is one of its own threads, which cannot join itself.
void leat_thread_detach(leat_thread_t thread);

// The number by which the system knows the calling thread; it costs a call of the system.
int64_t leat_thread_id(void);
// Tells that number, and the thread's name, cut to 15 bytes.
void leat_thread_describe(int64_t* out_id, char out_name[16]);
// The name of a thread of any process, by their numbers; empty where it is gone, or not to be
// known. It reads a small file of the system's.
void leat_thread_name_of(uint32_t process, uint32_t thread, char out_name[16]);

#endif  // LEAT_BASE_THREAD_H_
