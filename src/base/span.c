// The recorder behind base/span.h. A thread writes spans into a chunk that only it writes to, and
// publishes each by raising the chunk's count. The recorder (one in the process) owns the full
// chunks, and knows the unfinished one of each thread:
//
//   thread A ──▶ [spans ......    ] ─┐ full
//   thread B ──▶ [spans ...       ]  ├──▶ recorder: [oldest] ─▶ [ ] ─▶ ... ─▶ [newest]
//                                    ┘
//
// Recordings have numbers. A thread that finds another number than that of its chunk begins anew,
// under the recorder's mutex. Whoever ends a recording sets the number to 0 first and then, under
// the mutex, copies what unfinished chunks have published. A thread that is late writes behind what
// was published, and nobody reads that, or comes to the mutex and finds that there is no recording.
//
// A thread's chunk is freed when the thread ends; its spans go into the recording before that.
//
// When a thread was off its core is read from a ring of its own, now and then, and put into a chunk
// besides. Where the process may know what happens on all cores, a thread (base/cpu_switches.h)
// reads their rings whenever they fill and leaves a note with each writer whose thread something
// happened to; the rings of the threads are read right after that, and the times off a core are
// told with who took the core or woke the thread (base/switch_notes.h).
#include "base/span.h"

#include <string.h>

#include "base/recording.h"
#include "base/switch_notes.h"
#include "base/thread.h"
#include "base/thread_switches.h"
#include "base/thread_titles.h"

#define DEFAULT_LIMIT_BYTES (UINT64_C(256) << 20)
#define CHUNK_SPANS 4096u
#define CHUNK_BYTES (sizeof(leat_span_chunk_t) + CHUNK_SPANS * sizeof(leat_span_t))
#define MAX_TITLES 1024u  // in a recording; it may last while thousands of programs come and go

// A thread that has recorded something.
typedef struct writer_s {
  struct writer_s* next;
  uint32_t recording;  // that |chunk| belongs to
  leat_span_chunk_t* chunk;
  int64_t id;                        // of the thread
  leat_thread_switches_t* switches;  // of the recording; NULL: they cannot be had
  leat_span_chunk_t* off_core;       // of the recording, not full yet; NULL: there is none
  leat_switch_notes_t* notes;        // NULL: nobody takes notes
} writer_t;

typedef struct recorder_s {
  pthread_mutex_t mutex;  // guards all else; not a leat_mutex_t, whose waits are spans
  bool has_key, survives_forks;
  leat_thread_key_t key;  // tells that a thread ends
  uint32_t last_number;   // of a recording
  writer_t* writers;      // of threads that live
  leat_recording_t* current;   // NULL: nothing is recorded
  leat_span_chunk_t** behind;  // the place behind its newest chunk
  uint64_t bytes, limit_bytes;
  size_t thread_capacity, name_capacity, graph_capacity;
  leat_string_map_t numbers;  // of names, by "name\ncategory"
  leat_cpu_switches_t* cores;   // NULL: they cannot be had, or nothing is recorded
  int64_t until_ns;              // up to where they were read
  leat_word_map_t writer_of_id;  // writers, by the ids of their threads
  leat_thread_titles_t titles;   // of the threads that took cores or woke others
  uint32_t title_count;          // names of the recording that came of them
} recorder_t;

static recorder_t recorder = {.mutex = PTHREAD_MUTEX_INITIALIZER};
static LEAT_THREAD_LOCAL writer_t* writer_of_thread;
_Atomic(uint32_t) leat_span_recording;
_Atomic(leat_span_step_fn_t) leat_span_on_step;
_Atomic(const leat_span_source_t*) leat_span_source;
LEAT_THREAD_LOCAL leat_span_work_t leat_span_work_of_thread;

static void lock(void) { pthread_mutex_lock(&recorder.mutex); }
static void unlock(void) { pthread_mutex_unlock(&recorder.mutex); }

const char* leat_span_kind_name(leat_span_kind_t kind) {
  static const char* const kNames[LEAT_SPAN_KINDS] = {
      "step", "kernel",  "loop", "iteration", "asynchronous kernel", "piece of a loop", "task",
      "no work to do", "wait", "lock", "memory", "file", "off core", "on core", "memory held",
      "send", "receive", "fetch",               "encode", "decode",
      "launch", "stream work", "stream copy",   "stream wait"};
  return (unsigned)kind < LEAT_SPAN_KINDS ? kNames[kind] : "unknown";
}

// ---- Chunks -------------------------------------------------------------------------------------
// All of this is done under the mutex.

// Appends a chunk to the recording, and drops the oldest ones beyond the limit.
static void keep_chunk(leat_span_chunk_t* chunk) {
  leat_recording_t* current = recorder.current;
  chunk->next = NULL;
  *recorder.behind = chunk;
  recorder.behind = &chunk->next;
  recorder.bytes += CHUNK_BYTES;
  while (recorder.bytes > recorder.limit_bytes && current->first != chunk) {
    leat_span_chunk_t* oldest = current->first;
    current->first = oldest->next;
    current->lost += atomic_load_explicit(&oldest->count, memory_order_relaxed);
    recorder.bytes -= CHUNK_BYTES;
    leat_allocator_free(leat_allocator_system(), oldest);
  }
}

static leat_status_t make_chunk(leat_span_chunk_t** out_chunk) {
  void* memory = NULL;
  LEAT_RETURN_IF_ERROR(leat_allocator_allocate(leat_allocator_system(), CHUNK_BYTES, &memory));
  *out_chunk = memory;
  return leat_ok_status();
}

// Adds the calling thread to the recording's.
static leat_status_t add_thread(uint32_t* out_thread) {
  leat_recording_t* current = recorder.current;
  LEAT_RETURN_IF_ERROR(LEAT_GROW(leat_allocator_system(), (size_t)current->thread_count + 1,
                                 &current->threads, &recorder.thread_capacity));
  leat_span_thread_t* thread = &current->threads[current->thread_count];
  leat_thread_describe(&thread->id, thread->name);
  *out_thread = current->thread_count++;
  return leat_ok_status();
}

static bool is_recording(const writer_t* writer) {
  return writer->chunk && recorder.current && writer->recording == recorder.last_number;
}

// ---- Times off a core ---------------------------------------------------------------------------
// All of this is done under the mutex.

static leat_status_t add_name(leat_string_view_t name, leat_string_view_t category,
                              uint32_t* out_number);

// Times off a core that are being added to the recording.
typedef struct switches_s {
  writer_t* writer;
  int64_t now, now_ns;
  int64_t told_ns;  // where the last one ended
} switches_t;

// |ns| by the clock of spans.
static int64_t time_of(const switches_t* s, int64_t ns) {
  const leat_recording_t* current = recorder.current;
  const double passed = (double)(s->now - current->begin);
  const double passed_ns = (double)(s->now_ns - current->begin_ns);
  return passed_ns > 0 ? s->now - (int64_t)((double)(s->now_ns - ns) / passed_ns * passed) : s->now;
}

// The number of |name| under |category|; 0 where there is no memory.
static uint32_t number_of(leat_string_view_t name, leat_string_view_t category) {
  uint32_t number = 0;
  leat_status_free(add_name(name, category, &number));
  return number;
}

// The number of what the thread that took a core, or woke another one, is called; 0: not known.
static uint32_t title_of(const leat_cpu_event_t* event) {
  const uint32_t before = recorder.current->name_count;
  if (!event->other_thread || recorder.title_count >= MAX_TITLES) return 0;
  const leat_string_view_t title =
      leat_thread_titles_find(&recorder.titles, event->other_process, event->other_thread);
  const leat_string_view_t kind =
      event->kind == LEAT_CPU_WAKING ? LEAT_SV("woken by") : LEAT_SV("preempted by");
  const uint32_t name = title.size ? number_of(title, kind) : 0;
  recorder.title_count += recorder.current->name_count - before;
  return name;
}

// Times on and off a core, with those of |kind|, lie in chunks of their own.
static void put_switch(switches_t* s, leat_span_kind_t kind, int64_t begin_ns, int64_t end_ns,
                       uint32_t name, int64_t value) {
  leat_span_chunk_t* chunk = s->writer->off_core;
  LEAT_DCHECK(is_recording(s->writer));
  if (chunk && atomic_load_explicit(&chunk->count, memory_order_relaxed) == CHUNK_SPANS) {
    keep_chunk(chunk);
    chunk = s->writer->off_core = NULL;
  }
  if (!chunk) {
    leat_status_t status = make_chunk(&chunk);
    if (status) {
      leat_status_free(status);
      ++recorder.current->lost;
      return;
    }
    chunk->thread = s->writer->chunk->thread;
    atomic_store_explicit(&chunk->count, 0, memory_order_relaxed);
    s->writer->off_core = chunk;
  }
  const uint32_t count = atomic_load_explicit(&chunk->count, memory_order_relaxed);
  chunk->spans[count] =
      (leat_span_t){time_of(s, begin_ns), time_of(s, end_ns), name, kind, 0, value};
  atomic_store_explicit(&chunk->count, count + 1, memory_order_relaxed);
}

// A leat_off_core_fn_t.
static void add_off_core(void* data, const leat_off_core_piece_t* piece) {
  switches_t* s = data;
  const uint32_t name = piece->why == LEAT_OFF_CORE_READY
                            ? number_of(LEAT_SV(""), LEAT_SV("ready for a core"))
                            : piece->by ? title_of(piece->by) : 0;
  put_switch(s, LEAT_SPAN_OFF_CORE, piece->begin_ns, piece->end_ns, name,
             leat_off_core_value(piece->why, piece->by ? piece->by->other_process : 0,
                                 piece->by ? piece->by->other_thread : 0));
}

// A leat_thread_switches_fn_t.
static void add_switch(void* data, const leat_thread_switch_t* told) {
  switches_t* s = data;
  if (told->core >= 0) {
    put_switch(s, LEAT_SPAN_ON_CORE, told->begin_ns, told->end_ns, 0, told->core);
    return;
  }
  leat_switch_notes_tell(s->writer->notes, told->begin_ns, told->end_ns, told->was_preempted,
                         add_off_core, s);
  s->told_ns = told->end_ns;
}

// A leat_cpu_event_fn_t.
static void take_note(void* unused, const leat_cpu_event_t* event) {
  uint64_t found;
  if (!leat_word_map_get(&recorder.writer_of_id, event->thread, &found)) return;
  writer_t* writer = (writer_t*)(uintptr_t)found;
  if (writer->notes && !leat_switch_notes_add(writer->notes, event)) {
    recorder.current->lost_switches += LEAT_SWITCH_NOTES;
  }
}

// Reads the rings of the cores into notes, for what is read of the rings of threads next. Where
// something is lost, all notes are forgotten: what is told must not depend on what is missing.
static void read_cores(void) {
  if (!recorder.cores) return;
  LEAT_DCHECK(recorder.current);
  recorder.until_ns = leat_clock_now_ns();
  const uint64_t lost =
      leat_cpu_switches_read(recorder.cores, recorder.until_ns, take_note, NULL);
  for (writer_t* writer = recorder.writers; writer; writer = writer->next) {
    if (!writer->notes) continue;
    if (lost) writer->notes->count = 0;
    leat_switch_notes_sort(writer->notes);
  }
  recorder.current->lost_switches += lost;
  leat_thread_titles_clear(&recorder.titles);
}

// Adds the switches of the writer's thread. |is_end|: the recording or the thread ends.
static void add_switches(writer_t* writer, bool is_end) {
  const leat_moment_t now = leat_moment_now();
  switches_t s = {writer, now.time, now.now_ns, 0};
  recorder.current->lost_switches += leat_thread_switches_read(
      writer->switches, recorder.cores ? recorder.until_ns : s.now_ns, is_end, add_switch, &s);
  if (writer->notes) leat_switch_notes_forget(writer->notes, s.told_ns);
  if (!is_end) return;
  leat_thread_switches_end(writer->switches);
  writer->switches = NULL;
  if (writer->off_core) keep_chunk(writer->off_core);
  writer->off_core = NULL;
}

// Prepares the writer, whose thread begins to be recorded. Without memory there are no notes.
static void begin_switches(writer_t* writer) {
  if (!writer->switches) writer->switches = leat_thread_switches_begin();
  leat_allocator_free(leat_allocator_system(), writer->off_core);  // after a want of memory
  writer->off_core = NULL;
  if (recorder.cores && !writer->notes) {
    leat_status_free(LEAT_ALLOCATE(leat_allocator_system(), 1, &writer->notes));
  }
  if (writer->notes) writer->notes->count = 0;
  leat_status_free(leat_word_map_set(&recorder.writer_of_id, (uint64_t)writer->id,
                                     (uint64_t)(uintptr_t)writer));
}

// A leat_cpu_switches_fn_t: reads all rings.
static void read_rings(void) {
  lock();
  read_cores();
  for (writer_t* writer = recorder.writers; writer && recorder.cores; writer = writer->next) {
    if (is_recording(writer)) add_switches(writer, false);
  }
  unlock();
}

// The thread's spans become part of the recording, if it is the one under way.
static void hand_in(writer_t* writer, bool is_end) {
  if (!is_recording(writer)) return;
  read_cores();
  add_switches(writer, is_end);
  keep_chunk(writer->chunk);
  writer->chunk = NULL;
}

static leat_status_t renew_chunk(writer_t* writer) {
  if (!recorder.current) return leat_ok_status();
  const bool is_new_here = !is_recording(writer);
  uint32_t thread = 0;
  if (is_new_here) {
    LEAT_RETURN_IF_ERROR(add_thread(&thread));
    writer->id = recorder.current->threads[thread].id;
    begin_switches(writer);
  } else {
    thread = writer->chunk->thread;
    hand_in(writer, false);
  }
  if (!writer->chunk) LEAT_RETURN_IF_ERROR(make_chunk(&writer->chunk));
  writer->chunk->thread = thread;
  atomic_store_explicit(&writer->chunk->count, 0, memory_order_relaxed);
  writer->recording = recorder.last_number;
  return leat_ok_status();
}

// ---- Threads ------------------------------------------------------------------------------------

static void end_thread(void* pointer) {
  writer_t* writer = pointer;
  lock();
  hand_in(writer, true);
  writer_t** link = &recorder.writers;
  while (*link != writer) link = &(*link)->next;
  *link = writer->next;
  leat_word_map_erase(&recorder.writer_of_id, (uint64_t)writer->id);
  unlock();
  writer_of_thread = NULL;
  leat_thread_switches_end(writer->switches);
  leat_allocator_free(leat_allocator_system(), writer->notes);
  leat_allocator_free(leat_allocator_system(), writer->chunk);
  leat_allocator_free(leat_allocator_system(), writer);
}

// Makes the calling thread a writer. The mutex is held.
static leat_status_t join(void) {
  writer_t* writer;
  if (!recorder.has_key) recorder.has_key = leat_thread_key_create(end_thread, &recorder.key);
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(leat_allocator_system(), 1, &writer));
  if (!recorder.has_key || !leat_thread_key_set(recorder.key, writer)) {
    leat_allocator_free(leat_allocator_system(), writer);
    return leat_make_status(LEAT_RESOURCE_EXHAUSTED, "the system has no more thread keys");
  }
  writer->next = recorder.writers;
  recorder.writers = writer;
  writer_of_thread = writer;
  return leat_ok_status();
}

// Gives the calling thread a chunk with room; false where there is none to be had.
static bool make_room(void) {
  lock();
  leat_status_t status = writer_of_thread ? leat_ok_status() : join();
  if (!status) status = renew_chunk(writer_of_thread);
  const bool has_room = !status && recorder.current != NULL;
  if (status && recorder.current) ++recorder.current->lost;
  unlock();
  leat_status_free(status);
  return has_room;
}

void leat_span_end_in_step(int64_t begin, leat_span_kind_t kind, uint32_t name, int64_t value,
                           uint32_t step) {
  const int64_t end = leat_span_now();
  const uint32_t recording = atomic_load_explicit(&leat_span_recording, memory_order_acquire);
  const writer_t* writer = writer_of_thread;
  if (!recording) return;
  if (!writer || writer->recording != recording || !writer->chunk ||
      atomic_load_explicit(&writer->chunk->count, memory_order_relaxed) == CHUNK_SPANS) {
    if (!make_room()) return;
    writer = writer_of_thread;
  }
  leat_span_chunk_t* chunk = writer->chunk;
  const uint32_t count = atomic_load_explicit(&chunk->count, memory_order_relaxed);
  chunk->spans[count] = (leat_span_t){begin, end, name, kind, step, value};
  atomic_store_explicit(&chunk->count, count + 1, memory_order_release);
}

// ---- Names --------------------------------------------------------------------------------------

static leat_status_t add_name(leat_string_view_t name, leat_string_view_t category,
                              uint32_t* out_number) {
  leat_recording_t* current = recorder.current;
  leat_span_name_t made;
  uint64_t* number = NULL;
  bool is_new = false;
  LEAT_RETURN_IF_ERROR(leat_recording_make_name(current, &recorder.name_capacity, name, category,
                                                0, &made));
  leat_status_t status = leat_string_map_insert(
      &recorder.numbers, leat_string_view_make(made.name.data, name.size + 1 + category.size),
      current->name_count, &number, &is_new);
  if (!status) *out_number = (uint32_t)*number;
  if (is_new) {
    current->names[current->name_count++] = made;
  } else {
    leat_allocator_free(leat_allocator_system(), (void*)made.name.data);
  }
  return status;
}

uint32_t leat_span_name_slow(_Atomic(uint64_t)* cache, leat_string_view_t name,
                             leat_string_view_t category) {
  uint32_t number = 0;
  lock();
  if (recorder.current) {
    leat_status_free(add_name(name, category, &number));
    atomic_store_explicit(cache, (uint64_t)recorder.last_number << 32 | number,
                          memory_order_relaxed);
  }
  unlock();
  return number;
}

// ---- Graphs -------------------------------------------------------------------------------------

void leat_span_tell_graph(_Atomic(uint32_t)* told, const leat_span_graph_t* graph) {
  lock();
  if (recorder.current &&
      atomic_load_explicit(told, memory_order_relaxed) != recorder.last_number) {
    const uint32_t first = recorder.current->name_count;
    leat_status_t status = leat_recording_add_graph(
        recorder.current, &recorder.name_capacity, &recorder.graph_capacity, graph);
    for (uint32_t i = 0; i < graph->node_count && !status; ++i) {
      if (!graph->nodes[i].cache) continue;
      atomic_store_explicit(graph->nodes[i].cache,
                            (uint64_t)recorder.last_number << 32 | (first + i),
                            memory_order_relaxed);
    }
    leat_status_free(status);
    atomic_store_explicit(told, recorder.last_number, memory_order_release);
  }
  unlock();
}

// ---- Recordings ---------------------------------------------------------------------------------

// In a child of fork: nothing is recorded there, and it may begin a recording of its own. What its
// parent had recorded stays in the child's memory; the rings of switches are not mapped there, and
// their reader is no thread of the child's.
static void forget_parent(void) {
  atomic_store_explicit(&leat_span_recording, 0, memory_order_relaxed);
  recorder.current = NULL;
  leat_cpu_switches_forget(recorder.cores);
  recorder.cores = NULL;
  leat_word_map_clear(&recorder.writer_of_id);
  for (writer_t* writer = recorder.writers; writer; writer = writer->next) {
    writer->switches = NULL;
    writer->off_core = NULL;
  }
  unlock();
}

// Makes a recording the one under way.
static void begin(leat_recording_t* recording, uint64_t limit_bytes) {
  recording->name_count = 1;
  recorder.current = recording;
  recorder.behind = &recording->first;
  recorder.bytes = 0;
  recorder.limit_bytes = limit_bytes ? limit_bytes : DEFAULT_LIMIT_BYTES;
  recorder.thread_capacity = recorder.graph_capacity = 0;
  recorder.title_count = 0;
  leat_string_map_initialize(leat_allocator_system(), &recorder.numbers);
  const leat_moment_t now = leat_moment_now();
  recording->begin_wall_ns = now.wall_ns;
  recording->begin_ns = now.now_ns;
  recording->begin = now.time;
  if (++recorder.last_number == 0) recorder.last_number = 1;
  atomic_store_explicit(&leat_span_recording, recorder.last_number, memory_order_release);
}

static const leat_span_source_t* find_source(void) {
  return atomic_load_explicit(&leat_span_source, memory_order_acquire);
}

leat_status_t leat_recording_start(uint64_t limit_bytes) {
  leat_recording_t* recording = NULL;
  size_t name_capacity;
  const leat_span_source_t* source = find_source();
  LEAT_RETURN_IF_ERROR(leat_recording_create(&recording, &name_capacity));
  leat_status_t status = leat_ok_status();
  lock();
  // A fork waits for the mutex, so that a child does not find it locked for ever.
  if (!recorder.survives_forks) {
    recorder.survives_forks = pthread_atfork(lock, unlock, forget_parent) == 0;
  }
  if (!recorder.writer_of_id.allocator) {
    leat_word_map_initialize(leat_allocator_system(), &recorder.writer_of_id);
  }
  if (recorder.current) {
    status = leat_make_status(LEAT_FAILED_PRECONDITION,
                              "Starting a recording failed: one is under way, must be stopped "
                              "first");
  } else {
    recorder.name_capacity = name_capacity;
    begin(recording, limit_bytes);
    recorder.cores = leat_cpu_switches_begin(read_rings);
  }
  const uint32_t number = recorder.last_number;
  unlock();
  if (status) {
    leat_recording_free(recording);
  } else if (source) {
    source->begin(number, limit_bytes ? limit_bytes : DEFAULT_LIMIT_BYTES);
  }
  return status;
}

// Copies what the unfinished chunk of a thread holds.
static leat_status_t copy_unfinished(writer_t* writer) {
  leat_span_chunk_t* copy;
  if (!is_recording(writer)) return leat_ok_status();
  add_switches(writer, true);
  const uint32_t count = atomic_load_explicit(&writer->chunk->count, memory_order_acquire);
  LEAT_RETURN_IF_ERROR(make_chunk(&copy));
  memcpy(copy->spans, writer->chunk->spans, count * sizeof(leat_span_t));
  copy->thread = writer->chunk->thread;
  atomic_store_explicit(&copy->count, count, memory_order_relaxed);
  keep_chunk(copy);
  return leat_ok_status();
}

// Ends the recording under way. The mutex is held.
static void end(leat_recording_t* recording) {
  atomic_store_explicit(&leat_span_recording, 0, memory_order_seq_cst);
  const leat_moment_t now = leat_moment_now();
  recording->end = now.time;
  recording->end_ns = now.now_ns;
  recorder.limit_bytes = UINT64_MAX;
  read_cores();
  for (writer_t* writer = recorder.writers; writer; writer = writer->next) {
    leat_status_t status = copy_unfinished(writer);
    if (status) {
      recording->lost += atomic_load_explicit(&writer->chunk->count, memory_order_relaxed);
    }
    leat_status_free(status);
  }
  leat_string_map_deinitialize(&recorder.numbers);
  recorder.current = NULL;
}

// Ends the recording and, unless |next| is NULL, begins that one.
static leat_status_t stop(leat_recording_t* next, size_t name_capacity,
                          leat_recording_t** out_recording) {
  lock();
  leat_recording_t* recording = *out_recording = recorder.current;
  const uint64_t limit_bytes = recorder.limit_bytes;
  const uint32_t number = recorder.last_number;
  const leat_span_source_t* source = find_source();
  leat_cpu_switches_t* cores = NULL;
  if (recording) end(recording);
  if (recording && next) {
    recorder.name_capacity = name_capacity;
    begin(next, limit_bytes);
  } else {
    cores = recorder.cores;
    recorder.cores = NULL;
  }
  const uint32_t next_number = recorder.last_number;
  unlock();
  leat_cpu_switches_end(cores);  // its thread takes the mutex
  if (recording && source) source->end(number, next ? next_number : 0, recording);
  if (recording) return leat_ok_status();
  return leat_make_status(LEAT_FAILED_PRECONDITION,
                          "Stopping a recording failed: nothing is being recorded");
}

leat_status_t leat_recording_stop(leat_recording_t** out_recording) {
  return stop(NULL, 0, out_recording);
}

leat_status_t leat_recording_renew(leat_recording_t** out_recording) {
  leat_recording_t* next = NULL;
  size_t name_capacity;
  *out_recording = NULL;
  LEAT_RETURN_IF_ERROR(leat_recording_create(&next, &name_capacity));
  leat_status_t status = stop(next, name_capacity, out_recording);
  if (status) leat_recording_free(next);
  return status;
}
