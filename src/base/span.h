// What threads do, and when: the source of the tracer (EEG, section 9.2 of the white paper). Code
// that does something which takes time marks its beginning and its end:
//
//   int64_t begin = leat_span_begin();  // 0 while nothing is recorded
//   work();
//   if (LEAT_UNLIKELY(begin)) leat_span_end(begin, LEAT_SPAN_TASK, 0, 0);
//
// While nothing is recorded a span costs one load and two branches that are never taken. While
// something is, it costs two readings of the processor's time counter and 32 bytes, which the
// thread writes into a chunk of its own: no lock, no shared line of memory. A full chunk goes into
// the recording, under a lock, once in some thousand spans. A recording has a limit of memory; when
// it is reached the oldest chunks go, so that what is left is always the time before its end.
//
// There is one recording at a time in a process. Any thread may begin and end spans at any time.
// What runs on no thread, such as work of a GPU, is added when a recording ends, by a source.
#ifndef LEAT_BASE_SPAN_H_
#define LEAT_BASE_SPAN_H_

#include <stdatomic.h>

#include "base/allocator.h"
#include "base/clock.h"
#include "base/map.h"
#include "base/sync.h"

// What a span is. Spans of one thread are nested or apart. Some belong to no thread: those that
// begin on one thread and end on another (LOOP, ITERATION, ASYNC_KERNEL, FETCH), those of ON_CORE,
// which belong to the core, and HELD, which is of the whole process.
typedef enum leat_span_kind_e {
  LEAT_SPAN_STEP,          // a caller runs a signature; the number of the step
  LEAT_SPAN_KERNEL,        // a kernel computes; the bytes of its inputs
  LEAT_SPAN_LOOP,          // a loop, from its first variable to its end; how many iterations
  LEAT_SPAN_ITERATION,     // an iteration of a loop; its number, from 0 on
  LEAT_SPAN_ASYNC_KERNEL,  // from the start of an asynchronous kernel to its end; bytes of inputs
  LEAT_SPAN_SHARD,         // a piece of a kernel's parallel loop; how many items
  LEAT_SPAN_TASK,          // a task of a pool; how long it was queued, in units of leat_span_now
  LEAT_SPAN_PARK,          // a thread of a pool sleeps, because there is no work
  LEAT_SPAN_WAIT,          // a thread sleeps until another one tells it something; whose id, or 0
  LEAT_SPAN_LOCK,          // a thread waits for a mutex that another one holds; whose id, or 0
  LEAT_SPAN_MEMORY,        // memory comes from the system; how many bytes
  LEAT_SPAN_FILE,          // a file is read, written or synced; how many bytes
  LEAT_SPAN_OFF_CORE,      // the thread is on no core; a leat_off_core_value
  LEAT_SPAN_ON_CORE,       // the thread is on one; its number
  LEAT_SPAN_HELD,          // a moment: memory of the system held for values from now on; bytes
  // Of what goes from one thread to another. The value is a number that both ends compute, the same
  // in all processes; SEND, RECEIVE and LAUNCH are moments.
  LEAT_SPAN_SEND,          // a Send leaves a value, which becomes a message; its number
  LEAT_SPAN_RECEIVE,       // the value of a message comes to its Recv; its number
  LEAT_SPAN_FETCH,         // from asking another task for a value to its answer; the message's
  LEAT_SPAN_ENCODE,        // a value becomes the bytes of a message; its number
  LEAT_SPAN_DECODE,        // the bytes of a message become a value; its number
  LEAT_SPAN_LAUNCH,        // a kernel enqueues work on a stream of its device; the work's number
  LEAT_SPAN_STREAM,        // a stream does such work; its number
  LEAT_SPAN_COPY,          // a stream copies between host and device; the number of the work
  LEAT_SPAN_STREAM_WAIT,   // a stream waits for others of its device; the number of the work
  LEAT_SPAN_KINDS,
} leat_span_kind_t;
// A word or two for people: "kernel", "waits for a lock".
const char* leat_span_kind_name(leat_span_kind_t kind);
static inline bool leat_span_kind_has_thread(uint32_t kind) {
  return kind != LEAT_SPAN_LOOP && kind != LEAT_SPAN_ITERATION && kind != LEAT_SPAN_ASYNC_KERNEL &&
         kind != LEAT_SPAN_FETCH && kind != LEAT_SPAN_HELD;
}
// Whether the value is the number of a message or of work on a stream.
static inline bool leat_span_kind_is_link(uint32_t kind) {
  return kind >= LEAT_SPAN_SEND && kind < LEAT_SPAN_KINDS;
}

// Why a thread is on no core.
typedef enum leat_off_core_e {
  LEAT_OFF_CORE_ASLEEP,     // it sleeps
  LEAT_OFF_CORE_PREEMPTED,  // another thread took its core
  LEAT_OFF_CORE_READY,      // it was woken, and has no core yet
} leat_off_core_t;
// The reason, with the process and the thread that took the core or woke the thread, as the system
// numbers them; 0: not known. The system gives numbers below 2^22.
static inline int64_t leat_off_core_value(leat_off_core_t why, uint32_t process, uint32_t thread) {
  return (int64_t)((uint64_t)(process & 0x3fffffff) << 32 |
                   (uint64_t)(thread & 0x3fffffff) << 2 | (uint32_t)why);
}
static inline leat_off_core_t leat_off_core_why(int64_t value) {
  return (leat_off_core_t)(value & 3);
}
static inline uint32_t leat_off_core_thread(int64_t value) {
  return (uint32_t)value >> 2;
}
static inline uint32_t leat_off_core_process(int64_t value) {
  return (uint32_t)((uint64_t)value >> 32);
}

// Times are of leat_span_now; leat_recording_ns makes nanoseconds of them.
typedef struct leat_span_s {
  int64_t begin, end;
  uint32_t name;       // an index of the recording's |names|; 0: it has none
  uint32_t kind : 8;   // a leat_span_kind_t
  uint32_t step : 24;  // leat_span_step of the step that it is a part of; 0: it is not known
  int64_t value;       // the number that the kind says
} leat_span_t;
_Static_assert(sizeof(leat_span_t) == 32, "two spans fill a line of the cache");

// ---- Marking ------------------------------------------------------------------------------------

static inline bool leat_spans_are_recorded(void) {
  return LEAT_UNLIKELY(atomic_load_explicit(&leat_span_recording, memory_order_relaxed) != 0);
}
// A counter that grows by a constant amount in a nanosecond, on all cores alike.
static inline int64_t leat_span_now(void) {
#if defined(__x86_64__)
  return (int64_t)__builtin_ia32_rdtsc();
#else
  return leat_clock_now_ns();
#endif
}
static inline int64_t leat_span_begin(void) {
  return leat_spans_are_recorded() ? leat_span_now() : 0;
}
// What is kept of the number of a step, for a call that of its caller's: the low bits, which tell
// the steps apart that are under way at once, here and in other processes.
static inline uint32_t leat_span_step(int64_t step_id) { return (uint32_t)step_id & 0xffffff; }
// Records what has gone on since |begin|, as a part of |step|, a leat_span_step; 0: of no step that
// the caller knows. A span for which there is no memory is dropped. One that began under an earlier
// recording has a |begin| before this one's.
void leat_span_end_in_step(int64_t begin, leat_span_kind_t kind, uint32_t name, int64_t value,
                           uint32_t step);
static inline void leat_span_end(int64_t begin, leat_span_kind_t kind, uint32_t name,
                                 int64_t value) {
  leat_span_end_in_step(begin, kind, name, value, 0);
}
// The number of a name and what it is the name of (a node and its op) in the recording under way; 0
// where there is none, or no memory. |cache|, which begins as 0, remembers the answer, so that the
// next question costs a load.
uint32_t leat_span_name_slow(_Atomic(uint64_t)* cache, leat_string_view_t name,
                             leat_string_view_t category);
static inline uint32_t leat_span_name(_Atomic(uint64_t)* cache, leat_string_view_t name,
                                      leat_string_view_t category) {
  const uint64_t known = atomic_load_explicit(cache, memory_order_relaxed);
  if (LEAT_LIKELY(known >> 32 == atomic_load_explicit(&leat_span_recording,
                                                      memory_order_relaxed))) {
    return (uint32_t)known;
  }
  return leat_span_name_slow(cache, name, category);
}
// A moment: a span without length.
static inline void leat_span_mark(leat_span_kind_t kind, uint32_t name, int64_t value) {
  const int64_t now = leat_span_begin();
  if (LEAT_UNLIKELY(now)) leat_span_end(now, kind, name, value);
}
// The number of the message of a step under a key; not 0.
static inline int64_t leat_span_message(int64_t step_id, leat_string_view_t key) {
  return (int64_t)(leat_hash_mix(leat_string_view_hash(key), (uint64_t)step_id) >> 1) | 1;
}
// What the thread works on while something is recorded. The kernel, for the pieces of its loop that
// other threads run; the step of the kernel that ran last, for the task that it was in.
typedef struct leat_span_work_s {
  uint32_t name;  // of the kernel that runs; 0: none does
  uint32_t step;  // a leat_span_step; 0: not known
} leat_span_work_t;
extern LEAT_THREAD_LOCAL leat_span_work_t leat_span_work_of_thread;

// What is known of a node before it runs, for people. Texts may be empty.
typedef struct leat_span_facts_s {
  leat_string_view_t device;
  leat_string_view_t outputs;  // their types and shapes: "float [32,10], int32 []"
  leat_string_view_t source;   // the line of the program that added it: "train.py:12"
  double flops;                // floating-point operations, estimated; below 0: not known
} leat_span_facts_t;

// A graph that is run as a whole: its nodes, and which of them each takes values from or waits for.
typedef struct leat_span_node_s {
  leat_string_view_t name, category;
  _Atomic(uint64_t)* cache;  // of leat_span_name, which gives the node's number then; may be NULL
  leat_span_facts_t facts;
} leat_span_node_t;
typedef struct leat_span_graph_s {
  const leat_span_node_t* nodes;
  uint32_t node_count;
  const uint32_t* first_producer;  // [node_count + 1], indices of |producers|
  const uint32_t* producers;       // indices of |nodes|
} leat_span_graph_t;
// Tells the recording under way of a graph, whose nodes get numbers of their own, so that a span
// says of which graph its node is. |*told|, which begins as 0, becomes the recording's number: who
// finds that there need not ask again. Nothing is told where there is no memory.
void leat_span_tell_graph(_Atomic(uint32_t)* told, const leat_span_graph_t* graph);

// ---- Steps --------------------------------------------------------------------------------------

// Called at the end of each step while something is recorded, on the thread that ran it: when it
// began, by leat_span_now, its number, what signature it ran, and how it ended. NULL: nobody asks.
typedef void (*leat_span_step_fn_t)(int64_t begin, int64_t step_id, const void* signature,
                                    leat_status_t status);
extern _Atomic(leat_span_step_fn_t) leat_span_on_step;

// ---- Sources ------------------------------------------------------------------------------------

typedef struct leat_recording_s leat_recording_t;

// Who learns of spans only when a recording ends, because somebody else keeps them until then: the
// driver of a GPU. NULL: nobody does. Both are called without locks, by who starts and ends the
// recording, so that |end| may come before |begin| where two threads do that.
typedef struct leat_span_source_s {
  // Recording |number| has begun, of whose spans |limit_bytes| are kept.
  void (*begin)(uint32_t number, uint64_t limit_bytes);
  // Recording |number| has ended, and may be added to (base/recording.h). |next| is the number of
  // the one that began in the same moment; 0: none did.
  void (*end)(uint32_t number, uint32_t next, leat_recording_t* recording);
} leat_span_source_t;
extern _Atomic(const leat_span_source_t*) leat_span_source;

// ---- Recordings ---------------------------------------------------------------------------------

typedef struct leat_span_chunk_s {
  struct leat_span_chunk_s* next;
  uint32_t thread;          // an index of |threads|
  _Atomic(uint32_t) count;
  leat_span_t spans[];      // in the order of their ends; those off a core are in other chunks
} leat_span_chunk_t;

typedef struct leat_span_thread_s {
  int64_t id;     // as the system numbers it, below 2^22; of a row of a source's, from there on
  char name[32];
} leat_span_thread_t;

typedef struct leat_span_name_s {
  leat_string_view_t name, category;
  uint32_t graph;  // the number of the graph that the node is of, from 1 on; 0: of none
} leat_span_name_t;

// A graph that was told of.
typedef struct leat_span_edges_s {
  uint32_t first_name, node_count;  // its nodes are names of the recording, one behind the other
  uint32_t* first_producer;         // [node_count + 1]
  uint32_t* producers;              // nodes of the graph, from 0 on
  leat_span_facts_t* facts;         // [node_count]
  char* texts;                      // those of the facts
} leat_span_edges_t;

// What was recorded.
struct leat_recording_s {
  leat_span_chunk_t* first;  // the oldest chunk; those of one thread come in their order
  leat_span_thread_t* threads;
  uint32_t thread_count;
  leat_span_name_t* names;   // the first is empty
  uint32_t name_count;
  leat_span_edges_t* graphs;  // graph n is the one at n - 1
  uint32_t graph_count;
  uint64_t lost;             // spans that were dropped, for want of memory
  uint64_t lost_switches;    // records of switches and wakings that were: rings were full
  // What ended before this time is not written to files.
  int64_t from;
  // The same two moments by both clocks.
  int64_t begin, end;
  int64_t begin_ns, end_ns;  // of leat_clock_now_ns
  int64_t begin_wall_ns;     // since 1970
};

// Begins to record. Of the spans |limit_bytes| are kept, at least one chunk; 0: 256 MiB.
// FAILED_PRECONDITION where something is being recorded already.
LEAT_MUST_USE leat_status_t leat_recording_start(uint64_t limit_bytes);
// Ends the recording. FAILED_PRECONDITION where there is none. The caller frees |*out_recording|.
LEAT_MUST_USE leat_status_t leat_recording_stop(leat_recording_t** out_recording);
// Ends the recording and begins the next one with the same limit, without a moment between them
// that is in neither; what is under way in that moment is in none. If there is no memory for
// another one, the recording goes on.
LEAT_MUST_USE leat_status_t leat_recording_renew(leat_recording_t** out_recording);
void leat_recording_free(leat_recording_t* recording);  // NULL is allowed
// |time| of a span as nanoseconds of leat_clock_now_ns.
int64_t leat_recording_ns(const leat_recording_t* recording, int64_t time);

#endif  // LEAT_BASE_SPAN_H_
